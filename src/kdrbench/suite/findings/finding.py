"""A finding: what the records say of a subject, with its decision; and the rules by which claims are decided.

A claim is counted in cases: cells, runs, data sets. In each, it names a region for a number, such as "above 0". Where
the 95 % interval of the number lies in it, the claim holds; where it lies outside, the claim fails; where it reaches
across, the runs lack the power to tell. A case that was stopped too early is open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from kdrbench.errors import counted
from kdrbench.suite.reports.declared import declared
from kdrbench.suite.reports.tables.significance import clopper_pearson

if TYPE_CHECKING:
    import pandas as pd

    from kdrbench.suite.findings.claim_rows import Records

# What a claim needs to hold mostly, as a share of what is counted or of the number it names; and the share that
# confirms it where the paper itself says "normally".
MOSTLY_FROM, NORMALLY_FROM = 0.8, 0.9
DECISION_RULES: dict[str, str] = {
    decision: meaning.format(mostly=100 * MOSTLY_FROM, normally=100 * NORMALLY_FROM)
    for decision, meaning in declared("words")["decisions"].items()
}
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


CONFIRMED, MOSTLY, INDISTINCT, CONTRADICTED, UNDECIDED = Decision
# Of the cases that are taken together, the worst decides.
WORST_FIRST = (CONTRADICTED, UNDECIDED, INDISTINCT, CONFIRMED)


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


def side_of(low: float, high: float, *, least: float = -math.inf, most: float = math.inf) -> Decision:
    """Return whether the interval from ``low`` to ``high`` lies between ``least`` and ``most``, or outside."""
    if least <= low and high <= most:
        return CONFIRMED
    return CONTRADICTED if high < least or low > most or math.isnan(low + high) else INDISTINCT


def undecided(missing: str, note: str = "") -> Finding:
    """Return that the records lack something."""
    return Finding(UNDECIDED, f"{LACKING}{missing}", note)


def decision_of(share: float, needed: float = 1.0) -> Decision:
    """Return the decision by the share of a claim, or of the number that it names, that is reached; NaN is none."""
    if share >= needed:
        return CONFIRMED
    return MOSTLY if share >= MOSTLY_FROM else CONTRADICTED


def only_decision(decisions: set[Decision], otherwise: Decision = UNDECIDED) -> Decision:
    """Return the decision that all possible outcomes share, and ``MOSTLY`` where all are at least that."""
    if decisions == {CONFIRMED, MOSTLY}:
        return MOSTLY
    return next(iter(decisions)) if len(decisions) == 1 else otherwise


def decided_by_rows(
    rows: pd.DataFrame,
    *,
    holds: str,
    fails: str = "",
    among: str = "",
    opened: str = "",
    number: str = "",
    by: Sequence[str] = (),
    fewest: int = 0,
    needs: str = "",
    unit: str = "run",
    intervals: bool = False,
    shown: str = "{:.3f}",
    power: str = "",
    **declared: Any,
) -> Finding:
    """Return a claim decided by the share of the rows ``among`` all in which it ``holds``: see :data:`DECISION_RULES`.

    These, which rows are ``opened`` (else the column ``open``) and the ``number`` that the claim bounds are expressions
    of columns; rows in which it neither holds nor ``fails`` are not distinguishable. Rows that are alike in the columns
    ``by`` are one case, which the worst decides. At least the ``fewest`` rows must have ended. If it holds in all of
    these, one of them must be as large as the claim ``needs``. Cases in which it fails are named by the column
    ``name``. With ``intervals`` numbers are known from ``low`` to ``high``, and the power is theirs, as ``shown``.
    Further keyword arguments are ``normally``, ``extreme``, ``above``, ``evidence`` and ``note``: the measure ends with
    ``extreme``, a text with places for the ``least`` and the ``most`` of the numbers that are ``above`` a bound.
    Without ``evidence`` the names are it.
    """
    rows = rows.fillna(np.nan).reset_index(drop=True)
    rows = rows.query(among) if among and len(rows) else rows
    if rows.empty:
        return undecided(f"{counted(max(1, fewest), unit)} to count; there are 0")
    held, never = evaluated(rows, holds), np.zeros(len(rows), dtype=bool)
    is_open = np.asarray(evaluated(rows, opened) if opened else rows.get("open", never), dtype=bool)
    ended = rows[~is_open]
    if len(ended) < fewest:
        return undecided(f"{counted(fewest, unit)} to count; there are {len(ended)}")
    if needs and held[ended.index].all() and ended.query(needs).empty:
        return undecided(f"a {unit} with {needs}")
    failed = evaluated(rows, fails) if fails else ~held
    kinds = [str(kind) for kind in (UNDECIDED, CONFIRMED, CONTRADICTED)]
    words = np.select([is_open, held.to_numpy(), failed.to_numpy()], kinds, str(INDISTINCT))
    cases = rows[[name for name in (*by, "name") if name in rows]]
    cases = cases.assign(decision=words, number=evaluated(rows, number) if number else math.nan)
    if intervals:
        power = smallest_shown(rows, shown)
    return _decided(_worst(cases, by) if by else cases, unit, power, **declared)


def _worst(cases: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return of cases that are alike in the columns ``by`` the one that decides, with their largest positive number."""
    places = [cases[name] for name in by]
    highest = cases["number"].where(cases["number"] > 0.0).groupby(places, sort=False).transform("max")
    order = cases["decision"].map(list(map(str, WORST_FIRST)).index)
    return cases.assign(number=highest).loc[order.groupby(places, sort=False).idxmin()]


