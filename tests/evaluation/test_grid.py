"""Splines on a grid against the dense arrays."""

import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.evaluation import Evaluation, build_problem, cost_model, plan
from kdrbench.evaluation.dense import DenseProblem
from kdrbench.evaluation.grid import GridProblem
from kdrbench.kernels import Combination, Gaussian, Multiquadric, Polynomial, RelativeGaussian, Squared, Term
from kdrbench.problems import FactoredGamma, TraceObjective, supervised_gamma
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


def grouped(n_samples, kernel=None, n_features=8, classes=3):
    """Samples around the means of their classes, in any order."""
    rng = np.random.default_rng(5)
    labels = rng.integers(0, classes, n_samples)
    features = rng.standard_normal((n_samples, n_features)) + 2.0 * rng.standard_normal((classes, n_features))[labels]
    return TraceObjective(features, kernel or Multiquadric(1.0), supervised_gamma(labels))


@pytest.mark.parametrize(("gamma", "kernel"), each_once("classes in any order", GAMMAS, "multiquadric", OF_DIFFERENCES))
def test_grids_equal_dense_arrays(gamma, kernel):
    objective = objective_of(120, OF_DIFFERENCES[kernel], gamma=gamma)
    for q in (1, 2) if gamma == "classes in any order" else (2,):
        # Second derivatives are less smooth than first ones.
        assert_equal_oracles(GridProblem(objective, accuracy=1e-10), DenseProblem(objective), q, rounding=1e-7)


def test_a_grid_has_as_many_dimensions_as_its_samples():
    objective, projection = objective_of(80, Gaussian(4.0)), random_projection(n_features=6, n_components=3)
    found, expected = (problem.gradient(projection) for problem in (GridProblem(objective), DenseProblem(objective)))
    np.testing.assert_allclose(found, expected, atol=1e-8 * np.abs(expected).max())


def test_blocks_and_threads_change_sums_by_rounding(monkeypatch):
    monkeypatch.setattr("kdrbench.evaluation.grid._ENTRIES", 64 * 50)
    monkeypatch.setattr("kdrbench.evaluation.grid._HELD_ENTRIES", 64 * 100)
    for gamma in ("classes in any order", "factors of both signs"):
        objective = objective_of(170, Multiquadric(1.0), gamma=gamma)
        one, three = (GridProblem(objective, threads=threads) for threads in (1, 3))
        assert_equal_oracles(three, one, q=2, rounding=1e-11)


def test_the_step_has_the_accuracy_asked_for_and_is_refined():
    objective, projection = grouped(2000), random_projection(n_features=8, n_components=2)
    exact, near = DenseProblem(objective).gradient(projection), []
    for accuracy in (1e-3, 1e-6, 1e-9):
        problem = GridProblem(objective, accuracy=accuracy)
        near.append(np.linalg.norm(problem.gradient(projection) - exact) / np.linalg.norm(exact))
        # A third of the samples are measured.
        assert near[-1] <= 3.0 * accuracy
        assert not problem.refined_at(projection)
    assert near[0] > near[1] > near[2]
    coarse = GridProblem(objective, accuracy=1e-9, step=0.5)
    assert coarse.refined_at(projection)
    while coarse.refined_at(projection):
        pass
    assert np.linalg.norm(coarse.gradient(projection) - exact) <= 3e-9 * np.linalg.norm(exact)


def test_the_plan_takes_grids_for_many_samples_in_two_components(monkeypatch):
    assert plan(grouped(4999), 2).evaluator == "panels"
    assert [plan(grouped(5000), q).evaluator for q in (1, 2, 3)] == ["grid", "grid", "panels"]
    assert plan(grouped(5000, Gaussian(1.0)), 2).evaluator == "panels"
    assert plan(grouped(5000, Polynomial()), 2).evaluator == "factored"
    assert plan(grouped(5000, Squared()), 2).evaluator == "factored"
    assert plan(grouped(5000, OF_DIFFERENCES["combination"]), 2).evaluator == "grid"
    of_factors = FactoredGamma(np.random.default_rng(0).standard_normal((5000, 3)), np.ones(3))
    assert plan(TraceObjective(grouped(5000).features, Multiquadric(), of_factors), 2).evaluator == "panels"
    monkeypatch.setattr(cost_model, "GRID_SAMPLES", 500)
    # The kernel bends on a scale for which there are too few nodes.
    narrow = build_problem(grouped(600, Multiquadric(1e-3)))
    projection = random_projection(n_features=8, n_components=2)
    assert narrow.value(projection) == pytest.approx(DenseProblem(narrow.objective).value(projection), rel=1e-12)
    with monkeypatch.context() as patched:
        patched.setattr(cost_model, "_APPROXIMATION_SAMPLES", 500)
        assert narrow.fresh().approximation(projection) is not None
    assert narrow.explain(2).startswith("panels: a factor, a basis or a grid to the tolerance would be too large")
    for kernel in (Polynomial(), RelativeGaussian(np.ones(600))):
        with pytest.raises(InputError, match="grids are for kernels that are one function of differences"):
            build_problem(grouped(600, kernel), Evaluation("grid"))


def test_a_solution_by_a_grid_is_stationary_for_all_pairs(monkeypatch):
    monkeypatch.setattr(cost_model, "GRID_SAMPLES", 500)
    monkeypatch.setattr(cost_model, "_NODES_TO_PAIRS", 1.0)
    objective = grouped(900)
    by_grid, by_pairs = (solved(build_problem(objective, Evaluation(name)), 2) for name in ("auto", "panels"))
    assert by_grid.status == "converged"
    assert by_grid.evaluation.startswith("grid: 900 samples; a function of differences in 2 dimensions; ")
    exact = DenseProblem(objective)
    assert exact.value(by_grid.projection) == pytest.approx(exact.value(by_pairs.projection), rel=1e-9)
    assert relative_stationarity(by_grid.projection, exact.gradient(by_grid.projection)) <= 1e-6


def test_memory_is_linear_in_the_number_of_samples():
    objective = grouped(60_000, n_features=12)
    projection, basis = (random_projection(n_features=12, n_components=count) for count in (2, 10))
    problem = GridProblem(objective)
    problem.suffices_at(projection)
    with traced_memory() as traced:
        problem.value_and_gradient(projection)
        problem.surrogate(projection)
        problem.hessian(projection, basis)
    # The splines of all samples are held between calls; n x n would be 29 GB.
    assert traced.peak < 150 * 2**20
