"""The configuration: checked once, before any job, with errors of one sentence."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from kdrbench.datasets.own import check_own, registry_of
from kdrbench.errors import ConfigError, DataError, InputError, counted, unknown_name
from kdrbench.parameters import yaml_number
from kdrbench.solvers.registry import check_meanings
from kdrbench.suite.engine.grid import Grid
from kdrbench.suite.engine.system import Config, System
from kdrbench.suite.systems.registry import SYSTEMS, build_system, system_name, system_of, table_of
from kdrbench.suite.systems.schemas import read_schema, refuse, unknown_names

# Folders of results and reports, which no configuration may be called like.
RESERVED_NAMES = frozenset(
    {"checks", "data", "figures", "findings", "logs", "merged", "optima", "reference", "runs", "traces"}
)
# Rules of the workflow, files of reports and targets, which no experiment may be called like.
RESERVED_EXPERIMENTS = frozenset(
    {
        *("all", "check_plugin", "dashboard", "everything", "merge", "papers", "prepare_bundled"),
        *("prepare_data", "prepare_picture", "run_batch", "unknown_target"),
        *("claims", "complexity", "figure1b", "low_rank_text", "paired_tests", "performance_profile"),
        *("published_vs_ours", "summary", "ismplus_table4", "kpca_table1", "kpca_table2", "kpca_table3", "kpca_tests"),
        *("kpca_times", "lowrank_text"),
    }
)
# Characters of a value that a message shows.
_SHOWN = 80


def load_grid(config: Config) -> Grid:
    """Return the :class:`.Grid` of a configuration; ``ConfigError`` for its first fault."""
    return Grid(checked(config), system_of)


def checked(config: Config) -> Config:
    """Return the configuration with every experiment's system filled in.

    Raises ``ConfigError`` naming the key, the value and what is allowed, for the first fault found.
    """
    _check_values(config, "")
    check_schema(config, general_schema())
    complete = {**config, "experiments": {}}
    for name, experiment in config["experiments"].items():
        complete["experiments"][name] = {**experiment, "system": system_name(experiment)}
    if config.get("name") in RESERVED_NAMES:
        raise ConfigError(f"config: name is {config['name']!r}, which is a folder of results; choose another")
    if reserved := sorted(RESERVED_EXPERIMENTS & set(config["experiments"])):
        raise ConfigError(
            f"config: experiments.{reserved[0]}: a report or a rule of the workflow has this name; choose another"
        )
    for name, definition in config.get("datasets", {}).items():
        try:
            check_own(name, definition)
        except (InputError, DataError) as error:
            raise ConfigError(f"config: datasets.{name}: {error}") from error
    _check_systems(complete)
    refuse(unknown_names("run", "experiment", config["run"], config["experiments"]))
    systems = {complete["experiments"][name]["system"] for name in config["run"]}
    if len({table_of(system) for system in systems}) < len(systems):
        raise ConfigError(f"config: run: two systems would share a merged table: {', '.join(sorted(systems))}")
    return complete


def _check_systems(config: Config) -> None:
    systems = {name: _system(name, experiment) for name, experiment in config["experiments"].items()}
    schemas = {name: experiment_schema(system) for name, system in systems.items()}
    known = [*map(build_system, SYSTEMS), *systems.values()]
    _check_keys(config, known, schemas)
    refuse(fault for system in dict.fromkeys(known) for fault in system.faults_of_sections(config))
    registry = registry_of(config)
    for name, system in systems.items():
        experiment = config["experiments"][name]
        refuse(unknown_names(f"experiments.{name}.datasets", "data set", experiment["datasets"], registry))
        refuse(f"experiments.{name}.{fault}" for fault in system.faults(experiment, config))


def _check_keys(config: Config, systems: Iterable[System], experiments: Config, *, complete: bool = True) -> None:
    sections = {section: schema for system in systems for section, schema in system.sections.items()}
    allowed = {**general_schema()["properties"], **sections}
    schema = {"type": "object", "additionalProperties": False, "properties": allowed}
    check_schema(config, schema, complete=complete)
    schema = {"type": "object", "properties": {"experiments": {"type": "object", "properties": experiments}}}
    check_schema(config, schema, complete=complete)


def check_part(config: Config) -> None:
    """Check the keys and values of a configuration that another one may complete, but for those of its experiments.

    Raises ``ConfigError`` as :func:`checked` does, but for keys that are missing and names that are unknown.
    """
    _check_values(config, "")
    check_schema(config, general_schema(), complete=False)
    known = [*map(build_system, SYSTEMS)]
    _check_keys(config, known, {}, complete=False)
    # One that only changes options of another configuration's method says nothing of the method.
    defined = {
        section: {name: one for name, one in config.get(section, {}).items() if {"method", "family"} & set(one)}
        for section in ("baselines", "kernels", "solvers")
    }
    refuse(fault for system in known for fault in system.faults_of_sections(defined))
    check_meanings(config.get("solvers", {}))


def _system(name: str, experiment: Config) -> System:
    try:
        return system_of(experiment)
    except InputError as error:
        raise ConfigError(f"config: experiments.{name}.system: {error}") from error


def _check_values(value: object, place: str) -> None:
    """Refuse what YAML can write and JSON cannot."""
    where = place or "the configuration"
    if isinstance(value, Mapping):
        for key, part in value.items():
            if not isinstance(key, str):
                raise ConfigError(f"config: {where} has the key {key!r}, which is not text; write it in quotes")
            _check_values(part, f"{place}.{key}" if place else key)
    elif isinstance(value, list):
        for number, part in enumerate(value):
            _check_values(part, f"{place}[{number}]")
    elif isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"config: {where} is {value}; it must be a finite number")
    elif value is not None and not isinstance(value, (bool, int, float, str)):
        raise ConfigError(f"config: {where} is {shown(value)}, which YAML reads as a {type(value).__name__}; quote it")


def general_schema() -> dict[str, Any]:
    """Return the JSON schema of what all systems share."""
    return read_schema("kdrbench.suite.experiments", "config.schema.json")


def experiment_schema(system: System) -> dict[str, Any]:
    """Return the schema of an experiment of the system."""
    shared = general_schema()["$defs"]["experiment"]
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [*shared["required"], *system.schema.get("required", [])],
        "properties": {**shared["properties"], **system.schema.get("properties", {})},
    }


@cache
def _validator() -> Any:
    import jsonschema

    plain = jsonschema.Draft202012Validator
    # JSON takes 2.0 for an integer; what is counted with it does not.
    whole = plain.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    return jsonschema.validators.extend(plain, type_checker=whole)


def check_schema(config: Config, schema: Mapping[str, Any], *, complete: bool = True) -> None:
    """Raise ``ConfigError`` for the first fault; unless ``complete`` is asked for, keys may be missing."""
    whole = {**schema, "$defs": general_schema()["$defs"]}
    errors = [one for one in _validator()(whole).iter_errors(config) if complete or one.validator != "required"]
    # A misspelt key often shows as a missing one too: the misspelling is the better message.
    faults = sorted(errors, key=lambda error: (error.validator != "additionalProperties", list(map(str, error.path))))
    if not faults:
        return
    if faults[0].validator == "required":
        raise ConfigError(_missing(fault for fault in faults if fault.validator == "required"))
    raise ConfigError(_in_words(faults[0]))


def _missing(faults: Iterable[Any]) -> str:
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


def _place(error: Any) -> str:
    return ".".join(str(part) for part in error.absolute_path)


def shown(value: object) -> str:
    """Return a value as messages show it, cut where it is long."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _in_words(error: Any) -> str:
    place = _place(error)
    where = f" in {place}" if place else ""
    rule, value, wanted = error.validator, error.instance, error.validator_value
    if rule == "additionalProperties":
        allowed = sorted(error.schema["properties"])
        extra = next(key for key in value if key not in error.schema["properties"])
        return f"config: {unknown_name(f'key{where}:', shown(extra), allowed)}"
    if rule == "minProperties":
        return f"config: {place} must hold at least {counted(wanted, 'entry', 'entries')}"
    if rule == "anyOf":
        words = [repr(one["const"]) for one in wanted if "const" in one]
        wanted = " or ".join(words + [f"an integer of at least {one['minimum']}" for one in wanted if "minimum" in one])
    allowed_words = {
        "type": f"of type {wanted}",
        "enum": f"one of {', '.join(map(str, wanted))}" if rule == "enum" else "",
        "minimum": f"at least {wanted}",
        "exclusiveMinimum": f"greater than {wanted}",
        "maximum": f"a finite number of at most {wanted:.4g}" if rule == "maximum" else "",
        "minItems": f"a list of at least {counted(wanted, 'name')}",
        "anyOf": wanted,
        "maxLength": f"at most {wanted} characters long",
        "uniqueItems": "a list without repetitions",
        "pattern": "a name of letters, digits, '-' and '_'",
    }
    subject = f"config: {place} is {shown(repr(value))}" if place else "config: the configuration"
    return f"{subject}; it must be {allowed_words.get(rule, shown(error.message))}{yaml_number(value)}"
