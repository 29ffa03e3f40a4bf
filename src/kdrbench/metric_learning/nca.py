"""Neighbourhood components analysis (NCA)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning.learner import checked_classes, inverse_scale, laplacian
from kdrbench.metric_learning.neighbours import IntArray, squared_distances
from kdrbench.parameters import COUNT, check_parameters


@dataclass(frozen=True)
class NCA:
    """Maximise the expected number of samples that a random neighbour classifies rightly.

        min_A  f(A) = -sum_i sum_{j != i, y_j = y_i} p_ij,   p_ij = exp(-|A'x_i - A'x_j|^2) / sum_{l != i} exp(...)

    by L-BFGS from the identity, at most ``max_iterations``, on features scaled to mean squared distance one;
    scikit-learn's implementation. Where D is not less than n - 1 a map exists that collapses every class and makes f
    as small as one likes: start and stopping then decide the result.

    Source: Goldberger, Roweis, Hinton, Salakhutdinov, "Neighbourhood components analysis", NIPS 2004.
    """

    max_iterations: Annotated[int, COUNT] = 50

    def __post_init__(self) -> None:
        check_parameters(self, "learner option")

    def fit(self, features: FloatArray, labels: NDArray[np.generic]) -> FloatArray:
        """Return A (D x D) for ``features`` (n x D); ``InputError`` with one class or samples that all coincide."""
        return self.descend(features, labels)[0]

    def descend(
        self, features: FloatArray, labels: NDArray[np.generic], tolerance: float = 1e-5
    ) -> tuple[FloatArray, int]:
        """Return A and the iterations taken; fewer than ``max_iterations`` where L-BFGS met ``tolerance``."""
        from sklearn.neighbors import NeighborhoodComponentsAnalysis

        codes, scale = checked_classes(features, labels), inverse_scale(features)
        model = NeighborhoodComponentsAnalysis(init="identity", max_iter=self.max_iterations, tol=tolerance)
        # About the mean: NCA knows differences only, and scikit-learn computes them from products.
        model.fit(scale * (features - features.mean(axis=0)), codes)
        learned: FloatArray = scale * model.components_.T
        return learned, int(model.n_iter_)


def nca_objective(projection: FloatArray, features: FloatArray, codes: IntArray) -> tuple[float, FloatArray]:
    """Return f(A) of :class:`NCA` and its gradient 2 X'S X A for A = ``projection`` (D x d), X = ``features`` (n x D).

        S = Laplacian of  w_ij = p_ij (1[y_i = y_j] - p_i),   p_i = sum_{j: y_j = y_i} p_ij

    Source: Chatpatanasiri et al. 2010, Eqs. 5 and 6; the gradient as printed there lacks a minus sign for the f that is
    minimised.
    """
    projected = features @ projection
    value, weights = nca_weights(squared_distances(projected, projected), codes)
    gradient: FloatArray = 2.0 * features.T @ (laplacian(weights) @ projected)
    return value, gradient


def nca_weights(squared: FloatArray, codes: IntArray) -> tuple[float, FloatArray]:
    """Return f and its derivative w_ij by each squared distance (n x n)."""
    exponents = -squared
    np.fill_diagonal(exponents, -np.inf)
    chances = np.exp(exponents - logsumexp(exponents, axis=1, keepdims=True))
    right = chances * (codes[:, None] == codes)
    rights = right.sum(axis=1, keepdims=True)
    return -float(rights.sum()), right - chances * rights
