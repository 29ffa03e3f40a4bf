"""An experiment of the KPCA trick: its schema, the checks that a schema cannot make, and its values by data set."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any

from kdrbench.datasets.own import registry_of
from kdrbench.datasets.registry import DatasetEntry
from kdrbench.errors import ConfigError, InputError, unknown_name
from kdrbench.metric_learning import build_learner
from kdrbench.suite.engine.system import Config
from kdrbench.suite.systems.schemas import DEFAULT, NAME, NAMES, by_dataset, integer, list_of

# The paper's three, and alignment of centred kernels, with the prefixes of their names.
VARIANTS = {"plain": "", "cross_validated": "k", "aligned": "ak", "centred": "cak"}
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


def check_experiment(place: str, experiment: Config, config: Config) -> None:
    """Raise ``ConfigError`` naming the key, the value and what is allowed, for the first fault of the experiment."""
    registry = registry_of(config)
    check_names(f"{place}.variants", "variant", experiment["variants"], VARIANTS)
    check_names(f"{place}.test_selected", "data set", experiment.get("test_selected", ()), registry)
    for key in ("training", "candidates"):
        check_names(f"{place}.{key}", "data set", experiment[key], [DEFAULT, *registry])
    for name in experiment["learners"]:
        try:
            build_learner(name)
        except InputError as error:
            raise ConfigError(f"{place}.learners: {error}") from error
    for name, definition in experiment["candidates"].items():
        if len(definition) != 1:
            given = ", ".join(definition) or "nothing"
            raise ConfigError(f"{place}.candidates.{name} must hold either 'sigmas' or 'degrees'; it holds {given}")
    for name in experiment["datasets"]:
        n_train = value_for(experiment["training"], name)
        check_training(place, registry[name], n_train)
        if experiment["cv_folds"] > n_train:
            raise ConfigError(
                f"{place}.cv_folds is {experiment['cv_folds']}; data set {name!r} has {n_train} training samples, so "
                "it must be at most that"
            )


def check_names(place: str, kind: str, names: Iterable[str], allowed: Collection[str]) -> None:
    """Raise ``ConfigError`` for the first of the names that is not one of those ``allowed``."""
    for name in names:
        if name not in allowed:
            raise ConfigError(f"{place}: {unknown_name(kind, name, sorted(allowed))}")


def check_training(place: str, entry: DatasetEntry, n_train: int, key: str = "training") -> None:
    """Raise ``ConfigError`` unless the data set has features, labels, and samples left to test."""
    if entry.lacks:
        raise ConfigError(f"{place}.datasets: data set {entry.name!r} has no {entry.lacks}; metric learning needs them")
    if n_train >= entry.n_samples:
        raise ConfigError(
            f"{place}.{key} gives data set {entry.name!r} {n_train} training samples; it has {entry.n_samples}, of "
            "which some are for testing"
        )


def table_names(experiment: str, learners: Iterable[str]) -> list[str]:
    """Return the names of an experiment's tables: one a learner, the tests and the times.

    They begin as the experiment does: those of ``kpca_tables`` are ``kpca_table1`` and so on. A learner that the paper
    has not has no number.
    """
    stem = experiment.removesuffix("_tables")
    names = [f"table{TABLES[learner]}" if learner in TABLES else re.sub(r"\W+", "_", learner) for learner in learners]
    return [f"{stem}_{part}" for part in (*names, "tests", "times")]
