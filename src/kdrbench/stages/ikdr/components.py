"""The number of components q of a run: the one that the configuration names, or what its rule finds in the rows."""

from __future__ import annotations

from kdrbench.kernels import build_kernel
from kdrbench.paradigms import Task
from kdrbench.solvers import eigengap_components
from kdrbench.stages.ikdr.definition import EIGENGAP, CellDefinition
from kdrbench.stages.ikdr.fold import Fold


def components_of(cell: CellDefinition, fold: Fold, task: Task) -> int:
    """Return q for the rows of a run, of which ``task`` is made."""
    if cell.n_components != EIGENGAP:
        return int(cell.n_components)
    before = components_before(cell, fold, task.n_classes)
    kernel = build_kernel(cell.kernel, fold.train_features, before, task.alignment_target)
    return eigengap_components(task.first_problem(kernel).initial_surrogate())


def components_before(cell: CellDefinition, fold: Fold, n_classes: int) -> int:
    """Return the q that a kernel takes its scale from before the rule has found one: the number of classes.

    :class:`.InterpretableKDR` does the same. A number in the configuration is used as it is.
    """
    if cell.n_components != EIGENGAP:
        return int(cell.n_components)
    return min(n_classes, int(fold.train_features.shape[1]))
