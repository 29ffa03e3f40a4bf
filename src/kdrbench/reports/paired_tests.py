"""Tests of whether two methods differ, from their differences on the same splits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray


def wilcoxon_p(differences: ArrayLike) -> float:
    """Return the two-sided p of Wilcoxon's signed rank test; 1 where no difference is left.

    Zeros are left out; equal differences share the mean of their ranks. The distribution of the rank sum under random
    signs is counted exactly, with these ranks, for shares of few test samples are full of ties.

    Source: Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1, 1945.
    """
    from scipy.stats import rankdata

    # In units of rounding: shares of the same samples that differ by the same count are equal.
    rounded = np.round(np.asarray(differences, dtype=float), 12)
    values = rounded[rounded != 0]
    # Twice the ranks are whole numbers.
    ranks = np.round(2 * rankdata(np.abs(values))).astype(int)
    chances = np.ones(1)
    for rank in ranks:
        longer = np.zeros(len(chances) + rank)
        longer[: len(chances)] += 0.5 * chances
        longer[rank:] += 0.5 * chances
        chances = longer
    positive = int(ranks[values > 0].sum())
    return float(min(1.0, 2.0 * min(chances[: positive + 1].sum(), chances[positive:].sum())))


def corrected_t_p(differences: ArrayLike, test_share: float) -> float | None:
    """Return the two-sided p of a mean of differences over J random splits; ``None`` for fewer than two.

    ``test_share`` is n_test / n_train. The variance of the mean is (1/J + n_test/n_train) s^2: training sets of one
    data set overlap, and a plain paired test finds too many differences.

    Source: Nadeau and Bengio, "Inference for the generalization error", Machine Learning 52, 2003.
    """
    from scipy.stats import t

    values = np.asarray(differences, dtype=float)
    if len(values) < 2:
        return None
    mean, spread = float(values.mean()), float(values.std(ddof=1))
    if spread == 0.0:
        return 1.0 if mean == 0.0 else 0.0
    statistic = abs(mean) / (spread * np.sqrt(1.0 / len(values) + test_share))
    return float(2.0 * t.sf(statistic, len(values) - 1))


def holm(p_values: Sequence[float]) -> NDArray[np.float64]:
    """Return the p values corrected for being several: the smallest times m, the next times m - 1, never decreasing.

    Source: Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979.
    """
    values = np.asarray(p_values, dtype=float)
    order = np.argsort(values, kind="stable")
    grown = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    corrected = np.empty(len(values))
    corrected[order] = np.minimum(grown, 1.0)
    return corrected
