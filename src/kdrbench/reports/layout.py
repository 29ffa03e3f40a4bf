"""The layout of the papers' Table 4, common to LaTeX and HTML.

One block a data set with a line for time, cost and accuracy; one column group a kernel with a column for
each solver.
"""

from __future__ import annotations

from dataclasses import dataclass

from kdrbench.bench.config import Config
from kdrbench.datasets.registry import load_registry
from kdrbench.reports.ledger import LedgerRow

METRIC_TITLES = {"time_s": "Time", "cost": "Cost", "accuracy": "Accuracy", "nmi": "NMI"}


@dataclass(frozen=True)
class TableLayout:
    """Kernels and solvers of the columns, and lines of (data set, metric, cells from left to right)."""

    title: str
    kernels: list[str]
    solvers: list[str]
    lines: list[tuple[str, str, list[LedgerRow]]]
    notes: list[str]


def dataset_label(name: str) -> str:
    """Return the data set's name as tables and figures print it."""
    return load_registry()[name].label


def kernel_label(name: str) -> str:
    """Return the kernel's name as tables and figures print it."""
    return name.capitalize()


def solver_label(name: str) -> str:
    """Return the solver's name as tables and figures print it."""
    return name.upper()


def lay_out(ledger: list[LedgerRow], experiment: Config) -> TableLayout:
    """Arrange the ledger's cells as the paper does."""
    kernels, solvers = list(experiment["kernels"]), list(experiment["solvers"])
    by_axes = {(row.dataset, row.metric, row.kernel, row.solver): row for row in ledger}
    lines = []
    for dataset in experiment["datasets"]:
        for metric in dict.fromkeys(row.metric for row in ledger):
            cells = [by_axes[dataset, metric, kernel, solver] for kernel in kernels for solver in solvers]
            lines.append((dataset, metric, cells))
    return TableLayout(experiment["title"], kernels, solvers, lines, _notes(ledger))


def _notes(ledger: list[LedgerRow]) -> list[str]:
    """Return one sentence for each cell with folds that did not converge."""
    return [
        f"{dataset_label(row.dataset)}, {kernel_label(row.kernel)}, {solver_label(row.solver)}: {row.ours.note}"
        for row in ledger
        if row.metric == "time_s" and row.ours.note
    ]
