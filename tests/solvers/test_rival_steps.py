"""Single steps and ends of the rivals, on quadratic problems."""

import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.solvers import IterationMonitor, Status, build_solver, solve
from kdrbench.solvers.dimension_growth import RULES, Column
from kdrbench.solvers.geometry.stiefel import relative_stationarity, subspace_turn
from kdrbench.solvers.stiefel_cayley import _RULES, _Search
from support.helpers import random_projection
from support.quadratics import Noted, Quadratic

ITERATED = {"grassmann_conjugate_gradient": 3, "grassmann_trust_region": 2, "riemannian_lbfgs": 3, "scipy_lbfgs": 3}


@pytest.mark.parametrize("method", ITERATED)
def test_rivals_take_the_iterations_allowed_and_check_options(method):
    problem, monitor = Quadratic(9, 8, 7, 5, 3, 1), Noted()
    start, most = random_projection(), ITERATED[method]
    result = solve(build_solver({"method": method, "max_iterations": most}), problem, start, monitor)
    assert result.status is Status.MAX_ITERATIONS
    assert f"after {most} iterations" in result.message
    # The start and each iterate are shown.
    assert monitor.calls.count("keep_going") == most + 1
    for wrong in ({"tolerance": 0.0}, {"max_iterations": 0}):
        with pytest.raises(InputError, match=f"solver option {next(iter(wrong))} must be"):
            build_solver({"method": method, **wrong})
        with pytest.raises(InputError, match=f"solver option {next(iter(wrong))} must be"):
            type(build_solver({"method": method}))(**wrong)
    assert not build_solver({"method": method}).escape
    assert "hessian_vector" in build_solver({"method": method, "escape": True}).requires


@pytest.mark.parametrize("method", ITERATED)
def test_rivals_end_by_relative_stationarity(method):
    for factor in [1e-9, 1e9]:
        problem = Quadratic(*(factor * np.array([9.0, 8, 4, 3, 2, 1])))
        result = solve(build_solver({"method": method}), problem, random_projection(), IterationMonitor())
        assert result.status is Status.CONVERGED
        assert relative_stationarity(result.projection, problem.gradient(result.projection)) <= 1e-6
        assert subspace_turn(np.eye(6, 2), result.projection) <= 1e-5


def column(problem, rule="converged", start=None):
    start = random_projection() if start is None else start
    return Column(problem, start[:, :0], start, RULES[rule])


@pytest.mark.parametrize("variant", ["published", "converged"])
def test_what_is_said_of_columns_along_which_no_step_gains(variant):
    class Sinking(Quadratic):
        """Less and less, however one turns."""

        def value(self, point):
            self.counters.value += 1
            return float(1000 - self.counters.value)

    monitor, definition = Noted(), {"method": "dimension_growth", "variant": variant}
    solver = build_solver(definition if variant == "published" else definition | {"polish": False})
    result = solve(solver, Sinking(4, 3, 2, 1), random_projection(n_features=4), monitor)
    if variant == "published":
        assert result.status is Status.CONVERGED
        assert result.message == RULES["published"].end
    else:
        assert result.status is Status.STALLED
        said = "no step increases F along column 1; no step increases F along column 2; stationarity of all columns"
        assert result.message.startswith(said)
    # A search without gain ends its column, from which no one need go on.
    assert len(monitor.states) == 2
    np.testing.assert_allclose(result.projection, random_projection(n_features=4), atol=1e-14)


@pytest.mark.parametrize("rule", ["published", "converged"])
def test_a_column_goes_on_from_its_state(rule):
    problem, start = Quadratic(9, 5, 3, 2, 1, 0.5), random_projection(n_components=3)
    growing = Column(problem, np.eye(6)[:, [4]], start, RULES[rule])
    for _ in range(3):
        growing.settled(1e-9)
        growing.step()
    again = Column(problem, np.eye(6)[:, [4]], start, RULES[rule], growing.state())
    for column_ in (growing, again):
        assert not column_.settled(1e-9)
        assert column_.step()
    np.testing.assert_array_equal(again.grown(), growing.grown())
    for name, value in growing.state().items():
        np.testing.assert_array_equal(again.state()[name], value)


def cayley(variant="converged", factor=1.0):
    problem = Quadratic(*(factor * np.array([9.0, 8, 4, 3, 2, 1])))
    return problem, _Search(problem, random_projection(), _RULES[variant])


@pytest.mark.parametrize("variant", ["converged", "published"])
def test_sms_step_lengths_are_barzilai_and_borweins_by_turns(variant):
    problem, search = cayley(variant, factor=1e-3)
    for number in range(6):
        before, cost = search.point, -problem.value(search.point)
        slope = _cayley_slope(problem, before)
        assert search.step()
        moved, turned = search.point - before, _cayley_slope(problem, search.point) - slope
        product = abs(np.vdot(moved, turned))
        long, short = np.vdot(moved, moved) / product, product / np.vdot(turned, turned)
        expected = long if (number % 2 == 0) == (variant == "converged") else short
        assert search._tau == pytest.approx(np.clip(expected, 1e-20, 1e20), rel=1e-9)
        size, gain = search.changes[-1]
        assert size == pytest.approx(np.linalg.norm(moved) / np.sqrt(6), rel=1e-9)
        assert gain == pytest.approx(abs(-problem.value(search.point) - cost) / (abs(cost) + 1), rel=1e-6)
        assert search.steps == len(search.changes) == number + 1


def _cayley_slope(problem, point):
    gradient = -problem.gradient(point)
    return gradient - point @ gradient.T @ point
