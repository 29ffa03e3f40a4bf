"""One random split of Tables 1 to 3 of the KPCA trick: every learner in every variant, timed.

What depends only on the split and the kernel is computed once for all learners: squared distances, kernel matrices,
folds and KPCA coordinates. Each method's times hold all that it would need alone. A run learns on the training samples;
test samples are mapped and classified in the process that keeps them, by what the run has left.

Source: Chatpatanasiri et al., Neurocomputing 73, 2010, section 5.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from kdrbench.datasets import Dataset
from kdrbench.metric_learning import AnyKernel, aligned_kernel, best_of, build_learner, learn_map, stratified_folds
from kdrbench.metric_learning.neighbours import IntArray
from kdrbench.metric_learning.selection import Part, fold_parts
from kdrbench.status import BY_METHODS, Status
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.referee import Referee, Seconds
from kdrbench.suite.engine.run import Results, RunResult, failed
from kdrbench.suite.engine.run_files import RunFiles
from kdrbench.suite.engine.seeds import rng_of
from kdrbench.suite.systems.kpca_trick.split import (
    Coordinates,
    LearnedMap,
    SampleSplit,
    accuracy_of,
    candidates_of,
    draw_split,
    kernel_in_words,
    name_of,
    weights_of,
)

_NO_TIME = Seconds()
# The result of a method, without its accuracy, and what it learned: with its kernel, and with each candidate if asked.
Learned = tuple[RunResult, list[LearnedMap]]


@dataclass(frozen=True)
class SplitRun:
    """Split ``number`` of a data set, with the candidate kernels."""

    batch: Batch
    number: int
    split: SampleSplit
    candidates: Sequence[AnyKernel]
    arrays: ClassVar[tuple[str, ...]] = ()

    def run(self, referee: Referee) -> Iterator[RunResult]:
        """Yield the result of each method as it ends, without accuracy, and leave what it has learned.

        What a method raises is its message. Raises what is no fault of a method: ``ImportError`` and ``MemoryError``.
        """
        rng = rng_of("kpca folds", self.batch.dataset, self.number, self.batch.seed)
        folds = stratified_folds(self.split.train_codes, self.batch.definition["n_folds"], rng)
        for result, maps in _Methods(self.batch.definition, self.split, folds, self.candidates, referee).results():
            for place, learned in enumerate(maps):
                learned.save(referee, name_of(self.batch, result.key, place))
            yield result

    def judged(self, files: RunFiles, results: Results) -> Results:
        """Return the results with the accuracies of what was learned, whose arrays are removed.

        The seconds of mapping and classifying test samples are added to those of learning.
        """
        ended = {key: result for key, result in results.items() if result.status in BY_METHODS}
        return results | {key: self._judged(files, result) for key, result in ended.items()}

    def _judged(self, files: RunFiles, result: RunResult) -> RunResult:
        n_tried = self.batch.definition["test_selected"] and result.key[1] == "cross_validated"
        maps = [
            LearnedMap.take(files, name_of(self.batch, result.key, place))
            for place in range(1 + n_tried * len(self.candidates))
        ]
        (accuracy, spent), *tried = [accuracy_of(learned, self.split, self.candidates) for learned in maps]
        columns: dict[str, Any] = {**result.columns, "accuracy": accuracy}
        if tried:
            columns["test_selected"] = json.dumps([of_candidate for of_candidate, _ in tried])
        for clock, seconds in (("wall", spent.wall_s), ("cpu", spent.cpu_s)):
            columns[f"learning_{clock}_s"] = columns.get(f"learning_{clock}_s", 0.0) + seconds
        time_s, cpu_s = (result.time_s or 0.0) + spent.wall_s, (result.cpu_s or 0.0) + spent.cpu_s
        return replace(result, time_s=time_s, cpu_s=cpu_s, columns=columns)

    def score(self, files: RunFiles) -> Mapping[str, Any]:
        """Return the sizes of the split; the bench's own work in a run takes no time to speak of."""
        return {**self.sizes, "evaluation_s": 0.0}

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes of the split, as columns of a record."""
        n_train, n_features = self.split.train.shape
        n_folds = self.batch.definition["n_folds"]
        return {"n_train": n_train, "n_test": len(self.split.test), "n_features": n_features, "n_folds": n_folds}


def make_split_run(batch: Batch, dataset: Dataset, number: int) -> SplitRun:
    """Return the run of split ``number``."""
    candidates = candidates_of(batch.definition["candidates"], dataset.features.shape[1])
    return SplitRun(batch, number, draw_split(dataset, number, batch.definition["n_train"], batch.seed), candidates)


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

    definition: Mapping[str, Any]
    split: SampleSplit
    folds: IntArray
    candidates: Sequence[AnyKernel]
    referee: Referee
    _coordinates: dict[AnyKernel, tuple[Coordinates, Seconds]] = field(default_factory=dict)

    def results(self) -> Iterator[Learned]:
        if "plain" in self.definition["variants"]:
            for learner in self.definition["learners"]:
                yield self._learned((learner, "plain"), None)
        for variant in ("aligned", "centred"):
            if variant in self.definition["variants"]:
                yield from self._aligned(variant)
        if "cross_validated" in self.definition["variants"]:
            yield from self._cross_validated()

    def _aligned(self, variant: str) -> Iterator[Learned]:
        split, keys = self.split, [(learner, variant) for learner in self.definition["learners"]]
        align = partial(aligned_kernel, self.candidates, split.pairs, split.train_codes, centred=variant == "centred")  # type: ignore[arg-type]
        try:
            (kernel, _), spent = self.referee.timed(align)
        except Exception as error:
            yield from ((failed(error, key, kernel=""), []) for key in keys)
            return
        yield from (self._learned(key, kernel, spent) for key in keys)

    def _cross_validated(self) -> Iterator[Learned]:
        trials = {(learner, "cross_validated"): _Trial(learner) for learner in self.definition["learners"]}
        try:
            for kernel in self.candidates:
                self._try(kernel, list(trials.values()))
        except Exception as error:
            yield from ((failed(error, key, kernel=""), []) for key in trials)
            return
        for key, trial in trials.items():
            yield self._chosen(key, trial)

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

    def _chosen(self, key: tuple[str, str], trial: _Trial) -> Learned:
        if trial.error is not None:
            return failed(trial.error, key, kernel=""), []
        result, maps = self._learned(key, self.candidates[best_of(np.array(trial.accuracies))], trial.spent)
        if not self.definition["test_selected"] or not maps:
            return result, maps
        try:
            # The run's limit counts these seconds, the method's times do not.
            return result, [*maps, *(self._learn(trial.learner, kernel)[0] for kernel in self.candidates)]
        except Exception as error:
            return failed(error, key, kernel=result.columns["kernel"]), []

    def _learned(self, key: tuple[str, str], kernel: AnyKernel | None, tuning: Seconds = _NO_TIME) -> Learned:
        words = "" if kernel is None else kernel_in_words(kernel, self.split.pairs.n_features)
        try:
            learned, learning = self._learn(key[0], kernel)
        except Exception as error:
            return failed(error, key, kernel=words), []
        total = tuning.plus(learning)
        columns = {
            "kernel": words,
            "tuning_cpu_s": tuning.cpu_s,
            "tuning_wall_s": tuning.wall_s,
            "learning_cpu_s": learning.cpu_s,
            "learning_wall_s": learning.wall_s,
            "n_coordinates": len(learned.projection),
        }
        return RunResult(Status.CONVERGED, "", total.wall_s, total.cpu_s, columns, key), [learned]

    def _learn(self, learner: str, kernel: AnyKernel | None) -> tuple[LearnedMap, Seconds]:
        """Learn in the coordinates of a kernel, or on the samples as they are."""
        features, vectors, prepared = self.split.train, np.empty((0, 0)), _NO_TIME
        if kernel is not None:
            if kernel not in self._coordinates:
                self._coordinates[kernel] = self.referee.timed(lambda: self.split.coordinates(kernel))
            (features, vectors), prepared = self._coordinates[kernel]
        codes = self.split.train_codes
        projection, spent = self.referee.timed(lambda: learn_map(build_learner(learner), features, codes))
        weights = np.empty(0) if kernel is None else weights_of(kernel, self.candidates)
        return LearnedMap(weights, vectors, projection), prepared.plus(spent)
