"""What the configuration decides about the runs of a cell."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from kdrbench.datasets import Dataset
from kdrbench.datasets.registry import DatasetEntry
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.seeds import rng_of
from kdrbench.suite.systems.ikdr.folds import Fold, Sampling, Scaling, Split, with_hidden_labels

# In place of a kernel's name, where a method has none.
NO_KERNEL = "none"
# The given labelling of data without one: what spectral clustering finds first.
CLUSTERS = "clusters"
# The q below which the spectrum of Phi_0 has its largest gap (ISM+, Eq. 50), one for each run.
EIGENGAP = "eigengap"
# The only parameter of supervised runs: solvers get class integers in place of one-hot labels (:func:`.integer_gamma`).
LABELS, INTEGERS = "labels", "integers"

# Evaluations that a method usually needs, to an order of magnitude; a method of the user's own counts as a rival.
_EVALUATIONS = {
    "ism": 10.0,
    "ism_safeguarded": 50.0,
    # Pairs one by one take some five hundred times longer than all together.
    "ism_2018": 5000.0,
}
_BASELINE, _RIVAL = 1.0, 1000.0
# Rounds of an alternation by the papers' rule, and of one that converges.
_ROUNDS, _JOINT_ROUNDS = 5.0, 50.0
_OPERATIONS_PER_S = 1e10
_FACTORED = ("linear", "squared")
# What a definition says of how a problem is solved, and how often its folds are drawn; the rest says which problem.
_OF_SOLUTION = ("kind", "method", "start", "starts", "evaluation", "partitions")
_OF_PARAMETERS = ("rule", "tolerance", "max_rounds", LABELS)


class Paradigm(StrEnum):
    """What is learned: from all labels, from none, from some, or to differ from given clusters."""

    SUPERVISED = "supervised"
    UNSUPERVISED = "unsupervised"
    SEMI_SUPERVISED = "semi_supervised"
    ALTERNATIVE = "alternative"


class Kind(StrEnum):
    """What is run: a solver of a kernel's problem, or a baseline, which has no kernel."""

    SOLVER = "solver"
    BASELINE = "baseline"


@dataclass(frozen=True)
class CellDefinition:
    """One cell: paradigm and its parameters, kernel and method with their options, q, the samples and the start.

    A baseline has no kernel, no start and no evaluation. ``labellings`` name what is ``given`` to alternative
    clustering and what is ``sought``. ``shown`` is how many labels of each class a semi-supervised run is given, a
    number or a share: each run is a draw of them. ``starts`` is how many starts a solver is run from, of which the best
    result counts. ``n_components`` is q, or ``eigengap`` where each run has its own (:func:`.components_of`).
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
    starts: int = 1
    shown: float | None = None

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
        samples = self.sampling.fold(dataset, number, self.seed)
        if self.shown is None:
            return samples
        return with_hidden_labels(samples, self.shown, rng_of("shown", dataset.name, number, self.seed))


def problem_sha256(definition: Mapping[str, Any], dataset: str, data_sha256: str, number: int, seed: int) -> str:
    """Return the hash of the problem of run ``number``: data, samples, paradigm, kernel and number of components.

    It is the same for all solvers and starts, so that their costs can be compared, also between experiments.
    """
    text = json.dumps([problem_part(definition), dataset, data_sha256, number, seed], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def problem_part(definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a definition says which problem is solved, and not how."""
    problem = {key: value for key, value in definition.items() if key not in _OF_SOLUTION}
    parameters = {key: value for key, value in problem["parameters"].items() if key not in _OF_PARAMETERS}
    return {**problem, "parameters": parameters}


def estimated_seconds(definition: Mapping[str, Any], entry: DatasetEntry) -> float:
    """Return about how long a run takes: evaluations x pairs x (d + q) x 2 operations, 1e10 of them a second.

    Pairs are n^2, or n d where the kernel is linear or squared, whose problems have exact factors.
    """
    n, d, q = definition["n_rows"] or entry.n_samples, entry.n_features, definition["n_components"]
    # A rule finds q in the data, which are not read here: no more than this.
    q = d if q == EIGENGAP else q
    family = definition["kernel"].get("family")
    evaluations = _EVALUATIONS.get(definition["method"]["method"], _RIVAL) if family else _BASELINE
    if family and definition["paradigm"] != Paradigm.SUPERVISED:
        # An alternation solves again in each of its rounds.
        evaluations *= _JOINT_ROUNDS if definition["parameters"].get("rule") == "joint" else _ROUNDS
    pairs = n * (d if family in _FACTORED else n)
    return evaluations * 2.0 * pairs * (d + q) / _OPERATIONS_PER_S
