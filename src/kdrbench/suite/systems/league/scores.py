"""The scores of a league by cell, the duels of two methods, and ranks over data sets.

A cell is a data set with a number of components. Its runs are repeated folds; the t test of a duel allows for their
overlapping training sets (:mod:`kdrbench.suite.paired`). A method that lacks a run has lost the cell. Ranks are of
scores n x k, a row a data set, higher is better: a missing score (NaN) ranks behind all others, and counts as 0 in
differences.

Source: Friedman, "The use of ranks to avoid the assumption of normality", 1937; Nemenyi, "Distribution-free multiple
comparisons", 1963; Demsar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7, 2006, section 3.2;
Efron, "Bootstrap methods: another look at the jackknife", 1979.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from kdrbench.kernels.family import FloatArray
from kdrbench.status import Status
from kdrbench.suite.paired import corrected_t_interval, corrected_t_p, holm, signed_rank_p

Cell = tuple[str, int]
SIGNIFICANT = 0.05
# How a method does in a cell.
WIN, LOSS, NEITHER = 1, -1, 0
_DRAWS = 2000


@dataclass(frozen=True, eq=False)
class Scores:
    """One judge's scores: a table (methods x runs) for each cell, NaN where a method has none.

    ``test_shares`` are n_test / n_train by cell.
    """

    methods: tuple[str, ...]
    cells: Mapping[Cell, FloatArray]
    test_shares: Mapping[Cell, float]

    @classmethod
    def of(cls, rows: pd.DataFrame, judge: str) -> Scores:
        """Return the scores of a judge; a row that did not converge has none."""
        methods = tuple(map(str, rows["method"].unique()))
        score = rows[judge].astype(float).where(rows["status"] == Status.CONVERGED)
        rows = rows[["dataset", "n_components", "method", "run", "n_test", "n_train"]].assign(score=score)
        cells: dict[Cell, FloatArray] = {}
        shares: dict[Cell, float] = {}
        for axes, cell in rows.groupby(["dataset", "n_components"], sort=False):
            key = str(axes[0]), int(cell["n_components"].iloc[0])
            table = cell.pivot(index="method", columns="run", values="score").reindex(methods)
            cells[key] = np.ascontiguousarray(table.to_numpy())
            if len(scored := cell[cell["score"].notna()]):
                shares[key] = float(scored["n_test"].iloc[-1]) / float(scored["n_train"].iloc[-1])
        return cls(methods, cells, shares)

    @cached_property
    def means(self) -> FloatArray:
        """Mean scores, a row a cell and a column a method; NaN where a run is missing: that cell is lost."""
        return np.array([table.mean(axis=1) for table in self.cells.values()])

    @cached_property
    def mean_ranks(self) -> FloatArray:
        """Mean ranks by data set (n x k) over its numbers of components."""
        return self._by_dataset(ranks_of(self.means))

    @cached_property
    def dataset_means(self) -> FloatArray:
        """Mean scores by data set (n x k) over its numbers of components; NaN where any of them is lost."""
        return self._by_dataset(self.means)

    def _by_dataset(self, values: FloatArray) -> FloatArray:
        names = np.array([name for name, _ in self.cells])
        return np.array([values[names == name].mean(axis=0) for name in dict.fromkeys(names.tolist())])

    def n_lost(self, method: str) -> int:
        """Return in how many cells a method lacks a run."""
        return int(np.isnan(self.means[:, self.methods.index(method)]).sum())

    def duel(self, cell: Cell, first: str, second: str) -> Duel:
        """Return the duel of two methods in a cell."""
        table = self.cells[cell]
        one, other = (table[self.methods.index(name)] for name in (first, second))
        return duel_of(one, other, self.test_shares.get(cell, 0.0))

    def outcomes(self, method: str, rivals: Sequence[str]) -> list[int]:
        """Return how a method does in each cell against all of its rivals."""
        return [outcome_of([self.duel(cell, method, rival) for rival in rivals]) for cell in self.cells]


@dataclass(frozen=True)
class Duel:
    """The first method's scores less the second's over the runs of a cell.

    ``difference`` is their mean with its 95 % interval from ``low`` to ``high``; ``effect`` is that mean over the
    standard deviation of the differences, infinite where all are equal. ``p`` is two-sided. ``lost`` is -1 where the
    first method is missing in a run, 1 where the second is, 0 where both are or none.
    """

    difference: float
    low: float
    high: float
    effect: float
    p: float
    lost: int = 0


def duel_of(first: FloatArray, second: FloatArray, test_share: float) -> Duel:
    """Return the duel of two methods by their scores in the same runs; missing ones are NaN and count as 0.

    ``test_share`` is n_test / n_train.
    """
    lost = int(np.isnan(second).any()) - int(np.isnan(first).any())
    differences = np.nan_to_num(first, nan=0.0) - np.nan_to_num(second, nan=0.0)
    mean, p = float(differences.mean()), corrected_t_p(differences, test_share)
    spread = float(differences.std(ddof=1)) if len(differences) > 1 else 0.0
    effect = mean / spread if spread > 0 else float(np.sign(mean) * np.inf) if mean else 0.0
    return Duel(mean, *corrected_t_interval(differences, test_share), effect, 1.0 if p is None else p, lost)


def outcome_of(duels: Sequence[Duel]) -> int:
    """Return how a method does against all rivals of a cell, p values corrected by Holm over them.

    It wins where it is significantly better than each, and loses where it is significantly worse than any.
    """
    corrected = holm([duel.p for duel in duels])
    outcomes = [
        duel.lost or (int(np.sign(duel.difference)) if p <= SIGNIFICANT else NEITHER)
        for duel, p in zip(duels, corrected, strict=True)
    ]
    return min(outcomes, default=NEITHER)


def ranks_of(scores: FloatArray) -> FloatArray:
    """Return the ranks of each row, 1 for the highest score; ties share their mean rank, and lost ones the last."""
    return pd.DataFrame(scores).rank(axis=1, ascending=False, na_option="bottom").to_numpy()


def friedman(scores: FloatArray) -> tuple[float, float]:
    """Return Friedman's chi-squared, corrected for ties, and its p: whether k methods have one mean rank over n sets.

    Needs three methods; where all are alike on every data set, 0 and 1.
    """
    from scipy.stats import friedmanchisquare

    if not np.ptp(scores, axis=1).any():
        return 0.0, 1.0
    found = friedmanchisquare(*scores.T)
    return float(found.statistic), float(found.pvalue)


def critical_difference(n_methods: int, n_sets: int) -> float:
    """Return by how much two mean ranks must differ by Nemenyi's test at 5 %: q sqrt(k (k + 1) / (6 n)).

    q is the upper quantile of the studentised range of k normal values, over sqrt(2).
    """
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(1.0 - SIGNIFICANT, n_methods, np.inf)) / np.sqrt(2.0)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_sets)))


def not_different(mean_ranks: Sequence[float] | FloatArray, difference: float) -> list[tuple[int, int]]:
    """Return first and last place, by ascending mean rank, of each largest group within the critical difference."""
    ordered = np.sort(np.asarray(mean_ranks, dtype=float))
    groups: list[tuple[int, int]] = []
    for first, lowest in enumerate(ordered):
        last = int(np.searchsorted(ordered, lowest + difference, side="right")) - 1
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return groups


def bootstrap_mean_ranks(ranks: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return the 95 % intervals (k x 2) of mean ranks: percentiles over data sets drawn with replacement."""
    drawn = rng.integers(len(ranks), size=(_DRAWS, len(ranks)))
    intervals: FloatArray = np.quantile(ranks[drawn].mean(axis=1), [0.025, 0.975], axis=0).T
    return intervals


def wilcoxon_holm(scores: FloatArray, pairs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], float]:
    """Return by pair of methods the p value of Wilcoxon's signed ranks over data sets, corrected over the pairs."""
    filled = np.nan_to_num(scores, nan=0.0)
    corrected = holm([signed_rank_p(filled[:, one] - filled[:, other]) for one, other in pairs])
    return dict(zip(pairs, corrected, strict=True))
