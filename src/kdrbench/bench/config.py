"""The configuration: checked once, before any job, with errors of one sentence."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache, partial
from importlib.resources import files
from typing import Any

from kdrbench.baselines import build_baseline
from kdrbench.bench.experiment import Config, check_experiment
from kdrbench.bench.lowrank_grid import check_lowrank_config
from kdrbench.bench.metric_config import check_metric_config
from kdrbench.datasets.own import check_own
from kdrbench.errors import ConfigError, DataError, InputError, unknown_name
from kdrbench.kernels import check_definition
from kdrbench.solvers.registry import build_solver

# In place of a kernel's name, where a method has none.
NO_KERNEL = "none"


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
    for name, definition in config.get("datasets", {}).items():
        _check_definition(f"datasets.{name}", partial(check_own, name), definition)
    for name, definition in config["kernels"].items():
        _check_definition(f"kernels.{name}", check_definition, definition)
    for name, definition in config["solvers"].items():
        _check_definition(f"solvers.{name}", build_solver, method_of(definition))
    for name, definition in config.get("baselines", {}).items():
        _check_definition(f"baselines.{name}", build_baseline, definition)
    _check_names_apart(config)
    for name in config["run"]:
        if name not in config["experiments"]:
            raise ConfigError(f"config: run: {unknown_name('experiment', name, sorted(config['experiments']))}")
    for name, experiment in config["experiments"].items():
        check_experiment(f"experiments.{name}", experiment, config)
    if "kpca" in config:
        check_metric_config(config["kpca"])
    if "lowrank" in config:
        check_lowrank_config(config["lowrank"])


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


def _one_of(alternatives: list[Config]) -> str:
    """Return in words what may stand where the schema allows a word or a number."""
    words = [repr(one["const"]) for one in alternatives if "const" in one]
    least = [f"an integer of at least {one['minimum']}" for one in alternatives if "minimum" in one]
    return " or ".join(words + least)


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
        "anyOf": _one_of(wanted) if rule == "anyOf" else "",
        "uniqueItems": "a list without repetitions",
        "pattern": "a name of letters, digits, '-' and '_'",
    }
    return f"config: {place} is {value!r}; it must be {allowed_words.get(rule, error.message)}"


def _check_definition(place: str, check: Any, definition: Config) -> None:
    try:
        check(definition)
    except (InputError, DataError) as error:
        raise ConfigError(f"config: {place}: {error}") from error


def _check_names_apart(config: Config) -> None:
    """Results lie under names: a baseline's must not be a solver's, nor a kernel's the word for none."""
    if NO_KERNEL in config["kernels"]:
        raise ConfigError(f"config: kernels.{NO_KERNEL}: the name stands for the lack of a kernel; give it another")
    if shared := sorted(set(config["solvers"]) & set(config.get("baselines", {}))):
        raise ConfigError(f"config: baselines.{shared[0]}: a solver has this name too; give one of them another")
