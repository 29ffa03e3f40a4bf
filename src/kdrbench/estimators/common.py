"""What estimators share: checks of samples and labels, linear maps, and the loadings of groups of features."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from kdrbench.errors import InputError
from kdrbench.estimators.definitions import PRECOMPUTED
from kdrbench.estimators.targets import check_classes_alone, present_values
from kdrbench.kernels.family import FloatArray
from kdrbench.memory import check_memory
from kdrbench.parameters import FLAG, Either, check_parameters, whole

VERBOSE = Either((FLAG, whole(0)))
# Differences whose squares lose digits.
LEAST_SPREAD = 1e-150
# Of a linear map, in double precision and in single.
_LINEAR, _LINEAR_SINGLE = 1e-6, 1e-4


def check_spread(features: FloatArray, least: float = LEAST_SPREAD, most: float = inf) -> None:
    """Raise ``InputError`` where features differ by less than ``least``, so that squares underflow, or above ``most``.

    Features that do not differ at all are for the method to judge.
    """
    with np.errstate(over="ignore"):
        spread = float((features.max(axis=0) - features.min(axis=0)).max())
    if 0.0 < spread < least or spread > most:
        fault = f"more than {most:g}: their powers overflow" if spread > most else "so their squares underflow"
        raise InputError(
            f"features differ by {spread:.3g} at most, {fault}; scale them, for instance with "
            "sklearn.preprocessing.StandardScaler"
        )


@contextmanager
def columns_of_any_name() -> Iterator[None]:
    """Let arrays be transformed by what was fitted to a frame, and frames by what was fitted to arrays."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X (has|does not have valid) feature names")
        yield


def _warn_of_kernel_matrix(features: FloatArray) -> None:
    """Warn where features are square, symmetric, and K_ij^2 <= K_ii K_jj, as in any positive semidefinite matrix."""
    n_samples, n_features = features.shape
    if n_samples != n_features:
        return
    diagonal = np.diagonal(features)
    bounds = np.sqrt(np.abs(diagonal))
    symmetric = (diagonal > 0.0).all() and np.allclose(features, features.T, rtol=1e-9, atol=1e-9 * diagonal.max())
    if symmetric and (np.abs(features) <= np.outer(bounds, bounds) * (1.0 + 1e-9)).all():
        message = (
            f"X is {n_samples} x {n_samples}, symmetric and like a kernel matrix, but is taken as features; if it is a "
            "kernel, say kernel='precomputed'"
        )
        warnings.warn(message, UserWarning, 5)


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


class LinearMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin):  # type: ignore[misc]
    """A mixin of the transformers that map x to A'x, A' = ``components_`` (q x d)."""

    components_: FloatArray

    def inverse_transform(self, X: ArrayLike) -> FloatArray:
        """Return for each row z of X the shortest sample x with A'x = z: the nearest to the origin.

        Raises ``InputError`` for rows that are not q numbers.
        """
        check_is_fitted(self)
        rows = check_array(X, dtype=(np.float64, np.float32))
        if rows.shape[1] != len(self.components_):
            raise InputError(f"projected samples have {len(self.components_)} columns, got {rows.shape[1]}")
        return np.asarray(rows @ np.linalg.pinv(self.components_).T)

    def _mapped(self, features: FloatArray) -> FloatArray:
        return np.asarray(features @ self.components_.T)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])


def grouped_loadings(
    loadings: FloatArray, names: Sequence[str], groups: Mapping[str, Sequence[str]]
) -> tuple[FloatArray, list[str]]:
    """Return loadings (... x d) in which features of a group are one, the root of the sum of their squares, and names.

    ``groups`` maps a new name to those of its features, whose first one's place it takes. Others stay as they are.

    Raises ``InputError`` unless each feature has a name, for ``groups`` of another type, a feature that does not exist
    or is in two groups, and a group called like another one.
    """
    if len(names) != loadings.shape[-1]:
        raise InputError(f"there are {loadings.shape[-1]} features and {len(names)} feature_names; give one each")
    if not isinstance(groups, Mapping):
        raise InputError(f"groups must map new names to names of features, got {type(groups).__name__}")
    group_of = {feature: group for group, features in groups.items() for feature in features}
    others = set(names) - set(group_of)
    if len(group_of) < sum(map(len, groups.values())) or not set(group_of) <= set(names) or others & set(groups):
        raise InputError(
            "groups must map names that no other feature has to names of features, each in one group at most; features "
            f"are {', '.join(names)}, got {dict(groups)!r}"
        )
    members: dict[str | int, list[int]] = {}
    for place, name in enumerate(names):
        members.setdefault(group_of.get(name, place), []).append(place)
    columns = [
        loadings[..., places[0]] if len(places) == 1 else np.linalg.norm(loadings[..., places], axis=-1)
        for places in members.values()
    ]
    return np.stack(columns, axis=-1), [names[key] if isinstance(key, int) else key for key in members]


