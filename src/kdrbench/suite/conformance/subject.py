"""From a path or a name to what is to be checked, and the plug-ins that a configuration names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kdrbench import plugins
from kdrbench.errors import InputError, unknown_name


class Kind(NamedTuple):
    """A kind of plug-ins: its word in messages, attributes that identify a class of it, and its contract."""

    word: str
    marks: tuple[str, ...]
    contract: str


# By the words of the command line.
KINDS = {
    "solver": Kind("solver", ("run", "requires"), "SolverContract"),
    "kernel": Kind("kernel", ("pairing", "derivative"), "KernelContract"),
    "dataset": Kind("data set", ("load",), "DataContract"),
    "baseline": Kind("baseline", ("task", "imports"), "BaselineContract"),
    "metric-learner": Kind("learner", ("fit",), "LearnerContract"),
}
# The keys of a configuration that may name a plug-in.
_KEYS = ("family", "learners", "loader", "method", "system")


@dataclass(frozen=True)
class Subject:
    """A plug-in by kind (one of :data:`KINDS`), place and options."""

    kind: str
    place: str
    options: Mapping[str, Any] = field(default_factory=dict)


def registered_names(kind: str) -> list[str]:
    """Return the names of a kind that come with kdrbench, and then those that installed packages declare."""
    from kdrbench.baselines import BASELINES
    from kdrbench.datasets.registry import load_registry
    from kdrbench.kernels import FAMILIES
    from kdrbench.metric_learning import LEARNERS
    from kdrbench.solvers import CONTROLS, SOLVERS

    registered: dict[str, Iterable[str]] = {
        "solver": [*sorted(SOLVERS), *sorted(CONTROLS)],
        "kernel": FAMILIES,
        "dataset": load_registry(),
        "baseline": sorted(BASELINES),
        "metric-learner": LEARNERS,
    }
    return [*registered[kind], *plugins.declared_places(KINDS[kind].word)]


def find_subject(place: str, kind: str | None = None, options: Mapping[str, Any] | None = None) -> Subject:
    """Return what a path, ``module:Class`` or name means.

    Raises ``InputError`` when nothing has the name, when a file holds nothing that looks like a plug-in, or when it
    may be of several kinds and ``kind`` does not say which.
    """
    if kind is None:
        kinds = _kinds_of_class(place) if ":" in place or plugins.is_file_name(place) else _kinds_of_name(place)
        if len(kinds) > 1:
            raise InputError(f"{place!r} may be a {' or a '.join(kinds)}; say which with --kind")
        kind = kinds[0]
    return Subject(kind, place, options or {})


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
    # The first that a class looks like: a baseline may have fit too.
    looks = ([kind for kind in KINDS if any(hasattr(one, mark) for mark in KINDS[kind].marks)] for one in classes)
    kinds = {kind for found in looks for kind in found[:1]}
    if not kinds:
        raise InputError(
            f"{place!r} holds nothing that looks like a plug-in: a solver has run, a kernel derivative, a data set "
            "load, a baseline task, a metric learner fit. `kdrbench new` writes files that do"
        )
    return [kind for kind in KINDS if kind in kinds]


def places_in(config: object) -> list[str]:
    """Return the places of the user's own code that a configuration names, which need not be sound."""
    return list(places_of(_names(config)).values())


def places_of(names: Iterable[str]) -> dict[str, str]:
    """Return by name the places of those that lead to code of the user's own or of an installed package."""
    declared = {name: place for kind in plugins.GROUPS for name, place in plugins.declared_places(kind).items()}
    places = ((name, name if ":" in name or plugins.is_file_name(name) else declared.get(name)) for name in names)
    return {name: place for name, place in places if place}


def _names(value: object, key: object = "") -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _names(part, name)
    elif isinstance(value, list):
        for part in value:
            yield from _names(part, key)
    elif isinstance(value, str) and key in _KEYS:
        yield value
