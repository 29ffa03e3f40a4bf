"""Gradient passes and corrections on problems whose next iterate is known."""

import numpy as np
import pytest

from kdrbench.solvers.geometry.stiefel import orthonormalised, subspace_turn
from kdrbench.solvers.safeguarded import approach as corrections
from kdrbench.solvers.safeguarded import approach as passes
from kdrbench.solvers.safeguarded.approach import (
    Approach,
    History,
    _CorrectedProblem,
    accelerate,
    approach,
    approach_through,
    corrected,
    evaluated,
    fell,
)
from support.helpers import random_projection

MATRIX = np.diag([9.0, 8.0, 4.0, 3.0, 2.0, 1.0])


class Quadratic:
    """F = Tr(W'AW), with the W at which it was asked for."""

    def __init__(self, matrix=MATRIX):
        self.matrix, self.asked, self.surrogates = matrix, [], 0

    def value_and_gradient(self, point):
        self.asked.append(point)
        return float(np.vdot(point, self.matrix @ point)), 2 * self.matrix @ point

    def surrogate(self, point):
        self.surrogates += 1
        return self.matrix

    def values(self):
        return [float(np.vdot(point, self.matrix @ point)) for point in self.asked]


def always(point):
    return True


def test_with_the_right_surrogate_one_pass_is_enough():
    problem = Quadratic()
    reached = accelerate(problem, random_projection(), MATRIX, 1e-10, always)
    assert len(problem.asked) == 2
    assert reached.value == pytest.approx(17.0)
    assert subspace_turn(np.eye(6, 2), reached.point) <= 1e-10


def test_a_surrogate_is_corrected_by_the_smallest_change():
    rng = np.random.default_rng(0)
    held, point = rng.standard_normal((6, 6)), random_projection()
    held, image = held + held.T, MATRIX @ point
    change = corrected(held, point, image) - held
    np.testing.assert_allclose((held + change) @ point, image, atol=1e-12)
    np.testing.assert_allclose(change, change.T, atol=1e-12)
    # Another symmetric change that does it is larger: it differs by a matrix that is blind to W.
    blind = np.linalg.qr(point, mode="complete")[0][:, 2:]
    for _ in range(5):
        other = rng.standard_normal((4, 4))
        assert np.linalg.norm(change + blind @ (other + other.T) @ blind.T) > np.linalg.norm(change)


def test_a_step_that_lowers_f_is_taken_back_and_shifted():
    problem, start = Quadratic(), orthonormalised(np.eye(6, 2) + 0.3 * random_projection())
    misleading = MATRIX + 100.0 * np.diag([0, 0, 0, 0, 1.0, 1.0])
    shown = []
    reached = accelerate(problem, start, misleading, 1e-10, lambda point: shown.append(point) or True)
    values = problem.values()
    # The surrogate leads away; its steps are not taken.
    assert values[1] < values[0]
    best = [float(np.vdot(point, MATRIX @ point)) for point in shown]
    assert min(np.diff(best)) >= -1e-12 * best[0]
    assert reached.value > values[0] + 1e-3
    # Shifts double from the size of the eigenvalues: some four to outweigh a hundred.
    first_accepted = next(number for number, value in enumerate(values) if number and value >= values[0])
    assert 3 <= first_accepted <= 6


def test_without_slack_no_share_of_f_may_be_lost():
    assert fell(0.999, 1.0)
    assert fell(1 - 1e-9, 1.0)
    assert not fell(1 - 1e-14, 1.0)
    assert fell(-1.001, -1.0)
    assert not fell(0.999, 1.0, slack=0.01)
    assert fell(0.98, 1.0, slack=0.01)


def test_the_extrapolation_of_a_linear_map_is_its_fixed_point():
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    slow = (turn * [0.9, 0.5, -0.7, 0.2]) @ turn.T
    fixed = 0.1 * rng.standard_normal((4, 1))
    history = History(np.eye(5, 1))
    place = np.zeros((4, 1))

    def at(place):
        return orthonormalised(np.vstack([[[1.0]], place]))

    point, distances = at(place), []
    for _ in range(6):
        place = point[1:] / point[0]
        distances.append(float(np.linalg.norm(place - fixed)))
        point = history.extrapolated(point, at(fixed + slow @ (place - fixed)))
    # The first step is the map's own; the map has four directions, so one pair more than those says all.
    assert distances[1] == pytest.approx(float(np.linalg.norm(slow @ fixed)), rel=1e-9)
    assert distances[5] <= 1e-8 < 1e-4 < distances[3]


