"""Neighbourhood components analysis (NCA)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning.learner import PairSums, checked_classes, descend, inverse_scale, leading_axes
from kdrbench.metric_learning.neighbours import IntArray, row_blocks
from kdrbench.parameters import COUNT, check_parameters, optional


@dataclass(frozen=True)
class NCA:
    """Maximise the expected number of samples that a random neighbour classifies rightly.

        min_A  f(A) = -sum_i sum_{j != i, y_j = y_i} p_ij,   p_ij = exp(-|A'x_i - A'x_j|^2) / sum_{l != i} exp(...)

    by L-BFGS from the identity, at most ``max_iterations``, on features scaled to mean squared distance one; for A with
    ``n_components`` columns from as many principal axes. Where D
    is not less than n - 1 a map exists that collapses every class and makes f as small as one likes: start and stopping
    then decide the result.

    Source: Goldberger, Roweis, Hinton, Salakhutdinov, "Neighbourhood components analysis", NIPS 2004.
    """

    max_iterations: Annotated[int, COUNT] = 50
    n_components: Annotated[int | None, optional(COUNT)] = None

    def __post_init__(self) -> None:
        check_parameters(self, "learner option")

    def fit(self, features: FloatArray, labels: NDArray[np.generic]) -> FloatArray:
        """Return A (D x d) for ``features`` (n x D).

        Raises ``InputError`` with one class, samples that all coincide, or more components than features.
        """
        return self.descend(features, labels)[0]

    def descend(
        self, features: FloatArray, labels: NDArray[np.generic], tolerance: float = 1e-5
    ) -> tuple[FloatArray, int]:
        """Return A and the iterations taken; fewer than ``max_iterations`` where L-BFGS met ``tolerance``."""
        codes, scale = checked_classes(features, labels), inverse_scale(features)
        # About the mean: NCA knows differences only, and these are computed from products.
        scaled = scale * (features - features.mean(axis=0))
        start = leading_axes(scaled, self.n_components)
        projection, iterations = descend(
            lambda at: nca_objective(at, scaled, codes), start, tolerance, maxiter=self.max_iterations
        )
        return scale * projection, iterations


def nca_objective(projection: FloatArray, features: FloatArray, codes: IntArray) -> tuple[float, FloatArray]:
    """Return f(A) of :class:`NCA` and its gradient 2 X'S X A for A = ``projection`` (D x d), X = ``features`` (n x D).

        S = Laplacian of  w_ij = p_ij (1[y_i = y_j] - p_i),   p_i = sum_{j: y_j = y_i} p_ij

    Source: Chatpatanasiri et al. 2010, Eqs. 5 and 6; the gradient as printed there lacks a minus sign for the f that is
    minimised. Memory is O(n d). From 5000 samples on pairs are summed in float32, to six digits of f.
    """
    projected, value = features @ projection, 0.0
    # Class after class, so that those of one's own are side by side.
    sums = PairSums(projected, codes)
    for rows in row_blocks(*projected.shape):
        chances = sums.squared(rows)
        chances[np.arange(len(chances)), np.arange(rows.start, rows.stop)] = np.inf
        np.subtract(chances.min(axis=1, keepdims=True), chances, out=chances)
        np.exp(chances, out=chances)
        chances /= chances.sum(axis=1, keepdims=True)
        for here, of_class in sums.parts(rows):
            mine = chances[here.start - rows.start : here.stop - rows.start]
            own = mine[:, of_class]
            rights = own.sum(axis=1, keepdims=True)
            value -= float(rights.sum())
            # w = p (1[same class] - rights).
            held = own * (1.0 - rights)
            mine *= -rights
            own[...] = held
        sums.add(rows, chances)
    return value, sums.gradient(features)
