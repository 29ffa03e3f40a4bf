"""What a published number and ours have to do with each other.

reproduced    the intervals mean +- standard deviation overlap
close         costs within 5 % of each other, shares within 0.05, times within a factor of 3
differs       neither
not run       we have no number, or only a bound because runs hit a limit or failed
not published the papers print none
"""

from __future__ import annotations

from enum import StrEnum

from kdrbench.reports.published import PublishedNumber
from kdrbench.reports.summary import Cell

_CLOSE_COST = 0.05
_CLOSE_SHARE = 0.05
_CLOSE_TIME_FACTOR = 3.0


class Verdict(StrEnum):
    """See the module's table."""

    REPRODUCED = "reproduced"
    CLOSE = "close"
    DIFFERS = "differs"
    NOT_RUN = "not run"
    NOT_PUBLISHED = "not published"


def judge(published: PublishedNumber | None, ours: Cell) -> Verdict:
    """Compare one printed number with our cell."""
    if published is None or published.value is None or published.status != "ok":
        return Verdict.NOT_PUBLISHED
    if ours.mean is None or ours.note:
        return Verdict.NOT_RUN
    distance = abs(ours.mean - published.value)
    if distance <= (published.std or 0.0) + (ours.std or 0.0):
        return Verdict.REPRODUCED
    return Verdict.CLOSE if _close(ours.metric, published.value, ours.mean) else Verdict.DIFFERS


def _close(metric: str, published: float, ours: float) -> bool:
    if metric == "time_s":
        return max(published, ours) <= _CLOSE_TIME_FACTOR * min(published, ours)
    if metric == "quality":
        return abs(published - ours) <= _CLOSE_SHARE
    return abs(published - ours) <= _CLOSE_COST * abs(published)
