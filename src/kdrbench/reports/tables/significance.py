"""How sure a mean is, and whether two methods differ, from the differences of their paired results.

95 % intervals of the means in a table:

accuracy     Wilson's interval for the share of all test samples that were labelled rightly. Each sample is tested once
             in a cross validation, so the mean over runs is that share (but for folds of unequal size). It lies within
             0 to 1 and is wide enough where every run has 100 %, of which a spread over runs says nothing.
other shares (NMI, errors over random subsets) Student's t over the runs, cut at 0 and 1.
the rest     Student's t over the runs.

One run has no interval. Folds share training rows and random subsets share rows, so t is too narrow there: approximate.

Source: Wilson, "Probable inference, the law of succession, and statistical inference", 1927; Brown, Cai, DasGupta,
"Interval estimation for a binomial proportion", 2001; Bengio and Grandvalet, "No unbiased estimator of the variance of
K-fold cross-validation", JMLR 2004; Wilcoxon, "Individual comparisons by ranking methods", 1945; Holm, "A simple
sequentially rejective multiple test procedure", 1979; Demsar, "Statistical comparisons of classifiers over multiple
data sets", JMLR 2006; Nadeau and Bengio, "Inference for the generalization error", Machine Learning 52, 2003.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

# Not scipy.stats, which takes longer to load than a table to make.
from scipy.special import ndtri, stdtr, stdtrit

from kdrbench.reports.records import Metric
from kdrbench.reports.tables.cells import Cell

SIGNIFICANT = 0.05
_SHARES = frozenset(map(str, Metric))
Interval = tuple[float, float] | tuple[None, None]


def signed_rank_p(differences: Sequence[float] | NDArray[np.float64]) -> float:
    """Return the two-sided p value of Wilcoxon's signed ranks; zeros are left out, and 1 if nothing is left.

    Exact: the chances of each sum of ranks under random signs are counted, with mean ranks where differences are tied.
    """
    values = np.asarray(differences, dtype=np.float64)
    values = values[values != 0.0]
    # Twice the mean ranks are whole numbers.
    ranks = (2 * pd.Series(np.abs(values)).rank()).astype(int)
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


def interval_of(metric: str, cell: Cell) -> Interval:
    """Return the interval of a cell's mean, as the module's table says; ``metric`` is its name in tables."""
    if cell.mean is None or cell.std is None or cell.counted < 2:
        return None, None
    if metric == Metric.ACCURACY and cell.n_tested:
        return wilson(cell.mean, cell.n_tested)
    # The spread of the cell is that of the population: over n - 1 it gives the standard error.
    half = half_width(cell.counted - 1) * cell.std / math.sqrt(cell.counted - 1)
    low, high = cell.mean - half, cell.mean + half
    return (max(0.0, low), min(1.0, high)) if metric in _SHARES else (low, high)


def half_width(degrees: int) -> float:
    """Return how many standard errors a 95 % interval of Student's t reaches to either side."""
    return float(stdtrit(degrees, 0.975))


def wilson(share: float, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval for a share of ``n`` independent trials."""
    z = float(ndtri(0.975))
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def share_tested(runs: pd.DataFrame) -> float:
    """Return n_test / n_train of the runs of a cell, 0 where they have no test part."""
    if not {"n_test", "n_train"} <= set(runs) or not (runs["n_train"] > 0).any():
        return 0.0
    return float((runs["n_test"] / runs["n_train"]).mean())


def corrected_t_interval(differences: ArrayLike, test_share: float) -> tuple[float, float]:
    """Return the 95 % interval that belongs to :func:`corrected_t_p`; the mean twice for fewer than two."""
    values = np.asarray(differences, dtype=float)
    mean = float(values.mean())
    if len(values) < 2:
        return mean, mean
    half = half_width(len(values) - 1) * float(values.std(ddof=1)) * math.sqrt(1.0 / len(values) + test_share)
    return mean - half, mean + half
