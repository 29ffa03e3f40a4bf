"""From a path or a name to what is to be checked: its kind, and how it is built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kdrbench import plugins
from kdrbench.baselines import BASELINES
from kdrbench.datasets.registry import load_registry
from kdrbench.errors import InputError, unknown_name
from kdrbench.kernels import FAMILIES
from kdrbench.metric_learning import LEARNERS
from kdrbench.solvers import CONTROLS, SOLVERS

# By the words of the command line: the word of messages, and the attributes that identify a class of the kind.
KINDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "solver": ("solver", ("run", "requires")),
    "kernel": ("kernel", ("pairing", "derivative")),
    "dataset": ("data set", ("load",)),
    "baseline": ("baseline", ("task", "imports")),
    "metric-learner": ("learner", ("fit",)),
}


@dataclass(frozen=True)
class Subject:
    """A plug-in by kind (one of :data:`KINDS`), place and options."""

    kind: str
    place: str
    options: Mapping[str, Any] = field(default_factory=dict)


def registered_names(kind: str) -> list[str]:
    """Return the names of a kind that come with kdrbench, and then those that installed packages declare."""
    registered: dict[str, list[str]] = {
        "solver": [*sorted(SOLVERS), *sorted(CONTROLS)],
        "kernel": list(FAMILIES),
        "dataset": list(load_registry()),
        "baseline": sorted(BASELINES),
        "metric-learner": list(LEARNERS),
    }
    return [*registered[kind], *plugins.declared_names(KINDS[kind][0])]


def find_subject(place: str, kind: str | None = None, options: Mapping[str, Any] | None = None) -> Subject:
    """Return what a path, ``module:Class`` or name means.

    Raises ``InputError`` when nothing has the name, when a file holds nothing that looks like a plug-in, or when it
    may be of several kinds and ``kind`` does not say which.
    """
    options = options or {}
    if kind is not None:
        return Subject(kind, place, options)
    kinds = _kinds_of_class(place) if ":" in place or plugins.is_file_name(place) else _kinds_of_name(place)
    if len(kinds) > 1:
        raise InputError(f"{place!r} may be a {' or a '.join(kinds)}; say which with --kind")
    return Subject(kinds[0], place, options)


def _kinds_of_name(name: str) -> list[str]:
    kinds = [kind for kind in KINDS if name in registered_names(kind)]
    if not kinds:
        every = sorted({registered for kind in KINDS for registered in registered_names(kind)})
        raise InputError(f"{unknown_name('name', name, every)} A plug-in of your own is named path/to/file.py")
    return kinds


def _kinds_of_class(place: str) -> list[str]:
    name = place.rpartition(":")[2] if ":" in place else ""
    if plugins.is_file_name(place):
        classes = plugins.classes_of(plugins.load_class_module("plug-in", place))
        classes = [one for one in classes if not name or one.__name__ == name]
    else:
        classes = [plugins.load_class("plug-in", place, ())]
    kinds = {kind for one in classes for kind in _kinds_by_attributes(one)}
    if not kinds:
        raise InputError(
            f"{place!r} holds nothing that looks like a plug-in: a solver has run, a kernel derivative, a data set "
            "load, a baseline task, a metric learner fit. `kdrbench new` writes files that do"
        )
    return [kind for kind in KINDS if kind in kinds]


def _kinds_by_attributes(plugin: type) -> list[str]:
    """Return the kind that a class looks like; a baseline may have fit too."""
    return [kind for kind, (_, marks) in KINDS.items() if any(hasattr(plugin, mark) for mark in marks)][:1]
