"""One outer fold as a run: a method learns from its training rows; what it projects is judged after the run.

The rows are standardised by those for training. A run leaves the projected rows (``train_<q>``, ``test_<q>``), from
which its scores are computed, and the d x q matrix of a linear method (``projection_<q>``), which compares folds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from kdrbench.datasets import Dataset
from kdrbench.errors import InputError
from kdrbench.reduction.methods import METHODS
from kdrbench.status import BY_METHODS, Status
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.referee import Referee, Seconds
from kdrbench.suite.engine.run import Results, RunResult, failed, failed_to_score
from kdrbench.suite.engine.run_files import RunFiles, take_array
from kdrbench.suite.engine.seeds import rng_of, seed_of
from kdrbench.suite.systems.league.judges import judge
from kdrbench.suite.systems.league.protocol import Fold, fewer_rows, fitted, fold_of, projected, tune
from kdrbench.suite.systems.league.system import JUDGES, TUNED

_PARTS = ("train", "test")


@dataclass(frozen=True)
class FoldRun:
    """Fold ``number`` of a data set: a method gets its training rows, and the features of its test rows to project."""

    batch: Batch
    number: int
    fold: Fold
    arrays: ClassVar[tuple[str, ...]] = ()

    def run(self, referee: Referee) -> Iterator[RunResult]:
        """Yield the result for each number of components as it ends; what the method raises is its message."""
        for (count,) in self.batch.rows:
            try:
                yield self._played(int(count), referee)
            except Exception as error:
                yield failed(error, (count,))

    def _played(self, count: int, referee: Referee) -> RunResult:
        definition, seed = self.batch.definition, seed_of("league method", self.number, self.batch.seed)
        entry = METHODS[definition["method"]]
        chosen: dict[str, Any] = {}
        tuning = Seconds()
        if definition["rules"] == TUNED:
            chosen, tuning = referee.timed(partial(tune, entry, self.fold, count, seed))
        model, fitting = referee.timed(partial(fitted, entry, self.fold, count, seed, chosen))
        learned = projected(model, self.fold, count)
        for part in _PARTS:
            referee.save(f"{part}_{count}", getattr(learned, part))
        if learned.projection is not None:
            referee.save(f"projection_{count}", learned.projection)
        total = tuning.plus(fitting)
        columns = {
            "tuning_wall_s": tuning.wall_s,
            "tuning_cpu_s": tuning.cpu_s,
            "chosen": json.dumps(chosen, default=str, sort_keys=True) if chosen else "",
            "n_found": learned.train.shape[1],
            "linear": learned.projection is not None,
        }
        return RunResult(Status.CONVERGED, "", total.wall_s, total.cpu_s, columns, (count,))

    def judged(self, files: RunFiles, results: Results) -> Results:
        """Return the results with the scores of the projected rows, whose arrays are removed."""
        return {key: self._judged(files, result) for key, result in results.items()}

    def _judged(self, files: RunFiles, result: RunResult) -> RunResult:
        train, test = (take_array(files.array(f"{part}_{result.key[0]}")) for part in _PARTS)
        # A run says nothing of its own scores.
        columns = {**result.columns, **dict.fromkeys(JUDGES)}
        result = replace(result, columns=columns)
        if result.status not in BY_METHODS:
            return result
        try:
            if train is None or test is None:
                raise InputError(f"the run left no projected {'train' if train is None else 'test'} rows")
            scores = judge(train, self.fold.train_codes, test, self.fold.test_codes)
        except InputError as error:
            return failed_to_score({result.key: result}, error)[result.key]
        return replace(result, columns=columns | scores)

    def score(self, files: RunFiles) -> Mapping[str, Any]:
        """Return the sizes of the fold."""
        return self.sizes

    @property
    def sizes(self) -> dict[str, Any]:
        """The rules and the sizes of the fold, as columns of a record."""
        n_train, n_features = self.fold.train.shape
        n_classes = len(set(self.fold.train_codes.tolist()))
        sizes = {"n_train": n_train, "n_test": len(self.fold.test), "n_features": n_features, "n_classes": n_classes}
        return {"rules": self.batch.definition["rules"], **sizes}


def make_fold_run(batch: Batch, dataset: Dataset, number: int) -> FoldRun:
    """Return fold ``number % folds`` of partition ``number // folds`` as a run, the same for all methods and rules."""
    codes, n_folds, most_rows = dataset.labels, batch.definition["folds"], batch.definition["most_rows"]
    rows = fewer_rows(
        codes, most_rows or len(codes), n_folds, rng_of("league rows", batch.dataset, most_rows, batch.seed)
    )
    partition = seed_of("league partition", batch.dataset, number // n_folds, batch.seed)
    fold = fold_of(dataset.features[rows], codes[rows], number % n_folds, n_folds, partition)
    return FoldRun(batch, number, fold)
