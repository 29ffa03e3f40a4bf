"""Discriminant neighbourhood embedding (DNE), and its classical kernel trick, which the KPCA trick is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, eigh

from kdrbench.blas import one_blas_thread
from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.kernels.neighbours import SquaredRows, distance_rows, row_blocks
from kdrbench.metric_learning.kernel_pca import rank_threshold
from kdrbench.metric_learning.learner import (
    centred_features,
    check_targets,
    checked_classes,
    laplacian,
    others_of_class,
)
from kdrbench.metric_learning.neighbours import IntArray, nearest_among
from kdrbench.parameters import COUNT, NOT_NEGATIVE, check_parameters, check_value, optional, whole
from kdrbench.samples.passes import chunks

# An eigenvalue is negative if it is below minus this share of the largest magnitude.
SIGNIFICANT = 1e-9
# Pairs whose differences are held at a time.
_PAIRS = 8192


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
        # Products of blocks are small: threads of BLAS would wait for each other.
        with one_blas_thread():
            values, vectors = eigh(_scatter(centred, *_neighbours(distance_rows(centred), codes, self.n_neighbours)))
        return np.asarray(vectors[:, : self._count(values)])

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
    weights = np.zeros_like(squared)
    first, second, signs = _neighbours(squared.__getitem__, codes, n_neighbours)
    weights[first, second] = weights[second, first] = signs
    return weights


def _neighbours(squared: SquaredRows, codes: IntArray, n_neighbours: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the pairs i < j with w_ij = 1 or -1, each once, and w_ij."""
    check_value("n_neighbours", n_neighbours, COUNT)
    check_targets(codes)
    others, own = list[IntArray](), list[IntArray]()
    for rows in row_blocks(len(codes)):
        distances = squared(rows)
        others += nearest_among(distances, codes[rows, None] != codes, n_neighbours)
        own += nearest_among(distances, others_of_class(codes, rows), n_neighbours)
    found, samples = others + own, np.tile(np.arange(len(codes)), 2)
    ends = np.column_stack([np.repeat(samples, [len(columns) for columns in found]), np.concatenate(found)])
    first, second = np.unique(np.sort(ends, axis=1), axis=0).T
    return first, second, np.where(codes[first] == codes[second], 1.0, -1.0)


def _scatter(features: FloatArray, first: IntArray, second: IntArray, signs: FloatArray) -> FloatArray:
    """Return X'(D - W)X = sum_(i < j) w_ij (x_i - x_j)(x_i - x_j)' over the pairs given, D x D."""
    total = np.zeros((features.shape[1],) * 2)
    for pairs in chunks(len(signs), _PAIRS):
        differences = features[first[pairs]] - features[second[pairs]]
        total += (differences.T * signs[pairs]) @ differences
    return total


class KDNESolution(NamedTuple):
    """Dual variables U (n x d): x -> U'k_x, and their eigenvalues (d)."""

    dual: FloatArray
    values: FloatArray


def kernel_distances(gram: FloatArray) -> FloatArray:
    """Return the squared distances of feature vectors from their kernel (n x n)."""
    squared: FloatArray = -2.0 * gram
    squared += np.diagonal(gram)[:, None]
    squared += np.diagonal(gram)
    np.fill_diagonal(squared, 0.0)
    return np.maximum(squared, 0.0, out=squared)


def kdne(
    gram: FloatArray,
    labels: NDArray[np.generic],
    n_neighbours: int = 3,
    *,
    epsilon: float = 0.0,
    n_components: int | None = None,
) -> KDNESolution:
    """Solve DNE by the kernel trick, a generalised eigenproblem.

        K(D - W)K u = lambda (K + epsilon tr(K)/n I) u,   u'(K + ...)u = 1

    for a kernel K (n x n), with W as in :class:`DNE` by distances of feature vectors; U holds the eigenvectors to the
    negative eigenvalues, or to the ``n_components`` smallest.

    Source: Chatpatanasiri et al. 2010, Proposition 2: if K is singular, K(D - W)K is singular on the same vectors,
    which then solve the equation with any lambda. An ``epsilon`` > 0 makes it regular, and another problem.

    Raises ``InputError`` when K is singular, or too near to it for the Cholesky factor, and epsilon is zero.
    """
    check_value("epsilon", epsilon, NOT_NEGATIVE)
    check_value("n_components", n_components, optional(COUNT))
    codes = checked_classes(gram, labels)
    n_samples, spectrum = len(gram), np.asarray(np.linalg.eigvalsh(gram), dtype=np.float64)
    rank = int(np.count_nonzero(spectrum > rank_threshold(spectrum, float(np.abs(gram).max()))))
    condition = float(spectrum[-1] / max(abs(spectrum[0]), np.finfo(np.float64).tiny))
    form = gram @ (0.5 * laplacian(dne_weights(kernel_distances(gram), codes, n_neighbours))) @ gram
    metric = gram + epsilon * float(np.trace(gram)) / n_samples * np.eye(n_samples)
    singular = (
        f"KDNE's generalised eigenproblem is singular: the kernel has rank {rank} of {n_samples} "
        f"(condition {condition:.3g}), so that some eigenvalues are undetermined; set epsilon > 0, or use the "
        "KPCA trick"
    )
    if rank < n_samples and epsilon == 0.0:
        raise InputError(singular)
    try:
        values, vectors = eigh(0.5 * (form + form.T), metric)
    except LinAlgError as error:
        raise InputError(singular) from error
    kept = n_negative(values) if n_components is None else n_components
    return KDNESolution(vectors[:, :kept], values[:kept])
