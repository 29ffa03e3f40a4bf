"""A finding: what the records say of a subject, with its decision; and the rules by which claims are decided.

A claim names a region for a number: "above 0", "at most 2". Where the 95 % interval of the number lies in it, the claim
holds; where it lies outside, the claim fails; where it reaches across, the runs lack the power to tell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from kdrbench.errors import counted
from kdrbench.suite.reports.tables.significance import clopper_pearson

if TYPE_CHECKING:
    from kdrbench.suite.findings.claim_rows import Records

# What a claim needs to hold mostly, as a share of what is counted or of the number it names; and the share that
# confirms it where the paper itself says "normally".
MOSTLY_FROM, NORMALLY_FROM = 0.8, 0.9
DECISION_RULES = (
    "A claim is confirmed if it holds in all that is counted (where the paper says normally, in "
    f"{100 * NORMALLY_FROM:.0f} %), or if its number meets the bound; mostly confirmed if it holds in at least "
    f"{100 * MOSTLY_FROM:.0f} % but not in all, or if its number misses the bound but by so little that the smaller "
    f"of the two is at least {100 * MOSTLY_FROM:.0f} % of the larger; contradicted below that; not distinguishable "
    "where 95 % intervals allow for both, or for half of what is counted; and undecided where records are missing. The "
    "measure is how often it holds, with the worst case, or the number. Its power is the interval, or the smallest "
    "difference that would have shown."
)
# How the evidence of an undecided claim begins.
LACKING = "lacking: "
# Units of which there might be more: their share has an interval. Cells of a printed table are all there are.
_SAMPLED = frozenset({"run", "solve", "set", "fixed point", "kernel"})


class Decision(StrEnum):
    """How records decide a claim, or a single case of it (never ``MOSTLY``).

    ``MOSTLY`` where it is nearly true, ``INDISTINCT`` where they lack the power, ``UNDECIDED`` where they lack runs.
    """

    CONFIRMED = "confirmed"
    MOSTLY = "mostly confirmed"
    INDISTINCT = "not distinguishable"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"


# Of the cases that are taken together, the worst decides.
WORST_FIRST = (Decision.CONTRADICTED, Decision.UNDECIDED, Decision.INDISTINCT, Decision.CONFIRMED)


def side_of(low: float, high: float, *, least: float = -math.inf, most: float = math.inf) -> Decision:
    """Return whether the interval from ``low`` to ``high`` lies between ``least`` and ``most``, or outside."""
    if least <= low and high <= most:
        return Decision.CONFIRMED
    outside = high < least or low > most or math.isnan(low + high)
    return Decision.CONTRADICTED if outside else Decision.INDISTINCT


@dataclass(frozen=True)
class Finding:
    """A decision with the numbers it rests on; ``note`` says what a fair reader should know beside them.

    ``measure`` is the one number to remember, in few words: "195 of 203 runs (96 %)". ``power`` is how far it is known.
    """

    decision: Decision
    evidence: str
    note: str = ""
    measure: str = ""
    power: str = ""

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

    ``where`` is a table, figure or theorem; empty for a sentence of the running text. ``holds`` is the criterion, and
    ``threshold`` says of its bounds which are the paper's and which are ours.
    """

    words: str
    paper: str
    where: str
    decide: Callable[[Records], Finding]
    holds: str = ""
    threshold: str = ""


def undecided(missing: str, note: str = "") -> Finding:
    """Return that the records lack something."""
    return Finding(Decision.UNDECIDED, f"{LACKING}{missing}", note)


def decision_of(reached: float, needed: float = 1.0) -> Decision:
    """Return the decision by the share of a claim that was ``reached``; ``needed`` confirms it."""
    if reached >= needed:
        return Decision.CONFIRMED
    return Decision.MOSTLY if reached >= MOSTLY_FROM else Decision.CONTRADICTED


