"""Constraints drawn at random from class labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kdrbench.errors import InputError, is_number, is_whole
from kdrbench.kernels.family import FloatArray
from kdrbench.lowrank.constraints import Constraints, IntArray, Sense, squared_distances


def draw_pairs(n_samples: int, n_pairs: int, rng: np.random.Generator) -> IntArray:
    """Return ``n_pairs`` different pairs (i, j), i < j, drawn without replacement, m x 2.

    Raises ``InputError`` when there are not so many.
    """
    if not is_whole(n_pairs) or not 1 <= n_pairs <= n_samples * (n_samples - 1) // 2:
        raise InputError(
            f"{n_samples} samples have {n_samples * (n_samples - 1) // 2} pairs; the number of constraints must be "
            f"between 1 and that, got {n_pairs!r}"
        )
    # Pairs are numbered row by row of the lower triangle: j (j - 1) / 2 + i.
    codes = rng.choice(n_samples * (n_samples - 1) // 2, size=int(n_pairs), replace=False, shuffle=True)
    upper = ((1 + np.sqrt(1 + 8 * codes.astype(np.float64))) // 2).astype(np.int64)
    # The square root may round across a whole number.
    upper -= upper * (upper - 1) // 2 > codes
    upper += upper * (upper + 1) // 2 <= codes
    return np.stack([codes - upper * (upper - 1) // 2, upper], axis=1)


def constraints_from_labels(
    factor: FloatArray,
    labels: ArrayLike,
    n_constraints: int,
    rng: np.random.Generator,
    *,
    change: float = 0.25,
) -> Constraints:
    """Ask pairs of one class to come nearer and pairs of different classes to move apart, by a share ``change``.

    ``n_constraints`` different pairs are drawn uniformly; with d the squared distance of a pair in K0 = G0 G0'
    (``factor``: G0), one class asks for at most (1 - change) d, different classes for at least (1 + change) d. Pairs at
    distance 0 are left out, since no kernel in the range of K0 tells them apart.

    Source: Kulis, Sustik, Dhillon, ICML 2006, Section 6, on the digits, with ``change`` = 0.25.

    Raises ``InputError`` for labels of another length, a share outside (0, 1), or more constraints than pairs.
    """
    codes = np.asarray(labels)
    if codes.shape != (len(factor),):
        raise InputError(f"labels must be {len(factor)} values, one a row of the factor, got shape {codes.shape}")
    if not is_number(change) or not 0 < change < 1:
        raise InputError(f"change must be a number between 0 and 1, got {change!r}")
    pairs = draw_pairs(len(factor), n_constraints, rng)
    squares = np.sum((factor[pairs[:, 0]] - factor[pairs[:, 1]]) ** 2, axis=1)
    pairs, squares = pairs[squares > 0], squares[squares > 0]
    same = codes[pairs[:, 0]] == codes[pairs[:, 1]]
    senses = [Sense.AT_MOST if alike else Sense.AT_LEAST for alike in same]
    return squared_distances(len(factor), pairs, senses, np.where(same, 1 - change, 1 + change) * squares)
