"""Noise as a system of the benchmark: methods learn from labels that mean nothing, and their projections are tested.

A run permutes the labels of its data set, whatever they are. In cross validation it takes the accuracy of nearest
neighbours on the samples that a projection was learned from and on those left out, and it tests the projection of all
samples by refitting to permuted labels (:func:`kdrbench.inference.permutation.permutation_test`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from kdrbench.datasets import Dataset
from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning.neighbours import IntArray
from kdrbench.status import Status
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.record import Record
from kdrbench.suite.engine.referee import Referee
from kdrbench.suite.engine.run import RunResult
from kdrbench.suite.engine.seeds import rng_of, seed_of
from kdrbench.suite.engine.system import Cell, Config, Report, System
from kdrbench.suite.systems.league.system import faults_of_folds
from kdrbench.suite.systems.schemas import NAMES, integer, report, unknown_names

_LEVEL, _FOLDS = 0.05, 5
# About how many refits a hopeless test takes, and seconds of one.
_REFITS, _FIT_S = 40, 0.05
SCHEMA: Config = {
    "required": ["datasets", "methods", "components", "permutations", "draws"],
    "properties": {
        "methods": NAMES,
        "components": integer(1, "how many each method learns"),
        "permutations": integer(1, "refits of a test at most; hopeless ones stop early"),
        "draws": integer(1, "how often the labels are permuted"),
        "draws_of": {
            "type": "object",
            "additionalProperties": integer(),
            "description": "the same for methods that are slow, by name",
        },
    },
}
_TABLE = report("noise", "noise", "noise.tables:page")
_FIGURE = report("noise", "noise", "noise.tables:chart_of", is_figure=True)


@dataclass(frozen=True, kw_only=True)
class NoiseRecord(Record):
    """One method on one permutation of the labels; ``None`` where it left no number.

    Accuracies are those of 5 nearest neighbours, means over five folds: ``train_accuracy`` on the samples that were
    learned from, ``test_accuracy`` on the others. ``p_value`` is the test's, ``rejected`` 1 where it is at most 0.05.
    """

    SCHEMA_VERSION: ClassVar[int] = 1
    CELL: ClassVar[tuple[str, ...]] = ("method",)

    method: str
    train_accuracy: float | None = None
    test_accuracy: float | None = None
    p_value: float | None = None
    rejected: int | None = None


class NoiseSystem(System):
    """Methods on labels that mean nothing: accuracy on their own and on other samples, and the permutation test."""

    record = NoiseRecord
    schema = SCHEMA
    imports = (
        "kdrbench.evaluation.dense",
        "kdrbench.inference.permutation",
        "kdrbench.reduction.adapters",
        "kdrbench.suite.systems.league.fold_run",
    )

    def faults(self, experiment: Config, config: Config) -> Iterator[str]:
        """Yield the faults of an experiment."""
        from kdrbench.reduction.methods import METHODS

        yield from faults_of_folds(experiment, config, _FOLDS, "datasets")
        yield from unknown_names("draws_of", "method", experiment.get("draws_of", ()), METHODS)

    def reports(self, name: str, config: Config) -> list[Report]:
        """Return the table and the figure of an experiment."""
        summary = "noise" if name == "noise" else ""
        return [_TABLE(name, (name,), figures=(name,), summary=summary), _FIGURE(name, (name,))]

    def expand(self, name: str, config: Config) -> Iterator[Cell]:
        """Yield a cell for each data set and method."""
        experiment = config["experiments"][name]
        shared = {key: experiment[key] for key in ("components", "permutations")}
        for dataset in experiment["datasets"]:
            for method in experiment["methods"]:
                yield Cell(
                    dataset=dataset,
                    names=(method,),
                    definition={"method": method, **shared},
                    n_runs=experiment.get("draws_of", {}).get(method, experiment["draws"]),
                    run_s=_FIT_S * (_FOLDS + min(_REFITS, experiment["permutations"])),
                    components=(f"reducer/{method}", "noise/permutation"),
                )

    def run(self, batch: Batch, dataset: Dataset, number: int, referee: Referee) -> Iterator[RunResult]:
        """Yield the accuracies and the test of one draw."""
        definition = batch.definition
        codes = rng_of("noise labels", batch.dataset, number, batch.seed).permutation(dataset.labels)
        asked = definition["method"], definition["components"], definition["permutations"]
        seed = seed_of("noise method", number, batch.seed)
        columns, seconds = referee.timed(lambda: found_in(dataset.features, codes, *asked, seed))
        yield RunResult(Status.CONVERGED, "", seconds.wall_s, seconds.cpu_s, columns)


def found_in(
    features: FloatArray, codes: IntArray, method: str, n_components: int, n_permutations: int, seed: int
) -> dict[str, Any]:
    """Return what a method makes of n x d features and n class codes, as columns of :class:`NoiseRecord`."""
    from kdrbench.datasets.dataset import Standardiser
    from kdrbench.inference.permutation import permutation_test
    from kdrbench.reduction.methods import METHODS, build_reducer
    from kdrbench.suite.systems.league.fold_run import fold_of, learn
    from kdrbench.suite.systems.league.judges import knn_accuracy

    accuracies = []
    for number in range(_FOLDS):
        fold = fold_of(features, codes, number, _FOLDS, seed)
        learned = learn(METHODS[method], fold, n_components, seed)
        own = replace(learned, test=learned.train, test_codes=learned.train_codes)
        accuracies.append((knn_accuracy(own), knn_accuracy(learned)))
    train, test = np.mean(accuracies, axis=0).tolist()
    scaled = Standardiser.fit(features).transform(features)
    model = build_reducer(method, n_components, seed % 2**31)
    p = permutation_test(model, scaled, codes, n_permutations=n_permutations, random_state=seed % 2**31).p_value
    return {"train_accuracy": train, "test_accuracy": test, "p_value": p, "rejected": int(p <= _LEVEL)}
