"""What the configuration decides about the runs of a cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from kdrbench.bench.batch import Batch
from kdrbench.datasets import Dataset
from kdrbench.stages.ikdr.folds import Fold, Sampling, Scaling, Split

# In place of a kernel's name, where a method has none.
NO_KERNEL = "none"
# The given labelling of data without one: what spectral clustering finds first.
CLUSTERS = "clusters"
# The q below which the spectrum of Phi_0 has its largest gap (ISM+, Eq. 50), one for each run.
EIGENGAP = "eigengap"
SUPERVISED, UNSUPERVISED, ALTERNATIVE = "supervised", "unsupervised", "alternative"
# The only parameter of supervised runs: solvers get class integers in place of one-hot labels (:func:`.integer_gamma`).
LABELS, INTEGERS = "labels", "integers"


class Kind(StrEnum):
    """What is run: a solver of a kernel's problem, or a baseline, which has no kernel."""

    SOLVER = "solver"
    BASELINE = "baseline"


@dataclass(frozen=True)
class CellDefinition:
    """One cell: paradigm and its parameters, kernel and method with their options, q, the samples and the start.

    A baseline has no kernel, no start and no evaluation. ``labellings`` name what is ``given`` to alternative
    clustering and what is ``sought``. ``n_components`` is q, or ``eigengap`` where each run has its own
    (:func:`.components_of`).
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
    sampling: Sampling
    start: str
    evaluation: Mapping[str, Any]

    @classmethod
    def of(cls, batch: Batch) -> CellDefinition:
        """Return the definition that a batch carries."""
        values = dict(batch.definition)
        sampling = {field.name: values.pop(field.name) for field in fields(Sampling)}
        sampling |= {"split": Split(sampling["split"]), "scaling": Scaling(sampling["scaling"])}
        values |= {"kind": Kind(values["kind"]), "sampling": Sampling(**sampling)}
        return cls(batch.dataset, batch.seed, batch.threads, **values)

    def fold(self, dataset: Dataset, number: int) -> Fold:
        """Return the samples of run ``number``."""
        return self.sampling.fold(dataset, number, self.seed)
