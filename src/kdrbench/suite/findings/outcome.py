"""How runs ended, and whether their numbers and times may be used: decided here for every report.

A run that its method ended has a result. Of one that a limit of time or memory stopped, time and iterations are lower
bounds, and its last iterate is not where the method ends. One that failed has no number; one that was skipped was never
made. Those that were stopped or skipped are open: given more time, they would have numbers.

A time counts for a comparison of methods on one problem, whose cores were equally fast for all of them. Times of
different problems, such as those of several sizes, need cores that were equally fast throughout (:func:`steady_times`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import counted
from kdrbench.status import BY_METHODS, Status
from kdrbench.suite.engine.identity import has_earlier_speed
from kdrbench.suite.engine.provenance import MOST_DRIFT
from kdrbench.suite.reports.tables.labels import dataset_label

if TYPE_CHECKING:
    import pandas as pd

ENDED = [str(status) for status in BY_METHODS]
LIMITS = [str(Status.TIME_LIMIT), str(Status.MEMORY_LIMIT)]
WITHOUT_RESULT = [str(Status.FAILED), str(Status.SKIPPED)]
# Columns of rows by a paper's protocol: why their cell was stopped before the paper's limits (empty where it was not),
# and how many other runs of it were not made, since the user's budget was used up.
STOPPED_EARLY, NOT_MADE = "stopped_early", "not_made"
UNTIMED = "times of runs that shared their cores, not comparable"
# What marks a time that does not count: shared cores, waiting, cores whose speed drifted, work off the clock.
MARKS = {"timed": "False", "contaminated": "True", "drifted": "True", "unaccounted": "True"}
# A time of a single run is known within this factor.
ONE_TIME = 1.2
_MACHINE = ["experiment", "processor", "blas", "blas_threads"]


def ended(runs: pd.DataFrame) -> pd.Series:
    """Return which runs their method ended, by its rule or after its most iterations."""
    return runs["status"].isin(ENDED)


def stopped(runs: pd.DataFrame) -> pd.Series:
    """Return which runs a limit of time or memory stopped: their numbers are bounds."""
    return runs["status"].isin(LIMITS)


def is_open(runs: pd.DataFrame, column: str = "status") -> NDArray[np.bool_]:
    """Return which runs were stopped or skipped; ``column`` holds the status."""
    return runs[column].isin([*LIMITS, str(Status.SKIPPED)]).to_numpy(dtype=bool)


def is_usable(runs: pd.DataFrame, column: str) -> NDArray[np.bool_]:
    """Return which runs did not fail and have a number in a column."""
    usable: NDArray[np.bool_] = (runs["status"].to_numpy() != str(Status.FAILED)) & runs[column].notna().to_numpy()
    return usable


def numbers_by_run(runs: pd.DataFrame, column: str) -> pd.Series:
    """Return the usable numbers of a column by the number of their run."""
    # Copies of these columns alone: a row has some hundred.
    return runs.loc[is_usable(runs, column), ["run", column]].set_index("run")[column]


def shared_numbers(ours: pd.DataFrame, theirs: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the usable numbers of two methods, ``ours`` and ``theirs``, on the runs that both have."""
    numbers = numbers_by_run(ours, column).rename("ours").astype(float).to_frame()
    return numbers.join(numbers_by_run(theirs, column).rename("theirs").astype(float), how="inner")


def without_skipped(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of runs that were made; cells of dimension reduction that lack others say how many, and why."""
    if "status" not in rows or not (skipped := rows["status"] == str(Status.SKIPPED)).any():
        return rows
    made = rows[~skipped].copy()
    if "method" in rows and STOPPED_EARLY in rows:
        axes = [rows[name] for name in ("experiment", "dataset", "kernel", "method", "partition") if name in rows]
        made[NOT_MADE] = skipped.groupby(axes, dropna=False).transform("sum").astype(int)[~skipped]
        for (method, dataset, _), cell in made[made[NOT_MADE] > 0].groupby(["method", "dataset", NOT_MADE]):
            count = int(cell[NOT_MADE].iloc[0])
            words = f"{counted(count, 'run')} of {method} on {dataset_label(str(dataset))} "
            words += f"{'was' if count == 1 else 'were'} not made, since the budget was used up"
            made.loc[cell.index, STOPPED_EARLY] = words
    return made


def clean_times(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs whose times count.

    They owned their cores, did not wait for them, these did not drift, their clocks cover what was worked, and no
    component has become faster or slower since.
    """
    return runs[~(marked(runs, *MARKS) | _of_earlier_speed(runs))]


def steady_times(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs whose times count beside those of other problems.

    Like :func:`clean_times`, but with another reference: the calibrations before and after a run are within a tenth of
    each other, and of the median of their experiment on the same machine. A batch counts once for the median.
    """
    own = runs[~(marked(runs, "timed", "contaminated", "unaccounted") | _of_earlier_speed(runs))]
    before, after = (own[name].astype(float) for name in ("calibration_before_s", "calibration_after_s"))
    times = own[["batch_sha256", *_MACHINE]].astype(str).assign(before=before, after=after)
    medians = times.drop_duplicates().melt(_MACHINE, ["before", "after"]).groupby(_MACHINE)["value"].median()
    usual = times.join(medians.rename("usual"), on=_MACHINE)["usual"]
    differs = [(ratio - 1.0).abs() > MOST_DRIFT for ratio in (before / usual, after / usual, after / before)]
    return own[~(differs[0] | differs[1] | differs[2])]


def marked(runs: pd.DataFrame, *marks: str) -> NDArray[np.bool_]:
    """Return which runs have one of some marks (keys of :data:`MARKS`); a column that is not there marks none."""
    chosen = np.zeros(len(runs), dtype=bool)
    for column in marks:
        if column in runs:
            # Not pandas' conversion, which takes 30 times as long for the few runs of a cell.
            chosen |= runs[column].to_numpy(dtype=str) == MARKS[column]
    return chosen


def _of_earlier_speed(runs: pd.DataFrame) -> NDArray[np.bool_]:
    """Return which runs have times of an implementation that became faster or slower since."""
    if "revisions" not in runs:
        return np.zeros(len(runs), dtype=bool)
    words = [word if isinstance(word, str) else "" for word in runs["revisions"]]
    earlier = {word: has_earlier_speed(word) for word in {*words}}
    return np.array([earlier[word] for word in words], dtype=bool)


def warning_of(runs: pd.DataFrame) -> str:
    """Return why the times of these runs need care; empty if there is no reason."""
    if marked(runs, "timed").any():
        return UNTIMED
    drifted = marked(runs, "drifted")
    most = runs["drift"].astype(float).abs().max() if drifted.any() else 0.0
    reasons = {
        f"the cores were not as fast as for other methods in {{}}, by up to {most:.0%}": drifted,
        "{} waited for their core": marked(runs, "contaminated"),
        "{} worked while their clock was stopped": marked(runs, "unaccounted"),
        "{} were timed with an earlier implementation": _of_earlier_speed(runs),
    }
    counts = {words: f"{chosen.sum()} of {counted(len(runs), 'run')}" for words, chosen in reasons.items()}
    return "; ".join(words.format(counts[words]) for words, chosen in reasons.items() if chosen.any())
