"""A baseline on one fold: fitted under the clock, judged by the labels it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from kdrbench.baselines import BaselineTask, Classification, Classifier, Clustering
from kdrbench.bench.execute import Finished, RunFiles
from kdrbench.bench.fold import Fold
from kdrbench.bench.limits import Limits
from kdrbench.bench.monitor import BenchFaultError, TimedMonitor
from kdrbench.bench.pauses import Pauses
from kdrbench.bench.plan import Batch
from kdrbench.bench.quality import Judgement, Metric, metric_of, normalised_mutual_information, quality_of_labels
from kdrbench.bench.seeds import rng_of
from kdrbench.bench.traces import read_array, save_array
from kdrbench.errors import InputError
from kdrbench.solvers import Status


@dataclass(frozen=True)
class ClassificationJob:
    """One fold, the classifier that is fitted to its training samples, and what makes the generator of every fit."""

    baseline: Classification
    n_components: int
    rng: Callable[[], np.random.Generator]
    fold: Fold

    def watched(self, limits: Limits, pauses: Pauses, files: RunFiles) -> Finished:
        """Fit, then label the samples it is judged on while the clock stands.

        Raises ``InputError`` unless there is one label for each of them.
        """
        monitor = TimedMonitor(limits.time_s, pauses)
        labels = self._fit(monitor).predict(self.fold.judged_features)
        _hand_in(labels, len(self.fold.judged_labels), files)
        return Finished(monitor, Status.CONVERGED, "fitted")

    def again(self, limits: Limits, pauses: Pauses) -> TimedMonitor:
        """Fit."""
        monitor = TimedMonitor(limits.time_s, pauses)
        self._fit(monitor)
        return monitor

    def judged(self, files: RunFiles) -> Judgement:
        """Return accuracy or error of the labels; a baseline has no cost."""
        labels = read_array(files.predictions)
        quality = None if labels is None else quality_of_labels(labels, self.fold)
        return Judgement(metric_of(self.fold), quality=quality)

    def _fit(self, monitor: TimedMonitor) -> Classifier:
        rng, fold = self.rng(), self.fold
        monitor.begin()
        try:
            return self.baseline.fit(fold.train_features, fold.train_labels, self.n_components, rng)
        finally:
            monitor.end()


@dataclass(frozen=True)
class ClusteringJob:
    """The rows of one run, the baseline that clusters them, and what makes the generator of every time it does."""

    baseline: Clustering
    n_clusters: int
    n_components: int
    rng: Callable[[], np.random.Generator]
    fold: Fold

    def watched(self, limits: Limits, pauses: Pauses, files: RunFiles) -> Finished:
        """Cluster.

        Raises ``InputError`` unless there is one cluster for each sample.
        """
        monitor = TimedMonitor(limits.time_s, pauses)
        _hand_in(self._cluster(monitor), len(self.fold.train_labels), files)
        return Finished(monitor, Status.CONVERGED, "clustered")

    def again(self, limits: Limits, pauses: Pauses) -> TimedMonitor:
        """Cluster once more."""
        monitor = TimedMonitor(limits.time_s, pauses)
        self._cluster(monitor)
        return monitor

    def judged(self, files: RunFiles) -> Judgement:
        """Return the agreement of clusters and classes; a baseline has no cost."""
        clusters = read_array(files.predictions)
        if clusters is None:
            return Judgement(Metric.NMI)
        return Judgement(Metric.NMI, quality=normalised_mutual_information(self.fold.train_labels, clusters))

    def _cluster(self, monitor: TimedMonitor) -> NDArray[Any]:
        rng, features = self.rng(), self.fold.train_features
        monitor.begin()
        try:
            return self.baseline.cluster(features, self.n_clusters, self.n_components, rng)
        finally:
            monitor.end()


def make_baseline_job(
    batch: Batch, baseline: Classification | Clustering, number: int, fold: Fold
) -> ClassificationJob | ClusteringJob:
    """Return the batch's job on fold ``number``; every fit has the same randomness, and so have all baselines.

    The check of the configuration has refused baselines of other tasks than the paradigm's, and q by a rule.
    """
    n_components = int(batch.n_components)
    rng = partial(rng_of, "baseline", batch.dataset, number, batch.seed)
    if baseline.task == BaselineTask.CLUSTERING:
        n_clusters = batch.parameters["n_clusters"]
        return ClusteringJob(cast("Clustering", baseline), n_clusters, n_components, rng, fold)
    return ClassificationJob(cast("Classification", baseline), n_components, rng, fold)


def _hand_in(labels: NDArray[Any], n_samples: int, files: RunFiles) -> None:
    """Write the labels that a baseline is judged by; ``InputError`` unless there is one for each sample."""
    given = np.asarray(labels)
    if given.shape != (n_samples,):
        raise InputError(f"the baseline predicted labels of shape {given.shape} for {n_samples} samples")
    try:
        save_array(files.predictions, given)
    except OSError as error:
        raise BenchFaultError(f"the predictions cannot be written: {error}") from error
