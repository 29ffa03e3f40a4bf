"""The configuration: checked once, before any job, with errors of one sentence."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from kdrbench.datasets.registry import load_registry
from kdrbench.errors import ConfigError, InputError, unknown_name
from kdrbench.kernels import check_definition
from kdrbench.references import ReferenceTask, build_reference
from kdrbench.solvers.registry import build_solver

Config = Mapping[str, Any]
# In place of a kernel's name, where a method has none.
NO_KERNEL = "none"
# What a reference must be for to stand beside a paradigm's solvers.
_TASKS = {"supervised": ReferenceTask.CLASSIFICATION}


@cache
def load_schema() -> dict[str, Any]:
    """Return the JSON schema of the configuration."""
    text = files("kdrbench.bench").joinpath("config.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def method_of(definition: Config) -> dict[str, Any]:
    """Return what a solver definition says of the solver itself; ``start`` is the bench's."""
    return {key: value for key, value in definition.items() if key != "start"}


def check_config(config: Config) -> None:
    """Raise ``ConfigError`` naming the key, the value and what is allowed, for the first fault found."""
    _check_schema(config)
    _check_finite(config, "")
    for name, definition in config["kernels"].items():
        _check_definition(f"kernels.{name}", check_definition, definition)
    for name, definition in config["solvers"].items():
        _check_definition(f"solvers.{name}", build_solver, method_of(definition))
    for name, definition in config.get("references", {}).items():
        _check_definition(f"references.{name}", build_reference, definition)
    _check_names_apart(config)
    for name in config["run"]:
        if name not in config["experiments"]:
            raise ConfigError(f"config: run: {unknown_name('experiment', name, sorted(config['experiments']))}")
    for name, experiment in config["experiments"].items():
        _check_experiment(f"experiments.{name}", experiment, config)


def _check_schema(config: Config) -> None:
    import jsonschema

    errors = jsonschema.Draft202012Validator(load_schema()).iter_errors(config)
    # A misspelt key often shows as a missing one too: the misspelling is the better message.
    found = sorted(errors, key=lambda error: (error.validator != "additionalProperties", list(error.path)))
    if found:
        raise ConfigError(_in_words(found[0]))


def _check_finite(value: object, place: str) -> None:
    """Refuse the numbers that YAML can write and JSON schemas let pass."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"config: {place} is {value}; it must be a finite number")
    if isinstance(value, Mapping):
        for key, part in value.items():
            _check_finite(part, f"{place}.{key}" if place else str(key))


def _in_words(error: Any) -> str:
    place = ".".join(str(part) for part in error.absolute_path)
    where = f" in {place}" if place else ""
    rule, value, wanted = error.validator, error.instance, error.validator_value
    if rule == "additionalProperties":
        allowed = sorted(error.schema["properties"])
        extra = next(key for key in value if key not in error.schema["properties"])
        return f"config: {unknown_name(f'key{where}:', extra, allowed)}"
    if rule == "required":
        missing = next(key for key in wanted if key not in value)
        return f"config: the key {missing!r} is missing{where}"
    if rule == "minProperties":
        return f"config: {place} must hold at least {wanted} entry"
    allowed_words = {
        "type": f"of type {wanted}",
        "enum": f"one of {', '.join(map(str, wanted))}" if rule == "enum" else "",
        "minimum": f"at least {wanted}",
        "exclusiveMinimum": f"greater than {wanted}",
        "minItems": f"a list of at least {wanted} name(s)",
        "uniqueItems": "a list without repetitions",
        "pattern": "a name of letters, digits, '-' and '_'",
    }
    return f"config: {place} is {value!r}; it must be {allowed_words.get(rule, error.message)}"


def _check_definition(place: str, check: Any, definition: Config) -> None:
    try:
        check(definition)
    except InputError as error:
        raise ConfigError(f"config: {place}: {error}") from error


def _check_names_apart(config: Config) -> None:
    """Results lie under names: a reference's must not be a solver's, nor a kernel's the word for none."""
    if NO_KERNEL in config["kernels"]:
        raise ConfigError(f"config: kernels.{NO_KERNEL}: the name stands for the lack of a kernel; give it another")
    if shared := sorted(set(config["solvers"]) & set(config.get("references", {}))):
        raise ConfigError(f"config: references.{shared[0]}: a solver has this name too; give one of them another")


def _check_experiment(place: str, experiment: Config, config: Config) -> None:
    registry = load_registry()
    for key, kind, allowed in (
        ("datasets", "data set", registry),
        ("kernels", "kernel", config["kernels"]),
        ("solvers", "solver", config["solvers"]),
        ("references", "reference", config.get("references", {})),
    ):
        for name in experiment.get(key, []):
            if name not in allowed:
                raise ConfigError(f"config: {place}.{key}: {unknown_name(kind, name, sorted(allowed))}")
    _check_references(place, experiment, config)
    for dataset in experiment["components"]:
        if dataset not in registry:
            raise ConfigError(f"config: {place}.components: {unknown_name('data set', dataset, sorted(registry))}")
    for dataset in experiment["datasets"]:
        if lacks := registry[dataset].lacks:
            raise ConfigError(f"config: {place}.datasets: data set {dataset!r} has no {lacks}; experiments need them")
        _check_dataset(place, experiment, registry[dataset].n_features, registry[dataset].class_counts, dataset)


def _check_references(place: str, experiment: Config, config: Config) -> None:
    wanted = _TASKS[experiment["paradigm"]]
    tasks = {name: build_reference(definition).task for name, definition in config.get("references", {}).items()}
    for name in experiment.get("references", []):
        if tasks[name] != wanted:
            fitting = ", ".join(sorted(other for other, task in tasks.items() if task == wanted))
            raise ConfigError(
                f"config: {place}.references: {name!r} is a reference of {tasks[name]}; this experiment is "
                f"{experiment['paradigm']}, where these fit: {fitting or 'none that is defined'}"
            )


def _check_dataset(
    place: str, experiment: Config, n_features: int, class_counts: tuple[int, ...], dataset: str
) -> None:
    components = experiment["components"].get(dataset)
    if components is None:
        raise ConfigError(f"config: {place}.components names no number of components for data set {dataset!r}")
    if components > n_features:
        raise ConfigError(
            f"config: {place}.components.{dataset} is {components}; data set {dataset!r} has {n_features} features, "
            f"so it must be between 1 and {n_features}"
        )
    if experiment["folds"] > max(class_counts):
        raise ConfigError(
            f"config: {place}.folds is {experiment['folds']}; the largest class of data set {dataset!r} has "
            f"{max(class_counts)} samples, so it must be at most that"
        )
