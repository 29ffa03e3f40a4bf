"""The configuration: checked once, before any job, with errors of one sentence."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from kdrbench.bench.grid import Grid
from kdrbench.bench.stage import Config, Stage
from kdrbench.datasets.own import check_own, registry_of
from kdrbench.errors import ConfigError, DataError, InputError, unknown_name
from kdrbench.stages.registry import STAGES, build_stage, stage_of, system_of, table_of

# Folders of results and reports, which no configuration may be called like.
RESERVED_NAMES = frozenset({"data", "figures", "findings", "logs", "merged", "reference", "runs", "traces"})


def load_grid(config: Config, environment: Path | None = None, *, hashed: bool = True) -> Grid:
    """Return the :class:`.Grid` of a configuration; ``ConfigError`` for its first fault."""
    return Grid(checked(config), stage_of, environment, hashed=hashed)


def checked(config: Config) -> Config:
    """Return the configuration with every experiment's system filled in.

    Raises ``ConfigError`` naming the key, the value and what is allowed, for the first fault found.
    """
    _check_schema(config, _general_schema())
    _check_finite(config, "")
    complete = {**config, "experiments": {}}
    for name, experiment in config["experiments"].items():
        complete["experiments"][name] = {**experiment, "system": system_of(experiment)}
    if config.get("name") in RESERVED_NAMES:
        raise ConfigError(f"config: name is {config['name']!r}, which is a folder of results; choose another")
    for name in config["run"]:
        if name not in config["experiments"]:
            raise ConfigError(f"config: run: {unknown_name('experiment', name, sorted(config['experiments']))}")
    for name, definition in config.get("datasets", {}).items():
        try:
            check_own(name, definition)
        except (InputError, DataError) as error:
            raise ConfigError(f"config: datasets.{name}: {error}") from error
    _check_stages(complete)
    systems = {complete["experiments"][name]["system"] for name in config["run"]}
    if len({table_of(system) for system in systems}) < len(systems):
        raise ConfigError(f"config: run: two systems would share a merged table: {', '.join(sorted(systems))}")
    return complete


def _check_stages(config: Config) -> None:
    stages = {name: _stage(name, experiment) for name, experiment in config["experiments"].items()}
    known = [*map(build_stage, STAGES), *stages.values()]
    sections = {section: schema for stage in known for section, schema in stage.sections.items()}
    allowed = {**_general_schema()["properties"], **sections}
    _check_schema(config, {"type": "object", "additionalProperties": False, "properties": allowed})
    for name, stage in stages.items():
        _check_schema(config, _experiment_schema(name, stage))
    for stage in dict.fromkeys(known):
        stage.check_sections(config)
    registry = registry_of(config)
    for name, stage in stages.items():
        for dataset in config["experiments"][name]["datasets"]:
            if dataset not in registry:
                message = unknown_name("data set", dataset, sorted(registry))
                raise ConfigError(f"config: experiments.{name}.datasets: {message}")
        stage.check(name, config)


def _stage(name: str, experiment: Config) -> Stage:
    try:
        return stage_of(experiment)
    except InputError as error:
        raise ConfigError(f"config: experiments.{name}.system: {error}") from error


@cache
def _general_schema() -> dict[str, Any]:
    """Return the JSON schema of what all systems share."""
    text = files("kdrbench.stages").joinpath("config.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def _experiment_schema(name: str, stage: Stage) -> dict[str, Any]:
    """Return the schema by which a configuration is checked for one of its experiments."""
    shared = _general_schema()["$defs"]["experiment"]
    schema = {
        "type": "object",
        "additionalProperties": False,
        "required": [*shared["required"], *stage.schema.get("required", [])],
        "properties": {**shared["properties"], **stage.schema.get("properties", {})},
    }
    experiments = {"type": "object", "properties": {name: schema}}
    return {"type": "object", "properties": {"experiments": experiments}}


def _check_schema(config: Config, schema: Mapping[str, Any]) -> None:
    import jsonschema

    whole = {**schema, "$defs": _general_schema()["$defs"]}
    errors = jsonschema.Draft202012Validator(whole).iter_errors(config)
    # A misspelt key often shows as a missing one too: the misspelling is the better message.
    faults = sorted(errors, key=lambda error: (error.validator != "additionalProperties", list(error.path)))
    if faults:
        raise ConfigError(_in_words(faults[0]))


def _check_finite(value: object, place: str) -> None:
    """Refuse the numbers that YAML can write and JSON schemas let pass."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"config: {place} is {value}; it must be a finite number")
    if isinstance(value, Mapping):
        for key, part in value.items():
            _check_finite(part, f"{place}.{key}" if place else str(key))


def _one_of(alternatives: list[Config]) -> str:
    """Return in words what the schema allows: a word or a number."""
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
        "maximum": f"a finite number of at most {wanted:.4g}" if rule == "maximum" else "",
        "minItems": f"a list of at least {wanted} name(s)",
        "anyOf": _one_of(wanted) if rule == "anyOf" else "",
        "uniqueItems": "a list without repetitions",
        "pattern": "a name of letters, digits, '-' and '_'",
    }
    return f"config: {place} is {value!r}; it must be {allowed_words.get(rule, error.message)}"
