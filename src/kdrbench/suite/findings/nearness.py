"""How near each run came to the best known cost of its problem, and how soon.

A problem is one run of one data set and kernel in one experiment: all solvers have the same rows and starts in it. Its
best known cost F* is the lowest that any solver saw, failed runs left out, or that an atlas of optima has stored. It is
so in matrices, sentences and the rows of tables alike. Of each run

    gap    = (F - F*) / |F*|, of the cost F of its final projection
    needed = least time t with F(t) <= F* + accuracy |F*|, F(t) the lowest cost seen by then; infinite if there is none

Times are those of the first solve, by the points of the trace. ``clean`` says whether a run's time counts: its core
was its own, did not drift and was not waited for, and nothing was worked off the clock. Problems all of whose runs are
clean are compared by time; where there is none all are, which is an indication only and marked as such.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from kdrbench.errors import DamagedError, in_words
from kdrbench.kernels.family import FloatArray
from kdrbench.status import Status
from kdrbench.suite.findings.outcome import clean_times
from kdrbench.suite.reports.records import NO_KERNEL, REFERENCE, Config, read_traces
from kdrbench.suite.systems.atlas.optima import NOTHING_KNOWN, BestKnown
from kdrbench.suite.systems.ikdr.cost_against_time import TIME, curve_of

# Of the best known cost: what the papers' tests reach, and what only converged solvers reach.
COARSE, FINE = 1e-2, 1e-6
ACCURACIES = (COARSE, FINE)
PLACE = ["experiment", "dataset", "kernel"]
PROBLEM = [*PLACE, "run"]


def until(curve: FloatArray, lowest: float, accuracy: float) -> float:
    """Return where a curve (abscissa, lowest cost so far) comes within ``accuracy`` of ``lowest``, or infinity."""
    solved = curve[:, 1] <= lowest + accuracy * abs(lowest)
    return float(curve[np.argmax(solved), 0]) if solved.any() else np.inf


def traces_of(runs: pd.DataFrame, folder: Path) -> Path | None:
    """Return a folder of traces where it has those of all runs, else ``None``: a row may name any path."""
    if not folder.is_dir():
        return None
    names = [Path(str(name)) for name in runs["trace_file"].unique()]
    inside = all(not name.is_absolute() and ".." not in name.parts for name in names)
    return folder if inside and all((folder / name).is_file() for name in names) else None


def known_beside(traces: Path | None, config: Config) -> BestKnown:
    """Return the best solutions that are stored beside a folder of traces; without one none."""
    return NOTHING_KNOWN if traces is None else BestKnown.of(traces.parent, config)


def gaps_of(runs: pd.DataFrame, traces: Path | None = None, known: BestKnown = NOTHING_KNOWN) -> pd.Series:
    """Return the ``gap`` of each run, by the index of ``runs``; baselines and failed runs have none."""
    solved = runs[runs["kernel"] != NO_KERNEL]
    gaps = nearness(solved, traces, known)["gap"].tolist() if len(solved) else []
    return pd.Series(gaps, solved.index, dtype=float).reindex(runs.index)


def nearness(runs: pd.DataFrame, traces: Path | None, known: BestKnown = NOTHING_KNOWN) -> pd.DataFrame:
    """Return the runs of solvers with ``gap``, ``reached_<accuracy>``, ``needed_<accuracy>`` and ``clean``.

    Accuracies are written as :func:`column` writes them. Failed runs are kept: they have no gap and reached nothing.
    Without ``traces`` the lowest costs seen are the final ones, and no time is known.

    Raises ``DamagedError`` for traces that are not as they were written.
    """
    ran = runs[runs["kernel"] != NO_KERNEL].reset_index(drop=True)
    sound = (ran["status"] != str(Status.FAILED)) & ran["cost"].notna()
    curves = _curves(ran[sound], traces)
    cost = ran["cost"].astype(float).where(sound)
    seen = pd.Series({place: float(curve[-1, 1]) for place, curve in curves.items()}, dtype=float).reindex(ran.index)
    lowest = pd.concat([seen, cost], axis=1).min(axis=1)
    best = _best_of_problems(ran, lowest, known)
    size, bounds = best.abs().clip(lower=np.finfo(float).tiny), best.tolist()
    columns: dict[str, object] = {"gap": ((cost - best) / size).clip(lower=0.0)}
    columns["clean"] = ran.index.isin(clean_times(ran).index)
    for accuracy in ACCURACIES:
        columns[column("reached", accuracy)] = (lowest <= best + accuracy * size) & sound
        columns[column("needed", accuracy)] = [
            until(curves[place], bound, accuracy) if place in curves else np.nan for place, bound in enumerate(bounds)
        ]
    # At once: pandas warns of each column that is put into a table of some hundred.
    return pd.concat([ran, pd.DataFrame(columns, ran.index)], axis=1)


def _best_of_problems(ran: pd.DataFrame, lowest: pd.Series, known: BestKnown) -> pd.Series:
    """Return for each run the best cost known of its problem; ``lowest`` has what each run saw."""
    # Taken out of pandas at once: a record has thousands of problems, and one by one they took most of the time.
    names, seen = ran[PROBLEM].to_numpy(dtype=object), lowest.to_numpy(dtype=float)
    best = seen.copy()
    for places in ran.groupby(PROBLEM, sort=False).indices.values():
        experiment, dataset, kernel, number = names[places[0]]
        costs = seen[places]
        best[places] = known.best((experiment, dataset, kernel, int(number)), costs[~np.isnan(costs)].tolist())
    return pd.Series(best, ran.index)


def ratios(near: pd.DataFrame) -> pd.DataFrame:
    """Add ``ratio_<accuracy>``, the time needed over the least of any solver in the problem, and ``disturbed``.

    Problems without a time of any solver have no ratio, nor have those that are not compared. Scaled times of methods
    of a reference are compared with none, and disturb no other.
    """
    problem = [near[name] for name in PROBLEM]
    included = near["method"].astype(str).str.endswith(REFERENCE)
    timed = near["timed"].astype(str) != "False" if "timed" in near else pd.Series(True, near.index)
    clean = (near["clean"] | included).groupby(problem, sort=False).transform("all")
    compared = clean if (clean & timed).any() else timed
    columns: dict[str, object] = {"disturbed": not (clean & timed).any()}
    for accuracy in ACCURACIES:
        needed = near[column("needed", accuracy)].astype(float).where(~included)
        least = needed.groupby(problem, sort=False).transform("min")
        ratio = (needed / least).where(np.isfinite(least) & compared & timed)
        columns[column("ratio", accuracy)] = ratio
    return pd.concat([near, pd.DataFrame(columns, near.index)], axis=1)


def column(name: str, accuracy: float) -> str:
    """Return the name of a column of :func:`nearness`, such as ``needed_1e-6``."""
    return f"{name}_{accuracy_text(accuracy)}"


def accuracy_text(accuracy: float) -> str:
    """Return 1e-2 or 1e-6, as sentences have it."""
    return f"{accuracy:.0e}".replace("e-0", "e-")


def _curves(runs: pd.DataFrame, traces: Path | None) -> dict[int, FloatArray]:
    """Return by index the curve of each run that has left a trace."""
    if traces is None or runs.empty:
        return {}
    try:
        found = {runs.index[place]: curve_of(points, TIME) for place, points in read_traces(runs, traces)}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedError(
            f"the traces in {traces} are not as they were written ({in_words(error)}); move them away, and only final "
            "costs are compared"
        ) from error
    return {place: curve for place, curve in found.items() if len(curve)}
