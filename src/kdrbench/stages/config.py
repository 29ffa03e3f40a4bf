"""The configuration: checked once, before any job, with errors of one sentence."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from unicodedata import category

from kdrbench.bench.grid import Grid
from kdrbench.bench.stage import Config, Stage
from kdrbench.datasets.own import check_own, registry_of
from kdrbench.errors import ConfigError, DataError, InputError, counted, unknown_name
from kdrbench.stages.registry import STAGES, build_stage, stage_of, system_of, table_of

# Folders of results and reports, which no configuration may be called like.
RESERVED_NAMES = frozenset({"checks", "data", "figures", "findings", "logs", "merged", "reference", "runs", "traces"})
# Rules of the workflow and files of reports, which no experiment may be called like.
_RULES = (
    *("all", "check_plugin", "dashboard", "figure", "freeze_config", "merge", "prepare_data", "prepare_picture"),
    *("run_batch", "table", "typeset_table", "unknown_target"),
)
_REPORTS = ("claims", "complexity", "low_rank_text", "paired_tests", "performance_profile", "published_vs_ours")
_TARGETS = ("ismplus_table4", "kpca_table1", "kpca_table2", "kpca_table3", "kpca_tests", "kpca_times", "lowrank_text")
RESERVED_EXPERIMENTS = frozenset({*_RULES, *_REPORTS, *_TARGETS})
# Sections whose keys are names that results lie under.
_NAMED = ("experiments", "datasets", "kernels", "solvers", "baselines")
# Control characters and halves of surrogate pairs; line breaks and tabs among them are text, but not in names.
_UNPRINTABLE = ("Cc", "Cs")
# Characters of a value that a message shows.
_SHOWN = 80


def load_grid(config: Config, environment: Path | None = None, *, hashed: bool = True) -> Grid:
    """Return the :class:`.Grid` of a configuration; ``ConfigError`` for its first fault."""
    return Grid(checked(config), stage_of, environment, hashed=hashed)


def checked(config: Config) -> Config:
    """Return the configuration with every experiment's system filled in.

    Raises ``ConfigError`` naming the key, the value and what is allowed, for the first fault found.
    """
    _check_values(config, "")
    _check_schema(config, _general_schema())
    complete = {**config, "experiments": {}}
    for name, experiment in config["experiments"].items():
        complete["experiments"][name] = {**experiment, "system": system_of(experiment)}
    if config.get("name") in RESERVED_NAMES:
        raise ConfigError(f"config: name is {config['name']!r}, which is a folder of results; choose another")
    if reserved := sorted(RESERVED_EXPERIMENTS & set(config["experiments"])):
        raise ConfigError(
            f"config: experiments.{reserved[0]}: a report or a rule of the workflow has this name; choose another"
        )
    for name in config["run"]:
        if name not in config["experiments"]:
            raise ConfigError(f"config: run: {unknown_name('experiment', name, sorted(config['experiments']))}")
    for name, definition in config.get("datasets", {}).items():
        try:
            check_own(name, definition)
        except (InputError, DataError) as error:
            raise ConfigError(f"config: datasets.{name}: {error}") from error
    _check_stages(complete)
    for section in _NAMED:
        _check_apart(section, config.get(section, {}))
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
    schemas = {name: _experiment_schema(stage) for name, stage in stages.items()}
    experiments = {"type": "object", "properties": schemas}
    _check_schema(config, {"type": "object", "properties": {"experiments": experiments}})
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


def _experiment_schema(stage: Stage) -> dict[str, Any]:
    """Return the schema of an experiment of the stage's system."""
    shared = _general_schema()["$defs"]["experiment"]
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [*shared["required"], *stage.schema.get("required", [])],
        "properties": {**shared["properties"], **stage.schema.get("properties", {})},
    }


@cache
def _validator() -> Any:
    import jsonschema

    plain = jsonschema.Draft202012Validator
    # JSON takes 2.0 for an integer; what is counted with it does not.
    whole = plain.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    return jsonschema.validators.extend(plain, type_checker=whole)


def _check_schema(config: Config, schema: Mapping[str, Any]) -> None:
    whole = {**schema, "$defs": _general_schema()["$defs"]}
    errors = _validator()(whole).iter_errors(config)
    # A misspelt key often shows as a missing one too: the misspelling is the better message.
    faults = sorted(errors, key=lambda error: (error.validator != "additionalProperties", list(map(str, error.path))))
    if not faults:
        return
    if faults[0].validator == "required":
        raise ConfigError(_missing(fault for fault in faults if fault.validator == "required"))
    raise ConfigError(_in_words(faults[0]))


