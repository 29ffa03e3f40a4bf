"""How sure a mean is, and what a page says of it; whether two methods differ, :mod:`kdrbench.suite.paired` says.

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
from scipy.special import betaincinv, ndtri

from kdrbench.errors import counted
from kdrbench.suite.paired import half_width
from kdrbench.suite.reports.tables.cells import Cell
from kdrbench.suite.reports.tables.labels import FORMATS
from kdrbench.suite.reports.tables.numbers import interval, quantity
from kdrbench.suite.systems.ikdr.scores import Metric

if TYPE_CHECKING:
    import pandas as pd


SIGNIFICANT = 0.05
P_OVERLAP = "p of the t test that allows for overlapping training sets"
_SHARES = frozenset(map(str, Metric))
Interval = tuple[float, float] | tuple[None, None]


def interval_of(metric: str, cell: Cell) -> Interval:
    """Return the interval of a cell's mean, as the module's table says; ``metric`` is its name in tables."""
    if cell.mean is None or cell.std is None or cell.counted < 2:
        return None, None
    if metric == Metric.ACCURACY and cell.n_tested:
        return wilson(cell.mean, cell.n_tested)
    return _student(metric, cell.mean, cell.std, cell.counted)


def _student(metric: str, mean: float, std: float, n: int) -> tuple[float, float]:
    # The spread is that of the population: over n - 1 it gives the standard error.
    half = half_width(n - 1) * std / math.sqrt(n - 1)
    low, high = mean - half, mean + half
    return (max(0.0, low), min(1.0, high)) if metric in _SHARES else (low, high)


def interval_words(metric: str, low: float | None, high: float | None) -> str:
    """Return "95.1% to 99.4%", "-1329 to -1293": an interval in the unit and places of the number, if there is one."""
    if low is None or high is None:
        return ""
    shown = FORMATS.get(metric, quantity)
    return interval(low, high) if shown is quantity else f"{shown(low, None)} to {shown(high, None)}"


def meaning(what: str, over: str, interval: str = "", said: str = "") -> str:
    """Return all parts that there are, one behind the other; ``said`` is what is to be known of the runs."""
    return "; ".join(filter(None, (what, f"over {over}", interval and f"95 % interval {interval}", said)))


def meaning_of_cell(what: str, metric: str, cell: Cell, *, unit: str = "run", shown: str = "", said: str = "") -> str:
    """Return what a cell is; ``unit`` is what its runs are called, ``shown`` the metric as which it is printed."""
    over = f"{cell.counted} of {counted(cell.runs, unit)}" if cell.runs else f"no {unit}"
    return meaning(what, over, interval_words(shown or metric, *interval_of(metric, cell)), said)


def meaning_of_mean(what: str, metric: str, values: pd.Series, *, unit: str = "run") -> str:
    """Return what the mean of some values is, each of which is of a run, or has no number."""
    known = values.dropna().to_numpy(dtype=float)
    over = f"{len(known)} of {counted(len(values), unit)}"
    enough = len(known) > 1
    ends = _student(metric, float(known.mean()), float(known.std()), len(known)) if enough else (None, None)
    return meaning(what, over, interval_words(metric, *ends))


def p_text(p: float | None) -> str:
    """Return a p value in two digits, or a dash."""
    return "-" if p is None else f"{p:.2g}"


def wilson(share: float, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval for a share of ``n`` independent trials."""
    z = float(ndtri(0.975))
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def clopper_pearson(count: int, n: int) -> tuple[float, float]:
    """Return the exact 95 % interval for the share that ``count`` of ``n`` independent trials are of."""
    low = float(betaincinv(count, n - count + 1, 0.025)) if count else 0.0
    high = float(betaincinv(count + 1, n - count, 0.975)) if count < n else 1.0
    return low, high


def share_tested(runs: pd.DataFrame) -> float:
    """Return n_test / n_train of the runs of a cell, 0 where they have no test part."""
    if not {"n_test", "n_train"} <= set(runs) or not (runs["n_train"] > 0).any():
        return 0.0
    return float((runs["n_test"] / runs["n_train"]).mean())
