"""Clusters of a learned kernel: kernel k-means is k-means on the rows of any factor of the kernel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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

    check_value("n_clusters", n_clusters, whole(1, len(factor), f"the {len(factor)} samples"))
    model = KMeans(n_clusters, n_init=n_starts, random_state=int(rng.integers(2**31)))
    return np.asarray(model.fit(factor).labels_, dtype=np.int64)
