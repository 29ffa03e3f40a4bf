"""What the definition of a solver says: to the solver itself, and to the bench."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from kdrbench.errors import ConfigError
from kdrbench.solvers.registry import build_solver
from kdrbench.suite.engine.system import Config

# Suffix of the methods of a reference that is shown beside one's own runs.
REFERENCE = "_reference"


class Settings(StrEnum):
    """Whose settings a solver has.

    Those of the first author's code, those of the method's own paper or package, those by which all converge, or
    others, as a user's own solver has.
    """

    AUTHORS = "authors"
    PUBLISHED = "published"
    CONVERGED = "converged"
    OTHER = "other"

    @property
    def has_own_rule(self) -> bool:
        """Whether "converged" is what the method's own authors call so, and not stationarity."""
        return self in (Settings.AUTHORS, Settings.PUBLISHED)


def check_names(config: Config) -> None:
    """Raise ``ConfigError`` for the first solver or baseline with the name of a method of a reference."""
    for section in ("solvers", "baselines"):
        for name in config.get(section, {}):
            if name.endswith(REFERENCE):
                raise ConfigError(
                    f"config: {section}.{name}: names that end in {REFERENCE} are those of a record beside one's own "
                    f"runs; choose another, such as {name.removesuffix(REFERENCE) or 'mine'}_own"
                )


def settings_of(config: Config) -> dict[str, Settings]:
    """Return by name the settings that each solver declares; what declares none has others."""
    solvers = config.get("solvers", {})
    return {name: Settings(definition.get("settings", Settings.OTHER)) for name, definition in solvers.items()}


def alternation_of(rounds: str | None, method: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the definition of a solver decides of the alternation around it: how it ends.

    With ``rounds`` converged it goes on until it is stationary to the solver's own tolerance.
    """
    if rounds != "converged":
        return {}
    return {"rule": "joint", "tolerance": getattr(build_solver(method), "tolerance", None), "max_rounds": None}
