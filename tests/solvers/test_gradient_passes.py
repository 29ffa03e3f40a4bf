"""Gradient passes and corrections on problems whose next iterate is known."""

import numpy as np
import pytest

from kdrbench.evaluation import build_problem
from kdrbench.evaluation.panels import PanelProblem
from kdrbench.kernels import Gaussian, Multiquadric
from kdrbench.problems import Problem, TraceObjective, supervised_gamma
from kdrbench.solvers import Status, make_start
from kdrbench.solvers.approach import History, accelerate, approach_through, corrected
from kdrbench.solvers.geometry.certificate import certify
from kdrbench.solvers.geometry.stiefel import orthonormalised, relative_stationarity, subspace_turn
from support.helpers import random_projection, solved

MATRIX = np.diag([9.0, 8.0, 4.0, 3.0, 2.0, 1.0])


class Quadratic(Problem):
    """F = Tr(W'AW), with the W at which it was asked for, and what an approximation must offer."""

    def __init__(self, matrix=MATRIX):
        self.matrix, self.asked = matrix, []

    def value_and_gradient(self, point):
        self.asked.append(point)
        return float(np.vdot(point, self.matrix @ point)), 2 * self.matrix @ point

    def surrogate(self, point):
        return self.matrix

    def linearised_at(self, point):
        return self

    def accuracy(self, n_components):
        return 1e-3

    def values(self):
        return [float(np.vdot(point, self.matrix @ point)) for point in self.asked]


def test_with_the_right_surrogate_one_pass_is_enough():
    problem = Quadratic()
    reached = accelerate(problem, random_projection(), MATRIX, 1e-10, lambda point: True)
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


@pytest.mark.parametrize("tolerance", [1e-4, 1e-9])
def test_corrections_reach_the_optimum_with_few_exact_gradients(tolerance):
    noise = np.random.default_rng(0).standard_normal((6, 6))
    nearby, exact = Quadratic(MATRIX + 0.05 * (noise + noise.T)), Quadratic()
    start = np.linalg.eigh(nearby.matrix)[1][:, -2:]
    reached = approach_through(nearby, exact, start, nearby.matrix, tolerance, lambda point: True)
    assert reached.stationarity <= tolerance
    assert reached.value == pytest.approx(17.0, rel=1e-6)
    values = exact.values()
    assert min(np.diff(values)) >= -1e-10
    assert len(values) <= 8


def test_corrections_that_bring_nothing_end_where_they_began():
    exact = Quadratic()
    reached = approach_through(Quadratic(), exact, np.eye(6, 2), MATRIX, 1e-6, lambda point: True)
    assert len(exact.asked) == 1
    np.testing.assert_array_equal(reached.point, np.eye(6, 2))
    stopped = approach_through(Quadratic(), exact, random_projection(), MATRIX, 1e-6, lambda point: False)
    np.testing.assert_array_equal(stopped.point, random_projection())


@pytest.mark.parametrize("kernel", [Gaussian(6.0), Gaussian(4.0), Multiquadric(1.0)])
def test_a_search_on_an_approximation_ends_at_an_exact_optimum(kernel):
    rng, labels = np.random.default_rng(0), np.arange(2100) % 4
    features = rng.standard_normal((2100, 110)) + 0.7 * rng.standard_normal((4, 110))[labels]
    features -= features.mean(axis=0)
    problem = build_problem(TraceObjective(features, kernel, supervised_gamma(labels)))
    start = make_start("surrogate", problem, 4, np.random.default_rng(0))
    rough = problem.approximation(start)
    assert rough is not None
    assert rough.counters is problem.counters
    result = solved(problem, start=start)
    assert result.status is Status.CONVERGED
    exact = PanelProblem(problem.objective)
    assert relative_stationarity(result.projection, exact.gradient(result.projection)) <= 1e-6
    plain = solved(exact, method="ism", start=start)
    value = exact.value(result.projection)
    assert value >= exact.value(plain.projection) - 1e-9 * abs(value)
    certificate = certify(problem.fresh(), result.projection)
    assert certificate.stationarity <= 1e-6
    assert certificate.curvature >= -1e-6
    assert np.isnan(certificate.eigengap_needed)
