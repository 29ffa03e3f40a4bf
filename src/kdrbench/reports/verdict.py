"""What a published number and ours have to do with each other.

reproduced    the difference is within the rounding of the printed number, or the means differ by no more than two
              standard errors of their difference, each mean being over as many folds as ours
close         costs within 5 % of each other, shares within 0.05, times and sweeps within a factor of 3
differs       neither; or ours ended where the papers print a bound
not run       nothing to compare: runs are missing, failed, hit a limit, or were timed on shared cores
not published the papers print none
"""

from __future__ import annotations

import math
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
    if published is None or published.value is None:
        return Verdict.NOT_PUBLISHED
    if ours.mean is None or not ours.complete:
        return Verdict.NOT_RUN
    if published.status != "ok":
        return Verdict.DIFFERS
    spread = math.hypot(published.std or 0.0, ours.std or 0.0)
    allowed = max(2.0 * spread / math.sqrt(ours.folds), published.rounding)
    # A difference of just the rounding may come out larger by a rounding of its own.
    if abs(ours.mean - published.value) <= allowed * (1.0 + 1e-9):
        return Verdict.REPRODUCED
    return Verdict.CLOSE if _close(ours.metric, published.value, ours.mean) else Verdict.DIFFERS


def _close(metric: str, published: float, ours: float) -> bool:
    if metric in ("time_s", "sweeps"):
        return max(published, ours) <= _CLOSE_TIME_FACTOR * min(published, ours)
    if metric == "quality":
        return abs(published - ours) <= _CLOSE_SHARE
    return abs(published - ours) <= _CLOSE_COST * abs(published)
