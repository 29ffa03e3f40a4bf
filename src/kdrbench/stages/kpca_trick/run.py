"""One random split of Tables 1 to 3 of the KPCA trick: every learner in every variant, timed.

What depends only on the split and the kernel is computed once for all learners: squared distances, kernel matrices,
folds and KPCA coordinates. Each method's times hold all that it would need alone.

Source: Chatpatanasiri et al., Neurocomputing 73, 2010, section 5.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from kdrbench.bench.batch import Batch
from kdrbench.bench.referee import Referee, Seconds
from kdrbench.bench.run import RunResult
from kdrbench.bench.seeds import rng_of
from kdrbench.datasets import Dataset
from kdrbench.errors import error_text
from kdrbench.metric_learning import (
    AnyKernel,
    aligned_kernel,
    best_of,
    build_learner,
    stratified_folds,
)
from kdrbench.metric_learning.neighbours import IntArray
from kdrbench.metric_learning.selection import Part, fold_parts
from kdrbench.stages.kpca_trick.split import SampleSplit, candidates_of, draw_split, kernel_in_words
from kdrbench.status import Status

_NO_TIME = Seconds()


@dataclass(frozen=True)
class SplitDefinition:
    """What the configuration decides about the splits of a data set.

    Each is ``n_train`` samples drawn at random to learn from, all others to test. ``candidates`` are the kernels that
    the variants choose from, ``n_folds`` those of the cross validation. With ``test_selected``, rows hold the test
    accuracy of every candidate.
    """

    learners: Sequence[str]
    variants: Sequence[str]
    candidates: Mapping[str, Any]
    n_train: int
    n_folds: int
    test_selected: bool


@dataclass(frozen=True)
class MethodRow:
    """One learner in one variant: ``tuning`` chose the kernel, ``learning`` made coordinates, map and predictions.

    ``message`` says why there is no accuracy. ``test_selected`` holds the accuracies of all candidates, or nothing:
    what choosing by the test samples gives.
    """

    learner: str
    variant: str
    accuracy: float | None = None
    tuning: Seconds = _NO_TIME
    learning: Seconds = _NO_TIME
    kernel: str = ""
    n_coordinates: int | None = None
    test_selected: tuple[float, ...] = ()
    message: str = ""

    @property
    def result(self) -> RunResult:
        """What the run hands over."""
        key, kernel = (self.learner, self.variant), {"kernel": self.kernel}
        if self.message:
            return RunResult(Status.FAILED, self.message, columns=kernel, key=key)
        total = self.tuning.plus(self.learning)
        columns = {
            "accuracy": self.accuracy,
            "tuning_cpu_s": self.tuning.cpu_s,
            "tuning_wall_s": self.tuning.wall_s,
            "learning_cpu_s": self.learning.cpu_s,
            "learning_wall_s": self.learning.wall_s,
            "n_coordinates": self.n_coordinates,
            "test_selected": json.dumps(self.test_selected) if self.test_selected else "",
        }
        return RunResult(Status.CONVERGED, "", total.wall_s, total.cpu_s, kernel | columns, key)


def run_split(batch: Batch, dataset: Dataset, number: int, referee: Referee) -> Iterator[RunResult]:
    """Yield the result of each method as it ends; what a method raises is its message.

    The split is drawn off the clock. Raises what is no fault of a method: ``ImportError`` and ``MemoryError``.
    """
    definition = SplitDefinition(**batch.definition)
    split = draw_split(dataset, number, definition.n_train, batch.seed)
    rng = rng_of("kpca folds", batch.dataset, number, batch.seed)
    folds = stratified_folds(split.train_codes, definition.n_folds, rng)
    candidates = candidates_of(definition.candidates, dataset.features.shape[1])
    for row in _Methods(definition, split, folds, candidates, referee).rows():
        yield row.result


@dataclass
class _Trial:
    """A learner's accuracies on candidates and folds, their seconds, and the error that ended it."""

    learner: str
    accuracies: list[list[float]] = field(default_factory=list)
    spent: Seconds = _NO_TIME
    error: Exception | None = None

    def score(self, part: Part, shared: Seconds, referee: Referee) -> None:
        """Add the learner's accuracy on a fold, whose coordinates took the ``shared`` seconds."""
        if self.error is not None:
            return
        try:
            accuracy, spent = referee.timed(lambda: part.accuracy(build_learner(self.learner)))
        except Exception as error:
            self.error = error
            return
        self.accuracies[-1].append(accuracy)
        self.spent = self.spent.plus(shared).plus(spent)


