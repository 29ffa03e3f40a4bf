"""Systems by name: the ones of this project, or one's own (see :mod:`kdrbench.plugins`)."""

from __future__ import annotations

import re
from functools import cache

from kdrbench import plugins
from kdrbench.errors import InputError, in_words
from kdrbench.methods import unknown_method
from kdrbench.suite.engine.stage import Config, Stage

STAGES: dict[str, str] = {
    "ikdr": "kdrbench.suite.systems.ikdr.stage:IKDRStage",
    "kpca_trick": "kdrbench.suite.systems.kpca_trick.stage:KPCATrickStage",
    "kpca_figures": "kdrbench.suite.systems.kpca_figures.stage:KPCAFiguresStage",
    "low_rank": "kdrbench.suite.systems.low_rank.stage:LowRankStage",
    "league": "kdrbench.suite.systems.league.stage:LeagueStage",
    "atlas": "kdrbench.suite.systems.atlas.stage:AtlasStage",
    "noise": "kdrbench.suite.systems.noise.stage:NoiseStage",
}
DEFAULT = "ikdr"
_CONTRACT = ("record", "expand", "run")


def system_of(experiment: Config) -> str:
    """Return the name of the system that an experiment belongs to."""
    return str(experiment.get("system", DEFAULT))


def table_of(system: str) -> str:
    """Return the name of a system's merged table: its own, or that of its class without the path."""
    return re.sub(r"\W+", "_", system.rpartition("/")[2])


def stage_of(experiment: Config) -> Stage:
    """Return the stage of an experiment's system."""
    return build_stage(system_of(experiment))


@cache
def build_stage(system: str) -> Stage:
    """Return the stage of a system: a registered name, ``path/to/file.py``, ``module:Class`` or an entry point.

    Raises ``InputError`` when there is none of this name, or when its class is no :class:`.Stage`.
    """
    place = STAGES.get(system) or (system if ":" in system or plugins.is_file_name(system) else None)
    place = place or plugins.entry_point_of("system", system)
    if place is None:
        raise InputError(unknown_method("system", "system", system, STAGES))
    kind = plugins.load_class("system", place, _CONTRACT)
    if not (isinstance(kind, type) and issubclass(kind, Stage)):
        raise InputError(f"system {system!r}: {kind.__name__} must be a subclass of kdrbench.suite.engine.stage.Stage")
    try:
        stage: Stage = kind()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise InputError(f"system {system!r} cannot be built: {in_words(error)}") from error
    return stage
