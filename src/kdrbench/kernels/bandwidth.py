"""Bandwidths of radial kernels, taken from data."""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.distance import pdist

from kdrbench.errors import InputError, TooFewSamplesError
from kdrbench.kernels.family import FloatArray


def median_distance(features: FloatArray) -> float:
    """Return the median of the full n x n matrix of Euclidean distances between the rows of ``features``.

    The n zero distances of each row to itself count, as in the papers' code: without them the published
    Gaussian costs are missed (Wine -1624.00 instead of -1628.14). ``features`` is n x d, n >= 2.

    Raises ``InputError`` when the median is zero (half of all pairs coincide): a Gaussian has no scale then.
    """
    n_samples = features.shape[0]
    if n_samples < 2:
        raise TooFewSamplesError(f"a median distance needs at least 2 samples, got {n_samples}")
    pairs = np.sort(pdist(features))
    # Sorted, the full matrix is n zeros and then every pair twice; the two middle places are n^2/2 - 1/2 +- 1/2.
    lower, upper = (n_samples**2 - 1) // 2, n_samples**2 // 2
    median = 0.5 * (_full_entry(pairs, n_samples, lower) + _full_entry(pairs, n_samples, upper))
    if median == 0.0:
        raise InputError(
            f"the median distance of these {n_samples} samples is 0, so no Gaussian bandwidth follows from it; "
            "give sigma as a number, or remove repeated samples"
        )
    return median


def neighbour_distances(features: FloatArray, neighbour: int = 7) -> FloatArray:
    """Return the distance of each row of ``features`` (n x d) to its ``neighbour``-th nearest other row.

    The bandwidth of each sample in local scaling; the papers leave it open.

    Source: Zelnik-Manor and Perona, "Self-tuning spectral clustering", NIPS 2004 (there too with the 7th neighbour).

    Raises ``InputError`` with fewer than ``neighbour`` + 1 samples, and when more than ``neighbour`` samples coincide.
    """
    n_samples = features.shape[0]
    if n_samples <= neighbour:
        raise TooFewSamplesError(
            f"bandwidths from the {neighbour}-th nearest neighbour need more than {neighbour} samples, got {n_samples}"
        )
    distances: FloatArray = KDTree(features).query(features, k=[neighbour + 1])[0][:, 0]
    if distances.min() == 0.0:
        raise InputError(
            f"sample {int(distances.argmin())} coincides with its {neighbour}-th nearest neighbour, so it has no "
            "bandwidth; remove repeated samples or choose a larger neighbour"
        )
    return distances


def _full_entry(sorted_pairs: FloatArray, n_samples: int, place: int) -> float:
    return 0.0 if place < n_samples else float(sorted_pairs[(place - n_samples) // 2])
