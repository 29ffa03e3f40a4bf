"""The layout of the papers' Table 4, common to LaTeX and HTML.

One block a data set with a line for time, cost and accuracy; one column group a kernel with a column for
each solver, and at the right one for the baselines, which have no kernel and no cost. Where converged variants stand
beside published ones, each kernel has a group of either.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from kdrbench.bench.config import NO_KERNEL
from kdrbench.bench.experiment import Config, split_of
from kdrbench.bench.fold import Split
from kdrbench.datasets.registry import load_registry
from kdrbench.reports.cautions import UNTIMED
from kdrbench.reports.ledger import LedgerRow

# What the numbers of a cell are.
_LEGENDS = {
    Split.FOLDS: "Mean \u00b1 standard deviation over the folds; best of each group in bold.",
    Split.NONE: "One run on all rows; errors, if any, are those on the same rows; best of each group in bold.",
    Split.SUBSETS: "Mean \u00b1 standard deviation over random subsets of the rows; best of each group in bold.",
}
_OF_CONTROLS = " Controls do not compete."
CONVERGED = "converged"
_SUFFIX = f"_{CONVERGED}"
# What the table calls the columns beside them.
_OTHERS = "as published"
METRIC_TITLES = {
    "time_s": "Time",
    "cost": "Cost",
    "accuracy": "Accuracy",
    "nmi": "NMI",
    "nmi_given": "NMI to given",
    "n_components": "q",
    "error": "Training error",
}


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
    """Columns under one heading: a kernel's solvers, or the baselines."""

    kernel: str
    solvers: list[str]

    @property
    def variants(self) -> list[tuple[str, int]]:
        """Neighbouring columns of one variant, as title and number; one without a title where there is only one."""
        groups = [(converged, len(list(group))) for converged, group in groupby(self.solvers, is_converged)]
        if len(groups) == 1:
            return [("", len(self.solvers))]
        return [(CONVERGED if converged else _OTHERS, count) for converged, count in groups]

    @property
    def headings(self) -> list[str]:
        """The columns' titles: without the variant where that stands above."""
        return [solver_label(name) if len(self.variants) == 1 else method_label(name) for name in self.solvers]


@dataclass(frozen=True)
class TableLayout:
    """Groups of columns, and lines of (data set, metric, cells from left to right); ``None`` for what has no cell."""

    title: str
    groups: list[ColumnGroup]
    lines: list[tuple[str, str, list[LedgerRow | None]]]
    notes: list[str]
    cautions: list[str]
    legend: str

    @property
    def variants(self) -> list[tuple[str, int]]:
        """Titles below those of the groups and the columns of each; empty where no group has several variants."""
        found = [variant for group in self.groups for variant in group.variants]
        return found if len(found) > len(self.groups) else []


def dataset_label(name: str) -> str:
    """Return the data set's name as tables and figures print it; one of the user's own has its name alone."""
    return load_registry()[name].label if name in load_registry() else name


def kernel_label(name: str) -> str:
    """Return the kernel's name as tables and figures print it; methods without one are baselines."""
    return "Baselines" if name == NO_KERNEL else name.capitalize().replace("_", " + ")


def solver_label(name: str) -> str:
    """Return a solver's or baseline's name as tables and figures print it: ``dg_converged`` is "DG, converged"."""
    method = method_label(name)
    return f"{method}, {CONVERGED}" if is_converged(name) else method


def method_label(name: str) -> str:
    """Return the name of the method alone, without its variant."""
    method = name.removesuffix(_SUFFIX)
    return _LABELS.get(method, method.upper().replace("_", " "))


def is_converged(name: str) -> bool:
    """Return whether the name is that of a converged variant."""
    return name.endswith(_SUFFIX)


def by_method(solvers: list[str]) -> list[str]:
    """Return the solvers with the variants of a method side by side."""
    methods = list(dict.fromkeys(map(method_label, solvers)))
    return sorted(solvers, key=lambda solver: (methods.index(method_label(solver)), is_converged(solver)))


def lay_out(ledger: list[LedgerRow], experiment: Config) -> TableLayout:
    """Arrange the ledger's cells as the paper does."""
    groups = [ColumnGroup(kernel, list(experiment["solvers"])) for kernel in experiment["kernels"]]
    if baselines := experiment.get("baselines"):
        groups.append(ColumnGroup(NO_KERNEL, list(baselines)))
    by_axes = {(row.dataset, row.metric, row.kernel, row.solver): row for row in ledger}
    lines = []
    for dataset in experiment["datasets"]:
        for metric in dict.fromkeys(row.metric for row in ledger):
            cells = [
                by_axes.get((dataset, metric, group.kernel, solver)) for group in groups for solver in group.solvers
            ]
            lines.append((dataset, metric, cells))
    legend = _LEGENDS[split_of(experiment)] + (_OF_CONTROLS if any(row.control for row in ledger) else "")
    return TableLayout(experiment["title"], groups, lines, _notes(ledger), _cautions(ledger), legend)


def _notes(ledger: list[LedgerRow]) -> list[str]:
    """Return one sentence for each cell with runs that did not converge."""
    return [
        f"{dataset_label(row.dataset)}, {kernel_label(row.kernel)}, {solver_label(row.solver)}: {row.ours.note}"
        for row in ledger
        if row.metric == "time_s" and row.ours.note
    ]


def _cautions(ledger: list[LedgerRow]) -> list[str]:
    """Return in words, for the whole table, why times are to be taken with care."""
    cells = [row.ours for row in ledger if row.ours.caution]
    untimed = sum(cell.caution == UNTIMED for cell in cells)
    found = [UNTIMED] if untimed else []
    if drifted := len(cells) - untimed:
        found.append(
            f"in {drifted} of {sum(row.metric == 'time_s' for row in ledger)} times the speed of the cores drifted by "
            "more than 10 %"
        )
    return found
