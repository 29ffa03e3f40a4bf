"""How good a result is for its task."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from numpy.typing import NDArray

from kdrbench.baselines.classification import support_vector_machine
from kdrbench.kernels.family import FloatArray
from kdrbench.stages.ikdr.definition import Fold


class Metric(StrEnum):
    """What ``quality`` is: the share of right labels of test samples, of wrong ones of training samples, or NMI."""

    ACCURACY = "accuracy"
    ERROR = "error"
    NMI = "nmi"


@dataclass(frozen=True)
class Scores:
    """What is known of a run's result, as columns of its record; ``None`` where there is no such number.

    ``quality_metric`` says what ``quality`` is; ``nmi_given`` is the agreement with the labelling that an alternative
    clustering was to differ from. Cost, feasibility and stationarity are those of a projection. ``curvature``,
    ``eigengap`` and ``eigengap_needed`` are those of :class:`.Certificate`, of supervised runs whose tangent space is
    small enough for the whole Hessian.
    """

    quality_metric: str
    quality: float | None = None
    cost: float | None = None
    feasibility: float | None = None
    stationarity: float | None = None
    curvature: float | None = None
    eigengap: float | None = None
    eigengap_needed: float | None = None
    nmi_given: float | None = None


def classification_metric(fold: Fold) -> Metric:
    """Return how classifiers of this fold are scored.

    Without a test part that is the error on the rows they were fitted to: the protocol of ISM+, Table 5, and no
    estimate of what they do on others.
    """
    return Metric.ACCURACY if len(fold.test_labels) else Metric.ERROR


def quality_of_labels(labels: NDArray[Any], fold: Fold) -> float:
    """Return accuracy or error, as :func:`classification_metric` says, of ``labels`` of the scored samples."""
    right = float((labels == fold.scored_labels).mean())
    return right if classification_metric(fold) is Metric.ACCURACY else 1.0 - right


def projected_quality(projection: FloatArray, fold: Fold) -> float:
    """Return the quality of an SVM that is fitted on the projected training samples.

    RBF kernel exp(-gamma d^2) with gamma = 1/q, C = 1, as in the papers' code.
    """
    classifier = support_vector_machine().fit(fold.train_features @ projection, fold.train_labels)
    return quality_of_labels(classifier.predict(fold.scored_features @ projection), fold)


def normalised_mutual_information(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Return I(first; second) / sqrt(H(first) H(second)) of two labellings of the same samples.

    Source: NeurIPS 2019, Appendix L.
    """
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(first, second, average_method="geometric"))
