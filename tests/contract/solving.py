"""Canaries of solvers: a few steps that no rounding can turn, and the value of an optimum that all of them reach."""

from typing import Any

import numpy as np

from contract.canary import Canary, canary, projection, samples
from kdrbench.evaluation import Evaluation, build_problem
from kdrbench.kernels import build_kernel
from kdrbench.problems import TraceObjective, supervised_gamma
from kdrbench.solvers import Monitor, build_solver, solve
from kdrbench.solvers.geometry.stiefel import relative_stationarity

# Rivals have the rules of their papers as well.
VARIED = ("dimension_growth", "grassmann_trust_region", "stiefel_cayley")
SEARCHES = (
    *(*VARIED, "grassmann_conjugate_gradient", "riemannian_lbfgs", "scipy_lbfgs"),
    *("ism", "ism_2018", "ism_safeguarded"),
)
AUTHORS = ("authors_dg", "authors_gm", "authors_ism", "authors_sm")
CONTROLS = ("discriminant_axes", "principal_axes", "shuffled_labels", "start_alone")
# A first look at a search, and one that meets the further rules of its line search; more steps would enlarge rounding.
STEPS, MORE_STEPS = 5, 15
# A Gaussian of half the bandwidth, with more components, on which steps that are too long lose.
NARROW = "narrow gaussian"


def _built(features: Any, codes: Any, *, evaluation: Evaluation | None = None, **kernel: Any) -> Any:
    objective = TraceObjective(features, build_kernel(kernel, features, 2), supervised_gamma(codes))
    return build_problem(objective, evaluation)


def _problem(family: str, n_samples: int = 40) -> Any:
    kernel = {"family": "gaussian", "sigma": "0.5 median"} if family == NARROW else {"family": family}
    return _built(*samples(n_samples), evaluation=Evaluation(evaluator="dense"), **kernel)


def _solved(definition: dict[str, Any], problem: Any, steps: int, q: int = 2) -> Any:
    start = projection(problem.n_features, q)
    return solve(build_solver(definition), problem, start, Monitor(steps))


def _some_steps(family: str, definition: dict[str, Any], steps: int) -> dict[str, Any]:
    """Return where a few steps lead, and what they took."""
    problem = _problem(family, 16 if definition["method"] == "ism_2018" else 40)
    result = _solved(definition, problem, steps, 4 if family == NARROW else 2)
    end = result.projection
    stationarity = relative_stationarity(end, problem.gradient(end))
    counted = {f"{name} calls": count for name, count in result.counters.items()}
    at_rest = {"stationarity": stationarity} if stationarity > 1e-5 else {}
    return {"cost": -problem.value(end), "iterations": result.iterations, "projector": end @ end.T} | counted | at_rest


def _optimum(name: str) -> dict[str, Any]:
    """Return the value where a search ends by itself: an error of its gradient enters squared."""
    problem = _problem("multiquadric")
    result = _solved({"method": name}, problem, 3000)
    return {"cost": -problem.value(result.projection), "status": str(result.status)}


def _wide() -> dict[str, Any]:
    """Return what solving in the row space of more features than samples leads to."""
    problem = _built(*samples(24, 70), family="gaussian", sigma=12.0)
    end = _solved({"method": "ism_safeguarded"}, problem, 1000).projection
    return {"cost": -problem.value(end)}


def _many_samples() -> dict[str, Any]:
    """Return where the solver leads that begins with a problem of fewer samples, where there are many."""
    problem = _built(*samples(2100, 5), family="gaussian", sigma=2.0)
    end = _solved({"method": "ism_safeguarded", "tolerance": 1e-7}, problem, 200).projection
    return {"cost": -problem.value(end)}


def _portfolio(family: str, **options: Any) -> dict[str, Any]:
    """Return the best of random starts on few of the samples, then on all."""
    features, codes = samples(1000, 40)
    problem = _built(features * np.linspace(0.5, 3.0, 7)[np.arange(1000) % 7, None], codes, family=family)
    result = _solved({"method": "ism_safeguarded", **options}, problem, 1000, 3)
    return {"cost": -problem.value(result.projection), "message": result.message.partition("; ")[2]}


def _escaped(name: str) -> dict[str, Any]:
    """Return where a search ends that leaves saddles: a constant feature beside the best component."""
    features, codes = samples()
    problem = _built(np.hstack([features, np.zeros((len(features), 2))]), codes, family="gaussian", sigma=2.0)
    start = np.vstack([projection(), np.zeros((2, 2))])
    result = solve(build_solver({"method": name, "escape": True}), problem, start, Monitor(3000))
    return {"cost": -problem.value(result.projection), "status": str(result.status)}


def _steps_canary(name: str, family: str, **options: Any) -> Canary:
    kernel, steps = ("gaussian", MORE_STEPS) if family == NARROW else (family, STEPS)
    words = " ".join(("steps", name, family, *map(str, options.values())))
    components = f"solver/{name} kernel/{kernel} evaluation/dense paradigm/supervised"
    components += " start/portfolio" if "portfolio" in options else ""
    return canary(words, components, _some_steps, family, {"method": name, **options}, steps)


CANARIES = [
    *(_steps_canary(name, family) for name in SEARCHES for family in ("gaussian", "polynomial")),
    *(_steps_canary(name, NARROW) for name in SEARCHES if name != "ism_2018"),
    *(_steps_canary(name, family, variant="published") for name in VARIED for family in ("gaussian", NARROW)),
    *(_steps_canary("ism", "polynomial", variant=variant) for variant in ("published", "published_1_d")),
    *(_steps_canary("ism", family) for family in ("linear", "squared")),
    _steps_canary("ism_safeguarded", "gaussian", portfolio=3, seed=1),
    *(_steps_canary(name, "gaussian") for name in CONTROLS),
    *(_steps_canary(name, family) for name in AUTHORS for family in ("gaussian", "polynomial")),
    _steps_canary("authors_ism", "polynomial", version=1),
    *(
        canary(f"optimum {name}", f"solver/{name} kernel/multiquadric evaluation/dense", _optimum, name)
        for name in SEARCHES
        if name != "ism_2018"
    ),
    *(canary(f"escape {name}", f"solver/{name} kernel/gaussian", _escaped, name) for name in VARIED),
    canary("optimum of many samples", "solver/ism_safeguarded kernel/gaussian", _many_samples),
    canary("portfolio", "start/portfolio solver/ism_safeguarded kernel/polynomial", _portfolio, "polynomial"),
    canary("portfolio asked for", "start/portfolio solver/ism_safeguarded", _portfolio, "gaussian", portfolio=4),
    canary("optimum in the row space", "solver/ism_safeguarded kernel/gaussian", _wide),
]
