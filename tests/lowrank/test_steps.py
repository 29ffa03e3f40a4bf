"""Projections, sweeps and Newton's steps against exponentials, exact arithmetic and duals; when they are not taken."""

from dataclasses import replace
from decimal import Decimal, localcontext
from itertools import product

import numpy as np
import pytest
from scipy.linalg import expm

from kdrbench.lowrank import LowRankStatus, Stopping, draw_pairs, learn_kernel
from kdrbench.lowrank.burg import Burg, two_step
from kdrbench.lowrank.constraints import diagonal, join, similarities, squared_distances
from kdrbench.lowrank.learn import _no_solution, _step
from kdrbench.lowrank.reduced import reduce_problem
from kdrbench.lowrank.result import Progress
from kdrbench.lowrank.trace_step import Projection, _newton, divided_differences, projection_step


def projection(seed, signs, factor, *, dual=0.0, lower=-np.inf, upper=np.inf, slack=np.inf):
    """Rows of r = 4 entries; the bound is ``factor`` times the trace at the start, or with two signs its parts' sum."""
    rng = np.random.default_rng(seed)
    logs, rows, signs = rng.standard_normal(4), rng.standard_normal((len(signs), 4)), np.array(signs)
    parts = (rows**2) @ np.exp(logs)
    bound = factor * float(parts[0] if len(signs) == 1 else parts.sum())
    return Projection(logs, rows, signs, dual, bound, lower, upper, slack)


def matrix_of(asked, step):
    return np.diag(asked.logs) + step * (asked.rows.T * asked.signs) @ asked.rows


def trace_of(asked, step):
    return float(np.sum(((asked.rows @ expm(matrix_of(asked, step))) * asked.rows).T @ asked.signs))


def moved_bound(asked, step):
    """The bound that the slack leaves when the dual has moved by the step: b exp(-mu / gamma)."""
    return asked.bound * np.exp(-(asked.dual + step) / asked.slack)


@pytest.mark.parametrize(
    ("signs", "factors", "slack"),
    [
        *[([1.0], (1e-6, 1e-2, 0.9, 1.1, 1e2, 1e6), slack) for slack in (np.inf, 0.5, 20.0)],
        # With two signs a trace can be negative; tr(XA) is that of both parts with their signs.
        ([1.0, -1.0], (-1e3, -0.7, -1e-3, 0.0, 1e-3, 0.7, 1e3), np.inf),
    ],
)
def test_a_step_meets_its_bound_in_few_evaluations(signs, factors, slack):
    for seed in range(5):
        for factor, dual in product(factors, (0.0, 0.3)):
            asked, progress = projection(seed, signs, factor, dual=dual, slack=slack), Progress()
            step, spectrum = projection_step(asked, progress)
            size = np.abs(asked.rows**2 @ np.exp(asked.logs)).sum() + abs(asked.bound)
            assert trace_of(asked, step) == pytest.approx(moved_bound(asked, step), rel=1e-9, abs=1e-9 * size)
            values = np.linalg.eigvalsh(matrix_of(asked, step))
            np.testing.assert_allclose(np.sort(spectrum.values), values, rtol=0, atol=1e-13 * np.abs(values).max())
            # Convergence is quadratic on a scale on which the trace is nearly linear; 60 halvings would be a bisection.
            assert progress.trace_evaluations <= 12


@pytest.mark.parametrize("signs", [[1.0], [1.0, -1.0]])
def test_a_step_ends_where_its_dual_may_not_go_on(signs):
    for factor in [1e-3, 0.5, 0.99]:
        for seed in range(5):
            free, _ = projection_step(projection(seed, signs, factor), Progress())
            # The dual is zero half of the way there, or a little or far beyond.
            for share in (0.5, 1.0001, 1.1, 2.0, 100.0):
                dual = -share * free
                limits = {"lower": 0.0} if dual > 0 else {"upper": 0.0}
                asked = projection(seed, signs, factor, dual=dual, **limits)
                step, spectrum = projection_step(asked, Progress())
                assert step == pytest.approx(free * min(share, 1.0), rel=1e-7)
                assert asked.dual + step == 0 or share > 1
                values = np.linalg.eigvalsh(matrix_of(asked, step))
                np.testing.assert_allclose(np.sort(spectrum.values), values, rtol=0, atol=1e-13 * np.abs(values).max())
            # It is zero already.
            limits = {"lower": 0.0} if free < 0 else {"upper": 0.0}
            progress = Progress()
            assert projection_step(projection(seed, signs, factor, **limits), progress) == (0.0, None)
            assert progress.trace_evaluations == 0


