"""What estimators share: classes as labels, and what their parameters say."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from kdrbench.errors import InputError
from kdrbench.estimators.targets import check_classes_alone, present_values
from kdrbench.kernels.family import FloatArray
from kdrbench.memory import check_memory
from kdrbench.parameters import FLAG, Either, check_parameters, whole

VERBOSE = Either((FLAG, whole(0)))
# Differences whose squares lose digits.
_LEAST_SPREAD = 1e-150
# Of a linear map, in double precision and in single.
_LINEAR, _LINEAR_SINGLE = 1e-6, 1e-4


class Samples(NamedTuple):
    """The numbers of samples and of features."""

    n_samples: int
    n_features: int


def check_footprint(estimator: object, needed: float, samples: Samples, way_out: str) -> None:
    """Raise ``InputError``, which is a ``ValueError``, where a fit needs more bytes than the machine has free.

    Bytes are counted from the arrays that are alive at once. At 1100 samples that is within a factor of two of the
    measured peak beyond the samples themselves.
    """
    check_memory(needed, f"a fit of {type(estimator).__name__} to {samples.n_samples} samples", way_out)


def check_spread(estimator: Any, features: FloatArray, most: float = inf) -> None:
    """Raise ``InputError`` where features differ by so little that squares underflow, or by more than ``most``.

    Features that do not differ at all are for the method to judge, and so is a kernel matrix.
    """
    if getattr(estimator, "kernel", "") == "precomputed":
        return
    with np.errstate(over="ignore"):
        spread = float((features.max(axis=0) - features.min(axis=0)).max())
    if 0.0 < spread < _LEAST_SPREAD or spread > most:
        fault = f"more than {most:g}: their powers overflow" if spread > most else "so their squares underflow"
        raise InputError(
            f"features differ by {spread:.3g} at most, {fault}; scale them, for instance with "
            "sklearn.preprocessing.StandardScaler"
        )


def warn_of_kernel_matrix(estimator: Any, features: FloatArray) -> None:
    """Warn where samples look like a kernel matrix, and the estimator's ``kernel`` is not "precomputed".

    They do if they are square, symmetric, and K_ij^2 <= K_ii K_jj, as in any positive semidefinite matrix.
    """
    n_samples, n_features = features.shape
    if n_samples != n_features or getattr(estimator, "kernel", "precomputed") == "precomputed":
        return
    diagonal = np.diagonal(features)
    bounds = np.sqrt(np.abs(diagonal))
    symmetric = (diagonal > 0.0).all() and np.allclose(features, features.T, rtol=1e-9, atol=1e-9 * diagonal.max())
    if symmetric and (np.abs(features) <= np.outer(bounds, bounds) * (1.0 + 1e-9)).all():
        warnings.warn(
            f"X is {n_samples} x {n_samples}, symmetric and like a kernel matrix, but is taken as features; if it is a "
            "kernel, say kernel='precomputed'",
            UserWarning,
            4,
        )


def linear_map(model: Any, features: FloatArray) -> FloatArray | None:
    """Return A (d x q) of a fitted estimator whose ``transform`` is x -> A'x + b; ``None`` where it is another map.

    A is what ``transform`` makes of the axes, less that of 0, whatever the estimator calls its matrix; of a pipeline
    scaling is part of it. All of ``features`` (n x d) decide whether the map is linear.
    """
    n_features = features.shape[1]
    origin = np.asarray(model.transform(np.zeros((1, n_features))), dtype=np.float64)
    axes = np.asarray(model.transform(np.eye(n_features)), dtype=np.float64) - origin
    values = np.asarray(model.transform(features))
    tolerance = _LINEAR_SINGLE if values.dtype == np.float32 else _LINEAR
    is_linear = np.allclose(values, features @ axes + origin, rtol=tolerance, atol=tolerance * np.abs(values).max())
    return axes if is_linear else None


def mapped_back(values: ArrayLike, components: FloatArray) -> FloatArray:
    """Return the shortest samples x with A'x = z for each row z of ``values``, A' = ``components`` (q x d).

    Raises ``InputError`` for rows that are not q numbers.
    """
    rows = check_array(values, dtype=(np.float64, np.float32))
    if rows.shape[1] != len(components):
        raise InputError(f"projected samples have {len(components)} columns, got {rows.shape[1]}")
    return np.asarray(rows @ np.linalg.pinv(components).T)


@dataclass(frozen=True)
class TransformerMap:
    """A transformer x -> A'x + b as a :class:`kdrbench.metric_learning.Learner` of A.

    It may be any that is affine: scikit-learn's, those of kdrbench, those of other packages for metric learning.
    """

    transformer: Any

    def fit(self, features: FloatArray, labels: NDArray[np.generic]) -> FloatArray:
        """Return A (D x d) for ``features`` (n x D); ``InputError`` where it is no transformer, or not affine."""
        if not hasattr(self.transformer, "transform"):
            raise InputError(
                f"{type(self.transformer).__name__} does not transform samples; a learner is a transformer such as "
                "kdrbench.estimators.LMNN, and a classifier comes after KPCATrick in a pipeline"
            )
        if (learned := linear_map(clone(self.transformer).fit(features, labels), features)) is None:
            raise InputError(
                f"{type(self.transformer).__name__} is no linear map of its features, so the KPCA trick does not apply;"
                " give a learner of Mahalanobis distances"
            )
        return learned


class LabelledTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A transformer that learns from class labels: ``fit`` and ``transform`` around what a subclass does."""

    # What to do where a fit needs more memory than there is.
    _way_out: ClassVar[str] = "learn from fewer samples"
    # Whether a fitted model may hold the samples.
    _keeps_samples: ClassVar[bool] = True
    components_: FloatArray

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Learn from X (n_samples x n_features) and class labels y.

        Raises ``ValueError`` for bad parameters, NaN or sparse input, no labels or fewer than two classes, samples from
        which the method cannot learn, or where it needs more memory than is free.
        """
        check_parameters(self)
        features, labels = self._checked(X, None if y is None else present_values(y))
        size = Samples(*features.shape)
        check_footprint(self, self._needed(size), size, self._way_out)
        if self._keeps_samples and np.may_share_memory(features, np.asarray(X)):
            # A change of X shall not be one of the model.
            features = features.copy()
        self._learn(features, labels)
        return self

    def _checked(self, X: ArrayLike, y: ArrayLike | None) -> tuple[FloatArray, NDArray[np.generic]]:
        """Return features and labels as arrays, and set ``classes_``.

        Raises ``ValueError`` in scikit-learn's words for NaN, sparse or too few samples, and labels that are no
        classes.
        """
        features, labels = validate_data(self, X, y, dtype=np.float64, order="C", ensure_min_samples=2)
        check_classes_alone(labels, type(self).__name__)
        check_spread(self, features)
        warn_of_kernel_matrix(self, features)
        self.classes_ = np.unique(labels)
        return features, labels

    def transform(self, X: ArrayLike) -> FloatArray:
        """Return what the class says of each sample, one row a sample; of float32 in float32, computed in float64."""
        check_is_fitted(self)
        given = validate_data(self, X, dtype=(np.float64, np.float32), order="C", reset=False)
        return self._mapped(given.astype(np.float64, copy=False)).astype(given.dtype, copy=False)

    @abstractmethod
    def _needed(self, samples: Samples) -> float:
        """Return the bytes that a fit needs."""

    @abstractmethod
    def _learn(self, features: FloatArray, labels: NDArray[np.generic]) -> None:
        """Set the fitted attributes."""

    @abstractmethod
    def _mapped(self, features: FloatArray) -> FloatArray:
        """Return the values of checked samples."""

    @property
    def _n_features_out(self) -> int:
        """Columns of the values."""
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
