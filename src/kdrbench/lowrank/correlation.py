"""Factors of kernels, the clusters of their rows, and nearest correlation matrices: K_ii = 1, of full or of low rank.

Burg's and von Neumann's divergences keep the range of K0, so that a start of rank r gives a correlation matrix of
rank r.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.lowrank.constraints import diagonal
from kdrbench.lowrank.learn import learn_kernel
from kdrbench.lowrank.result import LearnedKernel, Stopping
from kdrbench.parameters import check_value, optional, whole


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
