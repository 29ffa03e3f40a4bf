"""A configuration as a file, read strictly: what YAML lets pass in silence is a sentence with its line here.

Snakemake reads the same files before this project is asked, keeping the last of two equal keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from kdrbench.errors import ConfigError

# Values that a file may hold once its aliases are written out; ours hold some thousands.
_MOST_VALUES = 1_000_000


def read_config_file(path: Path) -> dict[str, Any]:
    """Return the configuration that a YAML or JSON file holds.

    Raises ``ConfigError`` naming file and line for a file that cannot be read, no mapping, a key that is given twice,
    and aliases that hold themselves or stand for more than a million values.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"configuration {path} cannot be read: {error}") from error
    try:
        values = _json(path, text) if path.suffix == ".json" else yaml.load(text, _Loader)  # noqa: S506 - a safe one
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "an unknown line"
        raise ConfigError(f"configuration {path}, {place}: {error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"configuration {path}: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise ConfigError(f"configuration {path} is nested too deeply") from error
    if values is not None and not isinstance(values, dict):
        raise ConfigError(f"configuration {path} must hold keys and values; it holds a {type(values).__name__}")
    return values or {}


def lay_over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with another one laid over it: mappings are merged, all else is replaced."""
    merged = dict(below)
    for key, value in above.items():
        lower = merged.get(key)
        merged[key] = lay_over(lower, value) if isinstance(lower, Mapping) and isinstance(value, Mapping) else value
    return merged


def check_config_files(paths: Iterable[Path]) -> None:
    """Raise ``ConfigError`` for the first of the files that :func:`read_config_file` does not take."""
    for path in paths:
        read_config_file(path)


class _Loader(yaml.SafeLoader):
    """Checks a file before values are made of it: merging mappings hides equal keys."""

    def get_single_node(self) -> yaml.Node | None:
        node: yaml.Node | None = super().get_single_node()
        if node is not None:
            _Written().size_of(node)
        return node


class _Written:
    """What a file holds as it is written; ``MarkedYAMLError`` for keys given twice and for aliases without end."""

    def __init__(self) -> None:
        self._sizes: dict[int, int] = {}

    def size_of(self, node: yaml.Node) -> int:
        """Return the number of values of a node, with all aliases written out."""
        if id(node) in self._sizes:
            size = self._sizes[id(node)]
            if not size:
                raise yaml.MarkedYAMLError(problem="an alias holds itself", problem_mark=node.start_mark)
            return size
        self._sizes[id(node)] = 0
        if isinstance(node, yaml.MappingNode):
            _check_keys(node)
        size = 1 + sum(map(self.size_of, _parts(node)))
        if size > _MOST_VALUES:
            raise yaml.MarkedYAMLError(
                problem=f"the aliases stand for more than {_MOST_VALUES:,} values", problem_mark=node.start_mark
            )
        self._sizes[id(node)] = size
        return size


def _check_keys(node: yaml.MappingNode) -> None:
    lines: dict[tuple[str, str], int] = {}
    for key, _ in node.value:
        name, line = (key.tag, str(key.value)), key.start_mark.line + 1
        if isinstance(key, yaml.ScalarNode) and name in lines:
            raise yaml.MarkedYAMLError(
                problem=f"the key {key.value!r} is given twice, first in line {lines[name]}; leave one of them out",
                problem_mark=key.start_mark,
            )
        lines[name] = line


def _parts(node: yaml.Node) -> Iterable[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return node.value if isinstance(node, yaml.SequenceNode) else ()


def _json(path: Path, text: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise ConfigError(f"configuration {path}: the key {twice!r} is given twice; leave one of them out")
        return values

    return json.loads(text, object_pairs_hook=once)
