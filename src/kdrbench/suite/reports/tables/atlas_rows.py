"""The rows and optima of an atlas as its table and its figure read them, and the sentences on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kdrbench.errors import count_of, counted
from kdrbench.kernels.family import FloatArray
from kdrbench.suite.reports.optima import LEAST_SHARE, Charted, one_row_a_run, read_charts
from kdrbench.suite.reports.records import Config
from kdrbench.suite.reports.tables.labels import method_label
from kdrbench.suite.reports.tables.published_numbers import (
    PublishedNumber,
    find_published,
    printed_table,
    published_name,
)
from kdrbench.suite.reports.tables.significance import clopper_pearson

# Of the optima that are sought again this share should be found.
_GOAL = 0.95
# The method whose printed costs are compared with the best known.
PAPERS_METHOD = "ism"
CELL = ["dataset", "cells_of", "kernel"]


@dataclass(frozen=True, eq=False)
class AtlasCell:
    """The rows of one cell: a data set and a kernel of the experiment ``cells_of``."""

    dataset: str
    cells_of: str
    kernel: str
    rows: pd.DataFrame
    charted: list[Charted]

    @cached_property
    def n_problems(self) -> int:
        """Number of problems: folds, or one on all rows."""
        return int(self.rows["problem"].nunique())

    @cached_property
    def best_costs(self) -> pd.Series:
        """The best cost known of each problem that has one, by its hash."""
        return self.rows.groupby("problem", sort=False)["best_cost"].min().dropna()

    @cached_property
    def best_qualities(self) -> pd.Series:
        """What the best optimum of each problem is worth on test samples, or as a clustering; by the problem's hash."""
        lowest = self.rows.sort_values("best_cost", kind="stable").drop_duplicates("problem").set_index("problem")
        return lowest["best_quality"].dropna()

    @property
    def quality_word(self) -> str:
        """What qualities of the cell are."""
        return "accuracy" if self.rows["paradigm"].iloc[0] == "supervised" else "NMI"

    def fold_of(self, charted: Charted) -> int:
        """Return the number of a chart's problem in the experiment that it is of."""
        return int(self.rows.loc[self.rows["problem"] == charted.problem, "problem_run"].iloc[0])

    def of(self, method: str) -> pd.DataFrame:
        """Return the rows of a solver."""
        return self.rows[self.rows["method"] == method]

    def share_of_best(self) -> float:
        """Return the share of certified ends of random starts that are the best of their run; NaN without any."""
        at_best = sum(float(one.shares[0] @ self._n_ended(one)) for one in self.charted)
        n_certified = float(self.rows["n_certified"].sum())
        return at_best / n_certified if n_certified else float("nan")

    def _n_ended(self, charted: Charted) -> FloatArray:
        same = (self.rows["problem"] == charted.problem) & (self.rows["draw"] == charted.draw)
        return self.rows.loc[same, "n_ended"].to_numpy(dtype=float)

    def found_again(self) -> tuple[int, int]:
        """Return how many optima of each draw are found in the next one too, and of how many."""
        places = {(one.problem, one.draw): one for one in self.charted}
        pairs = [(one, places.get((one.problem, one.draw + 1))) for one in self.charted]
        counts = [one.found_again(other) for one, other in pairs if other is not None]
        return sum(found for found, _ in counts), sum(wanted for _, wanted in counts)

    def ranked(self) -> pd.DataFrame:
        """Return the runs of the papers' method whose ends differ in cost and quality: tau with its interval."""
        return self.of(PAPERS_METHOD)[["tau", "tau_low", "tau_high"]].dropna()

    def correlation(self) -> tuple[float, float, float] | None:
        """Return the mean over runs of Kendall's tau of cost and quality over ends, with its 95 % interval.

        Runs draw starts of their own, so squares of their half widths h add up: that of k runs is sqrt(sum h^2) / k.
        """
        runs = self.ranked()
        if runs.empty:
            return None
        mean, half = float(runs["tau"].mean()), float(np.linalg.norm(runs["tau_high"] - runs["tau_low"]))
        return mean, max(-1.0, mean - half / 2 / len(runs)), min(1.0, mean + half / 2 / len(runs))

    @property
    def largest_range(self) -> float:
        """By how much the qualities of the papers' method's ends differ in one run at most; NaN where none is known."""
        rows = self.of(PAPERS_METHOD)
        return float((rows["highest_quality"] - rows["lowest_quality"]).max())

    def printed(self, config: Config) -> PublishedNumber | None:
        """Return the cost that the paper prints for ISM in this cell, if it prints a number."""
        table = printed_table(config["experiments"][self.cells_of])
        if table is None:
            return None
        names = {"dataset": self.dataset, "kernel": self.kernel, "method": PAPERS_METHOD}
        axes = {axis: published_name(axis, name) for axis, name in names.items()}
        found = find_published(**table, **axes, metric="cost")
        return found if found is not None and found.value is not None else None

    def printed_gap(self, config: Config) -> float:
        """Return how far the printed cost is above the mean of the best ones known, relative to it; NaN without one."""
        printed = self.printed(config)
        if printed is None or printed.value is None or self.best_costs.empty:
            return float("nan")
        mean = float(self.best_costs.mean())
        return (printed.value - mean) / abs(mean)


