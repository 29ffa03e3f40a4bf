"""Nearest neighbours under one tie rule, which learners, selection and classification share.

On data with few distinct values most nearest neighbours are tied: on Balance 73 % of the test points have several, and
the rule that picks one of them alone moves the accuracy of 1-NN from .68 to .88. Distances that are equal by arithmetic
must therefore stay equal after rounding errors, in whatever coordinates they are computed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kdrbench.kernels.family import FloatArray, Pairing, pairing_block
from kdrbench.parameters import check_value, whole

IntArray = NDArray[np.intp]
# Squared distances closer than this share of the largest in their row are tied.
TIE_TOLERANCE = 1e-9


def squared_distances(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return |left_i - right_j|^2 for the rows of ``left`` (m x d) and ``right`` (n x d), m x n."""
    # About the mean, so that features far from zero lose no digits.
    centre = right.mean(axis=0)
    return pairing_block(Pairing.DIFFERENCE, left - centre, right - centre)


def nearest(squared: FloatArray, n_neighbours: int) -> IntArray:
    """Return for each row of ``squared`` (m x n) the columns of its nearest, nearest first; of ties the first column.

    Distances are finite. Raises ``InputError`` unless 1 <= n_neighbours <= n.
    """
    n_samples = squared.shape[1]
    check_value("n_neighbours", n_neighbours, whole(1, n_samples, f"the {n_samples} samples to choose from"))
    found = nearest_among(squared, np.isfinite(squared), n_neighbours)
    return np.array(found, dtype=np.intp).reshape(-1, n_neighbours)


def nearest_among(squared: FloatArray, allowed: NDArray[np.bool_], n_neighbours: int) -> list[IntArray]:
    """Return for each row the columns of its nearest among those ``allowed`` (m x n), fewer where fewer are allowed.

    Distances are finite, and tied where they are the same whole number of 1e-9 times the largest allowed one in their
    row. By rows, so that a neighbour does not depend on which other samples are asked about with it.
    """
    with np.errstate(invalid="ignore"):
        # Twice as quick as a choice by masks. Infinite ones that are not allowed make NaN, which fmax skips.
        units = TIE_TOLERANCE * np.fmax.reduce(squared * allowed, axis=1, initial=0.0)
    units[units == 0.0] = 1.0
    kept = np.where(allowed, squared, np.inf)
    last = min(n_neighbours, kept.shape[1]) - 1
    # Only those no farther than the last neighbour, or tied with it, need be rounded and put in order.
    farthest = np.partition(kept, last, axis=1)[:, last] + 1.5 * units
    counts = np.minimum(allowed.sum(axis=1), n_neighbours)
    found = []
    for row, unit, bound, count in zip(kept, units, farthest, counts, strict=True):
        near = np.flatnonzero(row <= bound)
        found.append(near[np.argsort(np.round(row[near] / unit), kind="stable")[:count]])
    return found


def predict_by_neighbours(
    squared: FloatArray, labels: NDArray[np.generic], n_neighbours: int = 1
) -> NDArray[np.generic]:
    """Return the majority label among the nearest of n labelled samples for each row of ``squared`` (m x n).

    Of labels with equally many votes the one whose first vote is nearer wins.
    """
    votes = labels[nearest(squared, n_neighbours)]
    if n_neighbours == 1:
        return np.asarray(votes[:, 0])
    counts = (votes[:, :, None] == votes[:, None, :]).sum(axis=2)
    return np.asarray(votes[np.arange(len(votes)), counts.argmax(axis=1)])
