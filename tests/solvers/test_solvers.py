"""What every solver must do, whichever it is, and what it must reach on every problem from the surrogate's start."""

import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.problems import Problem
from kdrbench.solvers import SOLVERS as METHODS
from kdrbench.solvers import Monitor, Status, build_solver, make_start, solve
from kdrbench.solvers.geometry.stiefel import feasibility_error, relative_stationarity
from support.helpers import random_projection, small_problem, solved
from support.solver_cases import CASES, ROUNDING

RIVALS = ["dimension_growth", "stiefel_cayley", "grassmann_trust_region"]
# Each method, and the published variants of the rivals.
SOLVERS = {
    **{method: {"method": method} for method in METHODS},
    **{f"{method}, published": {"method": method, "variant": "published"} for method in RIVALS},
}


@pytest.mark.parametrize("method", SOLVERS)
def test_two_runs_are_equal_to_the_last_bit(method):
    first, second = (solved(small_problem(), **SOLVERS[method]) for _ in range(2))
    np.testing.assert_array_equal(first.projection, second.projection)
    assert first.counters == second.counters


@pytest.mark.parametrize("method", SOLVERS)
def test_ends_at_the_monitors_limit_and_at_its_own(method):
    problem = small_problem()
    start = make_start("random", problem, 2, np.random.default_rng(4))
    capped = build_solver({**SOLVERS[method], "tolerance": 1e-14, "max_iterations": 1})
    result = solve(capped, problem, start, Monitor())
    assert result.status is Status.MAX_ITERATIONS
    assert "after 1" in result.message
    result = solve(build_solver({**SOLVERS[method], "tolerance": 1e-12}), problem, start, Monitor(2))
    assert result.status is Status.MAX_ITERATIONS
    assert result.message == "stopped after 2 iterations"
    assert result.iterations == 2
    assert feasibility_error(result.projection) < 1e-10


def test_unknown_methods_and_options_are_named():
    for definition, message in (
        ({"method": "imm"}, r"unknown solver method 'imm'\. Did you mean 'ism'\? .*dimension_growth, .*module:Class"),
        ({"method": "ism", "tol": 1}, r"method 'ism': 'tol'\. Did you mean 'tolerance'. Allowed: max_iterations, tol"),
        ({"method": "ism", "variant": "cosine"}, "unknown solver option variant 'cosine'; allowed: "),
        ({"method": "ism", "max_iterations": 1.5}, r"max_iterations must be an integer >= 1, got 1.5"),
        ({"method": "no_such_module:Solver"}, "'no_such_module:Solver' cannot be loaded: No module named"),
    ):
        with pytest.raises(InputError, match=message):
            build_solver(definition)


def test_a_problem_without_a_required_oracle_is_refused():
    needs, derived = (
        "StiefelCayley needs the oracle gradient and value, which Problem",
        "derived from .*Problem, got int",
    )
    for problem, message in ((Problem(), needs), (3, derived)):
        with pytest.raises(InputError, match=message):
            solve(build_solver({"method": "stiefel_cayley"}), problem, random_projection(), Monitor())


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (np.ones((6, 2)), r"start is not orthonormal: \|W'W - I\| ="),
        (np.full((6, 2), np.nan), "start holds NaN"),
        (np.eye(5, 2), r"start must be 6 x q with q >= 1, got shape \(5, 2\)"),
        (np.eye(6, 0), r"must be 6 x q with q >= 1, got shape \(6, 0\)"),
        (np.ones((6, 7)), "cannot project 6 features to 7 components"),
        (("surrogate", 7), "cannot project 6 features to 7 components"),
        (("random", 0), "cannot project 6 features to 0 components"),
        (("phi", 2), "unknown start 'phi'; allowed: completed, identity, random, surrogate"),
    ],
)
def test_bad_starts_are_refused(start, message):
    problem = small_problem()
    made = (lambda: make_start(start[0], problem, start[1], None)) if isinstance(start, tuple) else start
    with pytest.raises(InputError, match=message):
        solve(build_solver({"method": "ism"}), problem, made, Monitor())


PRECISE = ["ism_safeguarded", "stiefel_cayley", "grassmann_trust_region", "grassmann_conjugate_gradient"]
PRECISE += ["riemannian_lbfgs", "scipy_lbfgs"]
# What F may be below the maximum, as a share of it.
LOOSE = {"ism": 5e-3, "ism_2018": 5e-3, "dimension_growth": 5e-3, "dimension_growth, published": 2e-2}
LOOSE |= {"stiefel_cayley, published": 1e-6, "grassmann_trust_region, published": 1e-6}
AUTOGRAD = "grassmann_trust_region, published"


def products(solvers, of_every_case):
    """Pair solvers with the cases that they know: daily those of one solver, the Gaussian's, and a diagonal."""
    pairs = []
    for row, solver in enumerate(solvers):
        known = [case for case in CASES if solver != AUTOGRAD or case.autograd_knows_it]
        daily = {"gaussian", known[row].name, known[-row - 2].name}
        for case in known:
            marks = () if solver == of_every_case or case.name in daily else pytest.mark.whole
            pairs.append(pytest.param(solver, case, marks=marks, id=f"{solver}-{case.name}"))
    return pairs


def solved_case(case, solver):
    problem = case.problem()
    start = make_start("surrogate", problem, case.n_components, np.random.default_rng(0))
    return problem.fresh(), start, solved(problem, start=start, **SOLVERS[solver])


def assert_sound(problem, start, result, statuses=(Status.CONVERGED,)):
    assert result.status in statuses, result.message
    assert result.message
    assert result.projection.shape == start.shape
    assert feasibility_error(result.projection) <= 1e-12
    before = problem.value(start)
    assert problem.value(result.projection) >= before - 1e-12 * abs(before)


@pytest.mark.parametrize(("solver", "case"), products(PRECISE, "ism_safeguarded"))
def test_precise_solvers_are_stationary_and_reach_the_maximum(solver, case):
    problem, start, result = solved_case(case, solver)
    assert_sound(problem, start, result)
    gradient = problem.gradient(result.projection)
    if case.n_components < problem.n_features:
        assert relative_stationarity(result.projection, gradient) <= 1e-6
    reached = problem.value(result.projection)
    wanted = case.optimum if solver == "ism_safeguarded" else case.local_optimum or case.optimum
    assert reached == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize(("solver", "case"), products(LOOSE, "dimension_growth"))
def test_other_rules_end_within_a_share_of_the_maximum(solver, case):
    problem, start, result = solved_case(case, solver)
    if case.ism_cycles and solver.startswith("ism"):
        assert result.status is Status.MAX_ITERATIONS
        return
    assert_sound(problem, start, result, (Status.CONVERGED, Status.STALLED))
    reached = problem.value(result.projection)
    assert reached >= (1.0 - LOOSE[solver]) * (case.local_optimum or case.optimum)
    assert reached <= (1.0 + ROUNDING) * case.optimum
