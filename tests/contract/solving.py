"""Canaries of solvers: a few steps that no rounding can turn, and the value of an optimum that all of them reach."""

from functools import partial
from typing import Any

import numpy as np

from contract.canary import Canary, projection, samples
from kdrbench.evaluation import Evaluation, build_problem
from kdrbench.kernels import build_kernel
from kdrbench.problems import TraceObjective, supervised_gamma
from kdrbench.solvers import IterationMonitor, build_solver, solve
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


def _problem(family: str, n_samples: int = 40) -> Any:
    features, codes = samples(n_samples)
    definition = {"family": "gaussian", "sigma": "0.5 median"} if family == NARROW else {"family": family}
    kernel = build_kernel(definition, features, 2)
    return build_problem(TraceObjective(features, kernel, supervised_gamma(codes)), Evaluation(evaluator="dense"))


def _solved(definition: dict[str, Any], problem: Any, steps: int, q: int = 2) -> Any:
    start = projection(problem.n_features, q)
    return solve(build_solver(definition), problem, start, IterationMonitor(steps))


def _some_steps(family: str, definition: dict[str, Any], steps: int) -> dict[str, Any]:
    """Return where a few steps lead, and what they took."""
    problem = _problem(family, 16 if definition["method"] == "ism_2018" else 40)
    result = _solved(definition, problem, steps, 4 if family == NARROW else 2)
    end = result.projection
    stationarity = relative_stationarity(end, problem.gradient(end))
    counted = {f"{name} calls": count for name, count in result.counters.items()}
    at_rest = {"stationarity": stationarity} if stationarity > 1e-5 else {}
    return {"cost": -problem.value(end), "iterations": result.iterations, "projector": end @ end.T} | counted | at_rest


def _optimum(family: str, definition: dict[str, Any]) -> dict[str, Any]:
    """Return the value where a search ends by itself: an error of its gradient enters squared."""
    problem = _problem(family, 16 if definition["method"] == "ism_2018" else 40)
    result = _solved(definition, problem, 3000)
    return {"cost": -problem.value(result.projection), "status": str(result.status)}


def _wide() -> dict[str, Any]:
    """Return what solving in the row space of more features than samples leads to."""
    features, codes = samples(24, 70)
    kernel = build_kernel({"family": "gaussian", "sigma": 12.0}, features, 2)
    problem = build_problem(TraceObjective(features, kernel, supervised_gamma(codes)))
    end = _solved({"method": "ism_safeguarded"}, problem, 1000).projection
    return {"cost": -problem.value(end)}


def _many_samples() -> dict[str, Any]:
    """Return where the solver leads that begins with a problem of fewer samples, where there are many."""
    features, codes = samples(2100, 5)
    kernel = build_kernel({"family": "gaussian", "sigma": 2.0}, features, 2)
    problem = build_problem(TraceObjective(features, kernel, supervised_gamma(codes)))
    end = _solved({"method": "ism_safeguarded", "tolerance": 1e-7}, problem, 200).projection
    return {"cost": -problem.value(end)}


def _escaped(name: str) -> dict[str, Any]:
    """Return where a search ends that leaves saddles: a constant feature beside the best component."""
    features, codes = samples()
    widened = np.hstack([features, np.zeros((len(features), 2))])
    kernel = build_kernel({"family": "gaussian", "sigma": 2.0}, features, 2)
    problem = build_problem(TraceObjective(widened, kernel, supervised_gamma(codes)))
    start = np.vstack([projection(), np.zeros((2, 2))])
    result = solve(build_solver({"method": name, "escape": True}), problem, start, IterationMonitor(3000))
    return {"cost": -problem.value(result.projection), "status": str(result.status)}


def _steps_canary(name: str, family: str, **options: Any) -> Canary:
    kernel = "gaussian" if family == NARROW else family
    components = (f"solver/{name}", f"kernel/{kernel}", "evaluation/dense", "paradigm/supervised")
    words = " ".join(("steps", name, family, *map(str, options.values())))
    steps = MORE_STEPS if family == NARROW else STEPS
    return Canary(words, components, partial(_some_steps, family, {"method": name, **options}, steps))


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
        Canary(
            f"optimum {name}",
            (f"solver/{name}", "kernel/multiquadric", "evaluation/dense"),
            partial(_optimum, "multiquadric", {"method": name}),
        )
        for name in SEARCHES
        if name != "ism_2018"
    ),
    *(Canary(f"escape {name}", (f"solver/{name}", "kernel/gaussian"), partial(_escaped, name)) for name in VARIED),
    Canary("optimum of many samples", ("solver/ism_safeguarded", "kernel/gaussian"), _many_samples),
    Canary("optimum in the row space", ("solver/ism_safeguarded", "kernel/gaussian"), _wide),
]
