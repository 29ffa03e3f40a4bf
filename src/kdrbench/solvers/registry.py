"""Solvers and starting points by name, in configurations, commands and estimators.

A solver is a method with its options, the start it takes and how it ends; a method's module is imported when it is
first used. The names of methods (``SOLVERS``) are values of ``method`` alone. The shipped names (``NAMED``) keep their
meaning: a configuration may add names, and redefine none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kdrbench.errors import ConfigError, InputError, unknown_name
from kdrbench.kernels.family import FloatArray
from kdrbench.methods import build_method, is_own
from kdrbench.parameters import OneOf, check_value
from kdrbench.problems import Problem
from kdrbench.solvers.base import Solver
from kdrbench.solvers.geometry.stiefel import leading_eigenvectors, orthonormalised, outside, with_fixed_signs

SOLVERS: dict[str, str] = {
    "dimension_growth": "kdrbench.solvers.dimension_growth:DimensionGrowth",
    "grassmann_conjugate_gradient": "kdrbench.solvers.grassmann:GrassmannConjugateGradient",
    "grassmann_trust_region": "kdrbench.solvers.grassmann:GrassmannTrustRegion",
    "ism": "kdrbench.solvers.ism:IterativeSpectralMethod",
    "ism_2018": "kdrbench.solvers.ism:PairwiseSumISM",
    "ism_safeguarded": "kdrbench.solvers.safeguarded:SafeguardedISM",
    "riemannian_lbfgs": "kdrbench.solvers.limited_memory:RiemannianLBFGS",
    "scipy_lbfgs": "kdrbench.solvers.callbacks:ScipyLBFGS",
    "stiefel_cayley": "kdrbench.solvers.stiefel_cayley:StiefelCayley",
}
# The rules of the first author's code, to trace printed numbers and not for use.
AUTHORS: dict[str, str] = {
    "authors_dg": "kdrbench.solvers.authors:AuthorsDG",
    "authors_gm": "kdrbench.solvers.authors:AuthorsGM",
    "authors_ism": "kdrbench.solvers.authors:AuthorsISM",
    "authors_sm": "kdrbench.solvers.authors:AuthorsSM",
}
# Controls, which every solver should beat; tables include them where a configuration names them.
CONTROLS: dict[str, str] = {
    "discriminant_axes": "kdrbench.solvers.controls:DiscriminantAxes",
    "principal_axes": "kdrbench.solvers.controls:PrincipalAxes",
    "shuffled_labels": "kdrbench.solvers.controls:ShuffledLabels",
    "start_alone": "kdrbench.solvers.controls:StartAlone",
}
METHODS: Mapping[str, str] = {**SOLVERS, **AUTHORS, **CONTROLS}
CONTRACT = ("requires", "run")
_CONVERGED = {"tolerance": 1e-6, "rounds": "converged", "settings": "converged"}
_ESCAPING = {"tolerance": 1e-6, "escape": True, "settings": "converged"}
_PUBLISHED = {"variant": "published", "start": "random", "settings": "published"}
# The section `solvers` of config.yaml, which a test compares: the library has no configuration beside it.
NAMED: Mapping[str, Mapping[str, Any]] = {
    "ism": {"method": "ism", "tolerance": 0.01, "settings": "published"},
    "dg": {"method": "dimension_growth", **_PUBLISHED},
    "sm": {"method": "stiefel_cayley", **_PUBLISHED},
    "gm": {"method": "grassmann_trust_region", **_PUBLISHED},
    "ism_converged": {"method": "ism_safeguarded", **_CONVERGED},
    "dg_converged": {"method": "dimension_growth", **_CONVERGED},
    "sm_converged": {"method": "stiefel_cayley", **_CONVERGED},
    "gm_converged": {"method": "grassmann_trust_region", **_CONVERGED},
    "cg_converged": {"method": "grassmann_conjugate_gradient", **_CONVERGED},
    "lbfgs_converged": {"method": "riemannian_lbfgs", **_CONVERGED},
    "scipy_converged": {"method": "scipy_lbfgs", **_CONVERGED},
    "ism_published": {"method": "ism", "variant": "published", "settings": "published"},
    "ism_published_1_d": {"method": "ism", "variant": "published_1_d", "settings": "published"},
    "ism_random": {"method": "ism", "tolerance": 0.01, "start": "random", "settings": "published"},
    "dg_greedy": {"method": "dimension_growth", "tolerance": 1e-6, "polish": False, "settings": "published"},
    "dg_escaping": {"method": "dimension_growth", **_ESCAPING},
    "sm_escaping": {"method": "stiefel_cayley", **_ESCAPING},
    "gm_escaping": {"method": "grassmann_trust_region", **_ESCAPING},
    "dg_10": {"method": "dimension_growth", **_PUBLISHED, "starts": 10},
    "sm_10": {"method": "stiefel_cayley", **_PUBLISHED, "starts": 10},
    "gm_10": {"method": "grassmann_trust_region", **_PUBLISHED, "starts": 10},
    "ism_10": {"method": "ism", "tolerance": 0.01, "max_iterations": 10, "settings": "published"},
    "ism_2018": {"method": "ism_2018", "tolerance": 0.01, "settings": "published"},
    "ism_authors": {"method": "authors_ism", "settings": "authors"},
    "ism_authors_1": {"method": "authors_ism", "version": 1, "settings": "authors"},
    "dg_authors": {"method": "authors_dg", "settings": "authors"},
    "sm_authors": {"method": "authors_sm", "settings": "authors"},
    "sm_authors_1": {"method": "authors_sm", "version": 1, "settings": "authors"},
    **{
        f"gm_authors_{steps}": {"method": "authors_gm", "steps": steps, "start": "random", "settings": "authors"}
        for steps in (1, 4, 20, 50)
    },
    "random": {"method": "start_alone", "start": "random"},
    "first_axes": {"method": "start_alone", "start": "identity"},
    **{name: {"method": name} for name in ("principal_axes", "discriminant_axes", "shuffled_labels")},
}
# Relative to the largest, eigenvalues of Phi_0 that are rounding.
_NULL = 1e-10
# What a definition says to whoever runs the solver, and not to the solver.
_OF_RUNS = ("start", "starts", "rounds", "settings")


def build_solver(definition: Mapping[str, Any]) -> Solver:
    """Return the solver that ``definition`` (``method`` and options of it) names.

    ``method`` is a registered name, a file, ``module:Class`` or an entry point's name (:mod:`kdrbench.plugins`).

    Raises ``InputError`` for an unknown method or option, or a value of the wrong type.
    """
    solver: Solver = build_method("solver", definition, METHODS, CONTRACT)
    return solver


def _leading(problem: Problem, n_components: int) -> tuple[FloatArray, FloatArray]:
    """Return the q largest eigenvalues of Phi_0, descending, and their eigenvectors (d x q)."""
    reduced = problem.in_row_space(np.zeros((problem.n_features, n_components)))
    if reduced is None:
        return leading_eigenvectors(problem.initial_surrogate(), n_components)
    smaller, space = reduced
    values, vectors = leading_eigenvectors(smaller.initial_surrogate(), n_components)
    return values, with_fixed_signs(space.lift(vectors))


def _completed(problem: Problem, n_components: int, rng: np.random.Generator) -> FloatArray:
    values, vectors = _leading(problem, n_components)
    known = vectors[:, np.abs(values) > _NULL * np.abs(values).max(initial=0.0)]
    drawn = rng.standard_normal((problem.n_features, n_components - known.shape[1]))
    return orthonormalised(np.column_stack([known, outside(known, drawn)]))


STARTS: dict[str, Callable[[Problem, int, np.random.Generator], FloatArray]] = {
    "completed": _completed,
    "identity": lambda problem, n_components, rng: np.eye(problem.n_features, n_components),
    "random": lambda problem, q, rng: orthonormalised(rng.standard_normal((problem.n_features, q))),
    "surrogate": lambda problem, n_components, rng: _leading(problem, n_components)[1],
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

    ``surrogate``: the q most dominant eigenvectors of Phi_0 (NeurIPS 2019, section 3.2); ``completed``: those of them
    that its rank, k - 1 of k classes, determines, completed by a random orthonormal basis; ``identity``: the first q
    axes; ``random``: QR of a Gaussian matrix drawn from ``rng``.

    Raises ``InputError`` for an unknown name and unless 1 <= q <= d.
    """
    check_value("start", name, OneOf(tuple(sorted(STARTS))))
    if not 1 <= n_components <= problem.n_features:
        raise InputError(
            f"cannot project {problem.n_features} features to {n_components} components; "
            f"the number of components must be between 1 and {problem.n_features}"
        )
    return STARTS[name](problem, n_components, rng)