@pytest.mark.parametrize("slack", [np.inf, 2.0])
def test_a_constraint_that_holds_takes_no_step_and_no_spectrum(slack):
    progress = Progress()
    asked = projection(0, [1.0], 1.0, slack=slack)
    assert projection_step(asked, progress) == (0.0, None)
    assert progress.trace_evaluations == 0
    # The slack has moved the bound of a dual that is not zero, so that it does not hold any more.
    step, _ = projection_step(projection(0, [1.0], 1.0, dual=0.4, slack=slack), progress)
    assert (step == 0) is (slack == np.inf)


def test_traces_near_the_largest_and_smallest_number_are_met():
    # Their squares, and the slopes, are beyond it.
    for first, asked_for in ((1.0, 690.0), (-600.0, 0.0), (690.0, 689.0), (-690.0, -695.0)):
        logs, rows = np.array([first, first - 1]), np.array([[1.0, 0.5]])
        asked = Projection(logs, rows, np.ones(1), 0.0, float(np.exp(asked_for)), -np.inf, np.inf, np.inf)
        _, spectrum = projection_step(asked, Progress())
        largest = spectrum.values.max()
        turned = np.log(np.sum(spectrum.turned[0] ** 2 * np.exp(spectrum.values - largest)))
        assert turned + largest == pytest.approx(asked_for, abs=1e-9)


class MisjudgedTrace:
    """A trace whose level meets the target at ``root``, and whose slope is said to be another."""

    def __init__(self, root, slope):
        self.root, self.slope, self.tried = root, slope, []

    def __call__(self, alpha):
        self.tried.append(alpha)
        return float(np.arctan(alpha - self.root)), self.slope


@pytest.mark.parametrize("slope", [0.0, 1e-3])
@pytest.mark.parametrize("limit", [np.inf, 40.0])
def test_where_newton_leaves_its_bracket_it_is_doubled_or_halved(slope, limit):
    trace = MisjudgedTrace(10.0, slope)
    first = np.arctan(10.0)
    alpha = _newton(trace, -float(first), float(first), limit)
    # The search ends where the level, whose slope is 1 at the root, is met to 1e-9.
    assert alpha == pytest.approx(10.0, abs=2e-9)
    if limit == np.inf and slope == 0:
        np.testing.assert_allclose(trace.tried[:5], first * np.array([1, 2, 4, 8, 6]), rtol=1e-12)
    elif slope == 0:
        np.testing.assert_allclose(trace.tried[:3], [limit, first, 0.5 * (first + limit)], rtol=1e-12)


def test_divided_differences_of_exp_near_and_far():
    logs = np.array([0.0, 1e-9, 1e-4, 2.0, -800.0])
    found = divided_differences(logs)
    assert found[0, 1] == pytest.approx(1.0, abs=1e-8)
    assert found[0, 2] == pytest.approx(np.expm1(1e-4) / 1e-4, rel=1e-12)
    assert found[0, 3] == pytest.approx(np.expm1(2.0) / 2, rel=1e-14)
    assert found[0, 4] == pytest.approx(1 / 800)
    assert divided_differences(np.array([0.0, 5e-8]))[0, 1] == pytest.approx(np.expm1(5e-8) / 5e-8, rel=1e-14)
    np.testing.assert_array_equal(found, found.T)


