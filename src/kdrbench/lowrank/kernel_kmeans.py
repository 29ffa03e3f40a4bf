"""Clusters of a learned kernel: kernel k-means is k-means on the rows of any factor of the kernel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import check_value, whole


def kmeans_on_factor(
    factor: FloatArray, n_clusters: int, rng: np.random.Generator, *, n_starts: int = 10
) -> NDArray[np.int64]:
    """Return the cluster of each row of ``factor`` (n x r), the best of ``n_starts`` k-means++ starts.

    Squared distances of rows are K_ii + K_jj - 2 K_ij, so this is kernel k-means at O(n r k) instead of O(n^2) a round.
    Raises ``InputError`` unless 1 <= n_clusters <= n.
    """
    from sklearn.cluster import KMeans

    _check(n_clusters, len(factor))
    model = KMeans(n_clusters, n_init=n_starts, random_state=int(rng.integers(2**31)))
    return np.asarray(model.fit(factor).labels_, dtype=np.int64)


def kernel_kmeans(
    kernel: FloatArray, n_clusters: int, start: NDArray[np.int64], *, max_rounds: int = 300
) -> NDArray[np.int64]:
    """Return clusters by Lloyd's rounds on ``kernel`` (n x n) itself, from the clusters ``start`` (n codes).

    The squared distance to a cluster's mean is K_ii - 2 mean_j K_ij + mean_jl K_jl over its members. A cluster that
    becomes empty stays empty. Raises ``InputError`` for a start that is not n codes below ``n_clusters``.
    """
    _check(n_clusters, len(kernel))
    labels = np.asarray(start)
    if (
        labels.shape != (len(kernel),)
        or labels.dtype.kind not in "iu"
        or labels.min() < 0
        or labels.max() >= n_clusters
    ):
        raise InputError(f"start must be {len(kernel)} integers from 0 to {n_clusters - 1}, got {labels!r}")
    for _ in range(max_rounds):
        members = np.eye(n_clusters)[labels]
        sizes = members.sum(axis=0)
        shares = members / np.maximum(sizes, 1.0)
        toward = kernel @ shares
        within = np.einsum("ik,ik->k", shares, toward)
        distances = np.where(sizes > 0, within - 2 * toward, np.inf)
        moved = distances.argmin(axis=1)
        if np.array_equal(moved, labels):
            break
        labels = moved
    return labels.astype(np.int64)


def _check(n_clusters: int, n_samples: int) -> None:
    check_value("n_clusters", n_clusters, whole(1, n_samples, f"the {n_samples} samples"))
