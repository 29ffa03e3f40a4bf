"""What tuning gains: each method with tuned parameters beside itself with its defaults, in the same runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kdrbench.errors import counted, joined
from kdrbench.status import Status
from kdrbench.suite.reports.making import sections_of_runs
from kdrbench.suite.reports.tables.numbers import duration
from kdrbench.suite.reports.tables.table import Entry, Group, Table, entries
from kdrbench.suite.systems.league.rules import JUDGES
from kdrbench.suite.systems.league.scores import SIGNIFICANT, Verdict, wilcoxon_holm
from kdrbench.suite.systems.league.table_rows import ACCURACIES, League, leading_to

if TYPE_CHECKING:
    from kdrbench.suite.reports.making import Page, Source


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
    def methods(self) -> list[str]:
        """The methods with parameters to tune that play by both rules, in the order of the tuned league."""
        from kdrbench.reduction.methods import METHODS

        both = set(self.fixed["method"])
        return [name for name in self.tuned["method"].unique() if name in both and METHODS[name].grid]

    @cached_property
    def league(self) -> League:
        """Both in the runs that they share, each tuned method under a name of its own."""
        one, other = (rows[rows["method"].isin(self.methods)] for rows in (self.fixed, self.tuned))
        shared = one[_RUN].drop_duplicates().merge(other[_RUN].drop_duplicates())
        other = other.assign(method=other["method"] + _TUNED)
        return League(pd.concat([rows.merge(shared, on=_RUN) for rows in (one, other)], ignore_index=True))

    def corrected(self, judge: str) -> dict[str, float]:
        """Return by method the p value of signed ranks over data sets."""
        scores = self.league.scores[judge]
        pairs = [(scores.methods.index(name + _TUNED), scores.methods.index(name)) for name in self.methods]
        found = wilcoxon_holm(scores.by_dataset(), pairs)
        return {name: found[pair] for name, pair in zip(self.methods, pairs, strict=True)}

    def means(self, judge: str, method: str) -> tuple[float, float]:
        """Return the mean score over cells by defaults and tuned; a lost run counts as 0."""
        scores = self.league.scores[judge]
        tables = np.array([np.nan_to_num(table).mean(axis=1) for table in scores.cells.values()])
        one, other = (float(tables[:, scores.methods.index(name)].mean()) for name in (method, method + _TUNED))
        return one, other

    def verdicts(self, judge: str, method: str) -> list[Verdict]:
        """Return in each cell whether the tuned method wins against itself with its defaults."""
        return self.league.scores[judge].verdicts(method + _TUNED, [method])

    def times_as_long(self, method: str) -> float:
        """Return the median time of a tuned fit over that of one with defaults, both by the calibration kernel."""
        return self._in_kernels(method + _TUNED) / self._in_kernels(method)

    def _in_kernels(self, method: str) -> float:
        """Return the median CPU time of a fit over that of the calibration kernel beside it, NaN without one."""
        runs = self.league.runs[self.league.runs["method"] == method]
        return float((runs["cpu_s"] / runs[_CALIBRATION].astype(float).mean(axis=1)).median())


def page(source: Source) -> Page:
    """Return the table of a tuned league beside the league with default parameters on its folds."""
    tuned, fixed = (source.runs[source.runs["experiment"] == name] for name in source.report.experiments)
    table = tuning_table(source.report.name, source.experiment["title"], Tuning(fixed, tuned))
    return table, sections_of_runs(tuned)


def tuning_table(name: str, title: str, tuning: Tuning) -> Table:
    """Return a row for each method with parameters to tune, that which gains most first."""
    corrected = {judge: tuning.corrected(judge) for judge in ACCURACIES} if tuning.methods else {}
    parts = ["Defaults", "Tuned", "Difference", "Wins", "Losses", "p (Holm)"]
    last = ["Defaults", "Tuned", "Times", "Kept"]
    return Table(
        name,
        f"Tuned beside defaults: {title}",
        ["Method", *(part for _ in ACCURACIES for part in parts), *last],
        [[_row(tuning, method, corrected) for method in sorted(tuning.methods, key=lambda one: -_gain(tuning, one))]],
        [tuning_sentence(tuning), *_alike(tuning), _NOTE],
        groups=[[*(Group(JUDGES[judge], len(parts)) for judge in ACCURACIES), Group("CPU time", 3), Group("", 1)]],
    )


def tuning_sentence(tuning: Tuning) -> str:
    """Return for how many methods tuning pays by each accuracy, and what it costs."""
    if not tuning.methods:
        return "Does tuning pay? No method with parameters to tune has played by both rules."
    found = []
    for judge in ACCURACIES:
        clear = [name for name, p in tuning.corrected(judge).items() if p <= SIGNIFICANT]
        gaining, losing = ([one for one in clear if sign * _gain(tuning, one, [judge]) > 0] for sign in (1, -1))
        found.append(f"by {JUDGES[judge]} {_named(tuning, gaining, 'gain')} and {_named(tuning, losing, 'lose')}")
    times = [one for name in tuning.methods if np.isfinite(one := tuning.times_as_long(name))]
    many = counted(len(tuning.methods), "method")
    paid = f"Does tuning pay? Of {many} with parameters to tune, {'; '.join(found)} (signed ranks over data sets)."
    if not times:
        return paid
    least, middle, most = np.quantile(times, [0.0, 0.5, 1.0])
    return f"{paid} A fit takes {least:.3g} to {most:.3g} times as long, in the median {middle:.3g}."


def _named(tuning: Tuning, names: Sequence[str], verb: str) -> str:
    if not names:
        return f"none {verb}s"
    titles = "; ".join(tuning.league.title(one) for one in names)
    return f"{len(names)} {verb}{'s' if len(names) == 1 else ''} ({titles})"


def _alike(tuning: Tuning) -> list[str]:
    """Return the sentence on methods that play by both rules and have nothing to tune."""
    both = [name for name in tuning.tuned["method"].unique() if name in set(tuning.fixed["method"])]
    titles = [tuning.league.title(one) for one in both if one not in tuning.methods]
    return [f"Nothing to tune have {joined(titles)}."] if titles else []


def _gain(tuning: Tuning, method: str, judges: Sequence[str] = ACCURACIES) -> float:
    """Return tuned less default accuracy, mean over judges."""
    pairs = [tuning.means(judge, method) for judge in judges]
    return float(np.mean([tuned - fixed for fixed, tuned in pairs]))


def _row(tuning: Tuning, method: str, corrected: dict[str, dict[str, float]]) -> list[Entry]:
    numbers: list[Entry] = []
    for judge in ACCURACIES:
        (fixed, tuned), p = tuning.means(judge, method), corrected[judge][method]
        verdicts = tuning.verdicts(judge, method)
        wins, losses = (sum(one is verdict for one in verdicts) for verdict in (Verdict.WINS, Verdict.LOSES))
        row = [*entries([f"{fixed:.3f}", f"{tuned:.3f}", f"{tuned - fixed:+.3f}", wins, losses])]
        row.append(Entry(f"{p:.2g}", bold=p <= SIGNIFICANT))
        meant = f"{tuning.league.title(method)} by {JUDGES[judge]} over {counted(len(verdicts), 'cell')}"
        numbers += [replace(one, detail=meant) for one in row]
    return [Entry(tuning.league.title(method)), *leading_to(method, [*numbers, *_costs(tuning, method)])]


def _costs(tuning: Tuning, method: str) -> list[Entry]:
    """Return the CPU times, their ratio, and how often the defaults were kept."""
    seconds = [tuning.league.median_s(name) for name in (method, method + _TUNED)]
    rows = tuning.tuned[(tuning.tuned["method"] == method) & (tuning.tuned["status"] == Status.CONVERGED)]
    # What was not changed is not named.
    kept = float((rows["chosen"].fillna("") == "").mean())
    title, times, fits = tuning.league.title(method), tuning.times_as_long(method), counted(len(rows), "tuned fit")
    return [
        *(Entry("-" if np.isnan(one) else duration(one), one, detail=f"{title}: median CPU time") for one in seconds),
        Entry("-" if np.isnan(times) else f"{times:.3g}", times, detail=f"{title}: tuned over defaults"),
        Entry("-" if np.isnan(kept) else f"{100 * kept:.0f} %", kept, detail=f"{title}: of {fits}"),
    ]
