"""A baseline on one fold: fitted on the clock, scored by the labels that it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kdrbench.baselines import BaselineTask
from kdrbench.errors import InputError
from kdrbench.status import Status
from kdrbench.suite.engine.referee import Referee
from kdrbench.suite.engine.run import RunResult, read_results, repeated
from kdrbench.suite.engine.run_files import RunFiles
from kdrbench.suite.engine.seeds import rng_of
from kdrbench.suite.systems.ikdr.definition import CellDefinition
from kdrbench.suite.systems.ikdr.folds import CLASSES, Fold
from kdrbench.suite.systems.ikdr.scores import clusters_quality, columns_of, quality_of_labels

LABELS = "labels"


@dataclass(frozen=True)
class BaselineRun:
    """A baseline on one fold, and what makes the generator of every fit, so that repeats do the same work.

    A classifier is fitted to the training samples, and labels those on which it is scored off the clock. Other
    baselines cluster the training samples, or find their hidden labels from those that are shown.
    """

    baseline: Any
    n_components: int
    rng: Callable[[], np.random.Generator]
    fold: Fold
    columns: Mapping[str, Any]
    n_clusters: int = 0
    arrays: ClassVar[tuple[str, ...]] = (LABELS,)

    def run(self, referee: Referee) -> Iterator[RunResult]:
        """Do the work once, keep its labels with their score, and repeat it if it was short.

        Raises ``InputError`` unless there is one label for each sample that is scored.
        """
        (made, first), fold, classifies = referee.timed(self._work()), self.fold, self._classifies
        labels = np.asarray(made.predict(fold.scored_features) if classifies else made)
        _check_labels(labels, len(fold.scored_labels if classifies else fold.train_labels))
        referee.save(LABELS, labels)
        quality = quality_of_labels(labels, fold) if classifies else clusters_quality(labels, CLASSES, fold)
        row = RunResult(Status.CONVERGED, "fitted" if classifies else "clustered", columns={"quality": quality})
        yield from repeated(row, lambda: referee.timed(self._work())[1], first, referee)

    def score(self, files: RunFiles) -> Mapping[str, Any]:
        """Return what is known of the run (:func:`.columns_of`); a baseline has no cost."""
        # CPU seconds allowed off the clock: to predict takes no longer than the fit, unless it fits.
        result = read_results(files).get(()) if self._classifies else None
        return {**self.columns, "evaluation_s": (result.cpu_s or 0.0) if result else 0.0}

    @property
    def _classifies(self) -> bool:
        return bool(self.baseline.task == BaselineTask.CLASSIFICATION)

    def _work(self) -> Callable[[], Any]:
        baseline = self.baseline
        features, q, rng = self.fold.train_features, self.n_components, self.rng()
        if self._classifies:
            return lambda: baseline.fit(features, self.fold.train_labels, q, rng)
        if baseline.task == BaselineTask.COMPLETION:
            shown = self.fold.partial_labels
            return lambda: baseline.complete(features, shown, q, rng)
        return lambda: baseline.cluster(features, self.n_clusters, q, rng)


def make_baseline_run(cell: CellDefinition, baseline: Any, number: int, fold: Fold) -> BaselineRun:
    """Return the cell's run ``number`` on a fold; every fit has the same randomness, and so have all baselines.

    The check of the configuration has refused baselines of other tasks than the paradigm's, and q by a rule.
    """
    # The word of the first records: another one would draw other numbers.
    rng = partial(rng_of, "reference", cell.dataset, number, cell.seed)
    n_clusters = cell.parameters.get("n_clusters", 0)
    return BaselineRun(baseline, int(cell.n_components), rng, fold, columns_of(cell, fold), n_clusters)


def _check_labels(labels: NDArray[Any], n_samples: int) -> None:
    if labels.shape != (n_samples,):
        raise InputError(f"the baseline predicted labels of shape {labels.shape} for {n_samples} samples")
    if labels.dtype.kind not in "biufUS" or (labels.dtype.kind == "f" and not np.isfinite(labels).all()):
        raise InputError(f"the baseline predicted labels of type {labels.dtype}; they must be finite numbers or words")