def test_far_from_its_reference_a_history_begins_again():
    history, across = History(np.eye(5, 1)), np.eye(5)[:, 1:2]
    np.testing.assert_array_equal(history.extrapolated(across, across), across)
    near = orthonormalised(across + 0.1 * np.eye(5)[:, 2:3])
    np.testing.assert_allclose(history.extrapolated(across, near), near, atol=1e-14)


def test_new_surrogates_are_asked_for_while_they_pay():
    problem = Quadratic()
    settled = approach(problem, np.eye(6, 2), MATRIX, 1e-10, always)
    assert (problem.surrogates, settled.value) == (0, 17.0)
    # One pass leads nowhere with a surrogate that has nothing to do with the problem; the next one is right.
    tired = iter([True] * 2 + [False] * 100)
    stopped = approach(problem, random_projection(), np.eye(6), 1e-10, lambda point: next(tired))
    assert problem.surrogates == 0
    assert stopped.stationarity > 1e-10
    reached = approach(problem, random_projection(), np.diag(np.arange(6.0)), 1e-10, always)
    assert reached.stationarity <= 1e-10
    assert reached.value == pytest.approx(17.0)


def test_a_corrected_problem_has_the_gradient_of_its_value():
    rng = np.random.default_rng(0)
    change = rng.standard_normal((6, 6))
    problem, point = _CorrectedProblem(Quadratic(), change + change.T), random_projection()
    value, gradient = problem.value_and_gradient(point)
    assert value == pytest.approx(float(np.vdot(point, (MATRIX + change + change.T) @ point)))
    for _ in range(3):
        step = 1e-6 * rng.standard_normal(point.shape)
        ahead, behind = (problem.value_and_gradient(point + sign * step)[0] for sign in (1, -1))
        assert ahead - behind == pytest.approx(2 * np.vdot(gradient, step), rel=1e-6)
    np.testing.assert_allclose(problem.surrogate(point) @ point, 0.5 * gradient, atol=1e-12)


class Approximation(Quadratic):
    """A nearby quadratic problem that offers what an approximation must."""

    def linearised_at(self, point):
        return self

    def accuracy(self, n_components):
        return 1e-3


@pytest.mark.parametrize("tolerance", [1e-4, 1e-9])
def test_corrections_reach_the_optimum_with_few_exact_gradients(tolerance):
    noise = np.random.default_rng(0).standard_normal((6, 6))
    nearby, exact = Approximation(MATRIX + 0.05 * (noise + noise.T)), Quadratic()
    start = np.linalg.eigh(nearby.matrix)[1][:, -2:]
    shown = []
    reached = approach_through(
        nearby, exact, start, nearby.matrix, tolerance, lambda point: shown.append(point) or True
    )
    assert reached.stationarity <= tolerance
    assert reached.value == pytest.approx(17.0, rel=1e-6)
    values = exact.values()
    assert min(np.diff(values)) >= -1e-10
    assert len(values) <= 8


def test_corrections_that_bring_nothing_end_where_they_began():
    exact = Quadratic()
    reached = approach_through(Approximation(), exact, np.eye(6, 2), MATRIX, 1e-6, always)
    assert len(exact.asked) == 1
    np.testing.assert_array_equal(reached.point, np.eye(6, 2))
    stopped = approach_through(Approximation(), exact, random_projection(), MATRIX, 1e-6, lambda point: False)
    np.testing.assert_array_equal(stopped.point, random_projection())

    class Wrong(Approximation):
        """Its values say nothing of the exact problem's, and its steps lead down."""

        def value_and_gradient(self, point):
            value, gradient = super().value_and_gradient(point)
            return -value, gradient

    start = orthonormalised(np.eye(6, 2) + 0.1 * random_projection())
    ended = approach_through(Wrong(MATRIX[::-1, ::-1]), exact, start, MATRIX[::-1, ::-1], 1e-12, always)
    assert ended.value >= evaluated(Quadratic(), start).value - 1e-12


