"""Solvers by name; a solver's module is imported when it is first used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kdrbench.methods import build_method
from kdrbench.solvers.base import Solver

SOLVERS: dict[str, str] = {
    "dimension_growth": "kdrbench.solvers.dimension_growth:DimensionGrowth",
    "grassmann_conjugate_gradient": "kdrbench.solvers.grassmann_conjugate_gradient:GrassmannConjugateGradient",
    "grassmann_trust_region": "kdrbench.solvers.grassmann_trust_region:GrassmannTrustRegion",
    "ism": "kdrbench.solvers.ism:IterativeSpectralMethod",
    "ism_2018": "kdrbench.solvers.ism_2018:PairwiseSumISM",
    "ism_safeguarded": "kdrbench.solvers.safeguarded.solver:SafeguardedISM",
    "stiefel_cayley": "kdrbench.solvers.stiefel_cayley:StiefelCayley",
}
# Controls, which every solver should beat; tables include them where a configuration names them.
CONTROLS: dict[str, str] = {
    "discriminant_axes": "kdrbench.solvers.controls:DiscriminantAxes",
    "principal_axes": "kdrbench.solvers.controls:PrincipalAxes",
    "shuffled_labels": "kdrbench.solvers.controls:ShuffledLabels",
    "start_alone": "kdrbench.solvers.controls:StartAlone",
}
CONTRACT = ("requires", "run")


def build_solver(definition: Mapping[str, Any]) -> Solver:
    """Return the solver that ``definition`` (``method`` and options of it) names.

    ``method`` is a registered name, a file, ``module:Class`` or an entry point's name (:mod:`kdrbench.plugins`).

    Raises ``InputError`` for an unknown method or option, or a value of the wrong type.
    """
    solver: Solver = build_method("solver", definition, {**SOLVERS, **CONTROLS}, CONTRACT)
    return solver