@dataclass(frozen=True)
class TransformerMap:
    """Any affine transformer x -> A'x + b as a :class:`kdrbench.metric_learning.Learner` of A."""

    transformer: Any

    def fit(self, features: FloatArray, labels: NDArray[np.generic]) -> FloatArray:
        """Return A (D x d) for ``features`` (n x D); ``InputError`` where it is no transformer, or not affine."""
        name = type(self.transformer).__name__
        if not hasattr(self.transformer, "transform"):
            raise InputError(
                f"{name} does not transform samples; a learner is a transformer such as kdrbench.estimators.LMNN, and "
                "a classifier comes after KPCATrick in a pipeline"
            )
        if (learned := linear_map(clone(self.transformer).fit(features, labels), features)) is None:
            raise InputError(
                f"{name} is no linear map of its features, so the KPCA trick does not apply; give a learner of "
                "Mahalanobis distances"
            )
        return learned


class LabelledTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A transformer that learns from class labels: ``fit`` and ``transform`` around what a subclass does."""

    # What to do where a fit needs more memory than there is.
    _way_out: ClassVar[str] = "learn from fewer samples"
    # Whether y may be continuous as well, and then is the subclass's to check.
    _continuous: ClassVar[bool] = False
    # Features that differ by less, or by more, have powers that underflow or overflow.
    _spread: ClassVar[tuple[float, float]] = (LEAST_SPREAD, inf)
    # Whether X may be a kernel matrix, by kernel="precomputed".
    _takes_matrices: ClassVar[bool] = False

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Learn from X (n_samples x n_features) and class labels y.

        Raises ``ValueError`` for bad parameters, NaN or sparse input, no labels or fewer than two classes, samples from
        which the method cannot learn, or where it needs more memory than is free.
        """
        check_parameters(self)
        self._learn(*self._labelled(X, y))
        return self

    def _labelled(self, X: ArrayLike, y: ArrayLike | None) -> tuple[FloatArray, NDArray[np.generic]]:
        """Return checked features and labels, and set ``classes_`` unless y may be continuous."""
        given = None if y is None else present_values(y)
        features, labels = validate_data(self, X, given, dtype=np.float64, order="C", ensure_min_samples=2)
        if not self._continuous:
            check_classes_alone(labels, type(self).__name__)
            self.classes_ = np.unique(labels)
        return self._samples(features, X), labels

    def _samples(self, features: FloatArray, X: ArrayLike) -> FloatArray:
        """Return features that are no view of X, if they differ enough and there is memory to learn from them."""
        if not self._is_precomputed:
            check_spread(features, *self._spread)
            if self._takes_matrices:
                _warn_of_kernel_matrix(features)
        check_memory(
            self._needed(*features.shape), f"a fit of {type(self).__name__} to {len(features)} samples", self._way_out
        )
        # A change of X shall not be one of the model.
        return features.copy() if np.may_share_memory(features, np.asarray(X)) else features

    def transform(self, X: ArrayLike) -> FloatArray:
        """Return what the class says of each sample, one row a sample; of float32 in float32, computed in float64."""
        check_is_fitted(self)
        given = validate_data(self, X, dtype=(np.float64, np.float32), order="C", reset=False)
        return self._mapped(given.astype(np.float64, copy=False)).astype(given.dtype, copy=False)

    def _needed(self, n_samples: int, n_features: int) -> float:
        """Return the bytes that a fit needs; of a method without n x n arrays some copies of the features."""
        return 64.0 * n_samples * n_features

    @abstractmethod
    def _learn(self, features: FloatArray, labels: NDArray[np.generic]) -> None:
        """Set the fitted attributes, and ``_n_features_out``, the number of columns that ``transform`` returns."""

    @abstractmethod
    def _mapped(self, features: FloatArray) -> FloatArray:
        """Return what ``transform`` makes of checked samples."""

    @property
    def _is_precomputed(self) -> bool:
        return self._takes_matrices and isinstance(self.kernel, str) and self.kernel == PRECOMPUTED

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.pairwise = self._is_precomputed
        return tags
