"""The section ``kpca`` of the configuration: the checks that a schema cannot make, and its defaults by data set."""

from __future__ import annotations

import re
from typing import Any

from kdrbench.bench.experiment import Config
from kdrbench.bench.metric_batch import VARIANTS
from kdrbench.datasets.registry import load_registry
from kdrbench.errors import ConfigError, InputError, unknown_name
from kdrbench.metric_learning import build_learner

# Stands for the data sets that are not named.
DEFAULT = "default"
# The number of a learner's table in the paper.
TABLES = {"nca": "1", "lmnn": "2", "dne": "3"}
_PLACE = "config: kpca"


def table_name(learner: str) -> str:
    """Return what a learner's table is called; one of the user's own has no number."""
    return f"kpca_table{TABLES[learner]}" if learner in TABLES else "kpca_" + re.sub(r"\W+", "_", learner)


def value_for(table: Config, dataset: str) -> Any:
    """Return what a table of values by data set says of one of them."""
    return table.get(dataset, table[DEFAULT])


def check_metric_config(section: Config) -> None:
    """Raise ``ConfigError`` naming the key, the value and what is allowed, for the first fault of the section."""
    _check_names(section)
    for name in section["learners"]:
        try:
            build_learner(name)
        except InputError as error:
            raise ConfigError(f"{_PLACE}.learners: {error}") from error
    for name, definition in section["candidates"].items():
        _check_candidates(f"{_PLACE}.candidates.{name}", definition)
    for name in [*section["datasets"], *section["figures"]]:
        _check_dataset(section, name)


def _check_names(section: Config) -> None:
    registry = load_registry()
    for key, kind, allowed in (
        ("datasets", "data set", list(registry)),
        ("variants", "variant", list(VARIANTS)),
        ("training", "data set", [DEFAULT, *registry]),
        ("candidates", "data set", [DEFAULT, *registry]),
        ("test_selected", "data set", list(registry)),
        ("figures", "data set", list(registry)),
    ):
        for name in section[key]:
            if name not in allowed:
                raise ConfigError(f"{_PLACE}.{key}: {unknown_name(kind, name, sorted(allowed))}")


def _check_dataset(section: Config, name: str) -> None:
    entry, n_train = load_registry()[name], value_for(section["training"], name)
    if entry.lacks:
        raise ConfigError(f"{_PLACE}: data set {name!r} has no {entry.lacks}; metric learning needs them")
    if n_train >= entry.n_samples:
        raise ConfigError(
            f"{_PLACE}.training gives data set {name!r} {n_train} training samples; it has {entry.n_samples}, of which "
            "some are for testing"
        )
    if section["folds"] > n_train:
        raise ConfigError(
            f"{_PLACE}.folds is {section['folds']}; data set {name!r} has {n_train} training samples, so it must be at "
            "most that"
        )


def _check_candidates(place: str, definition: Config) -> None:
    if len(definition) != 1:
        given = ", ".join(definition) or "nothing"
        raise ConfigError(f"{place} must hold either 'sigmas' or 'degrees'; it holds {given}")
    scale = definition.get("sigmas")
    if scale is not None and scale["lowest"] > scale["highest"]:
        raise ConfigError(f"{place}.sigmas: lowest is {scale['lowest']}, above highest, which is {scale['highest']}")