def only_decision(decisions: set[Decision], otherwise: Decision = Decision.UNDECIDED) -> Decision:
    """Return the decision that all possible outcomes share, and ``MOSTLY`` where all are at least that."""
    if decisions == {Decision.CONFIRMED, Decision.MOSTLY}:
        return Decision.MOSTLY
    return next(iter(decisions)) if len(decisions) == 1 else otherwise


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
    n_unclear: int = 0,
    power: str = "",
) -> Finding:
    """Return a claim decided by how many ``unit`` of all it holds in: see :data:`DECISION_RULES`.

    Nothing to count decides nothing. ``extreme`` is the worst case, which the measure adds. ``n_open`` of the total
    were stopped too early or not made, and ``n_unclear`` have an interval that allows for both: the claim is decided
    where all outcomes give one decision.
    """
    if n_total == 0:
        return undecided(f"no {unit} to count")
    needed = NORMALLY_FROM if normally else 1.0
    power = power or _power_of_share(n_holding, n_total, unit)
    counts = [f", and {count} {word}" for count, word in ((n_open, "open"), (n_unclear, "unclear")) if count]
    measure = "; ".join(filter(None, (share_of(n_holding, n_total, unit) + "".join(counts), extreme)))
    decision = _decision_of_counts(n_holding, n_total, needed, n_open, n_unclear)
    if not (n_open or n_unclear) and unit in _SAMPLED:
        ends = {decision_of(share, needed) for share in clopper_pearson(n_holding, n_total)}
        decision = Decision.INDISTINCT if {Decision.CONFIRMED, Decision.CONTRADICTED} <= ends else decision
    return Finding(decision, evidence + open_in_words(n_open, unit), note, measure, power)


def _decision_of_counts(n_holding: int, n_total: int, needed: float, n_open: int, n_unclear: int) -> Decision:
    if n_unclear and 2 * n_unclear >= n_total:
        return Decision.INDISTINCT

    def possible(more: int) -> set[Decision]:
        return {decision_of(count / n_total, needed) for count in (n_holding, n_holding + more)}

    if n_open and (by_open := only_decision(possible(n_open))) is Decision.UNDECIDED:
        return by_open
    return only_decision(possible(n_open + n_unclear), Decision.INDISTINCT)


def _power_of_share(n_holding: int, n_total: int, unit: str) -> str:
    if unit not in _SAMPLED:
        return f"one {unit} is {100 / n_total:.2g} %"
    low, high = clopper_pearson(n_holding, n_total)
    return f"95 %: {100 * low:.0f} to {100 * high:.0f} % of {unit}s"


def decided_by_cases(
    cases: Sequence[tuple[str, Decision]], unit: str = "cell", *, evidence: str = "", **others: Any
) -> Finding:
    """Return a claim decided by its cases, one for each ``unit``; the evidence names some in which it does not hold."""
    decisions = [decision for _, decision in cases]
    failing = [name for name, decision in cases if decision in (Decision.CONTRADICTED, Decision.INDISTINCT)]
    n_holding = decisions.count(Decision.CONFIRMED)
    if not evidence:
        evidence = f"holds in {share_of(n_holding, len(cases), unit)}"
        evidence += f"; not shown in {listed(failing)}" if failing else ""
    counts = {"n_open": Decision.UNDECIDED, "n_unclear": Decision.INDISTINCT}
    others |= {name: decisions.count(decision) for name, decision in counts.items()}
    return decided_by_share(n_holding, len(cases), evidence, unit=unit, **others)


def decided_by_rows(holds: ArrayLike, is_open: ArrayLike, evidence: str, unit: str, extreme: str = "") -> Finding:
    """Return a claim decided by the share of rows in which it holds, of which some are open."""
    opened = np.asarray(is_open, dtype=bool)
    n_holding = int((np.asarray(holds, dtype=bool) & ~opened).sum())
    return decided_by_share(n_holding, len(opened), evidence, unit=unit, extreme=extreme, n_open=int(opened.sum()))


def smallest_shown(intervals: Iterable[tuple[float, float]], text: str = "{:.3f}") -> str:
    """Return the power of comparisons: half the width of intervals, which a difference must exceed to be seen."""
    halves = sorted(0.5 * (high - low) for low, high in intervals if high > low)
    if not halves:
        return ""
    median, largest = (text.format(half) for half in (halves[len(halves) // 2], halves[-1]))
    return f"a difference of {median} shows in half of the comparisons, {largest} in all"


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


def listed(names: Sequence[str], most: int = 3) -> str:
    """Return names, which may hold commas, with semicolons; the first few of many."""
    more = f"; and {len(names) - most} more" if len(names) > most else ""
    return "; ".join(names[:most]) + more


def sentence(words: str) -> str:
    """Return words with a capital letter and a full stop."""
    return f"{words[0].upper()}{words[1:]}."


def factor(ratio: float) -> str:
    """Return a ratio in two digits, or whole with its thousands apart."""
    return f"{ratio:.2g}" if ratio < 100 else f"{ratio:,.0f}"
