"""What estimators share: classes as labels, and what their parameters say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from kdrbench.arrays import Device, checked_features, is_device_array, to_host
from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import (
    Declarations,
    check_parameters,
)


def labelled_samples(estimator: Any, X: ArrayLike, y: ArrayLike | None) -> tuple[FloatArray, NDArray[np.generic]]:
    """Return features and labels as arrays, and set the estimator's ``classes_`` and what scikit-learn keeps of X.

    Raises ``ValueError`` in scikit-learn's words for NaN, sparse or too few samples, and labels that are no classes.
    """
    features, labels = validate_data(estimator, X, y, dtype=np.float64, order="C", ensure_min_samples=2)
    check_classification_targets(labels)
    estimator.classes_ = np.unique(labels)
    return features, labels


def known_samples(
    estimator: Any, X: ArrayLike, y: ArrayLike | None, paradigm: str, *, continuous: bool
) -> tuple[FloatArray, Any]:
    """Return features and what is known of the samples, checked as the paradigm wants it; sets ``classes_``."""
    if is_device_array(X):
        return _known_on_device(estimator, X, y, paradigm, continuous=continuous)
    if is_device_array(y):
        y = to_host(y)
    options = {"dtype": np.float64, "order": "C", "ensure_min_samples": 2}
    if paradigm == "unsupervised" or (y is None and paradigm in ("semi_supervised", "alternative")):
        return validate_data(estimator, X, **options), None
    if paradigm == "semi_supervised":
        # NaN means no score, so scores are checked where they are used.
        return validate_data(estimator, X, **options), y
    features, known = validate_data(
        estimator, X, y, multi_output=np.asarray(y).ndim == 2, y_numeric=continuous, **options
    )
    if not continuous:
        check_classification_targets(known)
        if known.ndim == 1:
            estimator.classes_ = np.unique(known)
    return features, known


def _known_on_device(
    estimator: Any, X: Any, y: ArrayLike | None, paradigm: str, *, continuous: bool
) -> tuple[Any, NDArray[Any]]:
    """Return features where they are, and y in numpy; sets ``classes_`` and what scikit-learn keeps of X."""
    if paradigm != "supervised":
        raise InputError(f"paradigm {paradigm!r} is for arrays of numpy, got {type(X).__name__}; pass X.cpu().numpy()")
    if y is None:
        raise InputError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    features = checked_features(X)
    given = to_host(y) if is_device_array(y) else np.asarray(y)
    known = validate_data(estimator, y=given, multi_output=given.ndim == 2, y_numeric=continuous)
    if len(known) != features.shape[0] or len(known) < 2:
        raise InputError(f"X has {features.shape[0]} samples and y {len(known)}; both need the same number, at least 2")
    estimator.n_features_in_ = int(features.shape[1])
    if not continuous:
        check_classification_targets(known)
        if known.ndim == 1:
            estimator.classes_ = np.unique(known)
    return features, known


def projected(estimator: Any, X: Any, matrix: FloatArray) -> FloatArray:
    """Return X M for samples of a fitted estimator; of those on a device it is there, and of their type.

    ``matrix`` M has as many rows as the samples had features. Raises ``ValueError`` for other features.
    """
    if not is_device_array(X):
        result: FloatArray = validate_data(estimator, X, dtype=np.float64, reset=False) @ matrix
        return result
    features = checked_features(X)
    if features.shape[1] != len(matrix):
        raise InputError(
            f"X has {features.shape[1]} features, but {type(estimator).__name__} is expecting {len(matrix)} features"
        )
    device = Device.of(features)
    result = features @ device.xp.astype(device.up(matrix), features.dtype)
    return result


class LabelledTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A transformer that learns from class labels: ``fit`` and ``transform`` around what a subclass does."""

    # What parameters must be; checked by ``fit``.
    _constraints: ClassVar[Declarations] = {}

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from X (n_samples x n_features) and class labels y.

        Raises ``ValueError`` for bad parameters, NaN or sparse input, fewer than two classes, or samples from which
        the method cannot learn.
        """
        check_parameters(self)
        features, labels = labelled_samples(self, X, y)
        self._learn(features, labels)
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        """Return what the class says of each sample, one row a sample."""
        check_is_fitted(self)
        return self._mapped(validate_data(self, X, dtype=np.float64, order="C", reset=False))

    @abstractmethod
    def _learn(self, features: FloatArray, labels: NDArray[np.generic]) -> None:
        """Set the fitted attributes."""

    @abstractmethod
    def _mapped(self, features: FloatArray) -> FloatArray:
        """Return the values of checked samples."""

    @property
    @abstractmethod
    def _n_features_out(self) -> int:
        """Columns of the values."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def kernel_of(kernel: object, options: Mapping[str, Any] | None) -> object:
    """Return the definition of a kernel family with its options, or a kernel object; ``InputError`` for both."""
    if isinstance(kernel, str):
        return {"family": kernel, **(options or {})}
    if options:
        raise InputError("kernel_params belong to a kernel family; a kernel object has its own")
    return kernel
