"""Tests of paired differences: signed ranks, Holm's correction, and a t test for overlapping training sets.

Source: Wilcoxon, "Individual comparisons by ranking methods", 1945; Holm, "A simple sequentially rejective multiple
test procedure", 1979; Nadeau and Bengio, "Inference for the generalization error", Machine Learning 52, 2003.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Not scipy.stats, which takes longer to load than a table to make.
from scipy.special import stdtr, stdtrit


def signed_rank_p(differences: Sequence[float] | NDArray[np.float64]) -> float:
    """Return the two-sided p value of Wilcoxon's signed ranks; zeros are left out, and 1 if nothing is left.

    Exact: the chances of each sum of ranks under random signs are counted, with mean ranks where differences are tied.
    """
    values = np.asarray(differences, dtype=np.float64)
    values = values[values != 0.0]
    ordered = np.sort(np.abs(values))
    # Twice the mean ranks are whole numbers.
    ranks = 1 + sum(np.searchsorted(ordered, np.abs(values), side) for side in ("left", "right"))
    chances = np.ones(1)
    for rank in ranks:
        longer = np.zeros(len(chances) + rank)
        longer[: len(chances)] += 0.5 * chances
        longer[rank:] += 0.5 * chances
        chances = longer
    positive = int(ranks[values > 0].sum())
    return float(min(1.0, 2.0 * min(chances[: positive + 1].sum(), chances[positive:].sum())))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p values as Holm corrects them: the i-th smallest of m times m - i + 1, never falling, at most 1."""
    order = np.argsort(p_values, kind="stable")
    corrected = np.empty(len(p_values))
    factors = np.arange(len(p_values), 0, -1)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(np.asarray(p_values)[order] * factors))
    return [float(value) for value in corrected]


def corrected_t_p(differences: ArrayLike, test_share: float) -> float | None:
    """Return the two-sided p of a mean of differences over J random splits; ``None`` for fewer than two.

    ``test_share`` is n_test / n_train. The variance of the mean is (1/J + n_test/n_train) s^2: training sets of one
    data set overlap, and a plain paired test finds too many differences (Nadeau and Bengio 2003).
    """
    values = np.asarray(differences, dtype=float)
    if len(values) < 2:
        return None
    mean, spread = float(values.mean()), float(values.std(ddof=1))
    if spread == 0.0:
        return 1.0 if mean == 0.0 else 0.0
    statistic = abs(mean) / (spread * np.sqrt(1.0 / len(values) + test_share))
    return float(2.0 * stdtr(len(values) - 1, -statistic))


def corrected_t_interval(differences: ArrayLike, test_share: float) -> tuple[float, float]:
    """Return the 95 % interval that belongs to :func:`corrected_t_p`; the mean twice for fewer than two."""
    values = np.asarray(differences, dtype=float)
    mean = float(values.mean())
    if len(values) < 2:
        return mean, mean
    half = half_width(len(values) - 1) * float(values.std(ddof=1)) * math.sqrt(1.0 / len(values) + test_share)
    return mean - half, mean + half


def half_width(degrees: int) -> float:
    """Return how many standard errors a 95 % interval of Student's t reaches to either side."""
    return float(stdtrit(degrees, 0.975))