class Told:
    """Tells F and stationarity one after the other, whatever is asked; the points are numbered by their scale."""

    def __init__(self, *answers):
        self.answers, self.n = answers, 0

    def __call__(self, problem, point):
        (value, stationarity), self.n = self.answers[self.n], self.n + 1
        return Approach(random_projection(self.n), value, random_projection(0), stationarity)

    def number_of(self, found):
        return next(n for n in range(len(self.answers)) if np.array_equal(found.point, random_projection(n + 1)))


@pytest.mark.parametrize(
    ("answers", "kept", "corrected"),
    [
        # F fell: what was there before is kept, and it ends.
        ([(9.0, 0.01), (10.0, 0.0)], 0, 1),
        # Nothing is better.
        ([(10.0, 0.2), (10.0, 0.0)], 0, 1),
        # Stationarity is a little better, which is kept but not worth another correction.
        ([(10.0, 0.08), (10.0, 0.0)], 1, 1),
        # Much better, and then at the tolerance.
        ([(10.0, 0.001), (10.0, 0.0)], 2, 2),
        # F has grown: wherever stationarity is, that is kept and goes on.
        ([(11.0, 0.2), (11.0, 0.0)], 2, 2),
        # Better by rounding is not grown.
        ([(10.0 + 1e-10, 0.2), (10.0, 0.0)], 0, 1),
    ],
)
def test_corrections_are_kept_while_they_are_better(monkeypatch, answers, kept, corrected):
    tell, aims, slacks = Told((10.0, 0.1), *answers), [], []

    def towards(problem, start, surrogate, aim, keep_going, *, slack):
        aims.append(aim)
        slacks.append(slack)
        return Approach(start, 0.0, start, 0.0)

    monkeypatch.setattr(corrections, "evaluated", tell)
    monkeypatch.setattr(corrections, "approach", towards)
    found = approach_through(Approximation(), Quadratic(), random_projection(), MATRIX, 1e-6, always)
    assert tell.number_of(found) == kept
    assert len(aims) == corrected
    # Each aims below where it begins, and at nothing that could not be seen at the approximation's accuracy.
    assert 0 < max(aims) < 0.1
    assert 0 < max(slacks) <= 1e-3


def test_corrections_that_always_gain_end_all_the_same(monkeypatch):
    tell = Told(*((10.0 + number, 0.1) for number in range(100)))
    monkeypatch.setattr(corrections, "evaluated", tell)
    monkeypatch.setattr(corrections, "approach", lambda problem, start, *_, slack: Approach(start, 0.0, start, 0.0))
    found = approach_through(Approximation(), Quadratic(), random_projection(), MATRIX, 1e-6, always)
    assert tell.number_of(found) == tell.n - 1 < 50


@pytest.mark.parametrize(
    ("reached", "is_kept"),
    [((11.0, 0.2), True), ((10.0, 0.05), True), ((10.0, 0.2), False), ((9.0, 0.05), False), ((11.0, 0.05), True)],
)
def test_of_two_iterates_the_better_one_is_kept(monkeypatch, reached, is_kept):
    tell, looks = Told((10.0, 0.1), reached), iter([True, False])
    monkeypatch.setattr(passes, "evaluated", tell)
    found = accelerate(Quadratic(), random_projection(), MATRIX, 1e-6, lambda point: next(looks))
    assert tell.number_of(found) == is_kept


def test_after_a_loss_the_search_goes_on_from_where_it_was_best(monkeypatch):
    tell, looks = Told((10.0, 0.1), (9.0, 0.05), (12.0, 0.2)), iter([True, True, False])
    monkeypatch.setattr(passes, "evaluated", tell)
    found = accelerate(Quadratic(), random_projection(), MATRIX, 1e-6, lambda point: next(looks))
    assert tell.number_of(found) == 2