def method_of(definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the definition of a solver says of its method: the name and its options."""
    return {key: value for key, value in definition.items() if key not in _OF_RUNS}


def definition_of(name: str, own: Mapping[str, Mapping[str, Any]] | None = None) -> dict[str, Any]:
    """Return what a solver's name means: a shipped one, one of the user's ``own``, or a file, class or entry point.

    Raises ``InputError`` for any other name, a method's included.
    """
    known = {**(own or {}), **NAMED}
    if name in known:
        return dict(known[name])
    if is_own("solver", name, METHODS):
        return {"method": name}
    raise InputError(f"{unknown_solver(name, known)} One of your own is named path/to/file.py or module:Class")


def unknown_solver(name: str, known: Mapping[str, Mapping[str, Any]]) -> str:
    """Say that a name is none of the ``known`` ones, and which are near: of a method those of its solvers."""
    near = [solver for solver, definition in known.items() if definition.get("method") == name]
    if near and name in METHODS:
        return f"unknown solver {name!r}: it is a method, and these are solvers with it: {', '.join(near)}."
    return unknown_name("solver", name, sorted(known))


def check_meanings(solvers: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise ``ConfigError`` for the first definition that gives another meaning to a shipped name, or to a method's.

    ``settings`` only says whose settings they are, so it may differ.
    """
    for name, definition in solvers.items():
        if (meant := NAMED.get(name)) is None:
            if name in METHODS:
                raise ConfigError(f"config: solvers.{name}: {unknown_solver(name, NAMED)} Choose another name")
            continue
        changed = [key for key, value in definition.items() if key != "settings" and meant.get(key) != value]
        if changed:
            raise ConfigError(
                f"config: solvers.{name}.{changed[0]} is {definition[changed[0]]!r}, and {name} means "
                f"{in_words(meant)}, everywhere; define yours by another name, such as {name}_own"
            )


def in_words(definition: Mapping[str, Any]) -> str:
    """Return a definition as a phrase: its method, and then its options."""
    method, *options = (
        str(value) if key == "method" else f"{key} {value}" for key, value in definition.items() if key != "settings"
    )
    return ", ".join([method, *options])
