"""The configuration: checked once, before any job, with errors of one sentence."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from unicodedata import category

from kdrbench.datasets.own import check_own, registry_of
from kdrbench.errors import ConfigError, DataError, InputError, unknown_name
from kdrbench.solvers.registry import check_meanings
from kdrbench.suite.engine.grid import Grid
from kdrbench.suite.engine.stage import Config, Stage
from kdrbench.suite.experiments.schema import check_schema, experiment_schema, general_schema, partial_schema, shown
from kdrbench.suite.systems.registry import STAGES, build_stage, stage_of, system_of, table_of

# Folders of results and reports, which no configuration may be called like.
RESERVED_NAMES = frozenset(
    {"checks", "data", "figures", "findings", "logs", "merged", "optima", "reference", "runs", "traces"}
)
# Rules of the workflow and files of reports, which no experiment may be called like.
_RULES = (
    *("all", "check_plugin", "dashboard", "everything", "freeze_config", "merge", "papers", "prepare_bundled"),
    *("prepare_data", "prepare_picture", "run_batch", "unknown_target"),
)
_REPORTS = (
    *("claims", "complexity", "figure1b", "low_rank_text", "paired_tests", "performance_profile"),
    *("published_vs_ours", "summary"),
)
_TARGETS = ("ismplus_table4", "kpca_table1", "kpca_table2", "kpca_table3", "kpca_tests", "kpca_times", "lowrank_text")
RESERVED_EXPERIMENTS = frozenset({*_RULES, *_REPORTS, *_TARGETS})
# Sections whose keys are names that results lie under.
_NAMED = ("experiments", "datasets", "kernels", "solvers", "baselines")
# Control characters and halves of surrogate pairs; line breaks and tabs among them are text, but not in names.
_UNPRINTABLE = ("Cc", "Cs")


def load_grid(config: Config) -> Grid:
    """Return the :class:`.Grid` of a configuration; ``ConfigError`` for its first fault."""
    return Grid(checked(config), stage_of)


def checked(config: Config) -> Config:
    """Return the configuration with every experiment's system filled in.

    Raises ``ConfigError`` naming the key, the value and what is allowed, for the first fault found.
    """
    _check_values(config, "")
    check_schema(config, general_schema())
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
    schemas = {name: experiment_schema(stage) for name, stage in stages.items()}
    known = [*map(build_stage, STAGES), *stages.values()]
    _check_keys(config, known, schemas)
    for stage in dict.fromkeys(known):
        stage.check_sections(config)
    registry = registry_of(config)
    for name, stage in stages.items():
        for dataset in config["experiments"][name]["datasets"]:
            if dataset not in registry:
                message = unknown_name("data set", dataset, sorted(registry))
                raise ConfigError(f"config: experiments.{name}.datasets: {message}")
        stage.check(name, config)


def _check_keys(config: Config, stages: Iterable[Stage], experiments: Config, *, complete: bool = True) -> None:
    """Check keys and values of all sections, of the experiments by the schema of each."""
    sections = {section: schema for stage in stages for section, schema in stage.sections.items()}
    allowed = {**general_schema()["properties"], **sections}
    schema = {"type": "object", "additionalProperties": False, "properties": allowed}
    check_schema(config, schema, complete=complete)
    schema = {"type": "object", "properties": {"experiments": {"type": "object", "properties": experiments}}}
    check_schema(config, schema, complete=complete)


def check_part(config: Config) -> None:
    """Check the keys and values of a configuration that another one may complete.

    Raises ``ConfigError`` as :func:`checked` does, but for keys that are missing and names that are unknown.
    """
    _check_values(config, "")
    check_schema(config, general_schema(), complete=False)
    known, schemas = [*map(build_stage, STAGES)], {}
    for name, experiment in config.get("experiments", {}).items():
        if "system" in experiment or "datasets" in experiment:
            known.append(stage := _stage(name, experiment))
            schemas[name] = experiment_schema(stage)
        else:
            schemas[name] = partial_schema(known)
    _check_keys(config, known, schemas, complete=False)
    # One that only changes options of another configuration's method says nothing of the method.
    defined = {
        section: {name: one for name, one in config.get(section, {}).items() if {"method", "family"} & set(one)}
        for section in ("baselines", "kernels", "solvers")
    }
    for stage in dict.fromkeys(known):
        stage.check_sections(defined)
    check_meanings(config.get("solvers", {}))


def _stage(name: str, experiment: Config) -> Stage:
    try:
        return stage_of(experiment)
    except InputError as error:
        raise ConfigError(f"config: experiments.{name}.system: {error}") from error


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
        raise ConfigError(f"config: {where} is {shown(value)}, which YAML reads as a {type(value).__name__}; quote it")


def _check_key(where: str, key: object) -> None:
    if not isinstance(key, str):
        raise ConfigError(f"config: {where} has the key {key!r}, which is not text; write it in quotes")
    if _unprintable(key):
        raise ConfigError(f"config: {where} has the key {shown(repr(key))}, which is no line of text")


def _unprintable(text: str) -> list[str]:
    return [letter for letter in text if category(letter) in _UNPRINTABLE]


def _check_apart(section: str, names: Iterable[str]) -> None:
    """Refuse names that differ by case alone: results of both would lie under one name on other file systems."""
    known: dict[str, str] = {}
    for name in names:
        if (other := known.setdefault(name.lower(), name)) != name:
            raise ConfigError(f"config: {section}: {other!r} and {name!r} differ by case alone; rename one of them")
