"""Costs on the papers' data that independent prototypes measured, all rows, zero diagonal of K.

The agreement of converged solvers on one local optimum is the strongest test there is of each of them.
"""

import os
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from kdrbench.solvers import IterationMonitor, Status, build_solver, make_start, solve
from kdrbench.solvers.geometry.stiefel import relative_stationarity
from support.known_problems import problem_on

mirror = os.environ.get("KDRBENCH_MIRROR", "")
needs_mirror = pytest.mark.skipif(
    not Path(mirror, "breast-cancer-wisconsin").is_dir(),
    reason="SKIPPED LOUDLY: KDRBENCH_MIRROR names no mirror folder, so the original Wisconsin set is not tested",
)
PROBLEMS = [
    pytest.param("wine", 4, marks=[]),
    pytest.param("cancer", 5, marks=needs_mirror),
]


CONVERGED = [
    {"method": "dimension_growth"},
    {"method": "stiefel_cayley"},
    {"method": "grassmann_trust_region"},
    {"method": "grassmann_trust_region", "derivatives": "autograd"},
    {"method": "grassmann_conjugate_gradient"},
    {"method": "riemannian_lbfgs"},
    {"method": "scipy_lbfgs"},
    {"method": "ism_safeguarded"},
]


def cost_of(problem, n_components, method, start="surrogate", **options):
    start = make_start(start, problem, n_components, np.random.default_rng(0))
    result = solve(build_solver({"method": method, **options}), problem, start, IterationMonitor())
    assert result.status is Status.CONVERGED
    return -problem.value(result.projection), result.projection


@pytest.mark.parametrize(("dataset", "q"), PROBLEMS)
def test_ism_with_the_papers_rule(dataset, q):
    # Half a unit of the last digit known: NeurIPS 2019 / ISM+ Table 5 prints -1628.14 for Wine.
    known = {
        ("wine", "gaussian"): (-1628.14, 0.005),
        ("wine", "polynomial"): (-141055, 0.5),
        ("cancer", "gaussian"): (-39814.2, 0.06),
        ("cancer", "polynomial"): (-2.31307e6, 6),
    }
    for kernel in ("gaussian", "polynomial"):
        expected, digit = known[dataset, kernel]
        cost, _ = cost_of(problem_on(dataset, q, kernel), q, "ism", tolerance=0.01)
        assert cost == pytest.approx(expected, abs=digit)


@pytest.mark.parametrize("kernel", ["gaussian", "polynomial"])
@pytest.mark.parametrize(("dataset", "q"), PROBLEMS)
def test_converged_solvers_agree(dataset, q, kernel):
    problem = problem_on(dataset, q, kernel)
    ism, _ = cost_of(problem, q, "ism", tolerance=1e-8)
    for definition, start in product(CONVERGED, ("surrogate", "random")):
        cost, projection = cost_of(problem, q, **definition, start=start)
        # At relative stationarity 1e-6 the cost errs by its square over the curvature.
        assert relative_stationarity(projection, problem.gradient(projection)) <= 1e-6
        assert cost == pytest.approx(ism, rel=1e-8)


def test_dimension_growth_is_a_little_worse_on_wine_as_greed_is():
    problem = problem_on("wine", 4, "gaussian")
    converged, _ = cost_of(problem, 4, "ism", tolerance=1e-8)
    start = make_start("surrogate", problem, 4, np.random.default_rng(0))
    greedy = build_solver({"method": "dimension_growth", "polish": False})
    grown = -problem.value(solve(greedy, problem, start, IterationMonitor()).projection)
    assert converged + 0.01 < grown < -1628.0


@pytest.mark.parametrize("kernel", ["gaussian", "polynomial"])
@pytest.mark.parametrize(("dataset", "q"), PROBLEMS)
def test_published_rivals_come_near_but_not_all_the_way(dataset, q, kernel):
    problem = problem_on(dataset, q, kernel)
    best, _ = cost_of(problem, q, "ism_safeguarded")
    gaps = {}
    for method in ("stiefel_cayley", "grassmann_trust_region", "dimension_growth"):
        cost, _ = cost_of(problem, q, method, start="random", variant="published")
        gaps[method] = cost / best - 1
    # SM's thresholds are of steps and costs: 1e-12 of a cost a step, and it takes some hundreds.
    assert abs(gaps["stiefel_cayley"]) < 1e-9
    # An absolute gradient norm of 1e-6 is at most 1e-9 of these costs.
    assert abs(gaps["grassmann_trust_region"]) < 1e-9
    # Greed, and columns that end at a gain of 1e-4.
    assert -1e-2 < gaps["dimension_growth"] < -1e-4


@pytest.mark.parametrize("kernel", ["linear", "squared"])
def test_quadratic_kernels_have_a_closed_form(kernel):
    # F = Tr(W' Phi W) up to a constant factor of one: the optimum is the sum of the leading eigenvalues of Phi.
    problem = problem_on("wine", 4, kernel)
    leading = np.linalg.eigvalsh(problem.initial_surrogate())[-4:].sum()
    for method in ("ism", "stiefel_cayley", "grassmann_trust_region", "dimension_growth"):
        cost, _ = cost_of(problem, 4, method)
        assert cost == pytest.approx(-leading, rel=1e-9)