@dataclass(frozen=True)
class _Methods:
    """All methods on one split; coordinates of a kernel are computed once, with the seconds that took."""

    definition: SplitDefinition
    split: SampleSplit
    folds: IntArray
    candidates: Sequence[AnyKernel]
    referee: Referee
    _parts: dict[AnyKernel, tuple[Part, Seconds]] = field(default_factory=dict)

    def rows(self) -> Iterator[MethodRow]:
        variants = self.definition.variants
        if "plain" in variants:
            for row in self._of("plain"):
                yield self._learned(row, lambda: (self.split.plain(), _NO_TIME))
        for variant in ("aligned", "centred"):
            if variant in variants:
                yield from self._aligned(variant)
        if "cross_validated" in variants:
            yield from self._cross_validated()

    def _of(self, variant: str) -> list[MethodRow]:
        return [MethodRow(learner, variant) for learner in self.definition.learners]

    def _aligned(self, variant: str) -> Iterator[MethodRow]:
        split, rows = self.split, self._of(variant)
        align = partial(aligned_kernel, self.candidates, split.pairs, split.train_codes, centred=variant == "centred")  # type: ignore[arg-type]
        try:
            (kernel, _), spent = self.referee.timed(align)
        except Exception as error:
            yield from (_failed(row, error) for row in rows)
            return
        for row in rows:
            chosen = replace(row, kernel=kernel_in_words(kernel, split.pairs.n_features), tuning=spent)
            yield self._learned(chosen, lambda: self._part(kernel))

    def _cross_validated(self) -> Iterator[MethodRow]:
        rows = self._of("cross_validated")
        trials = [_Trial(row.learner) for row in rows]
        try:
            for kernel in self.candidates:
                self._try(kernel, trials)
        except Exception as error:
            yield from (_failed(row, error) for row in rows)
            return
        for row, trial in zip(rows, trials, strict=True):
            yield self._chosen(row, trial)

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

    def _chosen(self, row: MethodRow, trial: _Trial) -> MethodRow:
        if trial.error is not None:
            return _failed(row, trial.error)
        kernel = self.candidates[best_of(np.array(trial.accuracies))]
        row = replace(row, kernel=kernel_in_words(kernel, self.split.pairs.n_features), tuning=trial.spent)
        row = self._learned(row, lambda: self._part(kernel))
        if not self.definition.test_selected or row.accuracy is None:
            return row
        try:
            tried = tuple(self._test_accuracy(row.learner, one) for one in self.candidates)
        except Exception as error:
            return _failed(row, error)
        return replace(row, test_selected=tried)

    def _test_accuracy(self, learner: str, kernel: AnyKernel) -> float:
        """Return the accuracy on the test samples; the run's limit counts its seconds, the method's times do not."""
        part, _ = self._part(kernel)
        accuracy, _ = self.referee.timed(lambda: part.accuracy(build_learner(learner)))
        return accuracy

    def _learned(self, row: MethodRow, prepare: Callable[[], tuple[Part, Seconds]]) -> MethodRow:
        """Return the row with its accuracy and the seconds of coordinates, learning and predicting."""
        try:
            part, prepared = prepare()
            accuracy, spent = self.referee.timed(lambda: part.accuracy(build_learner(row.learner)))
        except Exception as error:
            return _failed(row, error)
        return replace(row, accuracy=accuracy, learning=prepared.plus(spent), n_coordinates=part.train.shape[1])

    def _part(self, kernel: AnyKernel) -> tuple[Part, Seconds]:
        """Return both sets in the coordinates of the kernel, computed once, and the seconds that took."""
        if kernel not in self._parts:
            self._parts[kernel] = self.referee.timed(lambda: self.split.coordinates(kernel))
        return self._parts[kernel]


def _failed(row: MethodRow, error: Exception) -> MethodRow:
    # A package that is missing is no result of a method.
    if isinstance(error, ImportError | MemoryError):
        raise error
    return replace(row, accuracy=None, message=error_text(error))
