"""A baseline on one fold: fitted on the clock, scored by the labels that it gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from kdrbench.baselines import BaselineTask, Classification, Classifier, Clustering, Completion
from kdrbench.errors import InputError
from kdrbench.status import Status
from kdrbench.suite.engine.referee import Referee, Seconds
from kdrbench.suite.engine.run import RunResult, read_results, repeated
from kdrbench.suite.engine.run_files import RunFiles, read_array
from kdrbench.suite.engine.seeds import rng_of
from kdrbench.suite.systems.ikdr.definition import CellDefinition
from kdrbench.suite.systems.ikdr.folds import CLASSES, Fold
from kdrbench.suite.systems.ikdr.scores import (
    Metric,
    Scores,
    classification_metric,
    clusters_quality,
    quality_of_labels,
)

LABELS = "labels"


@dataclass(frozen=True)
class BaselineRun(ABC):
    """One fold, and what makes the generator of every fit, so that repeats do the same work."""

    n_components: int
    rng: Callable[[], np.random.Generator]
    fold: Fold
    arrays: ClassVar[tuple[str, ...]] = (LABELS,)

    @abstractmethod
    def run(self, referee: Referee) -> Iterator[RunResult]:
        """Fit once, hand in the labels, and repeat a short fit."""

    @property
    @abstractmethod
    def n_scored(self) -> int:
        """The number of samples that get a label."""

    @abstractmethod
    def scores(self, labels: NDArray[Any] | None) -> Scores:
        """Return what the labels say of the result; a baseline has no cost."""

    def score(self, files: RunFiles) -> Mapping[str, Any]:
        """Return the sizes of the fold, q and the scores of the labels that the run left.

        Raises ``InputError`` unless there is one label for each sample.
        """
        labels = read_array(files.array(LABELS))
        if labels is not None:
            _check_labels(labels, self.n_scored)
        scores = replace(self.scores(labels), evaluation_s=self.evaluation_s(files))
        return {**self.fold.columns, "n_components": self.n_components, **asdict(scores)}

    def evaluation_s(self, files: RunFiles) -> float:
        """Return the CPU seconds that the run may work off the clock: none."""
        return 0.0


@dataclass(frozen=True)
class ClassificationRun(BaselineRun):
    """A classifier that is fitted to the training samples of a fold."""

    baseline: Classification

    def run(self, referee: Referee) -> Iterator[RunResult]:
        """Fit, then label the samples on which it is scored, off the clock.

        Raises ``InputError`` unless there is one label for each of them.
        """
        classifier, first = self._fit(referee)
        labels = classifier.predict(self.fold.scored_features)
        _hand_in(labels, self.n_scored, referee)
        row = RunResult(Status.CONVERGED, "fitted")
        yield from repeated(row, lambda: self._fit(referee)[1], first, referee)

    @property
    def n_scored(self) -> int:
        """The number of test samples, of training samples where there is no test part."""
        return len(self.fold.scored_labels)

    def scores(self, labels: NDArray[Any] | None) -> Scores:
        """Return accuracy or error of the labels."""
        quality = None if labels is None else quality_of_labels(labels, self.fold)
        return Scores(classification_metric(self.fold), quality=quality)

    def evaluation_s(self, files: RunFiles) -> float:
        """Return the CPU seconds of the fit: to predict takes no longer, unless it does the work of the fit."""
        result = read_results(files).get(())
        return (result.cpu_s or 0.0) if result else 0.0

    def _fit(self, referee: Referee) -> tuple[Classifier, Seconds]:
        rng, fold = self.rng(), self.fold
        return referee.timed(lambda: self.baseline.fit(fold.train_features, fold.train_labels, self.n_components, rng))


@dataclass(frozen=True)
class ClusteringBaselineRun(BaselineRun):
    """A baseline that clusters the rows of one run."""

    baseline: Clustering
    n_clusters: int

    def run(self, referee: Referee) -> Iterator[RunResult]:
        """Cluster.

        Raises ``InputError`` unless there is one cluster for each sample.
        """
        clusters, first = self._cluster(referee)
        _hand_in(clusters, self.n_scored, referee)
        row = RunResult(Status.CONVERGED, "clustered")
        yield from repeated(row, lambda: self._cluster(referee)[1], first, referee)

    @property
    def n_scored(self) -> int:
        """The number of samples that are clustered."""
        return len(self.fold.train_labels)

    def scores(self, labels: NDArray[Any] | None) -> Scores:
        """Return the agreement of clusters and classes."""
        if labels is None:
            return Scores(Metric.NMI)
        return Scores(Metric.NMI, quality=clusters_quality(labels, CLASSES, self.fold))

    def _cluster(self, referee: Referee) -> tuple[NDArray[Any], Seconds]:
        rng, features = self.rng(), self.fold.train_features
        return referee.timed(lambda: self.baseline.cluster(features, self.n_clusters, self.n_components, rng))


@dataclass(frozen=True)
class CompletionRun(ClusteringBaselineRun):
    """A baseline that finds the hidden labels of a run from those that are shown; judged as clusters are."""

    baseline: Completion  # type: ignore[assignment]

    def _cluster(self, referee: Referee) -> tuple[NDArray[Any], Seconds]:
        rng, features, labels = self.rng(), self.fold.train_features, self.fold.partial_labels
        return referee.timed(lambda: self.baseline.complete(features, labels, self.n_components, rng))


def make_baseline_run(
    cell: CellDefinition, baseline: Classification | Clustering | Completion, number: int, fold: Fold
) -> ClassificationRun | ClusteringBaselineRun:
    """Return the cell's run ``number`` on a fold; every fit has the same randomness, and so have all baselines.

    The check of the configuration has refused baselines of other tasks than the paradigm's, and q by a rule.
    """
    q = int(cell.n_components)
    # The word of the first records: another one would draw other numbers.
    rng = partial(rng_of, "reference", cell.dataset, number, cell.seed)
    if baseline.task == BaselineTask.CLUSTERING:
        return ClusteringBaselineRun(q, rng, fold, cast("Clustering", baseline), cell.parameters["n_clusters"])
    if baseline.task == BaselineTask.COMPLETION:
        return CompletionRun(q, rng, fold, cast("Completion", baseline), cell.parameters["n_clusters"])
    return ClassificationRun(q, rng, fold, cast("Classification", baseline))


def _hand_in(labels: NDArray[Any], n_samples: int, referee: Referee) -> None:
    """Keep the labels by which a baseline is scored; ``InputError`` unless there is one for each sample."""
    handed = np.asarray(labels)
    _check_labels(handed, n_samples)
    referee.save(LABELS, handed)


def _check_labels(labels: NDArray[Any], n_samples: int) -> None:
    if labels.shape != (n_samples,):
        raise InputError(f"the baseline predicted labels of shape {labels.shape} for {n_samples} samples")
    if labels.dtype.kind not in "biufUS" or (labels.dtype.kind == "f" and not np.isfinite(labels).all()):
        raise InputError(f"the baseline predicted labels of type {labels.dtype}; they must be finite numbers or words")
