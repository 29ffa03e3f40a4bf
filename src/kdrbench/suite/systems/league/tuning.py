"""What tuning gains: each method with tuned parameters beside itself with its defaults, in the same runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from kdrbench.errors import counted, joined
from kdrbench.status import Status
from kdrbench.suite.reports.making import Page, Source, sections_of_runs
from kdrbench.suite.reports.tables.numbers import duration
from kdrbench.suite.reports.tables.table import Entry, Group, Table, measured
from kdrbench.suite.systems.league.system import JUDGES
from kdrbench.suite.systems.league.table_rows import (
    ACCURACIES,
    SIGNIFICANT,
    League,
    compared,
    leading_to,
    title_of,
    wilcoxon_holm,
)

_RUN = ["dataset", "n_components", "run"]
_CALIBRATION = ["calibration_before_s", "calibration_after_s"]
_TUNED = " tuned"
_NOTE = (
    "Defaults and tuned: mean accuracy over the runs of both, a lost run counting as 0. Difference: tuned less "
    "defaults. Wins and losses: cells in which a t test that allows for overlapping folds says that tuning is better "
    "or worse (p <= 0.05). p: signed ranks over data sets, Holm's correction over the methods. CPU time: of a fit, "
    "median, with its tuning. Times: tuned over defaults, each in units of the calibration kernel beside it, since "
    "machines change their speed between two leagues. Kept: runs in which no candidate beat the defaults in the inner "
    "folds."
)


@dataclass(frozen=True, eq=False)
class Tuning:
    """The rows of a tuned league, and of one with default parameters."""

    fixed: pd.DataFrame
    tuned: pd.DataFrame

    @cached_property
    def shared(self) -> list[str]:
        """The methods that play by both rules, in the order of the tuned league."""
        return [name for name in self.tuned["method"].unique() if name in set(self.fixed["method"])]

    @cached_property
    def methods(self) -> list[str]:
        """Of these the methods with parameters to tune."""
        from kdrbench.reduction.methods import METHODS

        return [name for name in self.shared if METHODS[name].grid]

    @cached_property
    def league(self) -> League:
        """Both in the runs that they share, each tuned method under a name of its own."""
        fixed, tuned = (rows[rows["method"].isin(self.methods)] for rows in (self.fixed, self.tuned))
        runs = fixed[_RUN].drop_duplicates().merge(tuned[_RUN].drop_duplicates())
        tuned = tuned.assign(method=tuned["method"] + _TUNED)
        return League(pd.concat([rows.merge(runs, on=_RUN) for rows in (fixed, tuned)], ignore_index=True))

    @cached_property
    def corrected(self) -> dict[tuple[str, str], float]:
        """By judge and method the p value of signed ranks over data sets, corrected over the methods."""
        found: dict[tuple[str, str], float] = {}
        for judge in ACCURACIES if self.methods else ():
            scores = self.league.scores[judge]
            pairs = [(scores.methods.index(name + _TUNED), scores.methods.index(name)) for name in self.methods]
            p_values = wilcoxon_holm(scores.dataset_means, pairs).values()
            found |= {(judge, name): p for name, p in zip(self.methods, p_values, strict=True)}
        return found

    def means(self, judge: str, method: str) -> tuple[float, float]:
        """Return the mean score over cells by defaults and tuned; a lost run counts as 0."""
        scores = self.league.scores[judge]
        tables = np.array([np.nan_to_num(table).mean(axis=1) for table in scores.cells.values()])
        fixed, tuned = (float(tables[:, scores.methods.index(name)].mean()) for name in (method, method + _TUNED))
        return fixed, tuned

    def gain(self, method: str, judges: Sequence[str] = ACCURACIES) -> float:
        """Return tuned less default accuracy, mean over judges."""
        return float(np.mean([tuned - fixed for fixed, tuned in (self.means(judge, method) for judge in judges)]))

    def times_as_long(self, method: str) -> float:
        """Return the median time of a tuned fit over that of one with defaults, both by the calibration kernel."""
        runs = self.league.runs
        in_kernels = runs["cpu_s"] / runs[_CALIBRATION].astype(float).mean(axis=1)
        fixed, tuned = (in_kernels[runs["method"] == name].median() for name in (method, method + _TUNED))
        return float(tuned / fixed)


def page(source: Source) -> Page:
    """Return the table of a tuned league beside the league with default parameters on its folds."""
    tuned, fixed = (source.runs[source.runs["experiment"] == name] for name in source.report.experiments)
    table = tuning_table(source.report.name, source.experiment["title"], Tuning(fixed, tuned))
    return table, sections_of_runs(tuned)


def tuning_table(name: str, title: str, tuning: Tuning) -> Table:
    """Return a row for each method with parameters to tune, that which gains most first."""
    parts = ["Defaults", "Tuned", "Difference", "Wins", "Losses", "p (Holm)"]
    last = ["Defaults", "Tuned", "Times", "Kept"]
    methods = sorted(tuning.methods, key=lambda one: -tuning.gain(one))
    untuned = [title_of(one) for one in tuning.shared if one not in tuning.methods]
    nothing = [f"Nothing to tune have {joined(untuned)}."] if untuned else []
    return Table(
        name,
        f"Tuned beside defaults: {title}",
        ["Method", *(part for _ in ACCURACIES for part in parts), *last],
        [[_row(tuning, method) for method in methods]],
        [tuning_sentence(tuning), *nothing, _NOTE],
        groups=[[*(Group(JUDGES[judge], len(parts)) for judge in ACCURACIES), Group("CPU time", 3), Group("", 1)]],
    )


def tuning_sentence(tuning: Tuning) -> str:
    """Return for how many methods tuning pays by each accuracy, and what it costs."""
    if not tuning.methods:
        return "Does tuning pay? No method with parameters to tune has played by both rules."
    found = []
    for judge in ACCURACIES:
        clear = [name for name in tuning.methods if tuning.corrected[judge, name] <= SIGNIFICANT]
        gaining, losing = ([one for one in clear if sign * tuning.gain(one, [judge]) > 0] for sign in (1, -1))
        found.append(f"by {JUDGES[judge]} {_named(gaining, 'gain')} and {_named(losing, 'lose')}")
    times = [one for name in tuning.methods if np.isfinite(one := tuning.times_as_long(name))]
    many = counted(len(tuning.methods), "method")
    paid = f"Does tuning pay? Of {many} with parameters to tune, {'; '.join(found)} (signed ranks over data sets)."
    if not times:
        return paid
    least, middle, most = np.quantile(times, [0.0, 0.5, 1.0])
    return f"{paid} A fit takes {least:.3g} to {most:.3g} times as long, in the median {middle:.3g}."


def _named(names: Sequence[str], verb: str) -> str:
    if not names:
        return f"none {verb}s"
    titles = "; ".join(map(title_of, names))
    return f"{len(names)} {verb}{'s' if len(names) == 1 else ''} ({titles})"


def _row(tuning: Tuning, method: str) -> list[Entry]:
    title, numbers = title_of(method), []
    for judge in ACCURACIES:
        fixed, tuned = tuning.means(judge, method)
        texts = [f"{fixed:.3f}", f"{tuned:.3f}", f"{tuned - fixed:+.3f}"]
        outcomes = tuning.league.scores[judge].outcomes(method + _TUNED, [method])
        numbers += compared(texts, outcomes, tuning.corrected[judge, method], f"{title} by {JUDGES[judge]}")
    for name in (method, method + _TUNED):
        numbers.append(measured(tuning.league.median_s(name), duration, f"{title}: median CPU time"))
    numbers.append(measured(tuning.times_as_long(method), "{:.3g}", f"{title}: tuned over defaults"))
    fits = tuning.tuned[(tuning.tuned["method"] == method) & (tuning.tuned["status"] == Status.CONVERGED)]
    # An empty choice is the defaults.
    kept = float((fits["chosen"].fillna("") == "").mean())
    numbers.append(measured(kept, "{:.0f} %", f"{title}: of {counted(len(fits), 'tuned fit')}", scale=100))
    return [Entry(title), *leading_to(method, numbers)]
