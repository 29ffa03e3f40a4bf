"""Splines on a grid against the dense arrays."""

import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.evaluation import Evaluation, build_problem, cost_model, grid, plan
from kdrbench.evaluation.dense import DenseProblem
from kdrbench.evaluation.grid import GridProblem
from kdrbench.kernels import Combination, Gaussian, Multiquadric, RelativeGaussian, Squared, Term
from kdrbench.solvers.geometry.stiefel import relative_stationarity
from support.equal_oracles import assert_equal_oracles
from support.evaluation_cases import GAMMAS, RATIONAL, each_once, objective_of
from support.helpers import random_projection, solved, traced_memory

OF_DIFFERENCES = {
    "multiquadric": Multiquadric(1.3),
    "gaussian": Gaussian(2.0),
    "user's": RATIONAL,
    "combination": Combination((Term(0.5, Multiquadric(2.0)), Term(1.0, Squared()), Term(0.3, Gaussian(2.5)))),
}


def plan_of(n_samples, kernel, q=2, gamma=None):
    return plan(objective_of(n_samples, kernel, gamma=gamma), q).evaluator


@pytest.mark.parametrize(("gamma", "kernel"), each_once("classes in any order", GAMMAS, "multiquadric", OF_DIFFERENCES))
def test_grids_equal_dense_arrays(monkeypatch, gamma, kernel):
    for name, value in (("_ENTRIES", 64 * 50), ("_HELD_ENTRIES", 64 * 100)):
        monkeypatch.setattr(grid, name, value)
    objective = objective_of(120, OF_DIFFERENCES[kernel], gamma=gamma)
    for q in (1, 2) if gamma == "classes in any order" else (2,):
        # Second derivatives are less smooth than first ones.
        assert_equal_oracles(
            GridProblem(objective, accuracy=1e-10, threads=2), DenseProblem(objective), q, rounding=1e-7
        )


def test_a_coarse_step_is_refined_to_the_accuracy_asked_for():
    objective, projection = objective_of(2000, Multiquadric()), random_projection()
    problem, exact = GridProblem(objective, accuracy=1e-9, step=0.5), DenseProblem(objective).gradient(projection)
    refinements = sum(iter(lambda: problem.refined_at(projection), False))
    error = np.linalg.norm(problem.gradient(projection) - exact) / np.linalg.norm(exact)
    assert (refinements > 1, error <= 3e-9) == (True, True)


def test_the_plan_takes_grids_for_many_samples_in_two_components(monkeypatch):
    assert [plan_of(n, Multiquadric(), q) for n, q in ((4999, 2), (5000, 3), (5000, 2))] == ["panels", "panels", "grid"]
    assert plan_of(5000, OF_DIFFERENCES["combination"], 1) == "grid"
    assert [plan_of(5000, kernel) for kernel in (Gaussian(1.0), Squared())] == ["panels", "factored"]
    assert plan_of(5000, Multiquadric(), gamma="factors of both signs") == "panels"
    with pytest.raises(InputError, match="grids are for kernels that are one function of differences"):
        build_problem(objective_of(60, RelativeGaussian(np.ones(60))), Evaluation("grid"))
    for name, value in (("GRID_SAMPLES", 500), ("_APPROXIMATION_SAMPLES", 500)):
        monkeypatch.setattr(cost_model, name, value)
    narrow, projection = build_problem(objective_of(600, Multiquadric(1e-3))), random_projection()
    assert narrow.fresh().approximation(projection) is not None
    assert narrow.value(projection) == pytest.approx(DenseProblem(narrow.objective).value(projection), rel=1e-12)
    assert narrow.explain(2).startswith("panels: a factor, a basis or a grid to the tolerance would be too large")


def test_a_solution_by_a_grid_is_stationary_for_all_pairs(monkeypatch):
    for name, value in (("GRID_SAMPLES", 500), ("_NODES_TO_PAIRS", 1.0)):
        monkeypatch.setattr(cost_model, name, value)
    objective = objective_of(900, Multiquadric())
    by_grid, by_pairs = (solved(build_problem(objective, Evaluation(name)), 2) for name in ("auto", "panels"))
    assert by_grid.evaluation.startswith("grid: 900 samples; the kernel is a function of differences; ")
    exact = DenseProblem(objective)
    assert exact.value(by_grid.projection) == pytest.approx(exact.value(by_pairs.projection), rel=1e-9)
    assert relative_stationarity(by_grid.projection, exact.gradient(by_grid.projection)) <= 1e-6


def test_memory_is_linear_in_the_number_of_samples():
    projection, basis = (random_projection(n_features=12, n_components=count) for count in (2, 10))
    problem = GridProblem(objective_of(60_000, Multiquadric(), n_features=12))
    with traced_memory() as traced:
        problem.value_and_gradient(projection)
        problem.surrogate(projection)
        problem.hessian(projection, basis)
    # The splines of all samples are held between calls; n x n would be 29 GB.
    assert traced.peak < 150 * 2**20
