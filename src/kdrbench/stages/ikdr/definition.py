"""What the configuration decides about the runs of a cell, as the code of a run reads it from its batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kdrbench.bench.batch import Batch
from kdrbench.datasets import Dataset
from kdrbench.stages.ikdr.fold import Fold, Split, make_fold, make_subset, whole

# In place of a kernel's name, where a method has none.
NO_KERNEL = "none"
# The given labelling of data without one: what spectral clustering finds first.
CLUSTERS = "clusters"
# The q below which the spectrum of Phi_0 has its largest gap (ISM+, Eq. 50), one for each run.
EIGENGAP = "eigengap"
SUPERVISED, UNSUPERVISED, ALTERNATIVE = "supervised", "unsupervised", "alternative"


class Kind(StrEnum):
    """What is run: a solver of a kernel's problem, or a baseline, which has no kernel."""

    SOLVER = "solver"
    BASELINE = "baseline"


@dataclass(frozen=True)
class CellDefinition:
    """One cell: paradigm and its parameters, kernel and method with their options, q, the split and the start.

    With the split ``subsets`` a run is a draw of ``n_rows`` rows, with ``none`` it is all rows, once. A baseline has no
    kernel, no start and no evaluation. ``labellings`` name what is ``given`` to alternative clustering and what is
    ``sought``. ``n_components`` is q, or ``eigengap`` where each run has its own (:func:`.components_of`).
    """

    dataset: str
    seed: int
    threads: int
    kind: Kind
    paradigm: str
    parameters: Mapping[str, Any]
    labellings: Mapping[str, str]
    kernel: Mapping[str, Any]
    method: Mapping[str, Any]
    n_components: int | str
    split: Split
    n_folds: int
    n_rows: int | None
    start: str
    evaluation: Mapping[str, Any]

    @classmethod
    def of(cls, batch: Batch) -> CellDefinition:
        """Return the definition that a batch carries."""
        values = dict(batch.definition)
        values |= {"kind": Kind(values["kind"]), "split": Split(values["split"])}
        return cls(batch.dataset, batch.seed, batch.threads, **values)

    def fold(self, dataset: Dataset, number: int) -> Fold:
        """Return the samples of run ``number``."""
        if self.split is Split.FOLDS:
            return make_fold(dataset, number, self.n_folds, self.seed)
        if self.n_rows is not None:
            return make_subset(dataset, number, self.n_rows, self.seed)
        return whole(dataset)
