"""Ranks of methods over data sets, and whether they differ: scores are n x k, a row a data set, higher is better.

A score that is missing (NaN) is lost: it ranks behind all that are there, and counts as 0 in differences.

Source: Friedman, "The use of ranks to avoid the assumption of normality", 1937; Iman and Davenport, "Approximations of
the critical region of the Friedman statistic", 1980; Nemenyi, "Distribution-free multiple comparisons", 1963; Demsar,
"Statistical comparisons of classifiers over multiple data sets", JMLR 7, 2006, section 3.2; Efron, "Bootstrap methods:
another look at the jackknife", 1979.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

# Not scipy.stats, which takes longer to load than a table to make.
from scipy.special import chdtrc, fdtrc

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.suite.paired import holm, signed_rank_p

_DRAWS = 2000


@dataclass(frozen=True)
class Friedman:
    """Friedman's chi-squared with its p value, and Iman and Davenport's F, which is less conservative, with its own."""

    chi_squared: float
    p: float
    f: float
    p_f: float


def ranks_of(scores: FloatArray) -> FloatArray:
    """Return the ranks of each row, 1 for the highest score; ties share their mean rank, and lost ones the last."""
    scores = _checked(scores)
    filled = np.where(np.isnan(scores), -np.inf, scores)
    before, behind = filled[:, None, :], filled[:, :, None]
    ranks: FloatArray = (before > behind).sum(axis=2) + 0.5 * ((before == behind).sum(axis=2) + 1)
    return ranks


def friedman(scores: FloatArray) -> Friedman:
    """Return the test that all methods have the same mean rank, with ties as they are.

    chi^2 = (k - 1) sum_j (R_j - n (k + 1) / 2)^2 / (sum_ij r_ij^2 - n k (k + 1)^2 / 4), R_j the sums of ranks;
    F = (n - 1) chi^2 / (n (k - 1) - chi^2). Raises ``InputError`` for fewer than two rows or methods.
    """
    ranks = ranks_of(scores)
    n, k = ranks.shape
    if n < 2 or k < 2:
        raise InputError(f"Friedman's test needs two data sets and two methods at least; got {n} and {k}")
    spread = float((ranks**2).sum()) - n * k * (k + 1) ** 2 / 4
    if spread <= 0:
        return Friedman(0.0, 1.0, 0.0, 1.0)
    chi = (k - 1) * float(((ranks.sum(axis=0) - n * (k + 1) / 2) ** 2).sum()) / spread
    left = n * (k - 1) - chi
    # All rows agree: no F is as large, up to rounding.
    f = (n - 1) * chi / left if left > 1e-9 * n * k else np.inf
    p_f = float(fdtrc(k - 1, (k - 1) * (n - 1), f)) if np.isfinite(f) else 0.0
    return Friedman(chi, float(chdtrc(k - 1, chi)), float(f), p_f)


def critical_difference(n_methods: int, n_sets: int, level: float = 0.05) -> float:
    """Return by how much two mean ranks must differ by Nemenyi's test: q sqrt(k (k + 1) / (6 n)).

    q is the upper quantile of the studentised range of k normal values, over sqrt(2).
    """
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(1.0 - level, n_methods, np.inf)) / np.sqrt(2.0)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_sets)))


def not_different(mean_ranks: Sequence[float], difference: float) -> list[tuple[int, int]]:
    """Return first and last place, by ascending mean rank, of each largest group within the critical difference."""
    ordered = np.sort(np.asarray(mean_ranks, dtype=float))
    groups: list[tuple[int, int]] = []
    for first, lowest in enumerate(ordered):
        last = int(np.searchsorted(ordered, lowest + difference, side="right")) - 1
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return groups


def bootstrap_mean_ranks(ranks: FloatArray, rng: np.random.Generator, n_draws: int = _DRAWS) -> FloatArray:
    """Return the 95 % intervals (k x 2) of mean ranks: percentiles over data sets drawn with replacement."""
    drawn = rng.integers(len(ranks), size=(n_draws, len(ranks)))
    means = ranks[drawn].mean(axis=1)
    intervals: FloatArray = np.quantile(means, [0.025, 0.975], axis=0).T
    return intervals


def wilcoxon_holm(scores: FloatArray, pairs: Sequence[tuple[int, int]] = ()) -> dict[tuple[int, int], float]:
    """Return by pair of methods the p value of Wilcoxon's signed ranks over data sets, corrected over the pairs.

    All pairs are tested where none are named.
    """
    filled = np.nan_to_num(_checked(scores), nan=0.0)
    pairs = pairs or list(combinations(range(filled.shape[1]), 2))
    corrected = holm([signed_rank_p(filled[:, one] - filled[:, other]) for one, other in pairs])
    return dict(zip(pairs, corrected, strict=True))


def controls_ahead(mean_ranks: Sequence[float], controls: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return each method with a control whose mean rank is as good or better: in a sound league there is none."""
    return [
        (method, control)
        for method in np.flatnonzero(~controls).tolist()
        for control in np.flatnonzero(controls).tolist()
        if mean_ranks[control] <= mean_ranks[method]
    ]


def _checked(scores: FloatArray) -> FloatArray:
    values = np.asarray(scores, dtype=float)
    if values.ndim != 2 or not values.size:
        raise InputError(f"scores must be a row a data set and a column a method; got shape {values.shape}")
    return values
