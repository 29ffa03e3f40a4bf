"""The methods of a league ranked: scores by cell, duels of two methods, ranks over data sets, and headlines.

A cell is a data set with a number of components. Its runs are repeated folds; the t test of a duel allows for their
overlapping training sets (:mod:`kdrbench.suite.paired`). A method that lacks a run has lost the cell. Ranks are of
scores n x k, a row a data set, higher is better: a missing score (NaN) ranks behind all others, and counts as 0 in
differences.

Source: Friedman, "The use of ranks to avoid the assumption of normality", 1937; Nemenyi, "Distribution-free multiple
comparisons", 1963; Demsar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7, 2006, section 3.2;
Efron, "Bootstrap methods: another look at the jackknife", 1979.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from string import ascii_letters

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.linalg import orth

from kdrbench.errors import count_of, counted, joined
from kdrbench.kernels.family import FloatArray
from kdrbench.status import Status
from kdrbench.suite.paired import corrected_t_interval, corrected_t_p, holm, signed_rank_p
from kdrbench.suite.reports.records import read_arrays
from kdrbench.suite.reports.tables.table import Entry, entries
from kdrbench.suite.systems.league.system import COMPARED_MAPS, JUDGES

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


# Whose wins the headlines count, InterpretableKDR first, and against whom.
KERNEL_PROJECTIONS = ("kdr_gaussian", "kdr_polynomial", "kdr_combination", "kernel_discriminant", "kpca_trick")
RIVALS = ("pls_da", "lda", "gradient_kdr")
ACCURACIES = ("knn_accuracy", "linear_accuracy")


@dataclass(frozen=True, eq=False)
class League:
    """The rows of an experiment, and the folder of the projections that its runs left."""

    runs: pd.DataFrame
    findings: Path | None = None

    @cached_property
    def scores(self) -> dict[str, Scores]:
        """The scores of each judge."""
        return {judge: Scores.of(self.runs, judge) for judge in JUDGES}

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods in the order of the experiment."""
        return tuple(map(str, self.runs["method"].unique()))

    @cached_property
    def controls(self) -> NDArray[np.bool_]:
        """Whether each method is a control."""
        from kdrbench.reduction.methods import METHODS

        return np.array([name in METHODS and METHODS[name].control for name in self.methods])

    def places(self, *, controls: bool) -> list[int]:
        """Return the places of the controls, or of all others."""
        return [int(place) for place in np.flatnonzero(self.controls == controls)]

    def mean_ranks(self, judge: str) -> FloatArray:
        """Return the mean rank of each method over data sets."""
        ranks: FloatArray = self.scores[judge].mean_ranks.mean(axis=0)
        return ranks

    @cached_property
    def overall(self) -> FloatArray:
        """Mean rank of each method over all judges and data sets, by which tables and figures are ordered."""
        overall: FloatArray = np.mean([self.mean_ranks(judge) for judge in JUDGES], axis=0)
        return overall

    @cached_property
    def order(self) -> list[int]:
        """Places of the methods, the best first."""
        return [int(place) for place in np.argsort(self.overall, kind="stable")]

    def median_s(self, method: str) -> float:
        """Return the median CPU seconds of tuning and fit, which other work on the machine does not change."""
        return float(self.runs.loc[self.runs["method"] == method, "cpu_s"].median())

    def difference(self, judge: str) -> float:
        """Return by how much two mean ranks must differ by Nemenyi's test."""
        n_sets, n_methods = self.scores[judge].mean_ranks.shape
        return critical_difference(n_methods, n_sets)

    def letters(self, judge: str) -> list[str]:
        """Return the letters of each method: two share one where Nemenyi's test finds no difference between them.

        Letters follow the mean ranks, so a method's are consecutive; more than two are written as a range.
        """
        means = self.mean_ranks(judge)
        groups = not_different(means, self.difference(judge))
        grouped = {place for first, last in groups for place in range(first, last + 1)}
        groups = sorted([*groups, *((place, place) for place in range(len(means)) if place not in grouped)])
        letters = [""] * len(means)
        for place, method in enumerate(np.argsort(means, kind="stable")):
            own = [ascii_letters[number] for number, (first, last) in enumerate(groups) if first <= place <= last]
            letters[method] = "".join(own) if len(own) < 3 else f"{own[0]}-{own[-1]}"
        return letters

    def ahead_of_all(self, judge: str) -> int | None:
        """Return the place of the method that Nemenyi's test tells apart from all others as the best, if any."""
        means = self.mean_ranks(judge)
        first, *others = (int(place) for place in np.argsort(means, kind="stable"))
        return first if others and means[others[0]] - means[first] > self.difference(judge) else None

    @cached_property
    def angles(self) -> dict[tuple[str, int], list[float]]:
        """By linear method and number of components: the median angle between two folds' projections, a data set each.

        The angle is the largest principal angle, in degrees. A cell's first three folds are compared, since a packed
        record may store no more. Where there is no folder of findings, there is none.
        """
        angles: dict[tuple[str, int], list[float]] = defaultdict(list)
        if self.findings is None:
            return angles
        for count in sorted(set(self.runs["n_components"])):
            runs = self.runs[self.runs["n_components"] == count].reset_index(drop=True)
            names = list(zip(runs["method"].astype(str), runs["dataset"].astype(str), strict=True))
            projections: dict[tuple[str, str], list[FloatArray]] = defaultdict(list)
            for place, projection in read_arrays(runs, self.findings, f"projection_{count}"):
                if len(projections[names[place]]) < COMPARED_MAPS:
                    projections[names[place]].append(projection)
            for (method, _), of_method in projections.items():
                if pairs := largest_angles(of_method):
                    angles[method, count].append(float(np.median(pairs)))
        return angles

    def median_angle(self, method: str) -> float:
        """Return the median over cells of the angle between two folds; NaN of a method that is not linear."""
        values = [angle for (name, _), angles in self.angles.items() if name == method for angle in angles]
        return float(np.median(values)) if values else float("nan")

    def playing(self, methods: Sequence[str]) -> list[str]:
        """Return those of the methods that play."""
        return [name for name in methods if name in self.methods]


