"""The rows of a league as scores, the duels of two methods, and ranks over data sets.

Scores are by cell (a data set with a number of components), method and run. Runs are repeated folds; the t test of a
duel allows for their overlapping training sets (:mod:`.paired`). A method that is missing in a run has lost the cell.
Ranks are of scores n x k, a row a data set, higher is better: a missing score (NaN) ranks behind all others, and counts
as 0 in differences.

Source: Friedman, "The use of ranks to avoid the assumption of normality", 1937; Iman and Davenport, "Approximations of
the critical region of the Friedman statistic", 1980; Nemenyi, "Distribution-free multiple comparisons", 1963; Demsar,
"Statistical comparisons of classifiers over multiple data sets", JMLR 7, 2006, section 3.2; Efron, "Bootstrap methods:
another look at the jackknife", 1979.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, fdtrc

from kdrbench.errors import InputError, count_of, counted
from kdrbench.kernels.family import FloatArray
from kdrbench.status import Status
from kdrbench.suite.paired import corrected_t_interval, corrected_t_p, holm, signed_rank_p

Cell = tuple[str, int]
SIGNIFICANT = 0.05
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
    def of(cls, rows: Iterable[Mapping[str, Any]], judge: str) -> Scores:
        """Return the scores of a judge; a row that did not converge has none, whatever it says."""
        found: dict[Cell, dict[tuple[str, int], float]] = defaultdict(dict)
        runs: dict[Cell, set[int]] = defaultdict(set)
        methods: dict[str, None] = {}
        shares: dict[Cell, float] = {}
        for row in rows:
            cell, run, method = (str(row["dataset"]), int(row["n_components"])), int(row["run"]), str(row["method"])
            methods.setdefault(method)
            runs[cell].add(run)
            score = row.get(judge)
            if row["status"] == Status.CONVERGED and score is not None:
                found[cell][method, run] = float(score)
                shares[cell] = float(row["n_test"]) / float(row["n_train"])
        names = tuple(methods)
        cells = {
            cell: np.array([[found[cell].get((name, run), np.nan) for run in sorted(numbers)] for name in names])
            for cell, numbers in runs.items()
        }
        return cls(names, cells, shares)

    @cached_property
    def means(self) -> FloatArray:
        """Mean scores, a row a cell and a column a method; NaN where a run is missing: that cell is lost."""
        return np.array([table.mean(axis=1) for table in self.cells.values()])

    @property
    def datasets(self) -> list[str]:
        """The data sets in the order of their cells."""
        return list(dict.fromkeys(name for name, _ in self.cells))

    def mean_ranks(self, n_components: int | None = None) -> FloatArray:
        """Return the mean ranks by data set (n x k) over its numbers of components, or with one of them alone."""
        ranks, chosen = ranks_of(self.means), []
        for name in self.datasets:
            places = [
                place
                for place, (dataset, count) in enumerate(self.cells)
                if dataset == name and n_components in (None, count)
            ]
            if places:
                chosen.append(ranks[places].mean(axis=0))
        return np.array(chosen)

    def by_dataset(self) -> FloatArray:
        """Return the mean scores by data set (n x k) over its numbers of components; NaN where any of them is lost."""
        rows = [[place for place, (name, _) in enumerate(self.cells) if name == one] for one in self.datasets]
        return np.array([self.means[places].mean(axis=0) for places in rows])

    def n_lost(self, method: str) -> int:
        """Return in how many cells a method lacks a run."""
        return int(np.isnan(self.means[:, self.methods.index(method)]).sum())

    def duel(self, cell: Cell, first: str, second: str) -> Duel:
        """Return the duel of two methods in a cell."""
        table = self.cells[cell]
        one, other = (table[self.methods.index(name)] for name in (first, second))
        return duel_of(one, other, self.test_shares.get(cell, 0.0))

    def verdicts(self, method: str, rivals: Sequence[str]) -> list[Verdict]:
        """Return how a method does in each cell against all of its rivals."""
        return [verdict_of([self.duel(cell, method, rival) for rival in rivals]) for cell in self.cells]


class Verdict(StrEnum):
    """How a method does in a cell against all its rivals."""

    WINS = "wins"
    LOSES = "loses"
    NEITHER = "neither"


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

    def outcome(self, p: float) -> int:
        """Return 1 where the first method wins, -1 where it loses, 0 where ``p``, the corrected value, says neither."""
        return self.lost or (int(np.sign(self.difference)) if p <= SIGNIFICANT else 0)


def duel_of(first: FloatArray, second: FloatArray, test_share: float) -> Duel:
    """Return the duel of two methods by their scores in the same runs; missing ones are NaN and count as 0.

    ``test_share`` is n_test / n_train.
    """
    lost = int(np.isnan(second).any()) - int(np.isnan(first).any())
    differences = np.nan_to_num(first, nan=0.0) - np.nan_to_num(second, nan=0.0)
    mean, p = float(differences.mean()), corrected_t_p(differences, test_share)
    interval = corrected_t_interval(differences, test_share)
    return Duel(mean, *interval, effect_size(differences), 1.0 if p is None else p, lost)


def effect_size(differences: FloatArray) -> float:
    """Return the mean of paired differences over their standard deviation; infinite where all are equal and not 0."""
    mean, spread = float(differences.mean()), float(differences.std(ddof=1)) if len(differences) > 1 else 0.0
    return mean / spread if spread > 0 else float(np.sign(mean) * np.inf) if mean else 0.0


def verdict_of(duels: Sequence[Duel]) -> Verdict:
    """Return how a method does against all rivals of a cell, p values corrected by Holm over them.

    It wins where it is significantly better than each, and loses where it is significantly worse than any.
    """
    corrected = holm([duel.p for duel in duels])
    outcomes = [duel.outcome(p) for duel, p in zip(duels, corrected, strict=True)]
    if -1 in outcomes:
        return Verdict.LOSES
    return Verdict.WINS if outcomes and min(outcomes) > 0 else Verdict.NEITHER


def headline(subject: str, rivals: Sequence[str], verdicts: Sequence[Verdict], judge: str) -> str:
    """Return the sentence that the league exists for, with its counts, whatever they are."""
    wins, loses = (sum(one is verdict for one in verdicts) for verdict in (Verdict.WINS, Verdict.LOSES))
    names = f"{', '.join(rivals[:-1])} and {rivals[-1]}" if len(rivals) > 1 else rivals[0]
    each = "each of " if len(rivals) > 1 else ""
    any_of = "at least one of them" if len(rivals) > 1 else "it"
    return (
        f"By {judge}, {subject} is significantly better than {each}{names} in {count_of(wins)} of "
        f"{counted(len(verdicts), 'cell')}; in {count_of(loses)} it is significantly worse than {any_of}."
    )


@dataclass(frozen=True)
class Friedman:
    """Friedman's chi-squared with its p value, and Iman and Davenport's F, which is less conservative, with its own."""

    chi_squared: float
    p: float
    f: float
    p_f: float


def ranks_of(scores: FloatArray) -> FloatArray:
    """Return the ranks of each row, 1 for the highest score; ties share their mean rank, and lost ones the last."""
    scores = _checked(scores)
    filled = np.where(np.isnan(scores), -np.inf, scores)
    before, behind = filled[:, None, :], filled[:, :, None]
    ranks: FloatArray = (before > behind).sum(axis=2) + 0.5 * ((before == behind).sum(axis=2) + 1)
    return ranks


def friedman(scores: FloatArray) -> Friedman:
    """Return the test that all methods have the same mean rank, with ties as they are.

    chi^2 = (k - 1) sum_j (R_j - n (k + 1) / 2)^2 / (sum_ij r_ij^2 - n k (k + 1)^2 / 4), R_j the sums of ranks;
    F = (n - 1) chi^2 / (n (k - 1) - chi^2). Raises ``InputError`` for fewer than two rows or methods.
    """
    ranks = ranks_of(scores)
    n, k = ranks.shape
    if n < 2 or k < 2:
        raise InputError(f"Friedman's test needs two data sets and two methods at least; got {n} and {k}")
    spread = float((ranks**2).sum()) - n * k * (k + 1) ** 2 / 4
    if spread <= 0:
        return Friedman(0.0, 1.0, 0.0, 1.0)
    chi = (k - 1) * float(((ranks.sum(axis=0) - n * (k + 1) / 2) ** 2).sum()) / spread
    left = n * (k - 1) - chi
    # All rows agree: no F is as large, up to rounding.
    f = (n - 1) * chi / left if left > 1e-9 * n * k else np.inf
    p_f = float(fdtrc(k - 1, (k - 1) * (n - 1), f)) if np.isfinite(f) else 0.0
    return Friedman(chi, float(chdtrc(k - 1, chi)), float(f), p_f)


def critical_difference(n_methods: int, n_sets: int, level: float = 0.05) -> float:
    """Return by how much two mean ranks must differ by Nemenyi's test: q sqrt(k (k + 1) / (6 n)).

    q is the upper quantile of the studentised range of k normal values, over sqrt(2).
    """
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(1.0 - level, n_methods, np.inf)) / np.sqrt(2.0)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_sets)))


def not_different(mean_ranks: Sequence[float], difference: float) -> list[tuple[int, int]]:
    """Return first and last place, by ascending mean rank, of each largest group within the critical difference."""
    ordered = np.sort(np.asarray(mean_ranks, dtype=float))
    groups: list[tuple[int, int]] = []
    for first, lowest in enumerate(ordered):
        last = int(np.searchsorted(ordered, lowest + difference, side="right")) - 1
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return groups


def bootstrap_mean_ranks(ranks: FloatArray, rng: np.random.Generator, n_draws: int = _DRAWS) -> FloatArray:
    """Return the 95 % intervals (k x 2) of mean ranks: percentiles over data sets drawn with replacement."""
    drawn = rng.integers(len(ranks), size=(n_draws, len(ranks)))
    means = ranks[drawn].mean(axis=1)
    intervals: FloatArray = np.quantile(means, [0.025, 0.975], axis=0).T
    return intervals


def wilcoxon_holm(scores: FloatArray, pairs: Sequence[tuple[int, int]] = ()) -> dict[tuple[int, int], float]:
    """Return by pair of methods the p value of Wilcoxon's signed ranks over data sets, corrected over the pairs.

    All pairs are tested where none are named.
    """
    filled = np.nan_to_num(_checked(scores), nan=0.0)
    pairs = pairs or list(combinations(range(filled.shape[1]), 2))
    corrected = holm([signed_rank_p(filled[:, one] - filled[:, other]) for one, other in pairs])
    return dict(zip(pairs, corrected, strict=True))


def controls_ahead(mean_ranks: Sequence[float], controls: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return each method with a control whose mean rank is as good or better: in a sound league there is none."""
    return [
        (method, control)
        for method in np.flatnonzero(~controls).tolist()
        for control in np.flatnonzero(controls).tolist()
        if mean_ranks[control] <= mean_ranks[method]
    ]


def _checked(scores: FloatArray) -> FloatArray:
    values = np.asarray(scores, dtype=float)
    if values.ndim != 2 or not values.size:
        raise InputError(f"scores must be a row a data set and a column a method; got shape {values.shape}")
    return values