def _decided(
    cases: pd.DataFrame,
    unit: str,
    power: str,
    *,
    normally: bool = False,
    extreme: str = "",
    above: float = -math.inf,
    evidence: str = "",
    note: str = "",
) -> Finding:
    """Return the claim that cases decide; open and unclear ones may turn out either way (:func:`only_decision`)."""
    n_total, counts = len(cases), cases["decision"].value_counts()
    n_holding, n_open, n_unclear = (int(counts.get(str(each), 0)) for each in (CONFIRMED, UNDECIDED, INDISTINCT))
    share, numbers = share_of(n_holding, n_total, unit), cases["number"][cases["number"] > above].tolist()
    if not evidence:
        failing = cases[cases["decision"].isin([CONTRADICTED, INDISTINCT])].get("name", default=())
        evidence = f"holds in {share}" + (f"; not shown in {listed([*failing])}" if len(failing) else "")
    open_words = "; open, since runs were stopped too early or not made: "
    evidence += f"{open_words}{counted(n_open, unit)}" if n_open else ""
    share += f", and {n_open} open" if n_open else ""
    share += f", and {n_unclear} unclear" if n_unclear else ""
    measure = f"{share}; {extreme.format(least=min(numbers), most=max(numbers))}" if numbers and extreme else share
    decision = _decision_of_counts(n_holding, n_total, n_open, n_unclear, NORMALLY_FROM if normally else 1.0, unit)
    return Finding(decision, evidence, note, measure, power or _power_of_share(n_holding, n_total, unit))


def evaluated(rows: pd.DataFrame, expression: str) -> pd.Series:
    """Return what an expression of columns gives for each row."""
    return cast("pd.Series", rows.eval(expression))


def _decision_of_counts(
    n_holding: int, n_total: int, n_open: int, n_unclear: int, needed: float, unit: str
) -> Decision:
    if n_unclear and 2 * n_unclear >= n_total:
        return INDISTINCT

    def possible(more: int) -> set[Decision]:
        return {decision_of(count / n_total, needed) for count in (n_holding, n_holding + more)}

    if n_open and only_decision(possible(n_open)) is UNDECIDED:
        return UNDECIDED
    if not (n_open or n_unclear) and unit in _SAMPLED:
        ends = {decision_of(share, needed) for share in clopper_pearson(n_holding, n_total)}
        if {CONFIRMED, CONTRADICTED} <= ends:
            return INDISTINCT
    return only_decision(possible(n_open + n_unclear), INDISTINCT)


def _power_of_share(n_holding: int, n_total: int, unit: str) -> str:
    if unit not in _SAMPLED:
        return f"one {unit} more or less is {float(f'{100 / n_total:.2g}'):g} %" if n_total > 1 else f"a single {unit}"
    low, high = clopper_pearson(n_holding, n_total)
    places = 1 if low < 1.0 and round(100 * low) == 100 else 0
    return f"95 %: {100 * low:.{places}f} to {100 * high:.0f} % of {unit}s"


def smallest_shown(rows: pd.DataFrame, shown: str = "{:.3f}") -> str:
    """Return the power of comparisons: half of ``low`` to ``high``, which a difference must exceed to be seen."""
    widths = rows["high"] - rows["low"]
    if not (halves := sorted(0.5 * widths[widths > 0.0])):
        return ""
    median, largest = (shown.format(half) for half in (halves[len(halves) // 2], halves[-1]))
    return f"a difference of {median} would show in half of the comparisons, one of {largest} in all"


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
