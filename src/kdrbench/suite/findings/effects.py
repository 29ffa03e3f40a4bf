"""Whether what a table shows comes out: the difference between two methods, its sign and its size.

Each printed number is taken against that of a reference beside it: ISM on the same data and kernel, the learner without
a kernel, the kernel that has learned nothing. Differences are

costs    relative to the size of the reference's cost
times    the logarithm of their ratio, since what a table of times claims are factors
sweeps   the same
shares   as they are

Ours is the mean of the paired differences over the runs that both have, with its 95 % interval; the verdicts are those
of :class:`Effect`. A printed difference can be distinguished from none if it exceeds the rounding of both numbers and
half the width of our interval. Sizes agree if the printed one lies in our interval or within a factor of two of ours;
ratios within a factor of three.

Only runs that owned their cores, did not wait for them, and whose cores' speed did not drift count for times: half of
the runs at least. A method that was stopped gives a lower bound of its ratio; of costs and shares it gives nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from kdrbench.kernels.family import FloatArray
from kdrbench.suite.findings.outcome import ONE_TIME, clean_times, ended, shared_numbers
from kdrbench.suite.paired import corrected_t_interval
from kdrbench.suite.reports.tables.cells import Cell
from kdrbench.suite.reports.tables.published_numbers import PublishedNumber
from kdrbench.suite.reports.tables.significance import share_tested

_RATIOS = frozenset({"time_s", "sweeps", "sweeps_least", "sweeps_most"})
_SAME_SIZE, _SAME_RATIO = 2.0, math.log(3.0)
# Relative differences of costs below this are rounding.
TIE = 1e-6


class Effect(StrEnum):
    """See ``effects`` in words.toml."""

    YES = "yes"
    SIGN_ONLY = "sign only"
    GONE = "gone"
    REVERSED = "reversed"
    IN_NEITHER = "in neither"
    ONLY_HERE = "only here"
    UNKNOWN = ""


# The verdict, and both effects in words.
Judged = tuple[Effect, str]
NO_EFFECT: Judged = (Effect.UNKNOWN, "")


@dataclass(frozen=True)
class Difference:
    """A difference with its interval; ``bound`` says that it is at least this large."""

    mean: float
    low: float
    high: float
    bound: bool = False


def _less(value: ArrayLike, base: ArrayLike, metric: str) -> FloatArray | None:
    """Return values less those of the reference on the scale of the metric; ``None`` where that has none."""
    value, base = np.asarray(value, dtype=float), np.asarray(base, dtype=float)
    if metric in _RATIOS:
        return np.log(value / base) if min(value.min(), base.min()) > 0.0 else None
    size = abs(base.mean()) if metric == "cost" else 1.0
    return (value - base) / size if size else None


def our_difference(ours: pd.DataFrame, reference: pd.DataFrame, column: str, metric: str) -> Difference | None:
    """Return the mean paired difference over the runs (index ``run``) of both; ``None`` where there are none.

    A reference that was stopped has no time that another could be compared with, and the last iterate of a run that was
    stopped is no result.
    """
    n_runs, of_times = len(ours), metric == "time_s"
    reference = reference[ended(reference)]
    if of_times:
        ours, reference = clean_times(ours), clean_times(reference)
    else:
        ours = ours[ended(ours)]
    both = shared_numbers(ours, reference, column)
    # Of times half of the folds must be undisturbed; of results none may lack.
    if both.empty or len(both) < (n_runs / 2 if of_times else n_runs):
        return None
    differences = _less(both["ours"], both["theirs"], metric)
    if differences is None:
        return None
    low, high = corrected_t_interval(differences, share_tested(ours))
    if of_times and len(both) == 1:
        # Of one run the spread is not known.
        low, high = low - math.log(ONE_TIME), high + math.log(ONE_TIME)
    bound = not ended(ours[ours["run"].isin(both.index)]).all()
    return Difference(float(differences.mean()), low, high, bound=bool(bound))


def difference_of_cells(ours: Cell, reference: Cell, metric: str) -> Difference | None:
    """Return the difference of two means over independent draws, with the interval of Welch's standard error."""
    if None in (ours.mean, ours.std, reference.mean, reference.std) or not (ours.complete and reference.complete):
        return None
    means, spreads = np.array([[cell.mean, cell.std] for cell in (ours, reference)], dtype=float).T
    difference = _less(means[0], means[1], metric)
    if difference is None:
        return None
    # To first order, the logarithm varies as the number does relative to itself.
    spreads = spreads / means if metric in _RATIOS else spreads
    counts = np.array([max(1, cell.counted - 1) for cell in (ours, reference)])
    half = 2.0 * math.sqrt((spreads**2 / counts).sum())
    return Difference(float(difference), float(difference) - half, float(difference) + half)


