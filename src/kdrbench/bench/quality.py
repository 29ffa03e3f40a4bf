"""How good a result is for its task, on samples it was not fitted to."""

from __future__ import annotations

from dataclasses import dataclass

from kdrbench.bench.fold import Fold
from kdrbench.kernels.family import FloatArray
from kdrbench.references.classification import support_vector_machine


@dataclass(frozen=True)
class Judgement:
    """What is known of a run's result, as columns of its record; ``None`` where there is no such number.

    ``quality_metric`` says what ``quality`` is; cost, feasibility and stationarity are those of a projection.
    """

    quality_metric: str
    quality: float | None = None
    cost: float | None = None
    feasibility: float | None = None
    stationarity: float | None = None


def held_out_accuracy(projection: FloatArray, fold: Fold) -> float:
    """Return the share of test samples that an SVM fitted on the projected training samples gets right.

    RBF kernel exp(-gamma d^2) with gamma = 1/q, C = 1, as in the papers' code.
    """
    classifier = support_vector_machine().fit(fold.train_features @ projection, fold.train_labels)
    return float(classifier.score(fold.test_features @ projection, fold.test_labels))
