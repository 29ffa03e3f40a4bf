"""The section ``kpca`` of the configuration: the checks that a schema cannot make, and its defaults by data set."""

from __future__ import annotations

from typing import Any

from kdrbench.bench.experiment import Config
from kdrbench.bench.metric_batch import VARIANTS
from kdrbench.datasets.registry import load_registry
from kdrbench.errors import ConfigError, unknown_name
from kdrbench.metric_learning import LEARNERS

# Stands for the data sets that are not named.
DEFAULT = "default"
_PLACE = "config: kpca"


def value_for(table: Config, dataset: str) -> Any:
    """Return what a table of values by data set says of one of them."""
    return table.get(dataset, table[DEFAULT])


def check_metric_config(section: Config) -> None:
    """Raise ``ConfigError`` naming the key, the value and what is allowed, for the first fault of the section."""
    registry = load_registry()
    for key, kind, allowed in (
        ("datasets", "data set", list(registry)),
        ("learners", "learner", list(LEARNERS)),
        ("variants", "variant", list(VARIANTS)),
        ("training", "data set", [DEFAULT, *registry]),
        ("candidates", "data set", [DEFAULT, *registry]),
    ):
        for name in section[key]:
            if name not in allowed:
                raise ConfigError(f"{_PLACE}.{key}: {unknown_name(kind, name, sorted(allowed))}")
    for name, definition in section["candidates"].items():
        _check_candidates(f"{_PLACE}.candidates.{name}", definition)
    for name in section["datasets"]:
        if lacks := registry[name].lacks:
            raise ConfigError(f"{_PLACE}.datasets: data set {name!r} has no {lacks}; metric learning needs them")
        n_train, n_samples = value_for(section["training"], name), registry[name].n_samples
        if n_train >= n_samples:
            raise ConfigError(
                f"{_PLACE}.training gives data set {name!r} {n_train} training samples; it has {n_samples}, of which "
                "some are for testing"
            )
        if section["folds"] > n_train:
            raise ConfigError(
                f"{_PLACE}.folds is {section['folds']}; data set {name!r} has {n_train} training samples, so it must "
                "be at most that"
            )


def _check_candidates(place: str, definition: Config) -> None:
    if len(definition) != 1:
        given = ", ".join(definition) or "nothing"
        raise ConfigError(f"{place} must hold either 'sigmas' or 'degrees'; it holds {given}")
    scale = definition.get("sigmas")
    if scale is not None and scale["lowest"] > scale["highest"]:
        raise ConfigError(f"{place}.sigmas: lowest is {scale['lowest']}, above highest, which is {scale['highest']}")
