"""Plug-ins work in another process first: one that ends its process ends that one, and is named by a sentence here.

Without it, a file that calls ``os._exit(0)`` ends Snakemake or a command as if all were done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import psutil

from kdrbench import plugins
from kdrbench.errors import InputError
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.isolation.processes import MIB
from kdrbench.suite.engine.isolation.supervisor import NoReportError, report_of

# Data sets of the user's own are read whenever a configuration is.
TIME_LIMIT_S = 300.0
# The keys of a configuration that may name a plug-in.
_KEYS = ("family", "learners", "loader", "method", "system")


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


def try_apart(work: Callable[[], object], places: Iterable[str], time_limit_s: float = TIME_LIMIT_S) -> None:
    """Do the work, in which the plug-ins at ``places`` take part, in another process; what it raises does not count.

    Nothing is done without plug-ins. Raises ``InputError`` when the process does not come to the end of the work,
    naming the plug-in whose import is enough for that, or all of them.
    """
    if not (used := list(places)):
        return
    limits = Limits(time_limit_s, psutil.virtual_memory().total / MIB)
    if not (ending := _ending(work, limits)):
        return
    for place in used:
        if said := _ending(lambda place=place: plugins.load_class_module("plug-in", place), limits):  # type: ignore[misc]
            raise InputError(f"plug-in {place!r} {said} when it was loaded; {_ADVICE}")
    raise InputError(f"one of the plug-ins {', '.join(map(repr, used))} {ending} when it was asked for; {_ADVICE}")


_ADVICE = "let it define classes, and work in their methods alone"


def _ending(work: Callable[[], object], limits: Limits) -> str:
    """Return how the work ended the process that it was done in, empty where it came to its end."""
    try:
        report_of(lambda: _survived(work), limits, quiet=True)
    except NoReportError as ending:
        return str(ending)
    return ""


def _survived(work: Callable[[], Any]) -> bool:
    try:
        work()
    except Exception:
        # It will be raised where the work is done for good.
        return False
    return True
