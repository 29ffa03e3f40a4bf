"""What the systems share in declaring themselves: parts of JSON schemas, checks of experiments, kinds of reports."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from functools import cache, partial
from importlib.resources import files
from typing import Any

from kdrbench.errors import ConfigError, unknown_name
from kdrbench.suite.engine.system import Config, Report

NAME: Config = {"$ref": "#/$defs/name"}
NAMES: Config = {"$ref": "#/$defs/names"}
# The data sets that a mapping by data set does not name.
DEFAULT = "default"


def described(schema: Config, description: str) -> Config:
    """Return a schema with a description."""
    return {**schema, "description": description}


def integer(least: int = 1, description: str = "") -> Config:
    """Return the schema of an integer of at least ``least``."""
    schema: dict[str, Any] = {"type": "integer", "minimum": least}
    return schema | ({"description": description} if description else {})


def list_of(items: Config, description: str) -> Config:
    """Return the schema of a list of different items, at least one."""
    return {"type": "array", "items": items, "minItems": 1, "uniqueItems": True, "description": description}


def by_dataset(values: Config, description: str) -> Config:
    """Return the schema of values by data set, with one for those that are not named."""
    return {"type": "object", "required": [DEFAULT], "additionalProperties": values, "description": description}


@cache
def read_schema(package: str, name: str) -> dict[str, Any]:
    """Return the JSON schema in a file of a package."""
    schema: dict[str, Any] = json.loads(files(package).joinpath(name).read_text(encoding="utf-8"))
    return schema


def unknown_names(key: str, kind: str, names: Iterable[str], allowed: Collection[str]) -> Iterator[str]:
    """Yield as a fault each of the names at a key of the configuration that is not ``allowed``."""
    yield from (f"{key}: {unknown_name(kind, name, sorted(allowed))}" for name in names if name not in allowed)


def refuse(faults: Iterable[str]) -> None:
    """Raise ``ConfigError`` for the first fault of the configuration, if there is any."""
    for fault in faults:
        raise ConfigError(f"config: {fault}")


def report(kind: str, shows: str, maker: str, *needs: str, is_figure: bool = False, **others: Any) -> partial[Report]:
    """Return a kind of report; ``maker`` is the module and the function below the package of systems."""
    maker = f"{__package__}.{maker}"
    return partial(Report, kind=kind, shows=shows, maker=maker, needs=needs, is_figure=is_figure, **others)
