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

from kdrbench.suite.findings.outcome import clean_times, ended, numbers_by_run
from kdrbench.suite.paired import corrected_t_interval
from kdrbench.suite.reports.tables.cells import Cell
from kdrbench.suite.reports.tables.published_numbers import PublishedNumber
from kdrbench.suite.reports.tables.significance import share_tested

# What each effect means, as pages print it.
EFFECT_MEANINGS = {
    "effect": "the difference to the reference beside it (ISM; the learner without a kernel), as printed and as ours "
    "with its 95 % interval",
    "yes": "sign and size come out, the size within our interval or a factor of two (ratios of times: three)",
    "sign only": "the size does not",
    "gone": "ours cannot be distinguished from none",
    "reversed": "the sign is the other",
    "in neither": "none shows one",
    "only here": "print shows none, ours does",
}
_RATIOS = frozenset({"time_s", "sweeps", "sweeps_least", "sweeps_most"})
_SAME_SIZE, _SAME_RATIO = 2.0, math.log(3.0)
_ONE_TIME = math.log(1.2)
# Relative differences of costs below this are rounding.
TIE = 1e-6


class Effect(StrEnum):
    """See the module's words."""

    YES = "yes"
    SIGN_ONLY = "sign only"
    GONE = "gone"
    REVERSED = "reversed"
    IN_NEITHER = "in neither"
    ONLY_HERE = "only here"
    UNKNOWN = ""


@dataclass(frozen=True)
class EffectFound:
    """The verdict, and both effects in words."""

    effect: Effect = Effect.UNKNOWN
    words: str = ""


NO_EFFECT = EffectFound()


@dataclass(frozen=True)
class Difference:
    """A difference with its interval; ``bound`` says that it is at least this large."""

    mean: float
    low: float
    high: float
    bound: bool = False


def printed_difference(number: PublishedNumber, reference: PublishedNumber, metric: str) -> tuple[float, float] | None:
    """Return the printed difference and how far rounding may have moved it; ``None`` where there is none to see."""
    if number.value is None or reference.value is None or reference.status != "ok":
        return None
    if metric in _RATIOS:
        if min(number.value, reference.value) <= 0.0:
            return None
        slack = sum(math.log1p(min(0.99, one.rounding / (one.value or 1.0))) for one in (number, reference))
        return math.log(number.value / reference.value), slack
    size = abs(reference.value) if metric == "cost" else 1.0
    if size == 0.0:
        return None
    return (number.value - reference.value) / size, (number.rounding + reference.rounding) / size


def our_difference(ours: pd.DataFrame, reference: pd.DataFrame, column: str, metric: str) -> Difference | None:
    """Return the mean paired difference over the runs (index ``run``) of both; ``None`` where there are none.

    A reference that was stopped has no time that another could be compared with, and the last iterate of a run that was
    stopped is no result.
    """
    n_runs, of_times = len(ours), metric == "time_s"
    if of_times:
        ours, reference = clean_times(ours), clean_times(reference)
    reference = reference[ended(reference)]
    if not of_times:
        ours = ours[ended(ours)]
    columns = {"value": numbers_by_run(ours, column), "reference": numbers_by_run(reference, column)}
    both = pd.DataFrame(columns).dropna()
    # Of times half of the folds must be undisturbed; of results none may lack.
    if both.empty or len(both) < (n_runs / 2 if of_times else n_runs):
        return None
    value, base = both["value"].to_numpy(float), both["reference"].to_numpy(float)
    if metric in _RATIOS:
        if min(value.min(), base.min()) <= 0.0:
            return None
        differences = np.log(value / base)
    elif metric == "cost" and base.mean() == 0.0:
        return None
    else:
        differences = (value - base) / (abs(base.mean()) if metric == "cost" else 1.0)
    low, high = corrected_t_interval(differences, share_tested(ours))
    if of_times and len(both) == 1:
        # Of one run the spread is not known; no time is known better than this.
        low, high = low - _ONE_TIME, high + _ONE_TIME
    bound = not ended(ours[ours["run"].isin(both.index)]).all()
    return Difference(float(differences.mean()), low, high, bound=bool(bound))


def difference_of_cells(ours: Cell, reference: Cell, metric: str) -> Difference | None:
    """Return the difference of two means over independent draws, with the interval of Welch's standard error."""
    if None in (ours.mean, ours.std, reference.mean, reference.std) or not (ours.complete and reference.complete):
        return None
    value, base = float(ours.mean or 0.0), float(reference.mean or 0.0)
    spreads = [(float(cell.std or 0.0), max(1, cell.counted - 1)) for cell in (ours, reference)]
    if metric in _RATIOS:
        if min(value, base) <= 0.0:
            return None
        # To first order, the logarithm varies as the number does relative to itself.
        spreads = [(spread / size, count) for (spread, count), size in zip(spreads, (value, base), strict=True)]
        value, base = math.log(value), math.log(base)
    half = 2.0 * math.sqrt(sum(spread**2 / count for spread, count in spreads))
    return Difference(value - base, value - base - half, value - base + half)


def effect_of(
    number: PublishedNumber | None, reference: PublishedNumber | None, ours: Difference | None, metric: str
) -> EffectFound:
    """Return whether the printed difference comes out in ours."""
    printed = printed_difference(number, reference, metric) if number and reference else None
    if printed is None or number is None:
        return NO_EFFECT
    difference, slack = printed
    at_least = number.status == "time_limit"
    shown = _words(difference, metric, ("at least " if at_least else ""))
    if ours is None:
        return EffectFound(Effect.UNKNOWN, f"printed {shown}")
    interval = f" ({_words(ours.low, metric)} to {_words(ours.high, metric)})" if ours.high > ours.low else ""
    words = f"printed {shown}, ours {_words(ours.mean, metric, 'at least ' if ours.bound else '')}{interval}"
    return EffectFound(_judged(difference, slack, ours, metric, at_least=at_least), words)


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
