"""Single steps and ends of the rivals, on quadratic problems."""

import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.solvers import IterationMonitor, Status, build_solver, solve
from kdrbench.solvers.dimension_growth import RULES, Column, _Growth
from kdrbench.solvers.geometry.stiefel import feasibility_error, relative_stationarity, subspace_turn
from kdrbench.solvers.grassmann import _clean
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


def test_a_column_halves_its_trials_and_doubles_the_next_one():
    values = []

    class Narrow(Quadratic):
        """Gains only where the step is at most 0.1."""

        def value(self, point):
            values.append(float(np.arccos(min(1.0, abs(start[:, 0] @ point[:, 0])))))
            return super().value(point) if values[-1] <= 0.11 else -1.0

    start = np.linalg.qr(np.array([[0.1, 0.0], [1.0, 0.0], [0.0, 1.0]]))[0]
    growing = column(Narrow(2.0, 1.0, 0.5), start=start)
    assert not growing.settled(1e-6)
    del values[:]
    assert growing.step()
    # 1, 1/2, 1/4, 1/8 and 1/16 of a turn along the great circle.
    np.testing.assert_allclose(np.sin(values), 0.5 ** np.arange(5), rtol=1e-6)
    assert growing.settled(1.0)
    assert not growing.settled(1e-6)
    start = growing.grown()
    del values[:]
    growing.step()
    assert np.sin(values[0]) == pytest.approx(1 / 8)


@pytest.mark.parametrize(("rule", "fewest", "most"), [("published", 20, 20), ("converged", 40, 60)])
def test_a_column_gives_up_after_the_trials_of_its_rule(rule, fewest, most):
    class Flat(Quadratic):
        def value(self, point):
            self.counters.value += 1
            return 0.0

    problem = Flat(3, 2, 1)
    growing = column(problem, rule, np.eye(3, 2)[[1, 0, 2]] * 0.8 + np.eye(3, 2) * 0.6)
    growing.settled(1e-6)
    before = problem.counters.value
    assert not growing.step()
    assert fewest <= problem.counters.value - before <= most
    # What did not gain has settled.
    assert growing.settled(1e-6)


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


def test_polished_columns_say_how_they_grew_and_how_they_ended():
    problem = Quadratic(9, 8, 4, 3, 2, 1)
    result = solve(build_solver({"method": "dimension_growth"}), problem, random_projection(), IterationMonitor())
    assert result.status is Status.CONVERGED
    assert result.message.startswith("each column settled to 1e-06; all columns together: ")
    # Of a monitor's own word nothing else is said.
    stopped = solve(build_solver({"method": "dimension_growth"}), problem, random_projection(), Noted(max_iterations=2))
    assert "all columns" not in stopped.message


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


def test_pymanopts_points_are_brought_back_to_the_manifold():
    for off in [1e-14, 1e-12, 1e-3]:
        point = random_projection()
        given = point * (1 + off)
        cleaned = _clean(given)
        assert feasibility_error(cleaned) <= 1e-13
        assert subspace_turn(cleaned, point) <= 1e-7
        if off < 1e-13:
            np.testing.assert_array_equal(cleaned, given)
        assert cleaned is not given


def test_growth_remembers_the_worst_that_was_said_of_a_column():
    growth = _Growth(Quadratic(4, 3, 2, 1), np.eye(4, 3), RULES["converged"], None)
    growth.steps = 7
    growth.end_column(Status.STALLED, "no step along {} after {}")
    assert (growth.status, growth.steps, growth.columns.shape[1]) == (Status.STALLED, 0, 1)
    growth.end_column()
    assert growth.status is Status.STALLED
    growth.steps = 9
    growth.end_column(Status.MAX_ITERATIONS, "column {} after {}")
    assert growth.status is Status.MAX_ITERATIONS
    assert growth.complete
    assert growth.outcome(1e-6).message == "no step along 1 after 7; column 3 after 9"


def cayley(variant="converged", factor=1.0):
    problem = Quadratic(*(factor * np.array([9.0, 8, 4, 3, 2, 1])))
    return problem, _Search(problem, random_projection(), _RULES[variant])


def test_sms_first_step_is_as_long_whatever_the_unit_of_f():
    for factor in [1e-6, 1.0, 1e6]:
        _, search = cayley(factor=factor)
        before = search.point
        assert search.step()
        assert 0.05 < np.linalg.norm(search.point - before) < 0.11


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


def test_where_nothing_moves_sm_keeps_its_step():
    _, search = cayley()
    assert search._barzilai_borwein(0.0, 0.0, np.zeros((6, 2))) == search._tau
    assert search._barzilai_borwein(0.5, -0.25, np.ones((6, 2))) == 2.0
