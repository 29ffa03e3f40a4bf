"""The KPCA trick as a system of the benchmark: cells are data sets, runs their random splits, rows the methods."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

from kdrbench.datasets import Dataset
from kdrbench.datasets.own import registry_of
from kdrbench.datasets.registry import DatasetEntry
from kdrbench.errors import InputError
from kdrbench.metric_learning import LEARNERS, build_learner
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.record import Record
from kdrbench.suite.engine.system import Cell, Config, Report, System
from kdrbench.suite.systems.schemas import DEFAULT, NAME, NAMES, by_dataset, integer, list_of, report, unknown_names

# The paper's three, alignment of centred kernels, and the best kernel on test samples, with prefixes of names.
VARIANTS = {"plain": "", "cross_validated": "k", "aligned": "ak", "centred": "cak", "oracle": "ok"}
# The number of a learner's table in the paper.
TABLES = {"nca": "1", "lmnn": "2", "dne": "3"}

_CANDIDATES = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "sigmas": list_of(
            {"type": "number", "exclusiveMinimum": 0}, "scaled Gaussians exp(-|x - y|^2 / (2 D sigma^2))"
        ),
        "degrees": list_of(integer(), "polynomials (x'y + 1)^p"),
    },
}
SCHEMA: Config = {
    "required": ["datasets", "learners", "variants", "candidates", "training", "cv_folds", "splits"],
    "properties": {
        "learners": list_of({"type": "string"}, "nca, lmnn, dne, or one's own: a file, module:Class or an entry point"),
        "variants": NAMES,
        "candidates": by_dataset(_CANDIDATES, "kernels to choose from, by data set"),
        "training": by_dataset(integer(2), "number of training samples, by data set"),
        "cv_folds": integer(2, "folds of the cross validation"),
        "splits": integer(1, "random splits of each data set"),
        "learner_options": {"type": "object", "additionalProperties": {"type": "object"}, "description": "by learner"},
        "test_selected": {
            "type": "array",
            "items": NAME,
            "uniqueItems": True,
            "description": "data sets on whose test samples every candidate is tried too; by default none",
        },
    },
}


def value_for(table: Config, dataset: str) -> Any:
    """Return what a table of values by data set says of one of them."""
    return table.get(dataset, table[DEFAULT])


def faults_of_training(entry: DatasetEntry, n_train: int, key: str = "training") -> Iterator[str]:
    """Yield a fault unless the data set has features, labels, and samples left to test."""
    if entry.lacks:
        yield f"datasets: data set {entry.name!r} has no {entry.lacks}; metric learning needs them"
    if n_train >= entry.n_samples:
        of_set = f"gives data set {entry.name!r} {n_train} training samples"
        yield f"{key} {of_set}; it has {entry.n_samples}, of which some are for testing"


def table_names(experiment: str, learners: Iterable[str]) -> list[str]:
    """Return the names of an experiment's tables: one a learner, the tests and the times.

    They begin as the experiment does: those of ``kpca_tables`` are ``kpca_table1`` and so on. A learner that the paper
    has not has no number.
    """
    stem = experiment.removesuffix("_tables")
    names = [f"table{TABLES[learner]}" if learner in TABLES else re.sub(r"\W+", "_", learner) for learner in learners]
    return [f"{stem}_{part}" for part in (*names, "tests", "times")]


# Seconds of one fit on n samples, over n^2.
_FIT_S = 1.5e-6
_TABLE = report("kpca_trick", "KPCA trick", "kpca_trick.tables:page")
_PRINTED = {f"table{number}" for number in TABLES.values()}


@dataclass(frozen=True, kw_only=True)
class KPCATrickRecord(Record):
    """One learner in one variant on one split, which is a run; ``None`` where it left no such number.

    ``tuning_*`` are the seconds that chose the kernel (by cross validation or alignment; zero for ``plain``),
    ``learning_*`` those of coordinates, learning and 1-NN with it; ``time_s`` and ``cpu_s`` are their sums. All are
    times of the first (cold) work; nothing is repeated. What methods share counts for each of them. ``status`` is
    ``converged`` for a method that came to its end, else what stopped it. ``kernel`` is in words, sigma as the paper
    scales it. ``test_selected`` holds the test accuracies of all candidates, as a list in JSON, or nothing.
    """

    SCHEMA_VERSION: ClassVar[int] = 3
    KEYS: ClassVar[tuple[str, ...]] = ("learner", "variant")

    learner: str
    variant: str
    accuracy: float | None = None
    tuning_cpu_s: float | None = None
    tuning_wall_s: float | None = None
    learning_cpu_s: float | None = None
    learning_wall_s: float | None = None
    kernel: str = ""
    n_coordinates: int | None = None
    test_selected: str = ""
    n_train: int
    n_test: int
    n_features: int
    n_folds: int


class KPCATrickSystem(System):
    """Every learner in every variant on random splits of each data set.

    Source: Chatpatanasiri et al., Neurocomputing 73, 2010, section 5.
    """

    record = KPCATrickRecord
    schema = SCHEMA
    papers: ClassVar = {"kpca_trick": "kpca"}
    imports = ("scipy.optimize", "scipy.sparse.linalg")
    runner = "kdrbench.suite.systems.kpca_trick.run:run_split"

    def faults(self, experiment: Config, config: Config) -> Iterator[str]:
        """Yield the faults of an experiment."""
        registry, folds = registry_of(config), experiment["cv_folds"]
        yield from unknown_names("variants", "variant", experiment["variants"], VARIANTS)
        yield from unknown_names("test_selected", "data set", experiment.get("test_selected", ()), registry)
        for key in ("training", "candidates"):
            yield from unknown_names(key, "data set", experiment[key], [DEFAULT, *registry])
        options = experiment.get("learner_options", {})
        yield from unknown_names("learner_options", "learner", options, experiment["learners"])
        for learner in experiment["learners"]:
            try:
                build_learner(learner, options.get(learner))
            except InputError as error:
                yield f"learners: {error}"
        for key, definition in experiment["candidates"].items():
            if len(definition) != 1:
                given = ", ".join(definition) or "nothing"
                yield f"candidates.{key} must hold either 'sigmas' or 'degrees'; it holds {given}"
        for dataset in experiment["datasets"]:
            n_train = value_for(experiment["training"], dataset)
            yield from faults_of_training(registry[dataset], n_train)
            if folds > n_train:
                yield f"cv_folds is {folds}; data set {dataset!r} has {n_train} training samples: at most that many"

    def reports(self, name: str, config: Config) -> list[Report]:
        """Return a table of each learner, the tests and, where runs are timed, the times."""
        reports = []
        experiment = config["experiments"][name]
        is_reading = experiment.get("published", {}).get("protocol", False)
        for table in table_names(name, experiment["learners"])[: None if experiment.get("timed", True) else -1]:
            part = table.rpartition("_")[2]
            targets = (f"kpca_{part}",) if part in _PRINTED and not is_reading else ()
            summary = "metric_learning" if table == "kpca_table1" else ""
            reports.append(_TABLE(table, (name,), targets=targets, summary=summary))
        return reports

    def expand(self, name: str, config: Config) -> Iterator[Cell]:
        """Yield a cell for each data set."""
        experiment = config["experiments"][name]
        learners, variants = list(experiment["learners"]), list(experiment["variants"])
        own = [learner for learner in learners if learner not in LEARNERS]
        components = [f"learner/{learner}" for learner in learners if learner in LEARNERS]
        components += [*(f"selection/{variant}" for variant in variants), "splits/kpca_trick", "referee/kpca_trick"]
        for dataset in experiment["datasets"]:
            definition = {
                "learners": learners,
                "variants": variants,
                "candidates": dict(value_for(experiment["candidates"], dataset)),
                "n_train": value_for(experiment["training"], dataset),
                "n_folds": experiment["cv_folds"],
                "test_selected": dataset in experiment.get("test_selected", ()),
                **({"learner_options": experiment["learner_options"]} if "learner_options" in experiment else {}),
            }
            (kernels,) = definition["candidates"].values()
            tuned = len(kernels) * (definition["n_folds"] * ("cross_validated" in variants) + ("oracle" in variants))
            n_fits = len(learners) * (len(variants) + tuned)
            yield Cell(
                dataset=dataset,
                names=(),
                definition=definition,
                n_runs=experiment["splits"],
                run_s=_FIT_S * n_fits * definition["n_train"] ** 2,
                components=tuple(components),
                plugins={f"learner/{learner}": type(build_learner(learner)).__module__ for learner in own},
                rows=tuple(product(learners, variants)),
            )

    def describe(self, batch: Batch, dataset: Dataset, number: int) -> Mapping[str, Any]:
        """Return the sizes of a split; the bench's own work in a run takes no time to speak of."""
        (n_samples, n_features), n_train = dataset.features.shape, batch.definition["n_train"]
        sizes = {"n_train": n_train, "n_test": n_samples - n_train, "n_features": n_features}
        return {**sizes, "n_folds": batch.definition["n_folds"], "evaluation_s": 0.0}
