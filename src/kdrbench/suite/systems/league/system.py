"""The league as a system of the benchmark: cells are data sets with a method, runs outer folds, rows components.

Methods play by one of two rules, as optimisation benchmarks have them:

``fixed``   the published or default parameters of the method.
``tuned``   the best of these and of the method's grid by an inner cross validation over the training rows. Candidates
            are scored by the mean of both accuracies; their time counts as the method's.

Methods and judges are imported by what needs them: scikit-learn takes a second to load, and every configuration is
checked by all systems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np

from kdrbench.datasets import Dataset
from kdrbench.datasets.own import registry_of
from kdrbench.datasets.registry import DatasetEntry
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.record import Record
from kdrbench.suite.engine.run import Run
from kdrbench.suite.engine.system import FINDINGS, Cell, Config, Report, RunContext, System
from kdrbench.suite.systems.schemas import NAMES, integer, list_of, report, unknown_names

FIXED, TUNED = "fixed", "tuned"
INNER_FOLDS = 3
# Folds of a cell whose maps are compared; a packed record stores as many at least.
COMPARED_MAPS = 3
# Columns of the scores, each higher where the projection is better, with their names in sentences.
JUDGES = {
    "knn_accuracy": "k-NN accuracy",
    "linear_accuracy": "linear accuracy",
    "distance_correlation": "distance correlation",
}
# The table of a tuned league beside the league with default parameters.
TUNING = "tuning"
# Two leagues with the same values of the first two have the same folds.
_SAME_FOLDS, _SHARED = ("folds", "most_rows"), ("datasets", "methods", "components")
# Seconds of a fit to n rows of d features: some, and these over n^2 sqrt(d), by which some methods take longer.
_FIT_S, _PAIRS_S = 1e-2, 2e-8
_FACTORS = {"lmnn": 30.0, "kpca_trick": 60.0, "nca": 10.0, "kdr_polynomial": 10.0}
SCHEMA: Config = {
    "required": ["datasets", "methods", "components", "rules", "folds", "repeats"],
    "properties": {
        "methods": NAMES,
        "components": list_of(integer(), "numbers of components; of a data set those below its number of features"),
        "rules": {"enum": [FIXED, TUNED], "description": "default parameters, or tuned on the method's clock"},
        "folds": integer(2, "outer folds of a partition"),
        "repeats": integer(1, "how many partitions are drawn"),
        "most_rows": integer(20, "larger data sets are cut to about this size, each class alike; by default all rows"),
    },
}
_TABLE = report("league", "league", "league.tables:page", FINDINGS)
_FIGURE = report("league", "mean ranks, time and stability", "league.figures:chart_of", FINDINGS, is_figure=True)
_TUNING = report(TUNING, "tuned beside defaults", "league.tuning:page")


@dataclass(frozen=True, kw_only=True)
class LeagueRecord(Record):
    """One method on one outer fold, which is a run, with one number of components; ``None`` where it left no number.

    ``time_s`` and ``cpu_s`` are seconds of tuning (``tuning_*``) and of the fit, the first (cold) ones. ``n_found``
    counts the components, which may be fewer than asked for; ``linear`` says whether the method's map is. ``chosen``
    holds the tuned parameters as JSON; empty for the defaults. The scores are those of
    :func:`kdrbench.suite.systems.league.judges.judge`.
    """

    SCHEMA_VERSION: ClassVar[int] = 1
    CELL: ClassVar[tuple[str, ...]] = ("method",)
    KEYS: ClassVar[tuple[str, ...]] = ("n_components",)

    method: str
    n_components: int
    rules: str
    knn_accuracy: float | None = None
    linear_accuracy: float | None = None
    distance_correlation: float | None = None
    tuning_wall_s: float | None = None
    tuning_cpu_s: float | None = None
    chosen: str = ""
    n_found: int | None = None
    linear: bool | None = None
    n_train: int
    n_test: int
    n_features: int
    n_classes: int


def faults_of_folds(experiment: Config, config: Config, n_folds: int, key: str) -> Iterator[str]:
    """Yield unknown methods, and data sets without labels or with a class of less than ``n_folds`` samples."""
    from kdrbench.reduction.methods import METHODS

    yield from unknown_names("methods", "method", experiment["methods"], METHODS)
    for entry in map(registry_of(config).__getitem__, experiment["datasets"]):
        data_set, smallest = f"data set {entry.name!r}", min(entry.class_counts, default=0)
        if entry.lacks:
            yield f"datasets: {data_set} has no {entry.lacks}; methods learn from them"
        if n_folds > smallest:
            yield f"{key}: the smallest class of {data_set} has {smallest} samples; {n_folds} folds need {n_folds}"


class LeagueSystem(System):
    """Methods that reduce dimensions, compared at an equal number of components on repeated stratified folds."""

    record = LeagueRecord
    schema = SCHEMA
    runner = "kdrbench.suite.systems.league.fold_run:run_fold"
    verifier = "kdrbench.suite.systems.league.recompute:recompute"

    def faults(self, experiment: Config, config: Config) -> Iterator[str]:
        """Yield the faults of an experiment."""
        yield from faults_of_folds(experiment, config, experiment["folds"], "folds")
        for entry in map(registry_of(config).__getitem__, experiment["datasets"]):
            if not _components_of(experiment, entry):
                below = f"below the {entry.n_features} features of data set {entry.name!r}"
                yield f"components must hold a number {below}"

    def reports(self, name: str, config: Config) -> list[Report]:
        """Return the tables of ranks, of its parts and of tuned beside default parameters, and the figure."""
        first = _TABLE(name, (name,), figures=(name,), summary="league" if name == "league_small" else "")
        tables = [first, *(_TABLE(f"{name}_{part}", (name,)) for part in ("duels", "sets"))]
        if fixed := fixed_beside(config, name):
            tables.append(_TUNING(f"{name}_{TUNING}", (name, fixed)))
        return [*tables, _FIGURE(name, (name,))]

    def expand(self, name: str, config: Config) -> Iterator[Cell]:
        """Yield a cell for each data set and method."""
        experiment, registry = config["experiments"][name], registry_of(config)
        shared = {key: experiment[key] for key in ("rules", "folds")} | {"most_rows": experiment.get("most_rows", 0)}
        for dataset in experiment["datasets"]:
            entry = registry[dataset]
            counts = _components_of(experiment, entry)
            for method in experiment["methods"]:
                yield Cell(
                    dataset=dataset,
                    names=(method,),
                    definition={"method": method, **shared},
                    n_runs=experiment["folds"] * experiment["repeats"],
                    run_s=len(counts) * _seconds_of_a_fit(method, entry, experiment),
                    components=(f"reducer/{method}", "judge/league", "splits/league"),
                    rows=tuple((count,) for count in counts),
                )

    def prepare(self, batch: Batch, dataset: Dataset, context: RunContext) -> Callable[[int], Run]:
        """Let the method import what it imports late, before any clock starts."""
        from kdrbench.reduction.methods import build_reducer

        rng = np.random.default_rng(0)
        with suppress(Exception):
            build_reducer(batch.definition["method"], 1).fit(rng.normal(size=(24, 3)), np.arange(24) % 2)
        return super().prepare(batch, dataset, context)

    def describe(self, batch: Batch, dataset: Dataset, number: int) -> Mapping[str, Any]:
        """Return the rules and the sizes of a fold."""
        from kdrbench.suite.systems.league.fold_run import fold_of_run

        fold = fold_of_run(batch, dataset, number)
        sizes = {"n_train": len(fold.train), "n_test": len(fold.test), "n_features": fold.train.shape[1]}
        return {"rules": batch.definition["rules"], **sizes, "n_classes": len(np.unique(fold.train_codes))}


def _components_of(experiment: Config, entry: DatasetEntry) -> list[int]:
    return [count for count in experiment["components"] if count < entry.n_features]


def _seconds_of_a_fit(method: str, entry: DatasetEntry, experiment: Config) -> float:
    from kdrbench.reduction.methods import METHODS

    n = min(entry.n_samples, experiment.get("most_rows", entry.n_samples)) * (1 - 1 / experiment["folds"])
    fits = 1.0
    if experiment["rules"] == TUNED and METHODS[method].grid:
        fits += INNER_FOLDS * (1 + prod(map(len, METHODS[method].grid.values())))
    return float(fits * (_FIT_S + _PAIRS_S * _FACTORS.get(method, 1.0) * n**2 * entry.n_features**0.5))


def fixed_beside(config: Config, name: str) -> str | None:
    """Return the first league with default parameters that is run on the folds of the tuned league ``name``.

    ``None`` where there is none that shares a data set, a method and a number of components with it, or ``name`` is no
    tuned league.
    """
    tuned = config["experiments"][name]
    for other, fixed in ((one, config["experiments"][one]) for one in config["run"]):
        if fixed.get("system") == "league" and (tuned.get("rules"), fixed.get("rules")) == (TUNED, FIXED):
            same_folds = all(fixed.get(key) == tuned.get(key) for key in _SAME_FOLDS)
            if same_folds and all(set(fixed[key]) & set(tuned[key]) for key in _SHARED):
                return str(other)
    return None
