"""The files and words that a configuration was made of when the workflow was started, to be read again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kdrbench.errors import ConfigError
from kdrbench.files import write_text
from kdrbench.suite.engine.batch import WORKSPACES
from kdrbench.suite.engine.stage import Config
from kdrbench.suite.experiments.config_file import lay_over, read_config_file


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
