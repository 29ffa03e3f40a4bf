"""Where the solvers of a record end: directions of ascent that ISM leaves, saddles, and iterations that are used up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from kdrbench.errors import counted
from kdrbench.status import Status
from kdrbench.suite.findings.finding import share_of
from kdrbench.suite.reports.records import IKDR
from kdrbench.suite.reports.summary.source import Source
from kdrbench.suite.reports.tables.cells import SADDLE
from kdrbench.suite.reports.tables.labels import kernel_label, method_label
from kdrbench.suite.systems.ikdr.scores import CURVED

_ISM = "ism"
_LIMITS = (str(Status.TIME_LIMIT), str(Status.MEMORY_LIMIT))


@dataclass(frozen=True)
class Ending:
    """A sentence on ends, what the record says of it, and where their runs are."""

    words: str
    text: str
    address: str


def endings(source: Source) -> Iterator[Ending]:
    """Yield what the rows of dimension reduction say of ends; nothing where there are no such rows."""
    runs = source.rows_of(IKDR)
    if runs.empty:
        return
    ism = runs[runs["method"] == _ISM]
    known = ism.dropna(subset=["curvature"])
    of_ism = source.address("runs", method=method_label(_ISM))
    if len(known):
        yield Ending("How often does ISM as published leave a direction of ascent?", _ascent(known), of_ism)
    if (found := runs[runs["optimality"].isin([SADDLE, "second_order"])]).size:
        yield Ending("How often does a solver that converges end on a saddle?", _saddles(found), source.address("runs"))
    if len(ism):
        yield Ending("How often does ISM as published cycle?", _cycles(ism), of_ism)


def _ascent(known: pd.DataFrame) -> str:
    negative = known["curvature"].astype(float) < -CURVED
    by_kernel = (
        f"{kernel_label(str(name))} {part.sum()} of {len(part)}" for name, part in negative.groupby(known["kernel"])
    )
    share = share_of(int(negative.sum()), len(known), "end")
    return f"The curvature is below {-CURVED:.0e} at {share} whose curvature is known: {', '.join(by_kernel)}."


def _saddles(found: pd.DataFrame) -> str:
    saddles = found[found["optimality"] == SADDLE]
    cells = Counter(zip(saddles["experiment"], saddles["method"], strict=True))
    names = ", ".join(f"{method_label(str(method))} {n} ({name})" for (name, method), n in cells.items())
    share = share_of(len(saddles), len(found), "stationary end")
    return f"{share} whose curvature is known: {names}." if names else f"{share} whose curvature is known."


def _cycles(ism: pd.DataFrame) -> str:
    used_up, stopped = (int(ism["status"].isin(words).sum()) for words in ([str(Status.MAX_ITERATIONS)], _LIMITS))
    ended = int((ism["status"] == str(Status.CONVERGED)).sum())
    return (
        f"{share_of(used_up, len(ism), 'run')} used up their iterations, as a cycle does; its own rule ended "
        f"{counted(ended, 'run')}, a limit {counted(stopped, 'run')}."
    )
