"""Solvers by name; a solver's module is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from numbers import Integral, Real
from typing import Any

from kdrbench.errors import InputError, unknown_name
from kdrbench.solvers.base import Solver

SOLVERS: dict[str, str] = {
    "dimension_growth": "kdrbench.solvers.dimension_growth:DimensionGrowth",
    "grassmann_conjugate_gradient": "kdrbench.solvers.grassmann_conjugate_gradient:GrassmannConjugateGradient",
    "grassmann_trust_region": "kdrbench.solvers.grassmann_trust_region:GrassmannTrustRegion",
    "ism": "kdrbench.solvers.ism:IterativeSpectralMethod",
    "ism_2018": "kdrbench.solvers.ism_2018:PairwiseSumISM",
    "ism_safeguarded": "kdrbench.solvers.ism_safeguarded:SafeguardedISM",
    "stiefel_cayley": "kdrbench.solvers.stiefel_cayley:StiefelCayley",
}


def build_solver(definition: Mapping[str, Any]) -> Solver:
    """Return the solver that ``definition`` (``method`` and options of it) names.

    ``method`` is a registered name, or ``module:Class`` for a solver of the user's own on the Python path.

    Raises ``InputError`` for an unknown method or option, or a value of the wrong type.
    """
    method = definition.get("method")
    solver_class = _solver_class(method)
    options = {key: value for key, value in definition.items() if key != "method"}
    defaults = {field.name: field.default for field in fields(solver_class) if field.default is not MISSING}
    for option, value in options.items():
        if option not in defaults:
            raise InputError(unknown_name(f"option of solver method {method!r}:", option, sorted(defaults)))
        _check_type(option, value, defaults[option])
    solver: Solver = solver_class(**options)
    return solver


def _solver_class(method: object) -> type:
    place = SOLVERS.get(str(method), str(method))
    if ":" not in place:
        raise InputError(
            f"{unknown_name('solver method', method, sorted(SOLVERS))} A solver of your own is named module:Class"
        )
    module, name = place.split(":", 1)
    try:
        found: type = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InputError(f"solver method {method!r} cannot be loaded: {error}; is it on the PYTHONPATH?") from error
    lacking = [name for name in ("requires", "version", "run") if not hasattr(found, name)]
    if not (isinstance(found, type) and is_dataclass(found)) or lacking:
        raise InputError(
            f"solver method {method!r} must be a dataclass of its options with requires, version and run; "
            f"{'it lacks ' + ', '.join(lacking) if lacking else 'it is no dataclass'}"
        )
    return found


def _check_type(option: str, value: object, default: object) -> None:
    wanted = {float: Real, int: Integral}.get(type(default), type(default))
    if not isinstance(value, wanted) or (isinstance(value, bool) and not isinstance(default, bool)):
        raise InputError(f"solver option {option} must be of type {type(default).__name__}, got {value!r}")
