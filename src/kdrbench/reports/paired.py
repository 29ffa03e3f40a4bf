"""Whether two methods differ, by pairs: both ran on the same folds from the same data.

For each pair of methods and each metric the differences over folds are tested by Wilcoxon's signed ranks, two-sided and
exact (every assignment of signs counts). P values are corrected by Holm's step-down rule over all tests
of one experiment and metric, so that the chance of a single false "differs" among them is at most five per cent. Folds
of a cross validation share training rows, so their differences are not independent: a small p is an indication, no
proof.

Source: Wilcoxon, "Individual comparisons by ranking methods", 1945; Holm, "A simple sequentially rejective multiple
test procedure", 1979; Demsar, "Statistical comparisons of classifiers over multiple data sets", JMLR 2006.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kdrbench.bench.config import NO_KERNEL
from kdrbench.reports.layout import is_converged, method_label
from kdrbench.reports.summary import METRICS
from kdrbench.solvers import Status

SIGNIFICANT = 0.05
# Of five pairs even the most extreme signs have p = 1/16.
FEWEST_PAIRS = 6
_OURS = "ISM"


@dataclass(frozen=True)
class PairedTest:
    """``difference`` is the median over folds of first minus second, ``p`` uncorrected, ``p_holm`` corrected."""

    experiment: str
    dataset: str
    kernel: str
    metric: str
    first: str
    second: str
    pairs: int
    mean_first: float
    mean_second: float
    difference: float
    p: float
    p_holm: float

    @property
    def differs(self) -> bool:
        """Whether the methods are said to differ."""
        return self.p_holm <= SIGNIFICANT

    @property
    def lower(self) -> str:
        """The method that is lower, where they differ."""
        return "" if not self.differs else self.first if self.difference < 0 else self.second


def signed_rank_p(differences: Sequence[float] | NDArray[np.float64]) -> float:
    """Return the two-sided p value of Wilcoxon's signed ranks; zeros are left out, and 1 if nothing is left.

    Exact: the chances of each sum of ranks under random signs are counted, with mean ranks where differences are tied.
    """
    from scipy.stats import rankdata

    given = np.asarray(differences, dtype=np.float64)
    given = given[given != 0.0]
    # Twice the mean ranks are whole numbers.
    ranks = np.round(2 * rankdata(np.abs(given))).astype(int)
    chances = np.ones(1)
    for rank in ranks:
        longer = np.zeros(len(chances) + rank)
        longer[: len(chances)] += 0.5 * chances
        longer[rank:] += 0.5 * chances
        chances = longer
    positive = int(ranks[given > 0].sum())
    return float(min(1.0, 2.0 * min(chances[: positive + 1].sum(), chances[positive:].sum())))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p values as Holm corrects them: the i-th smallest of m times m - i + 1, never falling, at most 1."""
    order = np.argsort(p_values, kind="stable")
    corrected = np.empty(len(p_values))
    factors = np.arange(len(p_values), 0, -1)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(np.asarray(p_values)[order] * factors))
    return [float(value) for value in corrected]


def compared(solvers: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs worth a test: a method as published and converged, and ISM against each rival of its variant."""
    found = []
    for first, second in combinations(sorted(solvers, key=lambda name: method_label(name) != _OURS), 2):
        same_method = method_label(first) == method_label(second)
        if same_method or (method_label(first) == _OURS and is_converged(first) == is_converged(second)):
            found.append((first, second))
    return found


def paired_tests(runs: pd.DataFrame, *, pairs: Sequence[tuple[str, str]] | None = None) -> list[PairedTest]:
    """Return the tests of every experiment, data set, kernel and metric where both methods have six folds or more.

    ``pairs`` are tested, or, if none are named, those of :func:`compared`.
    """
    results: list[PairedTest] = []
    usable = runs[(runs["status"] != str(Status.FAILED)) & (runs["kernel"] != NO_KERNEL)]
    for metric in METRICS:
        for _, of_experiment in usable.groupby("experiment", sort=False):
            tests = list(_tests(of_experiment, metric, pairs))
            corrected = holm([test.p for test in tests])
            results += [replace(test, p_holm=p) for test, p in zip(tests, corrected, strict=True)]
    return results


def _tests(runs: pd.DataFrame, metric: str, pairs: Sequence[tuple[str, str]] | None) -> Iterator[PairedTest]:
    for (experiment, dataset, kernel), group in runs.groupby(["experiment", "dataset", "kernel"], sort=False):
        table = group.pivot_table(index="fold", columns="solver", values=metric, sort=False)
        solvers = [str(name) for name in table.columns]
        for first, second in compared(solvers) if pairs is None else pairs:
            if not {first, second} <= set(solvers):
                continue
            both = table[[first, second]].dropna()
            if len(both) < FEWEST_PAIRS:
                continue
            one, other = both[first].to_numpy(), both[second].to_numpy()
            p = signed_rank_p(one - other)
            shown = metric if metric != "quality" else str(group["quality_metric"].iloc[0])
            means = float(one.mean()), float(other.mean()), float(np.median(one - other))
            yield PairedTest(str(experiment), str(dataset), str(kernel), shown, first, second, len(both), *means, p, p)
