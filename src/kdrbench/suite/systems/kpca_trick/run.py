"""One random split of Tables 1 to 3 of the KPCA trick: every learner in every variant, timed.

What depends only on the split and the kernel is computed once for all learners: squared distances, kernel matrices,
folds and KPCA coordinates. Each method's times hold all that it would need alone. Learners are given the training
samples alone.

Source: Chatpatanasiri et al., Neurocomputing 73, 2010, section 5.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from kdrbench.datasets import Dataset
from kdrbench.kernels import Combination, Gaussian, Polynomial
from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning import (
    AnyKernel,
    Learner,
    SamplePairs,
    aligned_kernel,
    best_of,
    build_learner,
    kernel_pca,
    learn_map,
    scaled_gaussian,
    stratified_folds,
)
from kdrbench.metric_learning.kernel_pca import KernelPCA
from kdrbench.metric_learning.neighbours import IntArray
from kdrbench.metric_learning.selection import Part, fold_parts
from kdrbench.status import Status
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.referee import Referee, Seconds
from kdrbench.suite.engine.run import RunResult, failed
from kdrbench.suite.engine.seeds import rng_of


def candidates_of(definition: Mapping[str, Any], n_features: int) -> list[AnyKernel]:
    """Return scaled Gaussians or polynomials (x'y + 1)^p, as defined."""
    if "degrees" in definition:
        return [Polynomial(degree) for degree in definition["degrees"]]
    return [scaled_gaussian(float(sigma), n_features) for sigma in definition["sigmas"]]


# Training samples in the coordinates of a kernel (n x D), and what transforms others.
Coordinates = tuple[FloatArray, KernelPCA]


@dataclass(frozen=True, eq=False)
class SampleSplit(Part):
    """Training and test samples of one draw, without stratification, and what all kernels need of their pairs."""

    @classmethod
    def of(cls, dataset: Dataset, train: IntArray, test: IntArray) -> SampleSplit:
        """Return the split of a data set by rows."""
        features, codes = dataset.features, dataset.labels
        return cls(features[train], codes[train], features[test], codes[test])

    @cached_property
    def pairs(self) -> SamplePairs:
        """Pairs of training samples."""
        return SamplePairs(self.train, self.train)

    @cached_property
    def test_pairs(self) -> SamplePairs:
        """Pairs of test samples with training samples."""
        return SamplePairs(self.test, self.train)

    def coordinates(self, kernel: AnyKernel) -> Coordinates:
        """Return the training samples in the KPCA coordinates of a kernel, and what transforms others."""
        gram = self.pairs.gram(kernel, up_to_constant=True)
        coordinates = kernel_pca(gram)
        return coordinates.transform(gram), coordinates


def draw_split(dataset: Dataset, number: int, n_train: int, seed: int) -> SampleSplit:
    """Return split ``number`` of the data set; it depends on nothing else but size and seed."""
    order = rng_of("kpca split", dataset.name, number, seed).permutation(len(dataset.labels))
    return SampleSplit.of(dataset, *np.split(order, [n_train]))


def kernel_in_words(kernel: AnyKernel, n_features: int) -> str:
    """Return a kernel in a few words: sigma in the paper's units, degrees, and shares of a combination's weights."""
    if isinstance(kernel, Combination):
        total = sum(term.weight for term in kernel.terms)
        shares = (f"{term.weight / total:.3g} {kernel_in_words(term.kernel, n_features)}" for term in kernel.terms)
        return " + ".join(shares)
    if isinstance(kernel, Gaussian):
        return f"sigma {kernel.sigma / np.sqrt(n_features):.3g}"
    return f"degree {kernel.degree}" if isinstance(kernel, Polynomial) else repr(kernel)


_NO_TIME = Seconds()


def run_split(batch: Batch, dataset: Dataset, number: int, referee: Referee) -> Iterator[RunResult]:
    """Return the result of each method on split ``number`` of a data set, as it ends.

    What a method raises is its message. Raises what is no fault of a method: ``ImportError`` and ``MemoryError``.
    """
    definition = batch.definition
    split = draw_split(dataset, number, definition["n_train"], batch.seed)
    rng = rng_of("kpca folds", batch.dataset, number, batch.seed)
    folds = stratified_folds(split.train_codes, definition["n_folds"], rng)
    candidates = candidates_of(definition["candidates"], dataset.features.shape[1])
    return _Methods(definition, split, folds, candidates, referee).results()


@dataclass
class _Trial:
    """A learner's accuracies on candidates and folds, their seconds, and the error that ended it."""

    build: Callable[[], Learner]
    accuracies: list[list[float]] = field(default_factory=list)
    spent: Seconds = _NO_TIME
    error: Exception | None = None

    def score(self, part: Part, shared: Seconds, referee: Referee) -> None:
        """Add the learner's accuracy on a fold, whose coordinates took the ``shared`` seconds."""
        if self.error is not None:
            return
        try:
            accuracy, spent = referee.timed(lambda: part.accuracy(self.build()))
        except Exception as error:
            self.error = error
            return
        self.accuracies[-1].append(accuracy)
        self.spent = self.spent.plus(shared).plus(spent)


@dataclass(frozen=True)
class _Methods:
    """All methods on one split; coordinates of a kernel are computed once, with the seconds that took."""

    definition: Mapping[str, Any]
    split: SampleSplit
    folds: IntArray
    candidates: Sequence[AnyKernel]
    referee: Referee
    _coordinates: dict[AnyKernel, tuple[Coordinates, Seconds]] = field(default_factory=dict)

    def _build(self, learner: str) -> Learner:
        return build_learner(learner, self.definition.get("learner_options", {}).get(learner))

    def results(self) -> Iterator[RunResult]:
        for variant in ("plain", "aligned", "centred", "cross_validated", "oracle"):
            if variant not in self.definition["variants"]:
                continue
            keys = [(learner, variant) for learner in self.definition["learners"]]
            try:
                learned = self._with_kernel(variant)
            except Exception as error:
                yield from (failed(error, key, kernel="") for key in keys)
                continue
            yield from map(learned, keys)

    def _with_kernel(self, variant: str) -> Callable[[tuple[str, str]], RunResult]:
        """Choose the kernel of each learner; return what lets a learner learn with its own."""
        split, candidates = self.split, self.candidates
        if variant == "plain":
            return partial(self._learned, kernel=None)
        if variant == "oracle":
            return self._best_on_test
        if variant == "cross_validated":
            trials = {name: _Trial(partial(self._build, name)) for name in self.definition["learners"]}
            for kernel in candidates:
                self._try(kernel, list(trials.values()))
            return lambda key: self._chosen(key, trials[key[0]])
        align = partial(aligned_kernel, candidates, split.pairs, split.train_codes, centred=variant == "centred")
        (aligned, _), spent = self.referee.timed(align)
        return partial(self._learned, kernel=aligned, tuning=spent)

    def _try(self, kernel: AnyKernel, trials: Sequence[_Trial]) -> None:
        """Let all trials score a kernel on each fold; raises what its coordinates raise."""
        for trial in trials:
            trial.accuracies.append([])
        parts = fold_parts(kernel, self.split.pairs, self.split.train_codes, self.folds)
        while True:
            part, shared = self.referee.timed(partial(next, parts, None))
            if part is None:
                return
            for trial in trials:
                trial.score(part, shared, self.referee)

    def _chosen(self, key: tuple[str, str], trial: _Trial) -> RunResult:
        if trial.error is not None:
            return failed(trial.error, key, kernel="")
        result = self._learned(key, self.candidates[best_of(np.array(trial.accuracies))], trial.spent)
        if not self.definition["test_selected"] or result.status is Status.FAILED:
            return result
        try:
            # The run's limit counts these seconds, the method's times do not.
            tried = [self._learn(key[0], kernel)[0] for kernel in self.candidates]
        except Exception as error:
            return failed(error, key, kernel=result.columns["kernel"])
        return replace(result, columns={**result.columns, "test_selected": json.dumps(tried)})

    def _best_on_test(self, key: tuple[str, str]) -> RunResult:
        """Return the result of the kernel that is best on the test samples; trying the others counts for no time."""
        results = [self._learned(key, kernel) for kernel in self.candidates]
        without = [result for result in results if result.status is Status.FAILED]
        accuracies = [[result.columns["accuracy"]] for result in results if not without]
        return without[0] if without else results[best_of(np.array(accuracies))]

    def _learned(self, key: tuple[str, str], kernel: AnyKernel | None, tuning: Seconds = _NO_TIME) -> RunResult:
        words = "" if kernel is None else kernel_in_words(kernel, self.split.train.shape[1])
        try:
            accuracy, n_coordinates, learning = self._learn(key[0], kernel)
        except Exception as error:
            return failed(error, key, kernel=words)
        total = tuning.plus(learning)
        columns = {
            "accuracy": accuracy,
            "kernel": words,
            "tuning_cpu_s": tuning.cpu_s,
            "tuning_wall_s": tuning.wall_s,
            "learning_cpu_s": learning.cpu_s,
            "learning_wall_s": learning.wall_s,
            "n_coordinates": n_coordinates,
        }
        return RunResult(Status.CONVERGED, "", total.wall_s, total.cpu_s, columns, key)

    def _learn(self, learner: str, kernel: AnyKernel | None) -> tuple[float, int, Seconds]:
        """Return accuracy, number of coordinates and seconds, in those of a kernel or on the samples as they are."""
        split, train, coordinates, prepared = self.split, self.split.train, None, _NO_TIME
        if kernel is not None:
            if kernel not in self._coordinates:
                self._coordinates[kernel] = self.referee.timed(lambda: split.coordinates(kernel))
            (train, coordinates), prepared = self._coordinates[kernel]
        projection, learning = self.referee.timed(lambda: learn_map(self._build(learner), train, split.train_codes))

        def accuracy() -> float:
            test = split.test
            if kernel is not None and coordinates is not None:
                test = coordinates.transform(split.test_pairs.gram(kernel, up_to_constant=True))
            return split.accuracy_of(train @ projection, test @ projection)

        found, judging = self.referee.timed(accuracy)
        return found, len(projection), prepared.plus(learning).plus(judging)
