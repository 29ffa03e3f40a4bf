"""Metric learners in scikit-learn's form, as learners of linear maps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray

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
        given = np.vstack([np.eye(features.shape[1]), np.zeros((1, features.shape[1]))])
        values = np.asarray(fitted.transform(given), dtype=np.float64)
        learned: FloatArray = values[:-1] - values[-1]
        mapped = np.asarray(fitted.transform(features), dtype=np.float64)
        error = np.abs(features @ learned + values[-1] - mapped).max()
        if not error <= _LINEAR * np.abs(mapped).max():
            raise InputError(
                f"{type(self.transformer).__name__} is no linear map of its features, so the KPCA trick does not apply;"
                " give a learner of Mahalanobis distances"
            )
        return learned
