"""A configuration as a file, read strictly: what YAML lets pass in silence is a sentence with its line here.

Snakemake reads the same files before this project is asked, keeping the last of two equal keys.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from kdrbench.errors import ConfigError
from kdrbench.files import write_text
from kdrbench.suite.engine.batch import WORKSPACES
from kdrbench.suite.engine.system import Config


def read_config_file(path: Path) -> dict[str, Any]:
    """Return the configuration that a YAML or JSON file holds.

    Raises ``ConfigError`` naming file and line for a file that cannot be read, no mapping, and a key that is given
    twice.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"configuration {path} cannot be read: {error}") from error
    try:
        values = json.loads(text) if path.suffix == ".json" else yaml.load(text, _Loader)  # noqa: S506 - a safe one
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "an unknown line"
        raise ConfigError(f"configuration {path}, {place}: {error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"configuration {path}: {' '.join(str(error).split())}") from error
    if values is not None and not isinstance(values, dict):
        raise ConfigError(f"configuration {path} must hold keys and values; it holds a {type(values).__name__}")
    return values or {}


def name_of(path: Path) -> str:
    """Return the name of a configuration that gives none: that of its file, ``mine`` for ``config.mine.yaml``."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", path.stem.removeprefix("config."))


def lay_over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with another one laid over it: mappings are merged, all else is replaced."""
    merged = dict(below)
    for key, value in above.items():
        lower = merged.get(key)
        merged[key] = lay_over(lower, value) if isinstance(lower, Mapping) and isinstance(value, Mapping) else value
    return merged


class _Loader(yaml.SafeLoader):
    """Checks mappings as they are written: merging them hides equal keys."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        lines: dict[tuple[str, str], int] = {}
        for key, _ in node.value:
            name, line = (key.tag, str(key.value)), key.start_mark.line + 1
            if isinstance(key, yaml.ScalarNode) and name in lines:
                raise yaml.MarkedYAMLError(
                    problem=f"the key {key.value!r} is given twice, first in line {lines[name]}; leave one of them out",
                    problem_mark=key.start_mark,
                )
            lines[name] = line
        return node


def write_origin(results: Path, name: str, files: Iterable[Path], words: Mapping[str, Any]) -> None:
    """Note the configuration files, in the order in which they are laid over each other, and what was said beside."""
    text = json.dumps({"files": [str(path.resolve()) for path in files], "words": words})
    write_text(_path(results, name), text, durable=False)


def present_configuration(results: Path, name: str) -> Config | None:
    """Return what the files hold now; ``None`` where nothing says which they are, or they cannot be read any more."""
    try:
        origin = json.loads(_path(results, name).read_text(encoding="utf-8"))
        config: Config = {}
        for path in origin["files"]:
            config = lay_over(config, read_config_file(Path(path)))
        return {**lay_over(config, origin["words"]), "name": name}
    except (OSError, ValueError, KeyError, TypeError, ConfigError):
        return None


def _path(results: Path, name: str) -> Path:
    return results / WORKSPACES / "configurations" / f"{name or 'unnamed'}.origin.json"
