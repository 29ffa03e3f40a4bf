"""What a claim is, the records it is decided from, and what comes out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

import pandas as pd

from kdrbench.bench.config import NO_KERNEL
from kdrbench.bench.experiment import Config
from kdrbench.solvers import Status


class Decision(StrEnum):
    """What the records say of a claim; ``undecided`` where they lack what it needs."""

    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Found:
    """A decision with the numbers it rests on; ``note`` says what a fair reader should know beside them."""

    decision: Decision
    evidence: str
    note: str = ""


@dataclass(frozen=True)
class Records:
    """The tables of runs; one without rows stands for records that are missing.

    ``runs`` are those of dimension reduction (results/runs.csv), ``kpca`` those of the KPCA trick (results/kpca.csv),
    ``lowrank`` those of low-rank kernels (results/lowrank.csv). ``tricks`` has ``method``, ``condition`` and
    ``disagreement`` of the points of the KPCA trick's Figure 5 (:func:`.kpca.points_of_figure_5`).
    """

    runs: pd.DataFrame = field(default_factory=pd.DataFrame)
    kpca: pd.DataFrame = field(default_factory=pd.DataFrame)
    lowrank: pd.DataFrame = field(default_factory=pd.DataFrame)
    tricks: pd.DataFrame = field(default_factory=pd.DataFrame)
    config: Config = field(default_factory=dict)

    @property
    def solved(self) -> pd.DataFrame:
        """Runs of solvers that did not fail; without columns where there are no records."""
        if self.runs.empty:
            return self.runs
        return self.runs[(self.runs["kernel"] != NO_KERNEL) & (self.runs["status"] != str(Status.FAILED))]


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, where it or the numbers for it stand, and the function that decides it.

    ``where`` is a table, figure or theorem; empty for what stands somewhere in the text.
    """

    name: str
    words: str
    paper: str
    where: str
    decide: Callable[[Records], Found]


def undecided(missing: str) -> Found:
    """Return that the records lack something."""
    return Found(Decision.UNDECIDED, f"no records: {missing}")


def confirmed_if(holds: bool, evidence: str, note: str = "") -> Found:
    """Return a decided claim."""
    return Found(Decision.CONFIRMED if holds else Decision.CONTRADICTED, evidence, note)


def listed(names: list[str], most: int = 3) -> str:
    """Return names, which may hold commas, with semicolons; the first few of many."""
    more = f"; and {len(names) - most} more" if len(names) > most else ""
    return "; ".join(names[:most]) + more
