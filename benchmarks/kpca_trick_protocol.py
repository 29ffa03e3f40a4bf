"""One random split of Tables 1 to 3 of the KPCA trick: nine methods, timed, as rows of plain numbers.

What depends only on the split and the kernel is computed once for all learners: squared distances, kernel matrices,
folds and KPCA coordinates. Each method's times hold all that it would need alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from kdrbench.bench.seeds import rng_of
from kdrbench.datasets import Dataset
from kdrbench.kernels import Combination, Gaussian, Polynomial
from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning import (
    LEARNERS,
    AnyKernel,
    SamplePairs,
    aligned_kernel,
    best_of,
    build_learner,
    gaussian_grid,
    kernel_pca,
    polynomial_grid,
    stratified_folds,
)
from kdrbench.metric_learning.neighbours import IntArray
from kdrbench.metric_learning.selection import Part, fold_parts

DATASETS = ("balance", "breast", "glass", "ionosphere", "iris", "musk2", "pima", "satellite", "yeast", "m-usps")
# The paper's three, and alignment of centred kernels, with the prefixes of their names.
VARIANTS = {"plain": "", "cross_validated": "k", "aligned": "ak", "centred": "cak"}
N_FOLDS = 5
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Row:
    """One method on one split. Times are CPU seconds: of choosing the kernel, and of learning with it.

    ``test_selected`` holds the accuracies of all kernels of the grid, or nothing: what choosing by the test set gives.
    """

    dataset: str
    split: int
    learner: str
    variant: str
    accuracy: float
    tuning_cpu_s: float
    learning_cpu_s: float
    kernel: str
    n_coordinates: int
    n_train: int
    n_test: int
    test_selected: tuple[float, ...] = ()


def n_training(dataset: str) -> int:
    """Return 100 for Glass and Iris, 200 otherwise."""
    return 100 if dataset in ("glass", "iris") else 200


def grid_of(dataset: str, n_features: int) -> list[AnyKernel]:
    """Return degrees 1 to 5 for m-USPS, 21 bandwidths otherwise."""
    return polynomial_grid() if dataset == "m-usps" else gaussian_grid(n_features)


@dataclass(frozen=True)
class Split:
    """Training and test samples of one draw, without stratification, and what all kernels need of their pairs."""

    train: FloatArray
    train_codes: IntArray
    test: FloatArray
    test_codes: IntArray
    pairs: SamplePairs
    test_pairs: SamplePairs

    def part(self, kernel: AnyKernel) -> Part:
        """Return both sets in the coordinates of the kernel."""
        gram = self.pairs.gram(kernel, up_to_constant=True)
        coordinates = kernel_pca(gram)
        test = coordinates.transform(self.test_pairs.gram(kernel, up_to_constant=True))
        return Part(coordinates.transform(gram), self.train_codes, test, self.test_codes)

    def plain(self) -> Part:
        """Return both sets as they are."""
        return Part(self.train, self.train_codes, self.test, self.test_codes)


def draw_split(dataset: Dataset, number: int) -> Split:
    """Return split ``number`` of the data set; it depends on nothing else."""
    order = rng_of("kpca_trick split", dataset.name, number).permutation(len(dataset.labels))
    chosen, rest = np.split(order, [n_training(dataset.name)])
    train, test = dataset.features[chosen], dataset.features[rest]
    pairs, test_pairs = SamplePairs(train, train), SamplePairs(test, train)
    return Split(train, dataset.labels[chosen], test, dataset.labels[rest], pairs, test_pairs)


def run_split(
    dataset: Dataset, number: int, *, learners: Sequence[str] = tuple(LEARNERS), test_selected: bool = False
) -> list[Row]:
    """Return the rows of one split: each learner plain, with the aligned kernels, and with that of its validation."""
    split, grid = draw_split(dataset, number), grid_of(dataset.name, dataset.features.shape[1])
    base = Row(dataset.name, number, "", "", 0.0, 0.0, 0.0, "", 0, len(split.train), len(split.test))
    rows = [_learned(replace(base, learner=name, variant="plain"), split.plain()) for name in learners]
    for variant, centred in (("aligned", False), ("centred", True)):
        rows += _aligned(split, grid, replace(base, variant=variant), learners, centred=centred)
    return rows + _cross_validated(split, grid, base, learners, test_selected)


def _aligned(
    split: Split, grid: Sequence[AnyKernel], base: Row, learners: Sequence[str], *, centred: bool
) -> list[Row]:
    (kernel, _), seconds = _timed(
        lambda: aligned_kernel(grid, split.pairs, split.train_codes, centred=centred)  # type: ignore[arg-type]
    )
    part, preparing = _timed(lambda: split.part(kernel))
    row = replace(base, kernel=describe(kernel, split.pairs.n_features))
    row = replace(row, tuning_cpu_s=seconds, learning_cpu_s=preparing)
    return [_learned(replace(row, learner=name), part) for name in learners]


def _cross_validated(
    split: Split, grid: Sequence[AnyKernel], base: Row, learners: Sequence[str], test_selected: bool
) -> list[Row]:
    rng = rng_of("kpca_trick folds", base.dataset, base.split)
    folds = stratified_folds(split.train_codes, N_FOLDS, rng)
    accuracies = np.zeros((len(learners), len(grid), N_FOLDS))
    seconds = np.zeros(len(learners))
    for place, kernel in enumerate(grid):
        before = time.process_time()
        for fold, part in enumerate(fold_parts(kernel, split.pairs, split.train_codes, folds)):
            seconds += time.process_time() - before
            for number, name in enumerate(learners):
                accuracies[number, place, fold], spent = _timed(lambda n=name, p=part: p.accuracy(build_learner(n)))
                seconds[number] += spent
            before = time.process_time()
    rows = []
    for number, name in enumerate(learners):
        kernel = grid[best_of(accuracies[number])]
        part, preparing = _timed(lambda k=kernel: split.part(k))
        row = replace(base, learner=name, variant="cross_validated", kernel=describe(kernel, split.pairs.n_features))
        row = replace(row, tuning_cpu_s=float(seconds[number]), learning_cpu_s=preparing)
        if test_selected:
            row = replace(row, test_selected=tuple(split.part(one).accuracy(build_learner(name)) for one in grid))
        rows.append(_learned(row, part))
    return rows


def _learned(row: Row, part: Part) -> Row:
    """Return the row with its accuracy, and the time of learning added to that of preparing."""
    accuracy, seconds = _timed(lambda: part.accuracy(build_learner(row.learner)))
    spent = row.learning_cpu_s + seconds
    return replace(row, accuracy=accuracy, learning_cpu_s=spent, n_coordinates=part.train.shape[1])


def _timed(work: Callable[[], _Result]) -> tuple[_Result, float]:
    before = time.process_time()
    result = work()
    return result, time.process_time() - before


def describe(kernel: AnyKernel, n_features: int) -> str:
    """Return a kernel in a few words: sigma in the paper's units, degrees, and shares of a combination's weights."""
    if isinstance(kernel, Combination):
        total = sum(term.weight for term in kernel.terms)
        shares = (f"{term.weight / total:.3g} {describe(term.kernel, n_features)}" for term in kernel.terms)
        return " + ".join(shares)
    if isinstance(kernel, Gaussian):
        return f"sigma {kernel.sigma / np.sqrt(n_features):.3g}"
    return f"degree {kernel.degree}" if isinstance(kernel, Polynomial) else repr(kernel)
