"""Newton's steps and the sweeps of projections between them: what they are for, and when they are not taken."""

import numpy as np
import pytest

from kdrbench.lowrank import LowRankStatus, Stopping, diagonal, draw_pairs, learn, learn_kernel, squared_distances
from kdrbench.lowrank.burg import Burg
from kdrbench.lowrank.learn import _step
from kdrbench.lowrank.reduced import reduce_problem
from kdrbench.lowrank.result import Progress

STOPPING = Stopping(1e-9, 1e-9, 100)


def far(seed):
    """Distances that are to be a thousandth to a thousand times what they are."""
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((10, 9))
    constraints = squared_distances(10, draw_pairs(10, 5, rng), "=", np.ones(5))
    constraints.bounds[:] = constraints.values(factor) * 1000.0 ** rng.uniform(-1, 1, 5)
    return factor, constraints


def learned(seed):
    return learn_kernel(*far(seed), solver="newton", stopping=STOPPING)


def test_sweeps_halve_the_shortened_steps_and_keep_the_kernel(monkeypatch):
    with_sweeps = [learned(seed) for seed in range(3)]
    monkeypatch.setattr(Burg, "cheap_sweeps", False)
    without = [learned(seed) for seed in range(3)]
    assert all(result.status is LowRankStatus.CONVERGED for result in with_sweeps)
    assert 2 * sum(result.sweeps for result in with_sweeps) < sum(result.sweeps for result in without)
    for first, second in zip(with_sweeps[1:], without[1:], strict=True):
        size = np.abs(second.kernel).max()
        np.testing.assert_allclose(first.kernel, second.kernel, atol=1e-6 * size)
    # What a sweep visits counts, too.
    assert with_sweeps[0].projections > 5 * with_sweeps[0].sweeps
    assert without[0].projections == 5 * without[0].sweeps


def test_a_sweep_that_rounding_ended_midway_is_not_taken(monkeypatch):
    def fails(self, state, duals, progress):
        state.root()[:], duals[:] = 0.0, 1e9
        return False

    monkeypatch.setattr(Burg, "sweep", fails)
    spoilt = learned(1)
    monkeypatch.setattr(Burg, "cheap_sweeps", False)
    plain = learned(1)
    assert spoilt.sweeps == plain.sweeps
    np.testing.assert_array_equal(spoilt.kernel, plain.kernel)


@pytest.mark.parametrize("solver", ["cyclic", "newton"])
def test_without_constraints_nothing_changes(solver):
    factor = np.arange(6.0).reshape(3, 2)
    result = learn_kernel(factor, diagonal(3, [0], "<=", 1.0).take([]), solver=solver)
    assert (result.status, result.dual_change) == (LowRankStatus.CONVERGED, 0.0)
    assert (result.kkt_residual, result.largest_violation, result.trace_bound) == (0.0, 0.0, 0.0)
    np.testing.assert_allclose(result.kernel, factor @ factor.T, atol=1e-12)


class QuadraticDual:
    """Dual objective ``offset`` + g'mu - mu'H mu / 2 over the duals of as many constraints; ``loss`` where mu > 0."""

    def __init__(self, hessian, slopes, senses, offset=0.0, loss=0.0):
        self.hessian, self.slopes, self.offset, self.loss = np.array(hessian), np.array(slopes), offset, loss
        asked = diagonal(len(slopes), range(len(slopes)), senses, 1.0)
        self.problem = reduce_problem(np.eye(len(slopes)), asked, orthonormal=False, slack=np.inf)

    def at(self, duals):
        return duals

    def dual(self, duals, _):
        value = self.slopes @ duals - 0.5 * duals @ self.hessian @ duals
        return float(self.offset + value - self.loss * duals.any())

    def curvature(self, duals, _, free):
        return self.hessian[np.ix_(free, free)]


def first_step(dual):
    zero = np.zeros(len(dual.slopes))
    return _step(dual, zero, zero, dual.slopes)


@pytest.mark.parametrize("sense", [">=", "<="])
def test_a_dual_at_its_bound_is_held(sense):
    # Together the two would take a step of (7.6, -7.4), whose projection overshoots; the first alone is solved by 1.
    sign = 1.0 if sense == ">=" else -1.0
    duals, _, full = first_step(QuadraticDual([[1.0, 0.9], [0.9, 1.0]], sign * np.array([1.0, -0.5]), sense))
    np.testing.assert_allclose(duals, [sign, 0.0], rtol=1e-9)
    assert full
    assert first_step(QuadraticDual(np.eye(2), -sign * np.ones(2), sense)) is None


@pytest.mark.parametrize("size", [1.0, 1e8])
def test_only_losses_within_rounding_are_taken(size):
    # The objective is rounded to 1e-16 of its size, however little the step promises.
    slopes = [1e-9]
    assert first_step(QuadraticDual([[1.0]], slopes, "=", offset=size, loss=1e-14 * size)) is not None
    assert first_step(QuadraticDual([[1.0]], slopes, "=", offset=size, loss=1e-11 * size)) is None


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_one_step_solves_a_quadratic_in_any_units(unit):
    units, hessian = np.array([unit, 1.0]), np.array([[2.0, 1.0], [1.0, 3.0]])
    duals, *_ = first_step(QuadraticDual(hessian / np.outer(units, units), np.array([1.0, 2.0]) / units, "="))
    np.testing.assert_allclose(duals, np.linalg.solve(hessian, [1.0, 2.0]) * units, rtol=1e-8)


@pytest.mark.parametrize("slack", [1.0, np.inf])
def test_with_slack_no_growth_of_duals_proves_anything(slack):
    asked = squared_distances(3, [(0, 1), (1, 2), (0, 2)], ["<=", "<=", ">="], [0.1, 0.1, 4.0])
    divergence = Burg(reduce_problem(np.eye(3), asked, orthonormal=False, slack=slack))
    # Twice the sum of the first two distances is never below the third.
    duals = np.array([-2.0, -2.0, 1.0])
    assert learn._no_solution(divergence, duals, duals, Progress(sweeps=1)) is (slack == np.inf)
