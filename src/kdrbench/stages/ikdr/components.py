"""The number of components q of a run: the one that the configuration names, or what its rule finds in the rows."""

from __future__ import annotations

from kdrbench.bench.experiment import EIGENGAP
from kdrbench.bench.fold import Fold
from kdrbench.bench.plan import Batch
from kdrbench.kernels import build_kernel
from kdrbench.paradigms import Task
from kdrbench.solvers import eigengap_components


def components_of(batch: Batch, fold: Fold, task: Task) -> int:
    """Return q for the rows of a run, of which ``task`` is made."""
    if batch.n_components != EIGENGAP:
        return int(batch.n_components)
    before = components_before(batch, fold, task.n_classes)
    kernel = build_kernel(batch.kernel_definition, fold.train_features, before, task.alignment_target)
    return eigengap_components(task.first_problem(kernel).initial_surrogate())


def components_before(batch: Batch, fold: Fold, n_classes: int) -> int:
    """Return the q that a kernel takes its scale from where the rule has still to find one: the number of classes.

    :class:`.InterpretableKDR` does the same. Of a number that is named there is nothing to find.
    """
    if batch.n_components != EIGENGAP:
        return int(batch.n_components)
    return min(n_classes, int(fold.train_features.shape[1]))
