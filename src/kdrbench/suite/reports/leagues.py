"""Which tables a league has beside its standings, and which league plays by defaults what another one tunes."""

from __future__ import annotations

from kdrbench.suite.reports.records import LEAGUE, Config, experiments_of
from kdrbench.suite.systems.league.rules import FIXED, TUNED

LEAGUE_TABLES = ("advice", "duels", "controls", "sets")
# Folds are the same where these are: they and the seed decide which rows a fold has.
_SAME = ("folds", "most_rows")
_SHARED = ("datasets", "methods", "components")


def fixed_beside(config: Config, name: str) -> str | None:
    """Return the first league with default parameters that is run on the folds of the tuned league ``name``.

    ``None`` where there is none that shares a data set, a method and a number of components with it, or ``name`` is no
    tuned league.
    """
    experiments = config["experiments"]
    tuned = experiments[name]
    if tuned.get("rules") != TUNED:
        return None
    for other in experiments_of(config, LEAGUE):
        one = experiments[other]
        alike = one["rules"] == FIXED and all(one.get(key) == tuned.get(key) for key in _SAME)
        if alike and all(set(one[key]) & set(tuned[key]) for key in _SHARED):
            return other
    return None
