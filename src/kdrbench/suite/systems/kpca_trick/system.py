"""The KPCA trick as a system of the benchmark: cells are data sets, runs their random splits, rows the methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import product
from typing import Any, ClassVar

from kdrbench.datasets import Dataset
from kdrbench.metric_learning import LEARNERS, build_learner
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.record import Record
from kdrbench.suite.engine.run import Run
from kdrbench.suite.engine.system import Cell, Config, Report, RunContext, System
from kdrbench.suite.systems.kpca_trick.config import SCHEMA, TABLES, check_experiment, table_names, value_for
from kdrbench.suite.systems.kpca_trick.run import make_split_run

_IMPORTS = ("scipy.optimize", "scipy.sparse.linalg")
# Seconds of one fit on n samples, over n^2.
_FIT_S = 1.5e-6
_TABLE = partial(Report, kind="kpca_trick", shows="KPCA trick", maker="kdrbench.suite.systems.kpca_trick.tables:page")
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

    def check(self, name: str, config: Config) -> None:
        """Raise ``ConfigError`` for the first fault of an experiment that a schema cannot find."""
        check_experiment(f"config: experiments.{name}", config["experiments"][name], config)

    def reports(self, name: str, config: Config) -> list[Report]:
        """Return a table of each learner, the tests and the times."""
        reports = []
        for table in table_names(name, config["experiments"][name]["learners"]):
            part = table.rpartition("_")[2]
            targets = (f"kpca_{part}",) if part in _PRINTED else ()
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
            }
            (kernels,) = definition["candidates"].values()
            tuned = len(kernels) * definition["n_folds"] if "cross_validated" in variants else 0
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

    def prepare(self, batch: Batch, dataset: Dataset, context: RunContext) -> Callable[[int], Run]:
        """Return what draws a split, of which the run is given the training samples."""
        # What learners import late, they import here, before any clock starts.
        for module in _IMPORTS:
            import_module(module)
        return partial(make_split_run, batch, dataset)

    def describe(self, batch: Batch, dataset: Dataset, number: int) -> Mapping[str, Any]:
        """Return the sizes of a split."""
        return make_split_run(batch, dataset, number).sizes
