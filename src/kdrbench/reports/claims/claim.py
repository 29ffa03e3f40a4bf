"""What a claim is, the records it is decided from, the decision, and the cells that claims compare."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kdrbench.reports.records import IKDR, KPCA_FIGURES, KPCA_TRICK, LOW_RANK, NO_KERNEL, Config, is_scaling
from kdrbench.reports.tables.cells import COMPLETED
from kdrbench.reports.tables.labels import dataset_label, kernel_label, method_label
from kdrbench.reports.tables.published_numbers import published_numbers
from kdrbench.status import Status

RIVALS = ("dg", "sm", "gm")


class Decision(StrEnum):
    """How the records decide a claim; ``undecided`` where they lack what it needs, ``mostly`` with few exceptions."""

    CONFIRMED = "confirmed"
    MOSTLY = "mostly"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Found:
    """A decision with the numbers it rests on; ``note`` says what a fair reader should know beside them.

    ``measure`` is the number that was decided by, in a few words: "195 of 203 (96 %)".
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
        """Return the records of the systems that there are."""
        names = {"runs": IKDR, "kpca": KPCA_TRICK, "tricks": KPCA_FIGURES, "low_rank": LOW_RANK}
        return cls(**{name: tables[system] for name, system in names.items() if system in tables}, config=config)

    @property
    def solved(self) -> pd.DataFrame:
        """Runs of solvers that did not fail; without columns where there are no records."""
        if self.runs.empty:
            return self.runs
        return self.runs[(self.runs["kernel"] != NO_KERNEL) & (self.runs["status"] != str(Status.FAILED))]


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, where it or the numbers for it are printed, and the function that decides it.

    ``where`` is a table, figure or theorem; empty for a sentence of the running text.
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


def decided_by_share(
    n_holding: int, n_total: int, evidence: str, note: str = "", unit: str = "cells", normally: bool = False
) -> Found:
    """Return a claim decided by the share of cases in which it holds.

    Confirmed if it holds in all, or for a claim on what is ``normally`` so in 90 %; mostly in at least 80 %.
    """
    share = n_holding / n_total
    decision = Decision.CONTRADICTED
    if share >= 0.8:
        decision = Decision.CONFIRMED if share >= (0.9 if normally else 1.0) else Decision.MOSTLY
    return Found(decision, evidence, note, f"{n_holding} of {n_total} {unit} ({share:.0%})")


def papers_datasets(paper_key: str, *tables: str) -> frozenset[str]:
    """Return the data sets for which a paper prints numbers in the tables."""
    settings = ("supervised", "unsupervised", "classification", "learning")
    return frozenset(
        axes["dataset"]
        for table in tables
        for setting in settings
        for axes in published_numbers(paper=paper_key, table=table, setting=setting)
    )


def undisturbed(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs whose times count: on cores of their own, whose speed did not drift."""
    for column, disturbed in (("timed", "False"), ("drifted", "True")):
        if column in runs:
            runs = runs[runs[column].astype(str) != disturbed]
    return runs


def listed(names: list[str], most: int = 3) -> str:
    """Return names, which may hold commas, with semicolons; the first few of many."""
    more = f"; and {len(names) - most} more" if len(names) > most else ""
    return "; ".join(names[:most]) + more


@dataclass(frozen=True)
class PairOfCells:
    """Numbers of one solver and a ``rival`` in one cell, on the folds that both have.

    ``ended`` says where both came to their own end.
    """

    experiment: str
    dataset: str
    kernel: str
    rival: str
    ours: NDArray[np.float64]
    theirs: NDArray[np.float64]
    ended: NDArray[np.bool_]

    @property
    def name(self) -> str:
        """The cell in words."""
        return (
            f"{self.experiment}: {dataset_label(self.dataset)}, {kernel_label(self.kernel)}, {method_label(self.rival)}"
        )


def cells_of(runs: pd.DataFrame) -> Iterator[tuple[tuple[str, str, str], pd.DataFrame]]:
    """Yield experiment, data set and kernel of each cell with its runs; scaling series and baselines are left out."""
    if runs.empty:
        return
    chosen = runs[(runs["kernel"] != NO_KERNEL) & ~runs["experiment"].map(is_scaling)]
    for (experiment, dataset, kernel), group in chosen.groupby(["experiment", "dataset", "kernel"], sort=False):
        yield (str(experiment), str(dataset), str(kernel)), group


def beside(runs: pd.DataFrame, metric: str, solver: str, rivals: tuple[str, ...]) -> list[PairOfCells]:
    """Return each cell in which ``solver`` and a rival have numbers for the same folds."""
    pairs = []
    for place, group in cells_of(runs):
        numbers, statuses = (group.pivot(index="run", columns="method", values=value) for value in (metric, "status"))
        for rival in rivals:
            if not {solver, rival} <= set(numbers):
                continue
            both = numbers[[solver, rival]].dropna()
            if not both.empty:
                ended = statuses.loc[both.index, [solver, rival]].isin([*map(str, COMPLETED)]).all(axis=1)
                ours, theirs = both.to_numpy(float).T
                pairs.append(PairOfCells(*place, rival, ours, theirs, ended.to_numpy(bool)))
    return pairs
