"""The plug-ins that a configuration runs, each of which the workflow asks once what ``kdrbench check`` asks."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kdrbench.plugins import load_class_module
from kdrbench.solvers.registry import method_of
from kdrbench.suite.conformance.trial import places_of
from kdrbench.suite.engine.identity import own_code_sha256
from kdrbench.suite.engine.stage import Config

# Keys of an experiment and of the sections they name definitions of: the kind, and the key of the method's name.
_SECTIONS = {
    "datasets": ("dataset", "loader"),
    "kernels": ("kernel", "family"),
    "solvers": ("solver", "method"),
    "baselines": ("baseline", "method"),
}
_MOST_LETTERS = 60


@dataclass(frozen=True)
class PluginCheck:
    """A plug-in by kind, as ``kdrbench check --kind`` takes it, the name in the configuration, place and options."""

    kind: str
    name: str
    place: str
    options: str

    @cached_property
    def file(self) -> str:
        """The name of its findings below ``results/checks``, without extension: readable, and its own."""
        text = json.dumps([self.kind, self.name, self.options])
        stem = re.sub(r"[^A-Za-z0-9_-]", "_", self.name)[-_MOST_LETTERS:]
        return f"{self.kind}-{stem}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    @property
    def words(self) -> str:
        """What is asked, as a shell reads the words of ``kdrbench check``."""
        options = [f"--option={name}={json.dumps(value)}" for name, value in json.loads(self.options).items()]
        return shlex.join([f"--kind={self.kind}", *options, "--", self.name])

    @property
    def sources_sha256(self) -> str:
        """The hash of its code: another one is asked again."""
        return own_code_sha256(load_class_module(self.kind, self.place).__name__)


def plugin_checks(config: Config) -> dict[str, PluginCheck]:
    """Return by file the plug-ins of the user's own that the experiments of ``run`` use, each with its options once."""
    methods = list(_methods(config))
    places = places_of(name for _, name, _ in methods)
    checks = (
        PluginCheck(kind, name, places[name], json.dumps(options, sort_keys=True))
        for kind, name, options in methods
        if name in places
    )
    return {check.file: check for check in checks}


def _methods(config: Config) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield kind, name and options of every method, kernel and data set that is run."""
    for experiment in (config["experiments"][name] for name in config["run"]):
        for section, (kind, key) in _SECTIONS.items():
            definitions = config.get(section, {})
            for name in experiment.get(section, []):
                if name in definitions:
                    yield from _of_definition(kind, key, method_of(definitions[name]))
        yield from (("metric-learner", name, {}) for name in experiment.get("learners", []))


def _of_definition(kind: str, key: str, definition: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    options = {name: value for name, value in definition.items() if name != key}
    yield kind, str(definition[key]), options
    for member in options.get("members", []):
        # Of a combination; each kernel is asked for itself.
        yield from _of_definition(kind, key, {name: value for name, value in member.items() if name != "weight"})
