"""How strongly a learned projection depends on the labels it was learned from: one number, larger for more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline

from kdrbench.errors import InputError
from kdrbench.estimators import InterpretableKDR
from kdrbench.estimators.targets import AUTO, check_labels, is_continuous, present_values
from kdrbench.evaluation import build_problem
from kdrbench.inference.refits import classes_of, embedded
from kdrbench.kernels import Gaussian
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import OneOf, check_value
from kdrbench.problems import FactoredGamma, TraceObjective, supervised_gamma, target_gamma

Statistic = Callable[[Any, Any, Any], float]
_FOLDS, _NEIGHBOURS = 5, 5


def gamma_of(y: ArrayLike, target: str = AUTO) -> FactoredGamma:
    """Return the centred kernel matrix H K_y H of labels or targets.

    Class labels, n or n x m, have the linear kernel on their one-hot columns. Continuous targets have a Gaussian kernel
    whose bandwidth is their root mean square distance. ``target`` says which y is.

    Raises ``InputError`` for missing values, and for what :func:`.check_labels` refuses.
    """
    if not is_continuous(known := present_values(y), target):
        check_labels(known)
        return supervised_gamma(known)
    targets = np.asarray(y, dtype=np.float64)
    return target_gamma(targets, Gaussian(rms_distance(targets.reshape(len(targets), -1))))


def in_unit(features: FloatArray) -> FloatArray:
    """Return the features less those of the first row, over a power of two: the largest is in [1/2, 1), or 0.

    A kernel whose bandwidth is relative to distances is the same then, and squares neither overflow nor underflow.
    """
    # Halves, so that differences do not overflow.
    halves = 0.5 * features
    shifted = halves - halves[:1]
    _, exponent = np.frexp(np.abs(shifted).max(initial=0.0))
    return np.asarray(np.ldexp(shifted, -exponent))


def rms_distance(features: FloatArray) -> float:
    """Return the root mean square distance of all n^2 pairs of rows: the square root of twice the total variance.

    A median would be 0 where a learner has drawn half of all pairs to one point.
    """
    return float(np.sqrt(2.0 * features.var(axis=0).sum()))


def hsic(features: FloatArray, y: ArrayLike) -> float:
    """Return Tr(K H K_y H) without the diagonal of K, K a Gaussian kernel of the rows of ``features`` (n x q).

    This is HSIC times (n - 1)^2, as the objective of ``InterpretableKDR``. The bandwidth is the root mean square
    distance of rows, so that scale and rotation of ``features`` do not matter. It is 0 where all rows coincide.

    Source: Gretton, Bousquet, Smola, Schoelkopf, "Measuring statistical dependence with Hilbert-Schmidt norms", ALT
    2005, Eq. 9.
    """
    features = in_unit(features)
    sigma = rms_distance(features)
    if sigma == 0.0:
        return 0.0
    problem = build_problem(TraceObjective(np.ascontiguousarray(features), Gaussian(sigma), gamma_of(y)))
    return float(problem.value(np.eye(features.shape[1])))


def _objective(model: Any, X: Any, y: ArrayLike) -> float:
    last = _last_step(model)
    if not hasattr(last, "objective_"):
        raise InputError(f"{type(last).__name__} has no objective_; choose another statistic, such as 'hsic'")
    return float(last.objective_)


def _hsic_of_projection(model: Any, X: Any, y: ArrayLike) -> float:
    return hsic(embedded(model, X), y)


def _accuracy(model: Any, X: Any, y: ArrayLike) -> float:
    """Return the cross-validated accuracy of 5 neighbours in projections, each learned without its test fold."""
    if (classes := classes_of(y)) is None:
        raise InputError("the statistic 'accuracy' needs one column of class labels, got continuous y; choose 'hsic'")
    smallest = int(np.unique(classes, return_counts=True)[1].min())
    if smallest < 2:
        raise InputError("the statistic 'accuracy' needs at least two samples of each class; choose 'hsic'")
    folds = StratifiedKFold(min(_FOLDS, smallest))
    classifier = make_pipeline(clone(model), KNeighborsClassifier(_NEIGHBOURS))
    return float(cross_val_score(classifier, X, y, cv=folds, error_score="raise").mean())


def _last_step(model: Any) -> Any:
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


_BY_NAME: Mapping[str, Statistic] = {"objective": _objective, "hsic": _hsic_of_projection, "accuracy": _accuracy}


def statistic_of(statistic: object, model: Any) -> Statistic:
    """Return the function of (fitted estimator, X, y) that has this name, or the function that was given.

    ``auto`` is ``objective`` for ``InterpretableKDR`` that learns from labels, alone or at the end of a pipeline, and
    ``hsic`` for others.
    """
    if callable(statistic):
        return cast(Statistic, statistic)
    check_value("statistic", statistic, OneOf(("auto", *_BY_NAME)))
    if statistic == "auto":
        last = _last_step(model)
        supervised = isinstance(last, InterpretableKDR) and last.paradigm == "supervised"
        return _BY_NAME["objective" if supervised else "hsic"]
    return _BY_NAME[cast(str, statistic)]
