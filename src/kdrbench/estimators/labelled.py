"""What estimators that learn from class labels share, and transformers of others as learners of linear maps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import Declarations, check_parameters


def labelled_samples(estimator: Any, X: ArrayLike, y: ArrayLike | None) -> tuple[FloatArray, NDArray[np.generic]]:
    """Return features and labels as arrays, and set the estimator's ``classes_`` and what scikit-learn keeps of X.

    Raises ``ValueError`` in scikit-learn's words for NaN, sparse or too few samples, and labels that are no classes.
    """
    features, labels = validate_data(estimator, X, y, dtype=np.float64, order="C", ensure_min_samples=2)
    check_classification_targets(labels)
    estimator.classes_ = np.unique(labels)
    return features, labels


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


# A transformer is linear where its values differ from those of its matrix by no more than this share of the largest.
_LINEAR = 1e-6


@dataclass(frozen=True)
class TransformerMap:
    """A transformer x -> A'x + b as a :class:`kdrbench.metric_learning.Learner` of A.

    A is taken from what the fitted transformer makes of unit vectors and of zero, so that it may be any that is affine:
    scikit-learn's, those of kdrbench, those of other packages for metric learning.
    """

    transformer: Any

    def fit(self, features: FloatArray, labels: NDArray[np.generic]) -> FloatArray:
        """Return A (D x d) for ``features`` (n x D); ``InputError`` where the transformer is not affine."""
        fitted = clone(self.transformer).fit(features, labels)
        probes = np.vstack([np.eye(features.shape[1]), np.zeros((1, features.shape[1]))])
        values = np.asarray(fitted.transform(probes), dtype=np.float64)
        learned: FloatArray = values[:-1] - values[-1]
        mapped = np.asarray(fitted.transform(features), dtype=np.float64)
        error = np.abs(features @ learned + values[-1] - mapped).max()
        if not error <= _LINEAR * np.abs(mapped).max():
            raise InputError(
                f"{type(self.transformer).__name__} is no linear map of its features, so the KPCA trick does not apply;"
                " give a learner of Mahalanobis distances"
            )
        return learned
