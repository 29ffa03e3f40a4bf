"""Constraints drawn from class labels, and those of maximum variance unfolding from the neighbours of samples.

The latter keep near distances, or do not stretch them. As equalities they have no positive definite solution in
general, so that no divergence has a minimum; as upper bounds they have, and a start c I with a large c spreads the
samples until the bounds hold them.

Source: Kulis, Sustik, Dhillon, ICML 2006, Section 3, on the constraints; Weinberger, Sha, Saul, "Learning a kernel
matrix for nonlinear dimensionality reduction", ICML 2004.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import KDTree

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.lowrank.constraints import Constraints, IntArray, Sense, squared_distances
from kdrbench.parameters import FRACTION, check_value, whole


def draw_pairs(n_samples: int, n_pairs: int, rng: np.random.Generator) -> IntArray:
    """Return ``n_pairs`` different pairs (i, j), i < j, drawn without replacement, m x 2.

    Raises ``InputError`` when there are fewer pairs.
    """
    most = n_samples * (n_samples - 1) // 2
    check_value("the number of constraints", n_pairs, whole(1, most, f"the {most} pairs of {n_samples} samples"))
    # Pairs are numbered row by row of the lower triangle: j (j - 1) / 2 + i.
    codes = rng.choice(most, size=int(n_pairs), replace=False, shuffle=True)
    upper = ((1 + np.sqrt(1 + 8 * codes.astype(np.float64))) // 2).astype(np.int64)
    # The square root may round across a whole number.
    upper -= upper * (upper - 1) // 2 > codes
    upper += upper * (upper + 1) // 2 <= codes
    return np.stack([codes - upper * (upper - 1) // 2, upper], axis=1)


def constraints_from_labels(
    factor: FloatArray, labels: ArrayLike, n_constraints: int, rng: np.random.Generator, *, change: float = 0.25
) -> Constraints:
    """Ask pairs of one class to come nearer and pairs of different classes to move apart, by a share ``change``.

    ``n_constraints`` different pairs are drawn uniformly; with d the squared distance of a pair in K0 = G0 G0'
    (``factor``: G0), one class asks for at most (1 - change) d, different classes for at least (1 + change) d. Pairs at
    distance 0 are left out, since no kernel in the range of K0 separates them.

    Source: Kulis, Sustik, Dhillon, ICML 2006, Section 6, on the digits, with ``change`` = 0.25.

    Raises ``InputError`` for labels of another length, a share outside (0, 1), or more constraints than pairs.
    """
    codes = np.asarray(labels)
    if codes.shape != (len(factor),):
        raise InputError(f"labels must be {len(factor)} values, one a row of the factor, got shape {codes.shape}")
    check_value("change", change, FRACTION)
    pairs = draw_pairs(len(factor), n_constraints, rng)
    squares = np.sum((factor[pairs[:, 0]] - factor[pairs[:, 1]]) ** 2, axis=1)
    pairs, squares = pairs[squares > 0], squares[squares > 0]
    same = codes[pairs[:, 0]] == codes[pairs[:, 1]]
    senses = [Sense.AT_MOST if alike else Sense.AT_LEAST for alike in same]
    return squared_distances(len(factor), pairs, senses, np.where(same, 1 - change, 1 + change) * squares)


def centred_factor(factor: FloatArray) -> FloatArray:
    """Return G0 without the means of its columns: every kernel in its range then has rows that sum to zero.

    Centring, 1'K1 = 0, is a constraint with bound 0, which Burg's divergence cannot meet; a range without the vector of
    ones meets it before the start.
    """
    centred: FloatArray = factor - factor.mean(axis=0)
    return centred


def isometry_constraints(features: FloatArray, n_neighbours: int, *, sense: str = "<=") -> Constraints:
    """Constrain the squared distances of each sample to its ``n_neighbours`` nearest ones to those of ``features``.

    ``features``: n x d. Pairs are taken once, those at distance 0 not at all. Raises ``InputError`` unless
    1 <= n_neighbours < n.
    """
    n_samples = len(features)
    check_value("n_neighbours", n_neighbours, whole(1, n_samples - 1))
    _, near = KDTree(features).query(features, k=n_neighbours + 1)
    i, j = np.repeat(np.arange(n_samples), n_neighbours + 1), near.reshape(-1)
    pairs = np.unique(np.sort(np.stack([i, j], axis=1), axis=1), axis=0)
    squares = np.sum((features[pairs[:, 0]] - features[pairs[:, 1]]) ** 2, axis=1)
    return squared_distances(n_samples, pairs[squares > 0], sense, squares[squares > 0])
