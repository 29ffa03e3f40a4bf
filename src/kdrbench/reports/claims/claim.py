"""What a claim is, the records it is decided from, and the decision with its evidence and its measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import pandas as pd

from kdrbench.errors import counted
from kdrbench.reports.records import IKDR, KPCA_FIGURES, KPCA_TRICK, LOW_RANK, Config, of_papers
from kdrbench.reports.tables.published_numbers import our_name, published_numbers

# Shares of what is counted: what a claim needs to hold mostly, and where the paper itself says "normally".
MOSTLY_FROM, NORMALLY_FROM = 0.8, 0.9
# How the evidence of an undecided claim begins.
NO_RECORDS = "no records: "


class Decision(StrEnum):
    """How the records decide a claim; ``undecided`` where they lack what it needs, ``mostly`` with few exceptions."""

    CONFIRMED = "confirmed"
    MOSTLY = "mostly"
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
    low-rank kernels (results/low_rank.csv).
    """

    runs: pd.DataFrame = field(default_factory=pd.DataFrame)
    kpca: pd.DataFrame = field(default_factory=pd.DataFrame)
    low_rank: pd.DataFrame = field(default_factory=pd.DataFrame)
    tricks: pd.DataFrame = field(default_factory=pd.DataFrame)
    config: Config = field(default_factory=dict)

    @classmethod
    def of(cls, tables: Mapping[str, pd.DataFrame], config: Config) -> Records:
        """Return the records of the systems that there are, of the experiments that name a paper."""
        names, config = (
            {"runs": IKDR, "kpca": KPCA_TRICK, "tricks": KPCA_FIGURES, "low_rank": LOW_RANK},
            of_papers(config),
        )
        there = {name: tables[system] for name, system in names.items() if system in tables}
        return cls(**{name: one[one["experiment"].isin(config["run"])] for name, one in there.items()}, config=config)


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
    return Found(Decision.UNDECIDED, f"{NO_RECORDS}{missing}", note)


def confirmed_if(holds: bool, evidence: str, note: str = "") -> Found:
    """Return a decided claim that can only hold or fail."""
    return Found(Decision.CONFIRMED if holds else Decision.CONTRADICTED, evidence, note)


def decided_by_share(
    n_holding: int, n_total: int, evidence: str, note: str = "", unit: str = "cell", normally: bool = False
) -> Found:
    """Return a claim decided by how many ``unit`` of all it holds in.

    Confirmed if it holds in all, or, where the paper says ``normally``, in nine of ten; mostly if in four of five;
    contradicted if in fewer. Nothing to count decides nothing.
    """
    if n_total == 0:
        return undecided(f"no {unit} to count")
    measure = share_of(n_holding, n_total, unit)
    share = n_holding / n_total
    if share >= (NORMALLY_FROM if normally else 1.0):
        return Found(Decision.CONFIRMED, evidence, note, measure)
    return Found(Decision.MOSTLY if share >= MOSTLY_FROM else Decision.CONTRADICTED, evidence, note, measure)


def share_of(n_holding: int, n_total: int, unit: str) -> str:
    """Return "195 of 203 runs (96 %)"; rounded down, so that only all are 100 %."""
    return f"{n_holding} of {counted(n_total, unit)}" + (f" ({100 * n_holding // n_total} %)" if n_total else "")


def listed(names: list[str], most: int = 3) -> str:
    """Return names, which may hold commas, with semicolons; the first few of many."""
    more = f"; and {len(names) - most} more" if len(names) > most else ""
    return "; ".join(names[:most]) + more


def papers_datasets(paper: str, *tables: str) -> frozenset[str]:
    """Return our names of the data sets for which a paper prints numbers, in the named tables or in any."""
    printed = [axes for axes in published_numbers(paper=paper) if not tables or axes["table"] in tables]
    return frozenset(our_name("dataset", axes["dataset"], paper) for axes in printed)
