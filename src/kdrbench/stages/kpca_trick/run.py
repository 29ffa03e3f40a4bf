"""One random split of Tables 1 to 3 of the KPCA trick: every learner in every variant, timed.

What depends only on the split and the kernel is computed once for all learners: squared distances, kernel matrices,
folds and KPCA coordinates. Each method's times hold all that it would need alone.

Source: Chatpatanasiri et al., Neurocomputing 73, 2010, section 5.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from kdrbench.bench.metric_batch import MetricBatch
from kdrbench.bench.seeds import rng_of
from kdrbench.datasets import Dataset
from kdrbench.kernels import Combination, Gaussian, Polynomial
from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning import (
    AnyKernel,
    SamplePairs,
    aligned_kernel,
    best_of,
    build_learner,
    kernel_pca,
    scaled_gaussian,
    stratified_folds,
)
from kdrbench.metric_learning.neighbours import IntArray
from kdrbench.metric_learning.selection import Part, fold_parts

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Cost:
    """Seconds."""

    wall_s: float = 0.0
    cpu_s: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.wall_s + other.wall_s, self.cpu_s + other.cpu_s)


@dataclass(frozen=True)
class MethodRow:
    """One learner in one variant: ``tuning`` chose the kernel, ``learning`` made coordinates, map and predictions.

    ``message`` says why there is no accuracy. ``test_selected`` holds the accuracies of all candidates, or nothing:
    what choosing by the test samples gives.
    """

    learner: str
    variant: str
    accuracy: float | None = None
    tuning: Cost = Cost()
    learning: Cost = Cost()
    kernel: str = ""
    n_coordinates: int = 0
    test_selected: tuple[float, ...] = ()
    message: str = ""


def candidates_of(definition: Mapping[str, Any], n_features: int) -> list[AnyKernel]:
    """Return scaled Gaussians, sigma evenly on a logarithmic scale, or polynomials (x'y + 1)^p, as defined."""
    if "degrees" in definition:
        return [Polynomial(degree) for degree in definition["degrees"]]
    scale = definition["sigmas"]
    sigmas = np.geomspace(scale["lowest"], scale["highest"], scale["number"])
    return [scaled_gaussian(float(sigma), n_features) for sigma in sigmas]


@dataclass(frozen=True)
class MetricSplit:
    """Training and test samples of one draw, without stratification, and what all kernels need of their pairs."""

    train: FloatArray
    train_codes: IntArray
    test: FloatArray
    test_codes: IntArray
    pairs: SamplePairs
    test_pairs: SamplePairs
    _parts: dict[AnyKernel, tuple[Part, Cost]] = field(default_factory=dict)

    def part(self, kernel: AnyKernel) -> tuple[Part, Cost]:
        """Return both sets in the coordinates of the kernel, computed once, and what that cost."""
        if kernel not in self._parts:
            self._parts[kernel] = timed(lambda: self._coordinates(kernel))
        return self._parts[kernel]

    def plain(self) -> Part:
        """Return both sets as they are."""
        return Part(self.train, self.train_codes, self.test, self.test_codes)

    def _coordinates(self, kernel: AnyKernel) -> Part:
        gram = self.pairs.gram(kernel, up_to_constant=True)
        coordinates = kernel_pca(gram)
        test = coordinates.transform(self.test_pairs.gram(kernel, up_to_constant=True))
        return Part(coordinates.transform(gram), self.train_codes, test, self.test_codes)


def draw_split(dataset: Dataset, number: int, n_train: int, seed: int) -> MetricSplit:
    """Return split ``number`` of the data set; it depends on nothing else but size and seed."""
    order = rng_of("kpca split", dataset.name, number, seed).permutation(len(dataset.labels))
    chosen, rest = np.split(order, [n_train])
    train, test = dataset.features[chosen], dataset.features[rest]
    pairs, test_pairs = SamplePairs(train, train), SamplePairs(test, train)
    return MetricSplit(train, dataset.labels[chosen], test, dataset.labels[rest], pairs, test_pairs)


def run_split(batch: MetricBatch, dataset: Dataset, number: int) -> Iterator[MethodRow]:
    """Yield the row of each method as it ends; what a method raises is its message."""
    split = draw_split(dataset, number, batch.n_train, batch.seed)
    candidates = candidates_of(batch.candidates, dataset.features.shape[1])
    if "plain" in batch.variants:
        for learner in batch.learners:
            yield _learned(MethodRow(learner, "plain"), lambda: (split.plain(), Cost()))
    for variant in ("aligned", "centred"):
        if variant in batch.variants:
            yield from _aligned(batch, split, candidates, variant)
    if "cross_validated" in batch.variants:
        yield from _cross_validated(batch, split, candidates, number)


def _aligned(
    batch: MetricBatch, split: MetricSplit, candidates: Sequence[AnyKernel], variant: str
) -> Iterator[MethodRow]:
    rows = [MethodRow(learner, variant) for learner in batch.learners]
    try:
        (kernel, _), spent = timed(
            lambda: aligned_kernel(candidates, split.pairs, split.train_codes, centred=variant == "centred")  # type: ignore[arg-type]
        )
    except Exception as error:
        yield from (_failed(row, error) for row in rows)
        return
    for row in rows:
        chosen = replace(row, kernel=describe(kernel, split.pairs.n_features), tuning=spent)
        yield _learned(chosen, lambda: split.part(kernel))


def _cross_validated(
    batch: MetricBatch, split: MetricSplit, candidates: Sequence[AnyKernel], number: int
) -> Iterator[MethodRow]:
    rng = rng_of("kpca folds", batch.dataset, number, batch.seed)
    folds = stratified_folds(split.train_codes, batch.n_folds, rng)
    trials = {learner: _Trial(learner) for learner in batch.learners}
    for kernel in candidates:
        shared = fold_parts(kernel, split.pairs, split.train_codes, folds)
        for trial in trials.values():
            trial.accuracies.append([])
        while True:
            try:
                part, spent = timed(partial(next, shared, None))
            except Exception as error:
                yield from (_failed(MethodRow(learner, "cross_validated"), error) for learner in batch.learners)
                return
            if part is None:
                break
            for trial in trials.values():
                trial.judge(part, spent)
    for learner, trial in trials.items():
        yield _chosen(batch, split, candidates, MethodRow(learner, "cross_validated"), trial)


@dataclass
class _Trial:
    """A learner's accuracies on candidates and folds, what they cost, and the error that ended it."""

    learner: str
    accuracies: list[list[float]] = field(default_factory=list)
    spent: Cost = Cost()
    error: Exception | None = None

    def judge(self, part: Part, shared: Cost) -> None:
        if self.error is not None:
            return
        try:
            accuracy, spent = timed(lambda: part.accuracy(build_learner(self.learner)))
        except Exception as error:
            self.error = error
            return
        self.accuracies[-1].append(accuracy)
        self.spent += shared + spent


def _chosen(
    batch: MetricBatch, split: MetricSplit, candidates: Sequence[AnyKernel], row: MethodRow, trial: _Trial
) -> MethodRow:
    if trial.error is not None:
        return _failed(row, trial.error)
    kernel = candidates[best_of(np.array(trial.accuracies))]
    row = replace(row, kernel=describe(kernel, split.pairs.n_features), tuning=trial.spent)
    row = _learned(row, lambda: split.part(kernel))
    if not batch.test_selected or row.accuracy is None:
        return row
    try:
        tried = tuple(split.part(one)[0].accuracy(build_learner(row.learner)) for one in candidates)
    except Exception as error:
        return _failed(row, error)
    return replace(row, test_selected=tried)


def _learned(row: MethodRow, prepare: Callable[[], tuple[Part, Cost]]) -> MethodRow:
    """Return the row with its accuracy and the time of coordinates, learning and predicting."""
    try:
        part, prepared = prepare()
        accuracy, spent = timed(lambda: part.accuracy(build_learner(row.learner)))
    except Exception as error:
        return _failed(row, error)
    return replace(row, accuracy=accuracy, learning=prepared + spent, n_coordinates=part.train.shape[1])


def _failed(row: MethodRow, error: Exception) -> MethodRow:
    # A package that is missing is no result of a method.
    if isinstance(error, ImportError | MemoryError):
        raise error
    return replace(row, accuracy=None, message=f"{type(error).__name__}: {error}")


def timed(work: Callable[[], _Result]) -> tuple[_Result, Cost]:
    """Return what the work gives and what it cost."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, Cost(time.perf_counter() - wall, time.process_time() - cpu)


def describe(kernel: AnyKernel, n_features: int) -> str:
    """Return a kernel in a few words: sigma in the paper's units, degrees, and shares of a combination's weights."""
    if isinstance(kernel, Combination):
        total = sum(term.weight for term in kernel.terms)
        shares = (f"{term.weight / total:.3g} {describe(term.kernel, n_features)}" for term in kernel.terms)
        return " + ".join(shares)
    if isinstance(kernel, Gaussian):
        return f"sigma {kernel.sigma / np.sqrt(n_features):.3g}"
    return f"degree {kernel.degree}" if isinstance(kernel, Polynomial) else repr(kernel)
