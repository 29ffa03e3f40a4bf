"""The folds of a cross validation: their samples, scaled by the training part of each, and what they are scored by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import has_fit_parameter

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import OneOf, check_names, check_value

_FOLDS = 5
_SCALERS = OneOf(("standard", "passthrough"))


class Given(NamedTuple):
    """Samples (dense or sparse), what is known of them, and their weights if any."""

    features: Any
    known: NDArray[Any]
    weights: FloatArray | None = None

    def at(self, rows: NDArray[np.intp]) -> Given:
        """Return some of the samples."""
        weights = None if self.weights is None else self.weights[rows]
        return Given(self.features[rows], self.known[rows], weights)

    def fit(self, model: Any) -> Any:
        """Return the model fitted on the samples, with their weights where its ``fit`` takes any."""
        if self.weights is None or not has_fit_parameter(model, "sample_weight"):
            return model.fit(self.features, self.known)
        return model.fit(self.features, self.known, sample_weight=self.weights)


class Asked(NamedTuple):
    """What metadata the splitter and the scorer are called with."""

    split: Mapping[str, Any] = {}
    score: Mapping[str, Any] = {}


class Fold(NamedTuple):
    """The samples of one split, and what all its fits share: the training features are scaled, the others are not."""

    train: Given
    test: Given
    scaler: Any
    final_estimator: Any
    scorer: Callable[..., float]
    score_params: Mapping[str, Any]


def scaler_of(scaler: Any, features: Any) -> Any:
    """Return the unfitted transformer that ``scaler`` is or names; ``InputError`` for an unknown name."""
    if not isinstance(scaler, str):
        return clone(scaler)
    check_value("scaler", scaler, _SCALERS)
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    if scaler == "standard":
        # Centred, sparse samples would be dense.
        return StandardScaler(with_mean=not issparse(features))
    return FunctionTransformer(feature_names_out="one-to-one", accept_sparse=True)


def asked_metadata(search: Any, given: Given, params: Mapping[str, Any]) -> Asked:
    """Return what ``fit(..., **params)`` means: by metadata routing, or without it ``groups`` for the splitter alone.

    Raises ``InputError`` for other names, and as scikit-learn's routing does for what is not requested.
    """
    if not get_config()["enable_metadata_routing"]:
        check_names("argument of fit", params, ("sample_weight", "groups"))
        return Asked(params)
    routed = process_routing(search, "fit", sample_weight=given.weights, **params)
    return Asked(routed.splitter.split, routed.scorer.score)


def folds_of(
    search: Any, given: Given, predictor: Any, params: Mapping[str, Any], rng: np.random.RandomState
) -> Iterator[Fold]:
    """Yield the splits that ``search.cv`` says, with their scalers fitted, on training samples alone.

    ``params`` are those of ``fit``, and ``rng`` shuffles samples where ``search`` has a ``random_state`` and leaves the
    folds to us.
    """
    from sklearn.metrics import check_scoring
    from sklearn.model_selection import KFold, StratifiedKFold, check_cv

    cv, classes = search.cv, is_classifier(predictor)
    if search.random_state is not None and (cv is None or isinstance(cv, Integral)):
        kind = StratifiedKFold if classes else KFold
        cv = kind(_FOLDS if cv is None else cv, shuffle=True, random_state=rng.randint(2**31))
    scorer, asked = check_scoring(predictor, search.scoring), asked_metadata(search, given, params)
    for train, test in check_cv(cv, given.known, classifier=classes).split(given.features, given.known, **asked.split):
        scaler = scaler_of(search.scaler, given.features)
        scored = {name: np.asarray(values)[test] for name, values in asked.score.items() if values is not None}
        yield Fold(scaled_to(scaler, given.at(train)), given.at(test), scaler, predictor, scorer, scored)


def predictor_of(search: Any) -> Any:
    """Return the unfitted final estimator of a search that has seen y, the neighbours' where none is given."""
    if search.final_estimator is not None:
        return clone(search.final_estimator)
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    return KNeighborsClassifier() if hasattr(search, "classes_") else KNeighborsRegressor()


def scaled_to(scaler: Any, given: Given) -> Given:
    """Fit the scaler and return the scaled samples; ``InputError`` where they are not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = given.fit(scaler).transform(given.features)
    if not np.isfinite(scaled.data if issparse(scaled) else scaled).all():
        most = abs(given.features).max()
        raise InputError(
            f"samples with values of up to {most:.2g} are not finite once scaled by {scaler}; change their unit"
        )
    return given._replace(features=scaled)
