"""Constraints for nonlinear dimension reduction: a centred kernel that keeps, or does not stretch, near distances.

What maximum variance unfolding asks for. As equalities on a neighbour graph these have no positive definite solution
in general, so that no divergence has a minimum; as upper bounds they have, and a start c I with a large c spreads the
samples until the bounds hold them.

Source: Kulis, Sustik, Dhillon, ICML 2006, Section 3, on the constraints; Weinberger, Sha, Saul, "Learning a kernel
matrix for nonlinear dimensionality reduction", ICML 2004.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree

from kdrbench.errors import InputError, is_whole
from kdrbench.kernels.family import FloatArray
from kdrbench.lowrank.constraints import Constraints, squared_distances


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
    if not is_whole(n_neighbours) or not 1 <= n_neighbours < n_samples:
        raise InputError(f"n_neighbours must be an integer between 1 and {n_samples - 1}, got {n_neighbours!r}")
    _, near = KDTree(features).query(features, k=n_neighbours + 1)
    i, j = np.repeat(np.arange(n_samples), n_neighbours + 1), near.reshape(-1)
    pairs = np.unique(np.sort(np.stack([i, j], axis=1), axis=1), axis=0)
    squares = np.sum((features[pairs[:, 0]] - features[pairs[:, 1]]) ** 2, axis=1)
    return squared_distances(n_samples, pairs[squares > 0], sense, squares[squares > 0])