def exact_step(values, bound):
    """The alpha with sum e_k / (1 - alpha e_k) = bound between the poles, by bisection in 60 decimal digits.

    The sum grows from minus to plus infinity there, for one value is positive and one negative.
    """
    with localcontext(prec=60):
        first, second = (Decimal(value) for value in values)
        low, high = sorted((1 / first, 1 / second))
        for _ in range(190):
            middle = (low + high) / 2
            met = first / (1 - middle * first) + second / (1 - middle * second)
            low, high = (middle, high) if met < Decimal(bound) else (low, middle)
        return float(low)


@pytest.mark.parametrize("share", [1.0, 1e-3, 1e-8, 1e-14])
def test_a_step_of_rank_two_loses_no_digits_of_unequal_rows(share):
    for bound in [-1e3, -1.0, -1e-3, 1e-3, 1.0, 1e3]:
        # Orthogonal rows: the eigenvalues are plus and minus their squared lengths, without rounding.
        for lengths in ((1.0, np.sqrt(share)), (np.sqrt(share), 1.0)):
            rows = np.diag(lengths)
            values = lengths[0] ** 2, -(lengths[1] ** 2)
            # The term b t - 2 D of the quadratic is rounded by 1e-16 of b t, and D counts beside it from 1e-14 on.
            assert two_step(*rows, 1.0, -1.0, bound) == pytest.approx(exact_step(values, bound), rel=1e-13)


def two_constraints(seed):
    """A distance that is to be ten times its value in K0, and a similarity of the same samples; Burg's problem."""
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((4, 3))
    asked = join(squared_distances(4, [(0, 1)], "=", [1.0]), similarities(4, [(0, 2)], "=", [1.0]))
    asked.bounds[:] = asked.values(factor) * 10 + [0.0, 5 * rng.standard_normal()]
    return reduce_problem(factor, asked, orthonormal=False, slack=np.inf)


@pytest.mark.parametrize(
    "compiled", [False, pytest.param(True, marks=pytest.mark.slow("in a fresh clone numba compiles Burg's sweep here"))]
)
def test_a_sweep_moves_the_factor_to_where_the_duals_say(compiled):
    for seed in range(150):
        problem = two_constraints(seed)
        burg = Burg(problem, compiled)
        duals = np.zeros(2)
        state, progress = burg.at(duals), Progress()
        assert burg.sweep(state, duals, progress)
        reached = burg.at(duals)
        size = np.linalg.norm(reached.root(), 2) ** 2
        # Each inverse is rounded by its condition, at most some 1e6 on these cases.
        np.testing.assert_allclose(state.root() @ state.root().T, reached.root() @ reached.root().T, atol=1e-8 * size)
        pull = problem.combination(np.array([0.0, 1.0]))
        assert np.trace(reached.root() @ reached.root().T @ pull) == pytest.approx(problem.bounds[1], rel=1e-8)
        assert (progress.projections, progress.changes) == (2, 2)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("asked", [diagonal(2, [0], "=", 1e17), similarities(2, [(0, 1)], "=", [1e17])])
def test_a_sweep_ends_where_rounding_leaves_no_eigenvalue(asked, compiled):
    # A value 1e17 times that of K0 takes a step of 1 - 1e-17 of the way to the pole, which is 1 in 53 bits.
    problem = reduce_problem(np.eye(2), asked, orthonormal=False, slack=np.inf)
    burg = Burg(replace(problem, vectors=np.eye(2)[: len(problem.signs)]), compiled)
    duals = np.zeros(1)
    assert not burg.sweep(burg.at(duals), duals, Progress())


@pytest.mark.parametrize("compiled", [False, True])
def test_constraints_that_hold_are_visited_and_change_nothing(compiled):
    # The last one counts too: one that holds is passed over, not the end of the sweep.
    asked = diagonal(3, [0, 1, 2], "<=", [2.0, 1.0, 0.5])
    learned = learn_kernel(np.eye(3), asked, stopping=Stopping(1e-12, 1e-12, 1), compiled=compiled)
    assert (learned.projections, learned.changes) == (3, 1)
    np.testing.assert_allclose(learned.kernel, np.diag([1.0, 1.0, 0.5]), atol=1e-15)


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
    assert _no_solution(divergence, duals, duals, Progress(sweeps=1)) is (slack == np.inf)
