"""How a published number and ours relate.

Pages print the definitions, :data:`VERDICT_MEANINGS`; :func:`verdict_for` decides, also where papers print bounds.

What a mean varies by when its runs are drawn again: over redrawn partitions of a cross validation, measured by runs of
their own (:mod:`.partitions`); over random splits, subsets or draws, which are independent, their standard deviation
over the square root of their number. One run on all rows does not vary. Where a paper prints one draw, its own
standard deviation is that of a draw, not of a mean.

Source: Bengio and Grandvalet, "No unbiased estimator of the variance of K-fold cross-validation", JMLR 2004: the spread
over the folds of one partition is no estimate of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from kdrbench.suite.reports.declared import declared
from kdrbench.suite.reports.tables.cells import TIMES, Cell
from kdrbench.suite.reports.tables.published_numbers import PublishedNumber

# What each verdict means, as pages print it.
VERDICT_MEANINGS: Mapping[str, str] = declared("words")["verdicts"]
VERDICT_RULES = " ".join(f"{verdict.capitalize()}: {meaning}." for verdict, meaning in VERDICT_MEANINGS.items())
_SHARE_AT_STAKE = 0.25
_CLOSE_COST, _CLOSE_COUNT = 0.05, 0.25
_CLOSE_SHARE = 0.05
_ERRORS = 2.0
_SHARES = frozenset({"quality", "accuracy", "nmi", "error"})


class Verdict(StrEnum):
    """See :data:`VERDICT_MEANINGS`."""

    REPRODUCED = "reproduced"
    CLOSE = "close"
    DIFFERS = "differs"
    STOPPED = "stopped"
    NOT_RUN = "not run"
    NOT_JUDGED = "not judged"
    NOT_COMPARABLE = "not comparable"
    NOT_PUBLISHED = "not published"


@dataclass(frozen=True)
class Compared:
    """One of our cells beside the number that a paper prints for it, if it prints one.

    ``error`` is the standard error of our mean; ``None`` where it is not known. ``departure`` says in what our runs
    depart from the paper's protocol; empty where they follow it.
    """

    ours: Cell
    published: PublishedNumber | None
    error: float | None = None
    departure: str = ""

    @property
    def paper(self) -> str:
        """What is printed, or nothing."""
        return self.published.text if self.published else ""

    @property
    def verdict(self) -> Verdict:
        """How both relate."""
        if self.departure and self.published:
            return Verdict.NOT_COMPARABLE
        return verdict_for(self.published, self.ours, self.error)

    @property
    def why(self) -> str:
        """What is known of differences: how runs ended, what disturbed their times, how the paper is to be read."""
        reading = self.published.why if self.published and not self.departure else ""
        reasons = (self.departure if self.published else "", self.ours.note, self.ours.warning, reading)
        return "; ".join(filter(None, reasons))


def verdict_for(published: PublishedNumber | None, ours: Cell, error: float | None = None) -> Verdict:
    """Compare one printed number with our cell, whose mean has the standard ``error``."""
    if published is None:
        return Verdict.NOT_PUBLISHED
    if ours.metric in TIMES or published.status == "figure":
        return Verdict.NOT_JUDGED
    if published.value is None:
        return Verdict.NOT_PUBLISHED
    if ours.mean is None or not (ours.complete or ours.at_least):
        return Verdict.STOPPED if ours.stopped else Verdict.NOT_RUN
    if published.status != "ok":
        return Verdict.DIFFERS
    difference = abs(ours.mean - published.value)
    # Both means vary alike, so their difference has twice the variance.
    allowed = _ERRORS * math.sqrt(2.0) * (error or 0.0)
    if published.std is None:
        # A spread of single draws may be wide enough to hold any number.
        allowed = min(allowed, _widest(published, ours.metric))
    allowed = max(allowed, published.rounding)
    if ours.at_least:
        return Verdict.DIFFERS if ours.mean - allowed > published.value else Verdict.STOPPED
    # A difference of just the rounding may come out larger by a rounding of its own.
    if difference <= allowed * (1.0 + 1e-9):
        return Verdict.REPRODUCED
    return Verdict.CLOSE if difference <= closeness(published, ours.metric) else Verdict.DIFFERS


def closeness(published: PublishedNumber, metric: str) -> float:
    """Return how far a number may be off and be called close; 0 where nothing is printed beside it."""
    return min(_SHARE_AT_STAKE * published.stake, _widest(published, metric))


def _widest(published: PublishedNumber, metric: str) -> float:
    if metric in _SHARES:
        return _CLOSE_SHARE
    return (_CLOSE_COST if metric == "cost" else _CLOSE_COUNT) * abs(published.value or 0.0)