def effect_of(
    number: PublishedNumber | None, reference: PublishedNumber | None, ours: Difference | None, metric: str
) -> Judged:
    """Return whether the printed difference comes out in ours; nothing where print has none to see."""
    if number is None or reference is None or None in (number.value, reference.value) or reference.status != "ok":
        return NO_EFFECT
    values = float(number.value or 0.0), float(reference.value or 0.0)
    printed = _less(*values, metric)
    if printed is None:
        return NO_EFFECT
    # How far rounding may have moved it.
    roundings = number.rounding, reference.rounding
    if metric in _RATIOS:
        slack = sum(math.log1p(min(0.99, each / value)) for each, value in zip(roundings, values, strict=True))
    else:
        slack = sum(roundings) / (abs(values[1]) if metric == "cost" else 1.0)
    at_least = number.status == "time_limit"
    words = f"printed {_words(float(printed), metric, 'at least ' if at_least else '')}"
    if ours is None:
        return Effect.UNKNOWN, words
    interval = f" ({_words(ours.low, metric)} to {_words(ours.high, metric)})" if ours.high > ours.low else ""
    words += f", ours {_words(ours.mean, metric, 'at least ' if ours.bound else '')}{interval}"
    return _judged(float(printed), slack, ours, metric, at_least=at_least), words


def _judged(printed: float, slack: float, ours: Difference, metric: str, *, at_least: bool) -> Effect:
    if ours.bound and ours.mean < printed:
        # Nothing is known of how much larger it is.
        return Effect.YES if _same_size(printed, slack, ours, metric) else Effect.UNKNOWN
    half = 0.5 * (ours.high - ours.low)
    seen_in_print = abs(printed) > slack + half
    # What no digit of the print would show is no effect of ours either.
    hidden = max(TIE, slack) if metric == "cost" else TIE
    seen_in_ours = (ours.low > 0.0 or ours.high < 0.0) and abs(ours.mean) > hidden
    if not seen_in_print:
        return Effect.ONLY_HERE if seen_in_ours and not _same_size(printed, slack, ours, metric) else Effect.IN_NEITHER
    if not seen_in_ours:
        return Effect.GONE
    if (printed > 0) != (ours.mean > 0):
        return Effect.REVERSED
    larger_is_fine = at_least and ours.mean > printed
    return Effect.YES if larger_is_fine or _same_size(printed, slack, ours, metric) else Effect.SIGN_ONLY


def _same_size(printed: float, slack: float, ours: Difference, metric: str) -> bool:
    if ours.low - slack <= printed <= ours.high + slack:
        return True
    if metric in _RATIOS:
        return abs(printed - ours.mean) <= _SAME_RATIO
    return printed * ours.mean > 0 and 1.0 / _SAME_SIZE <= ours.mean / printed <= _SAME_SIZE


def _words(difference: float, metric: str, before: str = "") -> str:
    """Return a difference as a reader wants it: a factor, or a signed share."""
    if metric in _RATIOS:
        factor = math.exp(difference)
        return f"{before}x {factor:.3g}"
    if metric == "cost":
        return f"{before}{100.0 * difference:+.3g} %" if abs(difference) > TIE else f"{before}0 %"
    return f"{before}{difference:+.3f}" if metric == "nmi" else f"{before}{100.0 * difference:+.1f} points"