def title_of(method: str) -> str:
    """Return a method's name as tables and figures print it."""
    from kdrbench.reduction.methods import METHODS

    return METHODS[method].title if method in METHODS else method


def headlines(league: League) -> list[str]:
    """Return in how many cells each kernel projection is better than each of its rivals, and worse than any.

    The cells are counted by each accuracy.
    """
    rivals, sentences = league.playing(RIVALS), []
    for method in league.playing(KERNEL_PROJECTIONS) if rivals else ():
        for judge in ACCURACIES:
            outcomes = league.scores[judge].outcomes(method, rivals)
            sentences.append(
                f"By {JUDGES[judge]}, {title_of(method)} is significantly better than each of "
                f"{joined([*map(title_of, rivals)])} in {count_of(outcomes.count(WIN))} of "
                f"{counted(len(outcomes), 'cell')}; in {count_of(outcomes.count(LOSS))} it is significantly worse than "
                "at least one of them."
            )
    return sentences


def leading_to(method: str, numbers: list[Entry], dataset: str = "") -> list[Entry]:
    """Return numbers by which a page finds the runs of a method, on all data sets or on one."""
    return [replace(number, axes=("", dataset, "", method)) for number in numbers]


def compared(texts: Sequence[str], outcomes: Sequence[int], p: float, detail: str) -> list[Entry]:
    """Return the numbers of a comparison over cells: ``texts``, wins, losses, and p, bold where significant."""
    shown = [*entries([*texts, outcomes.count(WIN), outcomes.count(LOSS)]), Entry(f"{p:.2g}", bold=p <= SIGNIFICANT)]
    return [replace(one, detail=f"{detail} over {counted(len(outcomes), 'cell')}") for one in shown]


def largest_angles(projections: Sequence[FloatArray]) -> list[float]:
    """Return the largest principal angle in degrees of each pair of d x q matrices that have the same shape.

    The basis of each span is made once.
    """
    spans = [(one.shape, orth(one.astype(float))) for one in projections]
    return [
        _largest_angle(*sorted((one, other), key=lambda basis: basis.shape[1]))
        for (shape, one), (other_shape, other) in combinations(spans, 2)
        if shape == other_shape and one.size and other.size
    ]


def _largest_angle(narrow: FloatArray, wide: FloatArray) -> float:
    """Return the angle between the spans of two orthonormal bases, by its sine where that is more exact."""
    products = wide.T @ narrow
    cosine = np.linalg.svd(products, compute_uv=False)[-1]
    angle = np.arccos(min(cosine, 1.0))
    if cosine >= np.sqrt(0.5):
        angle = np.arcsin(min(np.linalg.svd(narrow - wide @ products, compute_uv=False)[0], 1.0))
    return float(np.rad2deg(angle))
