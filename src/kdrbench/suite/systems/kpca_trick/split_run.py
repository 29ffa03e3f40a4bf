"""A split as a run that learns from its training samples; what it learned is judged after it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from kdrbench.datasets import Dataset
from kdrbench.errors import InputError
from kdrbench.metric_learning import AnyKernel
from kdrbench.status import BY_METHODS
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.referee import Referee
from kdrbench.suite.engine.run import Results, RunResult, failed_to_score
from kdrbench.suite.engine.run_files import RunFiles
from kdrbench.suite.systems.kpca_trick.learned_map import LearnedMap, accuracy_of, name_of
from kdrbench.suite.systems.kpca_trick.run import run_split
from kdrbench.suite.systems.kpca_trick.split import SampleSplit, candidates_of, draw_split


@dataclass(frozen=True)
class SplitRun:
    """Split ``number`` of a data set, with the candidate kernels."""

    batch: Batch
    number: int
    split: SampleSplit
    candidates: Sequence[AnyKernel]
    arrays: ClassVar[tuple[str, ...]] = ()

    def run(self, referee: Referee) -> Iterator[RunResult]:
        """Yield the result of each method as it ends; see :func:`run_split`."""
        return run_split(self.batch, self.split, self.number, referee)

    def judged(self, files: RunFiles, results: Results) -> Results:
        """Return the results with the accuracies of what was learned, whose arrays are removed.

        The seconds of mapping and classifying test samples are added to those of learning.
        """
        return {key: self._judged(files, result) for key, result in results.items()}

    def _judged(self, files: RunFiles, result: RunResult) -> RunResult:
        # A run says nothing of its own accuracy.
        columns: dict[str, Any] = {**result.columns, "accuracy": None, "test_selected": ""}
        if result.status not in BY_METHODS:
            return replace(result, columns=columns)
        try:
            (accuracy, spent), *tried = [
                accuracy_of(
                    LearnedMap.take(files, name_of(self.batch, result.key, number)), self.split, self.candidates
                )
                for number in range(1 + _n_tried(self.batch, result.key))
            ]
        except InputError as error:
            return failed_to_score({result.key: result}, error)[result.key]
        columns["accuracy"] = accuracy
        if tried:
            columns["test_selected"] = json.dumps([of_candidate for of_candidate, _ in tried])
        for clock, seconds in (("wall", spent.wall_s), ("cpu", spent.cpu_s)):
            columns[f"learning_{clock}_s"] = (columns.get(f"learning_{clock}_s") or 0.0) + seconds
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


def _n_tried(batch: Batch, key: tuple[Any, ...]) -> int:
    """Return with how many candidates, whatever it chose, a method is tried on the test samples."""
    (values,) = batch.definition["candidates"].values()
    return len(values) if batch.definition["test_selected"] and key[1] == "cross_validated" else 0
