"""A finding: what the records say of a subject, with its decision; and the one rule by which claims are decided."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from kdrbench.errors import counted

if TYPE_CHECKING:
    from kdrbench.suite.findings.claim_rows import Records

# What a claim needs to hold mostly, as a share of what is counted or of the number it names; and the share that
# confirms it where the paper itself says "normally".
MOSTLY_FROM, NORMALLY_FROM = 0.8, 0.9
DECISION_RULES = (
    "A claim is confirmed if it holds in all that is counted (where the paper says normally, in "
    f"{100 * NORMALLY_FROM:.0f} %), or if its number meets the bound; mostly confirmed if it holds in at least "
    f"{100 * MOSTLY_FROM:.0f} % but not in all, or if its number misses the bound but by so little that the smaller "
    f"of the two is at least {100 * MOSTLY_FROM:.0f} % of the larger; contradicted below that; and undecided where "
    "records are missing. The measure is how often it holds, with the worst case, or the number."
)
# How the evidence of an undecided claim begins.
LACKING = "lacking: "


class Decision(StrEnum):
    """How records decide a claim; ``MOSTLY`` where it is nearly true, ``UNDECIDED`` where they lack what it needs."""

    CONFIRMED = "confirmed"
    MOSTLY = "mostly confirmed"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Finding:
    """A decision with the numbers it rests on; ``note`` says what a fair reader should know beside them.

    ``measure`` is the one number to remember, in few words: "195 of 203 runs (96 %)". ``subject`` is what it is on:
    the claim, or a question; ``address`` is where a page shows the rows behind it.
    """

    decision: Decision
    evidence: str
    note: str = ""
    measure: str = ""
    subject: str = ""
    address: str = ""

    @property
    def is_undecided(self) -> bool:
        """Whether the records lack what a decision needs."""
        return self.decision is Decision.UNDECIDED

    def with_note(self, note: str) -> Finding:
        """Return the same finding with another sentence behind its note."""
        return replace(self, note=f"{self.note} {note}".strip())


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper in our words, where it or the numbers for it are printed, and the test that decides it.

    ``where`` is a table, figure or theorem; empty for a sentence of the running text.
    """

    words: str
    paper: str
    where: str
    decide: Callable[[Records], Finding]

    def __call__(self, records: Records) -> Finding:
        """Return the decision by some records."""
        return self.decide(records)


def claim(words: str, paper: str, where: str = "") -> Callable[[Callable[[Records], Finding]], Claim]:
    """Make a claim of the function that decides it."""
    return lambda decide: Claim(words, paper, where, decide)


def undecided(missing: str, note: str = "") -> Finding:
    """Return that the records lack something."""
    return Finding(Decision.UNDECIDED, f"{LACKING}{missing}", note)


def decision_of(reached: float, needed: float = 1.0) -> Decision:
    """Return the decision by the share of a claim that was ``reached``; ``needed`` confirms it."""
    if reached >= needed:
        return Decision.CONFIRMED
    return Decision.MOSTLY if reached >= MOSTLY_FROM else Decision.CONTRADICTED


def only_decision(decisions: set[Decision]) -> Decision:
    """Return the decision that all possible ends of open cells share; undecided where they differ."""
    return next(iter(decisions)) if len(decisions) == 1 else Decision.UNDECIDED


def decided_by_share(
    n_holding: int,
    n_total: int,
    evidence: str,
    note: str = "",
    unit: str = "cell",
    *,
    normally: bool = False,
    extreme: str = "",
    n_open: int = 0,
) -> Finding:
    """Return a claim decided by how many ``unit`` of all it holds in: see :data:`DECISION_RULES`.

    Nothing to count decides nothing. ``extreme`` is the worst case, which the measure adds. ``n_open`` of the total
    were stopped too early or not made, and may hold or not: the claim is decided where both give one decision.
    """
    if n_total == 0:
        return undecided(f"no {unit} to count")
    needed = NORMALLY_FROM if normally else 1.0
    decision = only_decision({decision_of(count / n_total, needed) for count in (n_holding, n_holding + n_open)})
    share = share_of(n_holding, n_total, unit) + (f", and {n_open} open" if n_open else "")
    return Finding(decision, evidence + open_in_words(n_open, unit), note, "; ".join(filter(None, (share, extreme))))


def decided_by_rows(
    holds: ArrayLike, is_open: ArrayLike, evidence: str, unit: str, extreme: str = "", note: str = ""
) -> Finding:
    """Return a claim decided by the share of rows in which it holds, of which some are open."""
    opened = np.asarray(is_open, dtype=bool)
    n_holding = int((np.asarray(holds, dtype=bool) & ~opened).sum())
    return decided_by_share(n_holding, len(opened), evidence, note, unit, extreme=extreme, n_open=int(opened.sum()))


def open_in_words(n_open: int, unit: str) -> str:
    """Return what evidence adds on those that are open; empty if none is."""
    return f"; open, since runs were stopped too early or not made: {counted(n_open, unit)}" if n_open else ""


def reached(number: float, *, least: float | None = None, most: float | None = None) -> float:
    """Return how nearly a positive number meets its bounds: 1 if it does, else number / least or most / number.

    0 for what is not positive, where at least something is required, and for what is unknown (NaN).
    """
    if not number <= math.inf:
        return 0.0
    from_below = 1.0 if least is None or number >= least else max(0.0, number / least)
    from_above = 1.0 if most is None or number <= most else most / number
    return min(from_below, from_above)


def share_of(n_holding: int, n_total: int, unit: str) -> str:
    """Return "195 of 203 runs (96 %)"; rounded, but only all are 100 %, and "< 1 %" of a few among many."""
    if not n_total:
        return f"{n_holding} of {counted(n_total, unit)}"
    percent = 100 if n_holding == n_total else min(99, (200 * n_holding + n_total) // (2 * n_total))
    shown = "< 1 %" if n_holding and not percent else f"{percent} %"
    return f"{n_holding} of {counted(n_total, unit)} ({shown})"


def listed(names: list[str], most: int = 3) -> str:
    """Return names, which may hold commas, with semicolons; the first few of many."""
    more = f"; and {len(names) - most} more" if len(names) > most else ""
    return "; ".join(names[:most]) + more
