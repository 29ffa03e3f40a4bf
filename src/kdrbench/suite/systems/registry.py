"""Systems by name: the ones of this project, or one's own (see :mod:`kdrbench.plugins`)."""

from __future__ import annotations

import re
from functools import cache

from kdrbench import plugins
from kdrbench.errors import InputError, in_words
from kdrbench.methods import unknown_method
from kdrbench.suite.engine.system import Config, System

SYSTEMS: dict[str, str] = {
    "ikdr": "kdrbench.suite.systems.ikdr.system:IKDRSystem",
    "kpca_trick": "kdrbench.suite.systems.kpca_trick.system:KPCATrickSystem",
    "kpca_figures": "kdrbench.suite.systems.kpca_figures.system:KPCAFiguresSystem",
    "low_rank": "kdrbench.suite.systems.low_rank.system:LowRankSystem",
    "league": "kdrbench.suite.systems.league.system:LeagueSystem",
    "atlas": "kdrbench.suite.systems.atlas.system:AtlasSystem",
    "noise": "kdrbench.suite.systems.noise.system:NoiseSystem",
}
DEFAULT = "ikdr"
_CONTRACT = ("record", "expand")


def system_name(experiment: Config) -> str:
    """Return the name of the system that an experiment belongs to."""
    return str(experiment.get("system", DEFAULT))


def table_of(system: str) -> str:
    """Return the name of a system's merged table: its own, or that of its class without the path."""
    return re.sub(r"\W+", "_", system.rpartition("/")[2])


def system_of(experiment: Config) -> System:
    """Return the system of an experiment."""
    return build_system(system_name(experiment))


@cache
def build_system(name: str) -> System:
    """Return the system of a name: a registered one, ``path/to/file.py``, ``module:Class`` or an entry point.

    Raises ``InputError`` when there is none of this name, or when its class is no :class:`.System`.
    """
    place = SYSTEMS.get(name) or (name if ":" in name or plugins.is_file_name(name) else None)
    place = place or plugins.declared_places("system").get(name)
    if place is None:
        raise InputError(unknown_method("system", "system", name, SYSTEMS))
    kind = plugins.load_class("system", place, _CONTRACT)
    if not (isinstance(kind, type) and issubclass(kind, System)):
        raise InputError(f"system {name!r}: {kind.__name__} must be a subclass of kdrbench.suite.engine.system.System")
    if kind.run is System.run and kind.prepare is System.prepare and not kind.runner:
        raise InputError(f"system {name!r}: {kind.__name__} makes no run; define run(), or prepare()")
    try:
        system: System = kind()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise InputError(f"system {name!r} cannot be built: {in_words(error)}") from error
    return system
