"""How good a result is for its task."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from numpy.typing import NDArray

from kdrbench.baselines.methods import support_vector_machine
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms.embedding import mutual_information
from kdrbench.solvers.geometry.stiefel import STATIONARY, is_stationary
from kdrbench.status import Status
from kdrbench.suite.systems.ikdr.definition import CellDefinition, Paradigm
from kdrbench.suite.systems.ikdr.folds import Fold


class Metric(StrEnum):
    """What ``quality`` is: the share of right labels of test samples, of wrong ones of training samples, or NMI."""

    ACCURACY = "accuracy"
    ERROR = "error"
    NMI = "nmi"


class Optimality(StrEnum):
    """What a projection is by the exact problem's gradient and curvature, whatever the method says of it."""

    SECOND_ORDER = "second_order"
    FIRST_ORDER = "first_order"
    SADDLE = "saddle"
    NOT_STATIONARY = "not_stationary"


# The ending of a run whose method says converged, by a rule of its own that ends above that.
OWN_RULE = "own_rule"
# A point that is stationary to 1e-6 has curvatures known no better. The safeguarded solver leaves what is below.
CURVED = 1e-6


def optimality_of(stationarity: float, curvature: float | None) -> Optimality:
    """Return what first and second order say of a projection.

    ``stationarity`` is |(I - WW') Phi W| / |Phi W|. ``curvature`` is that of :class:`.Certificate`, the smallest along
    a tangent direction, ``None`` where it was not found: a stationary projection is then ``first_order``, which may be
    a maximum or a saddle. NaN is not stationary.
    """
    if not is_stationary(stationarity):
        return Optimality.NOT_STATIONARY
    if curvature is None:
        return Optimality.FIRST_ORDER
    return Optimality.SECOND_ORDER if curvature >= -CURVED else Optimality.SADDLE


def ending_of(status: str, optimality: object, stationarity: float | None = None) -> str:
    """Return how a run ended: its status, but ``own_rule`` for one that says converged and is not stationary.

    Controls have no ``optimality``: of them the ``stationarity`` decides.
    """
    if isinstance(optimality, str) and optimality:
        short = optimality == Optimality.NOT_STATIONARY
    else:
        short = stationarity is not None and stationarity > STATIONARY
    return OWN_RULE if status == Status.CONVERGED and short else str(status)


def ending_in_words(status: str, optimality: object, stationarity: float | None = None) -> str:
    """Return :func:`ending_of` as a line of a terminal says it."""
    ending = ending_of(status, optimality, stationarity)
    return f"stopped by its own rule, not converged to {STATIONARY:.0e}" if ending == OWN_RULE else ending


def classification_metric(fold: Fold) -> Metric:
    """Return how classifiers of this fold are scored.

    Without a test part that is the error on the rows they were fitted to: the protocol of ISM+, Table 5, and no
    estimate of what they do on others.
    """
    return Metric.ACCURACY if len(fold.test_labels) else Metric.ERROR


def columns_of(cell: CellDefinition, fold: Fold) -> dict[str, Any]:
    """Return the columns that are known of a run without making it; q only where it does not follow a rule."""
    return {
        **fold.columns,
        "quality_metric": classification_metric(fold) if cell.paradigm == Paradigm.SUPERVISED else Metric.NMI,
        "n_components": cell.n_components if isinstance(cell.n_components, int) else None,
    }


def quality_of_labels(labels: NDArray[Any], fold: Fold) -> float:
    """Return accuracy or error, as :func:`classification_metric` says, of ``labels`` of the scored samples."""
    right = float((labels == fold.scored_labels).mean())
    return right if classification_metric(fold) is Metric.ACCURACY else 1.0 - right


def projected_quality(projection: FloatArray, fold: Fold) -> tuple[float, float | None]:
    """Return the quality of an SVM that is fitted on the projected training samples, and its training accuracy.

    RBF kernel exp(-gamma d^2) with gamma = 1/q, C = 1, as in the papers' code. Without a test part the quality is the
    training error, and there is no other number. Some accuracies that the papers print are those of training samples.
    """
    train = fold.train_features @ projection
    classifier = support_vector_machine().fit(train, fold.train_labels)
    quality = quality_of_labels(classifier.predict(fold.scored_features @ projection), fold)
    tested = len(fold.test_labels) > 0
    return quality, float((classifier.predict(train) == fold.train_labels).mean()) if tested else None


def clusters_quality(clusters: NDArray[Any], labelling: str, fold: Fold) -> float:
    """Return the NMI of ``clusters`` of the training samples with a labelling, over those that are judged by it."""
    return mutual_information(fold.labelling(labelling)[fold.judged], clusters[fold.judged])
