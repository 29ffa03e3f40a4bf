"""A reference on one fold: fitted under the clock, judged by its labels of the test samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from kdrbench.bench.execute import Finished, RunFiles
from kdrbench.bench.fold import Fold
from kdrbench.bench.grid import Batch
from kdrbench.bench.limits import Limits
from kdrbench.bench.monitor import BenchFaultError, TimedMonitor, read_array, save_array
from kdrbench.bench.pauses import Pauses
from kdrbench.bench.quality import Judgement
from kdrbench.bench.seeds import rng_of
from kdrbench.errors import InputError
from kdrbench.references import Classification, Classifier
from kdrbench.solvers import Status


@dataclass(frozen=True)
class ClassificationJob:
    """One fold, the classifier that is fitted to its training samples, and what makes the generator of every fit."""

    reference: Classification
    n_components: int
    rng: Callable[[], np.random.Generator]
    fold: Fold

    def watched(self, limits: Limits, pauses: Pauses, files: RunFiles) -> Finished:
        """Fit, then label the test samples while the clock stands.

        Raises ``InputError`` unless there is one label for each test sample.
        """
        monitor = TimedMonitor(limits.time_s, pauses)
        labels = np.asarray(self._fit(monitor).predict(self.fold.test_features))
        if labels.shape != self.fold.test_labels.shape:
            raise InputError(
                f"the reference predicted labels of shape {labels.shape} for {len(self.fold.test_labels)} samples"
            )
        try:
            save_array(files.predictions, labels)
        except OSError as error:
            raise BenchFaultError(f"the predictions cannot be written: {error}") from error
        return Finished(monitor, Status.CONVERGED, "fitted")

    def again(self, limits: Limits, pauses: Pauses) -> TimedMonitor:
        """Fit."""
        monitor = TimedMonitor(limits.time_s, pauses)
        self._fit(monitor)
        return monitor

    def judged(self, files: RunFiles) -> Judgement:
        """Return the share of test samples that were labelled rightly; a reference has no cost."""
        labels = read_array(files.predictions)
        share = None if labels is None else float(np.mean(labels == self.fold.test_labels))
        return Judgement("accuracy", quality=share)

    def _fit(self, monitor: TimedMonitor) -> Classifier:
        rng, fold = self.rng(), self.fold
        monitor.begin()
        try:
            return self.reference.fit(fold.train_features, fold.train_labels, self.n_components, rng)
        finally:
            monitor.end()


def make_classification_job(batch: Batch, reference: Classification, number: int, fold: Fold) -> ClassificationJob:
    """Return the batch's job on fold ``number``; every fit has the same randomness, and so have all references."""
    rng = partial(rng_of, "reference", batch.dataset, number, batch.seed)
    return ClassificationJob(reference, batch.n_components, rng, fold)
