"""Solvers and starting points by name; a solver's module is imported when it is first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.methods import build_method
from kdrbench.parameters import OneOf, check_value
from kdrbench.problems import Problem, in_row_space
from kdrbench.solvers.base import Solver
from kdrbench.solvers.geometry.stiefel import leading_eigenvectors, orthonormalised, with_fixed_signs

SOLVERS: dict[str, str] = {
    "dimension_growth": "kdrbench.solvers.dimension_growth:DimensionGrowth",
    "grassmann_conjugate_gradient": "kdrbench.solvers.grassmann:GrassmannConjugateGradient",
    "grassmann_trust_region": "kdrbench.solvers.grassmann:GrassmannTrustRegion",
    "ism": "kdrbench.solvers.ism:IterativeSpectralMethod",
    "ism_2018": "kdrbench.solvers.ism:PairwiseSumISM",
    "ism_safeguarded": "kdrbench.solvers.safeguarded.solver:SafeguardedISM",
    "riemannian_lbfgs": "kdrbench.solvers.first_order:RiemannianLBFGS",
    "scipy_lbfgs": "kdrbench.solvers.first_order:ScipyLBFGS",
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


def _from_surrogate(problem: Problem, n_components: int, rng: np.random.Generator) -> FloatArray:
    reduced = in_row_space(problem, np.zeros((problem.n_features, n_components)))
    if reduced is None:
        return leading_eigenvectors(problem.initial_surrogate(), n_components)[1]
    smaller, space = reduced
    return with_fixed_signs(space.lift(leading_eigenvectors(smaller.initial_surrogate(), n_components)[1]))


def _first_axes(problem: Problem, n_components: int, rng: np.random.Generator) -> FloatArray:
    return np.eye(problem.n_features, n_components)


def _random(problem: Problem, n_components: int, rng: np.random.Generator) -> FloatArray:
    return orthonormalised(rng.standard_normal((problem.n_features, n_components)))


STARTS: dict[str, Callable[[Problem, int, np.random.Generator], FloatArray]] = {
    "identity": _first_axes,
    "random": _random,
    "surrogate": _from_surrogate,
}


def eigengap_components(surrogate: FloatArray) -> int:
    """Return the q < d with the largest gap lambda_q - lambda_{q+1} in the spectrum of Phi (d x d), lambda_q > 0.

    Directions of an eigenvalue that is not positive add nothing to F, so gaps below zero do not count. 1 where no
    eigenvalue is positive, and for d = 1.

    Source: Eq. 50 of ISM+ chooses q by the maximum eigengap.
    """
    values = np.linalg.eigvalsh(surrogate)[::-1]
    positive = int(np.count_nonzero(values[:-1] > 1e-12 * np.abs(values).max()))
    return 1 + int(np.argmax((values[:-1] - values[1:])[:positive])) if positive else 1


def make_start(name: str, problem: Problem, n_components: int, rng: np.random.Generator) -> FloatArray:
    """Return an orthonormal d x q start.

    ``surrogate``: the q most dominant eigenvectors of Phi_0 (NeurIPS 2019, section 3.2); ``identity``: the
    first q axes; ``random``: QR of a Gaussian matrix drawn from ``rng``.

    Raises ``InputError`` for an unknown name and unless 1 <= q <= d.
    """
    check_value("start", name, OneOf(tuple(sorted(STARTS))))
    if not 1 <= n_components <= problem.n_features:
        raise InputError(
            f"cannot project {problem.n_features} features to {n_components} components; "
            f"the number of components must be between 1 and {problem.n_features}"
        )
    return STARTS[name](problem, n_components, rng)
