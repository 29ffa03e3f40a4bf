"""Factors of kernels, the clusters of their rows, and nearest correlation matrices: K_ii = 1, of full or of low rank.

Burg's and von Neumann's divergences keep the range of K0, so that a start of rank r gives a correlation matrix of
rank r. Higham's alternating projections minimise another objective, the Frobenius norm |K - K0|, and each method wins
its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.lowrank.constraints import diagonal
from kdrbench.lowrank.learn import learn_kernel
from kdrbench.lowrank.result import LearnedKernel, Stopping
from kdrbench.parameters import POSITIVE, check_value, optional, whole


def factor_of(kernel: ArrayLike, rank: int | None = None) -> FloatArray:
    """Return G, n x r, with G G' the best approximation of rank r of a positive semidefinite kernel (n x n).

    Without ``rank`` every eigenvalue above n eps times the largest counts. Raises ``InputError`` for a kernel that is
    not symmetric or has clearly negative eigenvalues, and for a rank that it does not have.
    """
    matrix = np.asarray(kernel, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.isfinite(matrix).all() or not matrix.any():
        raise InputError(f"a kernel must be a square array of finite numbers, not all zero, got shape {matrix.shape}")
    if np.abs(matrix - matrix.T).max() > 1e-10 * np.abs(matrix).max():
        raise InputError("the kernel is not symmetric; give (K + K') / 2 if it should be")
    values, vectors = np.linalg.eigh(matrix)
    # Kernels printed with six decimals have eigenvalues that are negative by as much.
    if values[0] < -1e-6 * len(matrix) * np.abs(matrix).max():
        raise InputError(
            f"the kernel is not positive semidefinite: its smallest eigenvalue is {values[0]:g}; take another kernel, "
            f"or add {-values[0]:.3g} to the diagonal, or set negative eigenvalues to zero"
        )
    full_rank = int((values > len(matrix) * np.finfo(float).eps * values[-1]).sum())
    check_value("rank", rank, optional(whole(1, full_rank, f"the kernel's rank {full_rank}")))
    kept = slice(None, -(rank or full_rank) - 1, -1)
    return np.ascontiguousarray(vectors[:, kept] * np.sqrt(values[kept]))


def nearest_correlation(
    kernel: ArrayLike,
    *,
    rank: int | None = None,
    divergence: str = "burg",
    solver: str = "cyclic",
    stopping: Stopping | None = None,
) -> LearnedKernel:
    """Return the K in the range of ``kernel`` (or of its best approximation of that ``rank``) with K_ii = 1.

    It has the least divergence from ``kernel``. With rank r and n samples there may be none: n equations face
    r (r + 1) / 2 unknowns, and the ``status`` says so. Raises ``InputError`` as :func:`factor_of`.
    """
    factor = factor_of(kernel, rank)
    constraints = diagonal(len(factor), np.arange(len(factor)), "=", 1.0)
    return learn_kernel(factor, constraints, divergence=divergence, solver=solver, stopping=stopping)


def higham_correlation(kernel: ArrayLike, *, tolerance: float = 1e-8, max_rounds: int = 10_000) -> FloatArray:
    """Return the correlation matrix nearest to a symmetric ``kernel`` (n x n) in Frobenius norm; a rival.

    Alternating projections onto positive semidefinite matrices, with Dykstra's correction, and onto unit diagonals,
    until a round changes the matrix by at most ``tolerance`` of its norm.

    Source: Higham, "Computing the nearest correlation matrix", IMA J. Numerical Analysis 22, 2002, Algorithm 3.3.
    Raises ``InputError`` for bad arguments, or when ``max_rounds`` do not suffice.
    """
    start = np.asarray(kernel, dtype=np.float64)
    if start.ndim != 2 or not np.array_equal(start, start.T) or not np.isfinite(start).all():
        raise InputError(f"the matrix must be symmetric and finite, got shape {start.shape}")
    check_value("tolerance", tolerance, POSITIVE)
    matrix: FloatArray = start.copy()
    correction = np.zeros_like(start)
    for _ in range(max_rounds):
        lifted = matrix - correction
        values, vectors = np.linalg.eigh(lifted)
        definite = (vectors * np.maximum(values, 0.0)) @ vectors.T
        correction = definite - lifted
        moved = definite.copy()
        np.fill_diagonal(moved, 1.0)
        # A step is small long before the two sets are met, so their distance counts too.
        change = max(np.linalg.norm(moved - matrix), np.linalg.norm(moved - definite))
        matrix = moved
        if change <= tolerance * np.linalg.norm(matrix):
            return matrix
    raise InputError(f"alternating projections need more than {max_rounds} rounds; raise max_rounds or the tolerance")


def kmeans_on_factor(
    factor: FloatArray, n_clusters: int, rng: np.random.Generator, *, n_starts: int = 10
) -> NDArray[np.int64]:
    """Return the cluster of each row of ``factor`` (n x r), the best of ``n_starts`` k-means++ starts.

    Squared distances of rows are K_ii + K_jj - 2 K_ij, so this is kernel k-means at O(n r k) instead of O(n^2) a round.
    Raises ``InputError`` unless 1 <= n_clusters <= n.
    """
    from sklearn.cluster import KMeans

    check_value("n_clusters", n_clusters, whole(1, len(factor), f"the {len(factor)} samples"))
    model = KMeans(n_clusters, n_init=n_starts, random_state=int(rng.integers(2**31)))
    return np.asarray(model.fit(factor).labels_, dtype=np.int64)
