"""The methods of a league ranked, as its tables, its figure and its claims need them, and the sentences on wins."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
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
from kdrbench.suite.reports.records import read_arrays
from kdrbench.suite.reports.tables.table import Entry, entries
from kdrbench.suite.systems.league.scores import LOSS, SIGNIFICANT, WIN, Scores, critical_difference, not_different
from kdrbench.suite.systems.league.system import JUDGES

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

        The angle is the largest principal angle, in degrees. Where there is no folder of findings, there is none.
        """
        angles: dict[tuple[str, int], list[float]] = defaultdict(list)
        if self.findings is None:
            return angles
        for count in sorted(set(self.runs["n_components"])):
            runs = self.runs[self.runs["n_components"] == count].reset_index(drop=True)
            names = list(zip(runs["method"].astype(str), runs["dataset"].astype(str), strict=True))
            projections: dict[tuple[str, str], list[FloatArray]] = defaultdict(list)
            for place, projection in read_arrays(runs, self.findings, f"projection_{count}"):
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

    The basis of each span is made once, and pairs of the same ranks are one stack.
    """
    spans = [(one.shape, orth(one.astype(float))) for one in projections]
    stacks: dict[tuple[int, int], list[tuple[FloatArray, FloatArray]]] = defaultdict(list)
    for (shape, one), (other_shape, other) in combinations(spans, 2):
        if shape == other_shape and one.size and other.size:
            narrow, wide = sorted((one, other), key=lambda basis: basis.shape[1])
            stacks[narrow.shape[1], wide.shape[1]].append((narrow, wide))
    return [angle for pairs in stacks.values() for angle in _stacked_angles(*map(np.stack, zip(*pairs, strict=True)))]


def _stacked_angles(narrow: FloatArray, wide: FloatArray) -> list[float]:
    """Return the angles between the spans of pairs of orthonormal bases, by sines where those are more exact."""
    products = wide.swapaxes(1, 2) @ narrow
    cosines = np.linalg.svd(products, compute_uv=False)[:, -1]
    angles = np.arccos(np.minimum(cosines, 1.0))
    if (small := cosines >= np.sqrt(0.5)).any():
        rest = narrow[small] - wide[small] @ products[small]
        angles[small] = np.arcsin(np.minimum(np.linalg.svd(rest, compute_uv=False)[:, 0], 1.0))
    return list(np.rad2deg(angles).tolist())
