"""How a published number and ours relate.

reproduced    the difference is within the rounding of the printed number, or the means differ by no more than two
              standard errors of their difference, each mean being over as many runs as ours
close         costs within 5 % of each other, shares within 0.05, times and sweeps within a factor of 3
differs       neither; or ours ended where the papers print a bound
not run       nothing to compare: runs are missing, failed, hit a limit, or were timed on shared cores
not published the papers print none
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from kdrbench.reports.tables.cells import Cell
from kdrbench.reports.tables.published_numbers import PublishedNumber

VERDICT_RULES = (
    "Reproduced: within the rounding of the printed number, or the means differ by no more than two standard errors of "
    "their difference. Close: costs within 5 %, "
    "shares within 0.05, times and sweeps within a factor of 3. Not run: nothing to compare, since runs are missing, "
    "failed, hit a limit, or were timed on shared cores."
)
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


@dataclass(frozen=True)
class Compared:
    """One of our cells beside the number that a paper prints for it, if it prints one."""

    ours: Cell
    published: PublishedNumber | None

    @property
    def paper(self) -> str:
        """What is printed, or nothing."""
        return self.published.text if self.published else ""

    @property
    def verdict(self) -> Verdict:
        """How both relate."""
        return verdict_for(self.published, self.ours)

    @property
    def why(self) -> str:
        """What is known of differences: how runs ended, what disturbed their times, how the paper is to be read."""
        reasons = (self.ours.note, self.ours.warning, self.published.why if self.published else "")
        return "; ".join(filter(None, reasons))


def verdict_for(published: PublishedNumber | None, ours: Cell) -> Verdict:
    """Compare one printed number with our cell."""
    if published is None or published.value is None:
        return Verdict.NOT_PUBLISHED
    if ours.mean is None or not ours.complete:
        return Verdict.NOT_RUN
    if published.status != "ok":
        return Verdict.DIFFERS
    spread = math.hypot(published.std or 0.0, ours.std or 0.0)
    allowed = max(2.0 * spread / math.sqrt(ours.runs), published.rounding)
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
