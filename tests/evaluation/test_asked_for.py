"""Evaluators that are only asked for, autograd, the sum over pairs and dense arrays, against each other."""

import pickle
import re
from dataclasses import replace

import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.evaluation import Evaluation, build_problem
from kdrbench.evaluation.dense import DenseProblem
from kdrbench.evaluation.on_request import AutomaticProblem, PairwiseSumProblem
from kdrbench.kernels import Combination, Gaussian, Linear, Multiquadric, Polynomial, Term
from kdrbench.paradigms import supervised_problem
from kdrbench.problems import PassStoppedError
from support.equal_oracles import assert_equal_oracles
from support.evaluation_cases import COMBINATION, GAMMAS, RATIONAL, each_once, kernels_of, objective_of
from support.helpers import KERNELS, random_projection, random_samples, small_problem

N = 24
DIFFERENTIABLE = {**KERNELS, "line": Polynomial(degree=1, offset=0.0), "combination": COMBINATION}
# Of KERNELS the Gaussian has a sigma whose square is its double.
DIFFERENTIABLE["wide gaussian"] = Gaussian(3.0)
ALL = {**DIFFERENTIABLE, **kernels_of(N), "flat at zero": Polynomial(degree=3, offset=0.0)}


@pytest.mark.parametrize(("kernel", "gamma"), each_once("gaussian", DIFFERENTIABLE, "factors of both signs", GAMMAS))
def test_autograd_finds_the_derivatives_that_are_written_down(kernel, gamma):
    objective = objective_of(N, DIFFERENTIABLE[kernel], gamma=gamma)
    problem = AutomaticProblem(objective)
    assert_equal_oracles(problem, DenseProblem(objective), 2, 1e-9, without=("surrogate", "hessian"))


@pytest.mark.parametrize(("kernel", "gamma"), each_once("gaussian", ALL, "factors of both signs", GAMMAS))
def test_sums_over_pairs_equal_dense_arrays(kernel, gamma):
    objective = objective_of(N, ALL[kernel], gamma=gamma)
    lacking = ("hessian_vector", "hessian_vectors", "hessian")
    assert_equal_oracles(PairwiseSumProblem(objective), DenseProblem(objective), 2, 1e-10, without=lacking)


def test_autograd_keeps_its_digits_far_from_the_origin():
    near, point = objective_of(N, Gaussian(2.0)), random_projection()
    far = AutomaticProblem(replace(near, features=near.array + 1e6))
    np.testing.assert_allclose(far.gradient(point), DenseProblem(near).gradient(point), 1e-6)


def test_a_recorded_gradient_belongs_to_its_point():
    objective = objective_of(N, Gaussian(2.0))
    problem, direction = AutomaticProblem(objective), random_projection(seed=5)
    here, there = random_projection(), random_projection(seed=2)
    moved = here.copy()
    first = problem.hessian_vector(moved, direction)
    moved[:] = there
    second = problem.hessian_vector(moved, direction)
    np.testing.assert_array_equal(first, AutomaticProblem(objective).hessian_vector(here, direction))
    np.testing.assert_array_equal(second, AutomaticProblem(objective).hessian_vector(there, direction))
    again = pickle.loads(pickle.dumps(problem))
    np.testing.assert_array_equal(again.hessian_vector(there, direction), second)


def test_a_problem_evaluated_otherwise_shares_its_counters():
    problem, projection = build_problem(objective_of(N, Gaussian(2.0))), random_projection()
    shares = []
    problem.report = shares.append
    assert problem.explain(2).startswith("dense: ")
    other = problem.evaluated("pairwise_sum")
    assert problem.explain(2) == other.explain(2) == "pairwise_sum: asked for"
    with pytest.raises(PassStoppedError):
        other.surrogate(projection)
    assert shares == [1 / N]
    assert (problem.counters.surrogate, other.counters.surrogate) == (1, 1)
    # Whoever answered last is named.
    problem.surrogate(projection)
    assert problem.explain(2).startswith("dense: ")
    assert (problem.counters.surrogate, other.counters.surrogate) == (2, 2)


def test_autograd_says_which_kernels_it_knows():
    for kernel in (RATIONAL, ALL["rbf-relative"]):
        message = f"autograd knows linear, .* and multiquadric .*, not {type(kernel).__name__}; choose another"
        for asked in (kernel, Combination((Term(1.0, Linear()), Term(1.0, kernel)))):
            with pytest.raises(InputError, match=message):
                build_problem(objective_of(N, asked), Evaluation(evaluator="autograd"))
            with pytest.raises(InputError, match=message):
                build_problem(objective_of(N, asked)).evaluated("autograd")


def test_oracles_they_lack_are_refused():
    lacking = {"autograd": ("surrogate", "hessian"), "pairwise_sum": ("hessian_vector", "hessian")}
    for evaluator, oracle in ((name, oracle) for name in lacking for oracle in lacking[name]):
        problem = build_problem(objective_of(N, Multiquadric()), Evaluation(evaluator=evaluator))
        arguments = [random_projection()] * (1 if oracle == "surrogate" else 2)
        with pytest.raises(InputError, match=f"Problem has no oracle {oracle}; choose another evaluator, or a solver"):
            getattr(problem, oracle)(*arguments)


def test_the_first_surrogate_is_that_of_no_projection():
    for problem in map(small_problem, KERNELS):
        reference = problem.surrogate(np.zeros((6, 2)))
        np.testing.assert_allclose(problem.initial_surrogate(), reference, atol=1e-12 * np.abs(reference).max())
    # It does not vanish with the slope.
    flat = supervised_problem(*random_samples(), Polynomial(degree=3, offset=0.0))
    linear = small_problem("linear")
    np.testing.assert_allclose(flat.initial_surrogate(), linear.initial_surrogate(), rtol=1e-12)


def test_counts_each_oracle_and_a_fresh_problem_counts_from_zero():
    problem, projection = small_problem(), random_projection()
    problem.value(projection)
    problem.gradient(projection)
    for _ in range(3):
        problem.value_and_gradient(projection)
    problem.hessian_vector(projection, projection)
    problem.hessian(projection, projection)
    problem.surrogate(projection)
    problem.initial_surrogate()
    fresh = problem.fresh()
    assert fresh.value(projection) == problem.value(projection)
    later = {"hessian_vector": 1, "hessian": 1, "surrogate": 2}
    assert vars(problem.counters) == {"value": 2, "gradient": 1, "value_gradient": 3, **later}
    assert problem.counters.total == 10
    assert vars(fresh.counters) == {"value": 1, "gradient": 0, "value_gradient": 0, **dict.fromkeys(later, 0)}


def test_a_projection_of_other_data_is_refused():
    for problem in (small_problem(), DenseProblem(small_problem().objective)):
        for oracle in ("value", "gradient", "value_and_gradient", "surrogate"):
            for wrong in (np.ones((5, 2)), np.ones(6), np.ones((6, 2, 1))):
                with pytest.raises(InputError, match=rf"must have 6 rows, got shape {re.escape(str(wrong.shape))}"):
                    getattr(problem, oracle)(wrong)
