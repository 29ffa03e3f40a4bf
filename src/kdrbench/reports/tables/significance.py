"""How sure a mean is; whether two methods differ, :mod:`kdrbench.paired` says.

95 % intervals of the means in a table:

accuracy     Wilson's interval for the share of all test samples that were labelled rightly. Each sample is tested once
             in a cross validation, so the mean over runs is that share (but for folds of unequal size). It lies within
             0 to 1 and is wide enough where every run has 100 %, of which a spread over runs says nothing.
other shares (NMI, errors over random subsets) Student's t over the runs, cut at 0 and 1.
the rest     Student's t over the runs.

One run has no interval. Folds share training rows and random subsets share rows, so t is too narrow there: approximate.

Source: Wilson, "Probable inference, the law of succession, and statistical inference", 1927; Brown, Cai, DasGupta,
"Interval estimation for a binomial proportion", 2001; Bengio and Grandvalet, "No unbiased estimator of the variance of
K-fold cross-validation", JMLR 2004; Demsar, "Statistical comparisons of classifiers over multiple data sets", JMLR
2006.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

# Not scipy.stats, which takes longer to load than a table to make.
from scipy.special import ndtri

from kdrbench.paired import half_width
from kdrbench.reports.records import Metric
from kdrbench.reports.tables.cells import FORMATS, Cell
from kdrbench.reports.tables.numbers import interval, quantity

if TYPE_CHECKING:
    import pandas as pd

SIGNIFICANT = 0.05
_SHARES = frozenset(map(str, Metric))
Interval = tuple[float, float] | tuple[None, None]


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


def interval_words(metric: str, low: float, high: float) -> str:
    """Return "95.1% to 99.4%", "-1329 to -1293": the ends of an interval in the unit and places of the number."""
    shown = FORMATS.get(metric, quantity)
    return interval(low, high) if shown is quantity else f"{shown(low, None)} to {shown(high, None)}"


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
