"""One random split of Tables 1 to 3 of the KPCA trick: every learner in every variant, timed.

What depends only on the split and the kernel is computed once for all learners: squared distances, kernel matrices,
folds and KPCA coordinates. Each method's times hold all that it would need alone. A run learns on the training samples;
test samples are mapped and classified in the process that keeps them, by what the run has left.

Source: Chatpatanasiri et al., Neurocomputing 73, 2010, section 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from kdrbench.errors import error_text
from kdrbench.metric_learning import AnyKernel, aligned_kernel, best_of, build_learner, learn_map, stratified_folds
from kdrbench.metric_learning.neighbours import IntArray
from kdrbench.metric_learning.selection import Part, fold_parts
from kdrbench.status import Status
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.referee import Referee, Seconds
from kdrbench.suite.engine.run import RunResult
from kdrbench.suite.engine.seeds import rng_of
from kdrbench.suite.systems.kpca_trick.learned_map import LearnedMap, name_of, weights_of
from kdrbench.suite.systems.kpca_trick.split import Coordinates, SampleSplit, candidates_of, kernel_in_words

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
    """One learner in one variant: ``tuning`` chose the kernel, ``learning`` made coordinates and map.

    ``learned`` is what came out, and with it what the learner learns with each candidate if that is asked for;
    ``message`` says why there is nothing.
    """

    learner: str
    variant: str
    learned: tuple[LearnedMap, ...] = ()
    tuning: Seconds = _NO_TIME
    learning: Seconds = _NO_TIME
    kernel: str = ""
    message: str = ""

    @property
    def result(self) -> RunResult:
        """What the run hands over."""
        key, kernel = (self.learner, self.variant), {"kernel": self.kernel}
        if self.message:
            return RunResult(Status.FAILED, self.message, columns=kernel, key=key)
        total = self.tuning.plus(self.learning)
        columns = {
            "tuning_cpu_s": self.tuning.cpu_s,
            "tuning_wall_s": self.tuning.wall_s,
            "learning_cpu_s": self.learning.cpu_s,
            "learning_wall_s": self.learning.wall_s,
            "n_coordinates": len(self.learned[0].projection) if self.learned else None,
        }
        return RunResult(Status.CONVERGED, "", total.wall_s, total.cpu_s, kernel | columns, key)


def run_split(batch: Batch, split: SampleSplit, number: int, referee: Referee) -> Iterator[RunResult]:
    """Yield the result of each method as it ends, without accuracy, and leave what it has learned.

    What a method raises is its message. Raises what is no fault of a method: ``ImportError`` and ``MemoryError``.
    """
    definition = SplitDefinition(**batch.definition)
    rng = rng_of("kpca folds", batch.dataset, number, batch.seed)
    folds = stratified_folds(split.train_codes, definition.n_folds, rng)
    candidates = candidates_of(definition.candidates, split.train.shape[1])
    for row in _Methods(definition, split, folds, candidates, referee).rows():
        result = row.result
        for number, learned in enumerate(row.learned):
            learned.save(referee, name_of(batch, result.key, number))
        yield result


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
    _coordinates: dict[AnyKernel, tuple[Coordinates, Seconds]] = field(default_factory=dict)

    def rows(self) -> Iterator[MethodRow]:
        variants = self.definition.variants
        if "plain" in variants:
            for row in self._of("plain"):
                yield self._learned(row, None)
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
            yield self._learned(chosen, kernel)

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
        row = self._learned(row, kernel)
        if not self.definition.test_selected or not row.learned:
            return row
        try:
            # The run's limit counts these seconds, the method's times do not.
            tried = [self._learn(row.learner, one)[0] for one in self.candidates]
        except Exception as error:
            return _failed(row, error)
        return replace(row, learned=(*row.learned, *tried))

    def _learned(self, row: MethodRow, kernel: AnyKernel | None) -> MethodRow:
        """Return the row with what is learned, and the seconds of coordinates and learning."""
        try:
            learned, spent = self._learn(row.learner, kernel)
        except Exception as error:
            return _failed(row, error)
        return replace(row, learned=(learned,), learning=spent)

    def _learn(self, learner: str, kernel: AnyKernel | None) -> tuple[LearnedMap, Seconds]:
        """Learn in the coordinates of a kernel, or on the samples as they are."""
        features, vectors, prepared = self.split.train, np.empty((0, 0)), _NO_TIME
        if kernel is not None:
            (features, vectors), prepared = self._coordinates_of(kernel)
        codes = self.split.train_codes
        projection, spent = self.referee.timed(lambda: learn_map(build_learner(learner), features, codes))
        weights = np.empty(0) if kernel is None else weights_of(kernel, self.candidates)
        return LearnedMap(weights, vectors, projection), prepared.plus(spent)

    def _coordinates_of(self, kernel: AnyKernel) -> tuple[Coordinates, Seconds]:
        """Return the training samples in the coordinates of the kernel, computed once, and the seconds that took."""
        if kernel not in self._coordinates:
            self._coordinates[kernel] = self.referee.timed(lambda: self.split.coordinates(kernel))
        return self._coordinates[kernel]


def _failed(row: MethodRow, error: Exception) -> MethodRow:
    # A package that is missing is no result of a method.
    if isinstance(error, ImportError | MemoryError):
        raise error
    return replace(row, learned=(), message=error_text(error))
