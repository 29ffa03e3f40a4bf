"""Distances of samples to their nearest ones, and the bandwidths of each sample that are made of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kdrbench.errors import InputError, TooFewSamplesError
from kdrbench.kernels.family import FloatArray, check_finite
from kdrbench.samples.passes import chunks

# Squared distances of some samples to all: a slice of rows -> (rows) x n. An n x n array's ``__getitem__`` is one.
SquaredRows = Callable[[slice], FloatArray]

# Entries of a block of rows, which stay in the second-level cache, and the fewest rows, for products to be quick.
_ENTRIES, _FEWEST = 2**17, 48
# In more features a tree of that many samples visits nearly all pairs, and takes up to forty times as long as products.
_TREE_FEATURES, _TREE_SAMPLES = 15, 1000
# Candidates beyond the neighbours, whose order rounding may change.
_SPARE = 8


def row_blocks(n_samples: int, width: int = 1) -> list[slice]:
    """Return blocks of the rows of an n x n array, of at least ``width`` rows, for products with that many columns."""
    return chunks(n_samples, max(_ENTRIES // n_samples, width, _FEWEST))


def distance_rows(features: FloatArray) -> SquaredRows:
    """Return the squared distances of the rows of ``features`` (n x d), a block of rows at a time."""
    centred = features - features.mean(axis=0)
    squares = np.einsum("ij,ij->i", centred, centred)[:, None]
    ones = np.ones_like(squares)
    # |a - b|^2 as one product.
    left, right = np.hstack([-2.0 * centred, squares, ones]), np.hstack([centred, ones, squares]).T

    def rows_of(rows: slice) -> FloatArray:
        squared: FloatArray = left[rows] @ right
        return np.maximum(squared, 0.0, out=squared)

    return rows_of


def nearest_distances(samples: FloatArray, count: int) -> FloatArray:
    """Return the distances of each of ``samples`` (n x d) to its ``count`` >= 2 nearest, itself first, n x count.

    Candidates are found by products of matrices, whose rounding is bounded; their distances are those of differences.
    """
    from scipy.spatial import KDTree

    n_samples, n_features = samples.shape
    if n_features <= _TREE_FEATURES or n_samples < _TREE_SAMPLES:
        return np.asarray(KDTree(samples).query(samples, k=count)[0])
    rows_of, kept = distance_rows(samples), min(count + _SPARE, n_samples)
    distances, beyond = np.empty((n_samples, count)), np.empty(n_samples)
    for rows in row_blocks(n_samples):
        squared = rows_of(rows)
        near = np.argpartition(squared, kept - 1, axis=1)[:, :kept]
        beyond[rows] = np.take_along_axis(squared, near[:, -1:], axis=1)[:, 0] if kept < n_samples else np.inf
        of_candidates = np.linalg.norm(samples[near] - samples[rows][:, None, :], axis=2)
        distances[rows] = np.sort(of_candidates, axis=1)[:, :count]
    lengths = np.square(samples - samples.mean(axis=0)).sum(axis=1)
    rounding = 4.0 * (n_features + 2) * np.finfo(float).eps * float(lengths.max())
    unsure = np.flatnonzero(~(np.square(distances[:, -1]) <= beyond - rounding))
    if len(unsure) and np.isfinite(rounding):
        distances[unsure] = KDTree(samples).query(samples[unsure], k=count)[0]
    return distances


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
    distances = nearest_distances(features, neighbour + 1)[:, neighbour]
    check_finite(float(distances.max()))
    if distances.min() == 0.0:
        raise InputError(
            f"sample {int(distances.argmin())} coincides with its {neighbour}-th nearest neighbour, so it has no "
            "bandwidth; remove repeated samples, choose a larger neighbour, or scale features whose squares underflow"
        )
    return distances


def neighbourhood_widths(features: FloatArray, neighbours: int = 49) -> FloatArray:
    """Return sigma_i (n entries): sigma_i^2 is the mean of d^2 over the nearest distinct samples with weights 1/d.

    Source: the default kernel of the code of Wu et al. (github.com/endsley/HSIC_for_ML).

    Raises ``TooFewSamplesError`` unless there are more than ``neighbours`` distinct samples.
    """
    distinct, places = np.unique(features, axis=0, return_inverse=True)
    if len(distinct) <= neighbours:
        raise TooFewSamplesError(
            f"widths from the {neighbours} nearest neighbours need more distinct samples than that, got {len(distinct)}"
        )
    distances = nearest_distances(distinct, neighbours + 1)[:, 1:]
    check_finite(float(distances.max()))
    return np.asarray(np.sqrt(distances.sum(axis=1) / (1.0 / distances).sum(axis=1)))[places.reshape(-1)]
