"""The layout of the papers' Table 4, common to LaTeX and HTML.

One block a data set with a line for time, cost and accuracy; one column group a kernel with a column for
each solver, and at the right one for the references, which have no kernel and no cost.
"""

from __future__ import annotations

from dataclasses import dataclass

from kdrbench.bench.config import NO_KERNEL, Config
from kdrbench.datasets.registry import load_registry
from kdrbench.reports.ledger import LedgerRow

METRIC_TITLES = {"time_s": "Time", "cost": "Cost", "accuracy": "Accuracy", "nmi": "NMI"}


# What a cell shows that no run could fill.
NO_CELL = "-"
# Where capital letters alone would not read well.
_LABELS = {
    "lda_svm": "LDA + SVM",
    "pca_svm": "PCA + SVM",
    "nca_svm": "NCA + SVM",
    "kernel_pca_svm": "KPCA + SVM",
    "spectral_clustering": "SC",
    "pca_spectral_clustering": "PCA + SC",
}


@dataclass(frozen=True)
class ColumnGroup:
    """Columns under one heading: a kernel's solvers, or the references."""

    kernel: str
    solvers: list[str]


@dataclass(frozen=True)
class TableLayout:
    """Groups of columns, and lines of (data set, metric, cells from left to right); ``None`` for what has no cell."""

    title: str
    groups: list[ColumnGroup]
    lines: list[tuple[str, str, list[LedgerRow | None]]]
    notes: list[str]


def dataset_label(name: str) -> str:
    """Return the data set's name as tables and figures print it."""
    return load_registry()[name].label


def kernel_label(name: str) -> str:
    """Return the kernel's name as tables and figures print it; methods without one are references."""
    return "References" if name == NO_KERNEL else name.capitalize()


def solver_label(name: str) -> str:
    """Return the solver's or reference's name as tables and figures print it."""
    return _LABELS.get(name, name.upper())


def lay_out(ledger: list[LedgerRow], experiment: Config) -> TableLayout:
    """Arrange the ledger's cells as the paper does."""
    groups = [ColumnGroup(kernel, list(experiment["solvers"])) for kernel in experiment["kernels"]]
    if references := experiment.get("references"):
        groups.append(ColumnGroup(NO_KERNEL, list(references)))
    by_axes = {(row.dataset, row.metric, row.kernel, row.solver): row for row in ledger}
    lines = []
    for dataset in experiment["datasets"]:
        for metric in dict.fromkeys(row.metric for row in ledger):
            cells = [
                by_axes.get((dataset, metric, group.kernel, solver)) for group in groups for solver in group.solvers
            ]
            lines.append((dataset, metric, cells))
    return TableLayout(experiment["title"], groups, lines, _notes(ledger))


def _notes(ledger: list[LedgerRow]) -> list[str]:
    """Return one sentence for each cell with folds that did not converge."""
    return [
        f"{dataset_label(row.dataset)}, {kernel_label(row.kernel)}, {solver_label(row.solver)}: {row.ours.note}"
        for row in ledger
        if row.metric == "time_s" and row.ours.note
    ]
