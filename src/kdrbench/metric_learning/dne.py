"""Discriminant neighbourhood embedding (DNE)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning.learner import centred_features, checked_classes, laplacian, target_neighbours
from kdrbench.metric_learning.neighbours import IntArray, nearest_among, squared_distances
from kdrbench.parameters import COUNT, check_parameters, check_value, optional, whole

# An eigenvalue is negative if it is below minus this share of the largest magnitude.
SIGNIFICANT = 1e-9


@dataclass(frozen=True)
class DNE:
    """Bring near neighbours of one class together and push near neighbours of other classes apart.

        min_A  tr A'X'(D - W)X A  over A'A = I,   D = diag(W 1)

    with w_ij = 1 if j is among the k nearest of i of its class or the reverse, -1 if j is among the k nearest of
    other classes or the reverse, 0 otherwise. A holds the eigenvectors of X'(D - W)X to its negative eigenvalues, for
    each of which lowers the trace; ``n_components`` takes another number of them, smallest first. Without a negative
    eigenvalue the smallest one is taken.

    Source: Zhang, Xue, Lu, Guo, "Discriminant neighborhood embedding for classification", Pattern Recognition 2006.
    Neighbours are sought inside and outside the class apart: that meets the tables of Chatpatanasiri et al. 2010
    (Yeast .40, Pima .67), the nearest of all samples do not (.45, .62).
    """

    n_neighbours: Annotated[int, COUNT] = 3
    n_components: Annotated[int | None, optional(COUNT)] = None

    def __post_init__(self) -> None:
        check_parameters(self, "learner option")

    def fit(self, features: FloatArray, labels: NDArray[np.generic]) -> FloatArray:
        """Return A (D x d) for ``features`` (n x D).

        Raises ``InputError`` with one class, no class of two samples, more components than features, or values whose
        squares overflow.
        """
        codes = checked_classes(features, labels)
        centred = centred_features(features, squared=True)
        weights = dne_weights(squared_distances(centred, centred), codes, self.n_neighbours)
        values, vectors = eigh(centred.T @ (0.5 * laplacian(weights)) @ centred)
        learned: FloatArray = vectors[:, : self._count(values)]
        return learned

    def _count(self, values: FloatArray) -> int:
        if self.n_components is None:
            return n_negative(values)
        allowed = optional(whole(1, len(values), f"the {len(values)} features"))
        check_value("n_components", self.n_components, allowed)
        return int(self.n_components)


def n_negative(values: FloatArray) -> int:
    """Return how many eigenvalues are significantly negative, at least one."""
    return max(1, int(np.count_nonzero(values < -SIGNIFICANT * np.abs(values).max())))


def dne_weights(squared: FloatArray, codes: IntArray, n_neighbours: int) -> FloatArray:
    """Return W (n x n, symmetric) of :class:`DNE` from the squared distances of the samples.

    Neighbours are those in the space where the distances are taken: a kernelised DNE has them in the feature space.
    """
    check_value("n_neighbours", n_neighbours, COUNT)
    weights = np.zeros_like(squared)
    for row, columns in enumerate(nearest_among(squared, codes[:, None] != codes, n_neighbours)):
        weights[row, columns] = weights[columns, row] = -1.0
    for row, columns in enumerate(target_neighbours(squared, codes, n_neighbours)):
        weights[row, columns] = weights[columns, row] = 1.0
    return weights