def cells_of_atlas(runs: pd.DataFrame, findings: Path) -> list[AtlasCell]:
    """Return the cells, those of a data set and a setting together, in the order in which rows name them first."""
    charted: dict[tuple[Any, ...], list[Charted]] = {}
    for key, one in _charted(one_row_a_run(runs), findings):
        charted.setdefault(key, []).append(one)
    cells = [
        AtlasCell(str(dataset), str(cells_of), str(kernel), rows, charted.get((dataset, cells_of, kernel), []))
        for (dataset, cells_of, kernel), rows in runs.groupby(CELL, sort=False)
    ]
    datasets, settings = (list(runs[name].unique()) for name in CELL[:2])
    return sorted(cells, key=lambda one: (datasets.index(one.dataset), settings.index(one.cells_of)))


def _charted(rows: pd.DataFrame, findings: Path) -> Iterator[tuple[tuple[Any, ...], Charted]]:
    for place, optima, columns in read_charts(rows, findings):
        row = rows.iloc[place]
        key = tuple(row[name] for name in CELL)
        costs, qualities, shares = columns[:, 0], columns[:, 1], columns[:, 2:]
        yield key, Charted(str(row["problem"]), int(row["draw"]), optima, costs, qualities, shares)


def sentences(cells: list[AtlasCell], config: Config) -> list[str]:
    """Return the answers to the three questions of an atlas, whatever they say, and if its optima are found again."""
    return [_one_start(cells), _printed(cells, config), _accuracy(cells), _again(cells)]


def _one_start(cells: list[AtlasCell]) -> str:
    rows = pd.concat([cell.of(PAPERS_METHOD) for cell in cells])
    ended = rows.dropna(subset=["share_near_best"])
    n_starts = int(ended["n_ended"].sum())
    if not n_starts:
        return (
            "How often does one start of ISM find the best? No start of ISM has come to an end beside a known optimum."
        )
    near, at = ((ended[name] * ended["n_ended"]).sum() / n_starts for name in ("share_near_best", "share_at_best"))
    leading = ended.drop_duplicates("problem")["leading_gap"]
    return (
        f"How often does one start of ISM find the best? Of {counted(n_starts, 'random start')} {100 * near:.1f} % end "
        f"within 0.1 % of the best cost known and {100 * at:.1f} % within 1 degree of its projection; in the median a "
        f"start ends {100 * ended['median_gap'].median():.2g} % above, at worst "
        f"{100 * ended['largest_gap'].max():.2g} %. From the papers' start it ends within 0.1 % on "
        f"{(leading <= 1e-3).sum()} of {counted(len(leading), 'problem')}."
    )


def _printed(cells: list[AtlasCell], config: Config) -> str:
    gaps = np.array([gap for cell in cells if np.isfinite(gap := cell.printed_gap(config))])
    if not gaps.size:
        return "How far below is the published optimum? No cost is printed for these cells."
    return (
        f"How far from the best is the published optimum? In {counted(len(gaps), 'cell')} with a printed cost of "
        f"ISM it is {100 * gaps.min():+.1f} % to {100 * gaps.max():+.1f} % above the best known, "
        f"{100 * np.median(gaps):+.1f} % in the median; where it is below, the paper's data or protocol are "
        "not those of the cell."
    )


def _accuracy(cells: list[AtlasCell]) -> str:
    charted = [one for cell in cells for one in cell.charted]
    # Of several draws the first.
    several = {one.problem: one for one in reversed(charted) if len(one.costs) > 1}
    problems = {one.problem for one in charted}
    words = (
        f"Does lower cost mean better accuracy? {len(several)} of {counted(len(problems), 'problem')} "
        f"{'has' if len(problems) == 1 else 'have'} more than one certified optimum"
    )
    if several:
        leads = np.array([one.lead for one in several.values()])
        better, equal, worse = (count_of(int(found.sum())) for found in (leads > 0, leads == 0, leads < 0))
        words += (
            f"; there the one of lowest cost is more accurate than the others in {better}, as accurate as the best of "
            f"them in {equal} and less accurate in {worse}"
        )
    return f"{words}. {_ranked(cells)}"


def _ranked(cells: list[AtlasCell]) -> str:
    """Return in how many cells lower cost goes with higher quality over the ends of random starts, or with lower."""
    found = [one for cell in cells if (one := cell.correlation()) is not None]
    first = (
        f"Over ends of random starts of {method_label(PAPERS_METHOD)}, certified or not, cost and quality both differ"
    )
    if not found:
        return f"{first} in no cell."
    better, worse = count_of(sum(high < 0 for *_, high in found)), count_of(sum(low > 0 for _, low, _ in found))
    apart = np.nanmax([cell.largest_range for cell in cells])
    return (
        f"{first} in {len(found)} of {counted(len(cells), 'cell')}: lower cost is better in {better} and worse in "
        f"{worse} (95 % intervals of Kendall's tau); qualities of one draw are at most {apart:.3f} apart."
    )


def _again(cells: list[AtlasCell]) -> str:
    found, wanted = (sum(numbers) for numbers in zip(*(cell.found_again() for cell in cells), strict=True))
    if not wanted:
        return "Are the optima found again? There is no second draw of starts to seek them in."
    low, high = clopper_pearson(found, wanted)
    return (
        f"Are the optima found again? Of {wanted} that more than {100 * LEAST_SHARE:.0f} % of a solver's starts "
        f"reach, other seeds find {found}: {100 * found / wanted:.1f} % ({100 * low:.1f} to {100 * high:.1f}); the "
        f"goal is {100 * _GOAL:.0f} %."
    )
