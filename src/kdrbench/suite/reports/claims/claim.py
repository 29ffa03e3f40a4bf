"""What a claim is, the records it is decided from, and the decision with its evidence and its measure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import pandas as pd

from kdrbench.errors import counted
from kdrbench.suite.reports.claims.not_made import without_skipped
from kdrbench.suite.reports.protocol import by_protocol
from kdrbench.suite.reports.records import IKDR, KPCA_FIGURES, KPCA_TRICK, LOW_RANK, Config, of_papers
from kdrbench.suite.reports.tables.published_numbers import our_name, published_numbers

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
class Found:
    """A decision with the numbers it rests on; ``note`` says what a fair reader should know beside them.

    ``measure`` is the one number to remember, in few words: "195 of 203 runs (96 %)".
    """

    decision: Decision
    evidence: str
    note: str = ""
    measure: str = ""


@dataclass(frozen=True)
class Records:
    """The merged tables by system; one without rows where there are no records.

    ``runs`` are those of dimension reduction (results/ikdr.csv), ``kpca`` those of the KPCA trick
    (results/kpca_trick.csv), ``tricks`` those of its figures (results/kpca_figures.csv), and ``low_rank`` those of
    low-rank kernels (results/low_rank.csv). ``left_out`` are experiment and reason of rows that are not among
    them, since they depart from the paper's protocol. The column ``stopped_early`` of those that are says which cells
    were stopped before the paper's limits, or lack runs for which the user's budget did not last.
    """

    runs: pd.DataFrame = field(default_factory=pd.DataFrame)
    kpca: pd.DataFrame = field(default_factory=pd.DataFrame)
    low_rank: pd.DataFrame = field(default_factory=pd.DataFrame)
    tricks: pd.DataFrame = field(default_factory=pd.DataFrame)
    config: Config = field(default_factory=dict)
    left_out: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, tables: Mapping[str, pd.DataFrame], config: Config) -> Records:
        """Return the records of the systems that there are, of the experiments that name a paper, by its protocol."""
        names, config = (
            {"runs": IKDR, "kpca": KPCA_TRICK, "tricks": KPCA_FIGURES, "low_rank": LOW_RANK},
            of_papers(config),
        )
        there = {name: tables[system] for name, system in names.items() if system in tables}
        found = {name: by_protocol(one[one["experiment"].isin(config["run"])], config) for name, one in there.items()}
        left_out = tuple(one for _, reasons in found.values() for one in reasons)
        # Low-rank kernels say themselves which of their draws are open.
        made = {name: rows if name == "low_rank" else without_skipped(rows) for name, (rows, _) in found.items()}
        return cls(**made, config=config, left_out=left_out)


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper in our words, where it or the numbers for it are printed, and the function that decides it.

    ``where`` is a table, figure or theorem; empty for a sentence of the running text.
    """

    name: str
    words: str
    paper: str
    where: str
    decide: Callable[[Records], Found]


def undecided(missing: str, note: str = "") -> Found:
    """Return that the records lack something."""
    return Found(Decision.UNDECIDED, f"{LACKING}{missing}", note)


def decision_of(reached: float, needed: float = 1.0) -> Decision:
    """Return the decision by the share of a claim that was ``reached``; ``needed`` confirms it.

    This is the one rule for all claims, whether they count or name a number: see :data:`DECISION_RULES`.
    """
    if reached >= needed:
        return Decision.CONFIRMED
    return Decision.MOSTLY if reached >= MOSTLY_FROM else Decision.CONTRADICTED


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
) -> Found:
    """Return a claim decided by how many ``unit`` of all it holds in.

    Confirmed if it holds in all, or, where the paper says ``normally``, in nine of ten; mostly if in four of five;
    contradicted if in fewer. Nothing to count decides nothing. ``extreme`` is the worst case, which the measure adds.
    ``n_open`` of the total were stopped too early or not made, and may hold or not: the claim is decided where the
    decision is the same either way.
    """
    if n_total == 0:
        return undecided(f"no {unit} to count")
    needed = NORMALLY_FROM if normally else 1.0
    decisions = {decision_of(count / n_total, needed) for count in (n_holding, n_holding + n_open)}
    share = share_of(n_holding, n_total, unit) + (f", and {n_open} open" if n_open else "")
    decision = decisions.pop() if len(decisions) == 1 else Decision.UNDECIDED
    measure = "; ".join(filter(None, (share, extreme)))
    return Found(decision, evidence + open_in_words(n_open, unit), note, measure)


def open_in_words(n_open: int, unit: str) -> str:
    """Return what evidence adds on those that are open; empty if none is."""
    return f"; open, since runs were stopped too early or not made: {counted(n_open, unit)}" if n_open else ""


def reached(number: float, *, least: float | None = None, most: float | None = None) -> float:
    """Return how nearly a positive number meets its bounds: 1 if it does, else number / least or most / number.

    0 for what is not positive, where at least something is asked for, and for what is unknown (NaN).
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


def papers_datasets(paper: str, *tables: str) -> frozenset[str]:
    """Return our names of the data sets for which a paper prints numbers, in the named tables or in any."""
    printed = [axes for axes in published_numbers(paper=paper) if not tables or axes["table"] in tables]
    return frozenset(our_name("dataset", axes["dataset"], paper) for axes in printed)