def _missing(faults: Iterable[Any]) -> str:
    """Return all missing keys in words, by the place where they are missing."""
    places: dict[str, list[str]] = {}
    for fault in faults:
        # Two parts of the schema may ask for the same key.
        keys = places.setdefault(_place(fault), [])
        keys += [key for key in dict.fromkeys(fault.validator_value) if key not in (*fault.instance, *keys)]
    said = [
        f"the key{'s' if len(keys) > 1 else ''} {', '.join(map(repr, keys))} {'are' if len(keys) > 1 else 'is'} missing"
        f"{f' in {place}' if place else ''}"
        for place, keys in places.items()
    ]
    return f"config: {'; '.join(said)}"


def _check_values(value: object, place: str) -> None:
    """Refuse what YAML can write and JSON cannot, and text that no file or table can hold."""
    where = place or "the configuration"
    if isinstance(value, Mapping):
        for key, part in value.items():
            _check_key(where, key)
            _check_values(part, f"{place}.{key}" if place else key)
    elif isinstance(value, list):
        for number, part in enumerate(value):
            _check_values(part, f"{place}[{number}]")
    elif isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"config: {where} is {value}; it must be a finite number")
    elif isinstance(value, str):
        if faults := [letter for letter in _unprintable(value) if letter not in "\n\t"]:
            raise ConfigError(f"config: {where} holds the character {faults[0]!r}, which no text file holds; remove it")
    elif value is not None and not isinstance(value, (bool, int, float)):
        raise ConfigError(f"config: {where} is {_shown(value)}, which YAML reads as a {type(value).__name__}; quote it")


def _check_key(where: str, key: object) -> None:
    if not isinstance(key, str):
        raise ConfigError(f"config: {where} has the key {key!r}, which is not text; write it in quotes")
    if _unprintable(key):
        raise ConfigError(f"config: {where} has the key {_shown(repr(key))}, which is no line of text")


def _unprintable(text: str) -> list[str]:
    return [letter for letter in text if category(letter) in _UNPRINTABLE]


def _check_apart(section: str, names: Iterable[str]) -> None:
    """Refuse names that differ by case alone: results of both would lie under one name on other file systems."""
    known: dict[str, str] = {}
    for name in names:
        if (other := known.setdefault(name.lower(), name)) != name:
            raise ConfigError(f"config: {section}: {other!r} and {name!r} differ by case alone; rename one of them")


def _one_of(alternatives: list[Config]) -> str:
    """Return in words what the schema allows: a word or a number."""
    words = [repr(one["const"]) for one in alternatives if "const" in one]
    least = [f"an integer of at least {one['minimum']}" for one in alternatives if "minimum" in one]
    return " or ".join(words + least)


def _place(error: Any) -> str:
    return ".".join(str(part) for part in error.absolute_path)


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _in_words(error: Any) -> str:
    place = _place(error)
    where = f" in {place}" if place else ""
    rule, value, wanted = error.validator, error.instance, error.validator_value
    if rule == "additionalProperties":
        allowed = sorted(error.schema["properties"])
        extra = next(key for key in value if key not in error.schema["properties"])
        return f"config: {unknown_name(f'key{where}:', _shown(extra), allowed)}"
    if rule == "minProperties":
        return f"config: {place} must hold at least {counted(wanted, 'entry', 'entries')}"
    allowed_words = {
        "type": f"of type {wanted}",
        "enum": f"one of {', '.join(map(str, wanted))}" if rule == "enum" else "",
        "minimum": f"at least {wanted}",
        "exclusiveMinimum": f"greater than {wanted}",
        "maximum": f"a finite number of at most {wanted:.4g}" if rule == "maximum" else "",
        "minItems": f"a list of at least {counted(wanted, 'name')}",
        "anyOf": _one_of(wanted) if rule == "anyOf" else "",
        "maxLength": f"at most {wanted} characters long",
        "uniqueItems": "a list without repetitions",
        "pattern": "a name of letters, digits, '-' and '_'",
    }
    subject = f"config: {place} is {_shown(repr(value))}" if place else "config: the configuration"
    return f"{subject}; it must be {allowed_words.get(rule, _shown(error.message))}"
