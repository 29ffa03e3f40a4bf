"""The layout of the papers' Table 4, common to LaTeX and HTML.

One block a data set with a line for time, cost and accuracy; one column group a kernel with a column for
each solver. Where converged variants stand beside published ones, each kernel has a group of either.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from kdrbench.bench.config import Config
from kdrbench.datasets.registry import load_registry
from kdrbench.reports.ledger import LedgerRow

CONVERGED = "converged"
_SUFFIX = f"_{CONVERGED}"
# What the table calls the columns beside them.
_OTHERS = "as published"
METRIC_TITLES = {"time_s": "Time", "cost": "Cost", "accuracy": "Accuracy", "nmi": "NMI"}


@dataclass(frozen=True)
class TableLayout:
    """Kernels and solvers of the columns, and lines of (data set, metric, cells from left to right)."""

    title: str
    kernels: list[str]
    solvers: list[str]
    lines: list[tuple[str, str, list[LedgerRow]]]
    notes: list[str]

    @property
    def variants(self) -> list[tuple[str, int]]:
        """Neighbouring columns of one variant, as title and number; empty where there is only one."""
        groups = [(converged, len(list(group))) for converged, group in groupby(self.solvers, is_converged)]
        found = [(CONVERGED if converged else _OTHERS, count) for converged, count in groups]
        return found if len(found) > 1 else []

    @property
    def headings(self) -> list[str]:
        """The columns' titles: without the variant where that stands above."""
        return [method_label(name) if self.variants else solver_label(name) for name in self.solvers]


def dataset_label(name: str) -> str:
    """Return the data set's name as tables and figures print it."""
    return load_registry()[name].label


def kernel_label(name: str) -> str:
    """Return the kernel's name as tables and figures print it."""
    return name.capitalize()


def solver_label(name: str) -> str:
    """Return the solver's name as tables and figures print it: ``dg_converged`` is "DG, converged"."""
    method = method_label(name)
    return f"{method}, {CONVERGED}" if is_converged(name) else method


def method_label(name: str) -> str:
    """Return the name of the method alone, without its variant."""
    return name.removesuffix(_SUFFIX).upper().replace("_", " ")


def is_converged(name: str) -> bool:
    """Return whether the name is that of a converged variant."""
    return name.endswith(_SUFFIX)


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
