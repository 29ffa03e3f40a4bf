"""The Newton finish and its models, against dense linear algebra: convergence, rounding, curvature, escape."""

from itertools import product

import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.problems import Problem
from kdrbench.solvers.geometry.curvature import IsmPreconditioner, Tangents
from kdrbench.solvers.geometry.stiefel import orthonormalised, outside
from kdrbench.solvers.newton import ConjugateGradientModel, FormedModel, NewtonSearch, constrained_minimiser, escaped
from support.helpers import random_projection, small_problem
from support.quadratics import Quadratic


def test_newton_steps_square_the_stationarity():
    problem = small_problem("linear")
    leading = np.linalg.eigh(problem.initial_surrogate())[1][:, -2:]
    search = NewtonSearch(
        problem, beside := orthonormalised(leading + 0.05 * random_projection()), problem.value(beside)
    )
    history = [search.stationarity]
    while search.stationarity > 1e-12:
        assert search.step()
        history.append(search.stationarity)
    # Far from rounding the exponent is 2 or, where the third derivative vanishes as it does here, 3.
    assert np.log(history[2] / history[1]) / np.log(history[1] / history[0]) > 1.8
    assert len(history) <= 5


def test_a_saddle_is_left_along_its_negative_curvature():
    problem = small_problem("linear")
    values, vectors = np.linalg.eigh(problem.initial_surrogate())
    # The largest eigenvector and the third: upwards leads only the way to the second.
    saddle = vectors[:, [-1, -3]]
    beside = escaped(problem, saddle)
    gain = values[-2] - values[-3]
    assert 0.25 * gain < problem.value(beside) - problem.value(saddle) < gain * (1 + 1e-12)
    span = vectors[:, [-1, -2, -3]]
    np.testing.assert_allclose(span @ (span.T @ beside), beside, atol=1e-12)
    for limited_memory in (False, True):
        search = NewtonSearch(problem, saddle, problem.value(saddle), limited_memory=limited_memory)
        assert search.escape()
        assert search.value == pytest.approx(problem.value(beside), rel=1e-12)
    assert escaped(problem, vectors[:, [-1, -2]]) is None


def test_a_saddle_is_one_by_its_relative_curvature():
    for factor, share in product([1e-6, 1.0, 1e6], [1e-4, 1e-8]):
        problem = Quadratic(factor, factor * (1.0 - share), 0.5 * factor)
        assert (escaped(problem, np.eye(3)[:, 1:2]) is not None) == (share == 1e-4)


def test_where_rounding_hides_the_gain_a_search_does_not_escape():
    problem = Quadratic(1.0, 1.0 - 1e-14, 0.5)
    search = NewtonSearch(problem, second := np.eye(3)[:, 1:2], problem.value(second))
    assert not search.escape()
    np.testing.assert_array_equal(search.point, second)


@pytest.mark.parametrize("broken", ["value", "gradient"])
def test_what_is_not_finite_is_refused(broken):
    problem, first = Quadratic(np.nan if broken == "gradient" else 1.0, 0.5), np.eye(2, 1)
    with pytest.raises(InputError, match="not finite on these samples"):
        NewtonSearch(problem, first, np.nan if broken == "value" else 1.0)


class Rough(Problem):
    """F = Tr(W'AW), and a surrogate that is not A: conjugate gradients preconditioned by it take many steps."""

    def __init__(self, factor=1.0):
        rng = np.random.default_rng(0)
        turned = np.linalg.qr(rng.standard_normal((9, 9)))[0]
        self.matrix = factor * (turned * np.arange(1.0, 10.0)) @ turned.T
        noise = rng.standard_normal((9, 9))
        self._surrogate = self.matrix + 0.2 * factor * (noise + noise.T)
        self.products = 0

    def gradient(self, point):
        return 2 * self.matrix @ point

    def hessian_vector(self, point, direction):
        self.products += 1
        return 2 * self.matrix @ direction

    def surrogate(self, point):
        return self._surrogate


def tangents_near_optimum(turn=0.1, factor=1.0):
    """Beside the leading eigenvectors, where the Hessian of E is positive."""
    problem = Rough(factor)
    leading = np.linalg.eigh(problem.matrix)[1][:, -3:]
    point = orthonormalised(leading + turn * random_projection(n_features=9, n_components=3))
    return Tangents(problem, point, problem.gradient(point))


def length_of(tangents, direction):
    """The length in the preconditioner's norm: Z' M Z, with M the inverse of its solve, column by column."""
    solved = [
        tangents.fold(tangents.preconditioner.solve(tangents.unfold(axis))) for axis in np.eye(tangents.dimension)
    ]
    folded = tangents.fold(direction)
    return float(np.sqrt(folded @ np.linalg.solve(np.array(solved), folded)))


def model_value(tangents, direction):
    folded = tangents.fold(direction)
    return -tangents.fold(tangents.gradient) @ folded + 0.5 * folded @ tangents.hessian @ folded


def test_conjugate_gradients_solve_what_their_residual_says():
    tangents = tangents_near_optimum(0.01)
    step = ConjugateGradientModel(tangents).minimise(np.inf)
    assert not step.at_edge
    slope = -tangents.fold(tangents.gradient)
    residual = np.linalg.norm(slope + tangents.hessian @ tangents.fold(step.direction))
    size = np.linalg.norm(slope)
    # Superlinear: as the square of the relative slope, and at least tenfold.
    assert residual <= size * min(0.1, size / np.linalg.norm(tangents.gradient))
    assert step.predicted == pytest.approx(-model_value(tangents, step.direction), rel=1e-9)
    assert step.length == pytest.approx(length_of(tangents, step.direction), rel=1e-6)
    exact = FormedModel(tangents).minimise(np.inf)
    assert 0.95 * exact.predicted <= step.predicted <= exact.predicted * (1 + 1e-9)


def test_conjugate_gradients_end_at_the_edge_of_the_region():
    for share in [0.05, 0.4, 0.95]:
        tangents = tangents_near_optimum(0.4)
        free = ConjugateGradientModel(tangents).minimise(np.inf)
        radius = share * length_of(tangents, free.direction)
        step = ConjugateGradientModel(tangents).minimise(radius)
        assert step.at_edge
        assert step.length == radius == pytest.approx(length_of(tangents, step.direction), rel=1e-6)
        assert step.predicted == pytest.approx(-model_value(tangents, step.direction), rel=1e-9)
        # At least as good as along the preconditioned gradient, and better in a larger region.
        slope = -outside(tangents.point, tangents.gradient)
        downhill = -tangents.preconditioner.solve(slope)
        downhill *= radius / length_of(tangents, downhill)
        assert step.predicted >= -model_value(tangents, downhill) * (1 - 1e-9)
        assert step.predicted < ConjugateGradientModel(tangents).minimise(1.05 * radius).predicted


@pytest.mark.parametrize("radius", [0.3, np.inf])
def test_conjugate_gradients_follow_negative_curvature(radius):
    problem = Rough()
    middle = np.linalg.eigh(problem.matrix)[1][:, [2, 5, 8]]
    point = orthonormalised(middle + 0.05 * random_projection(n_features=9, n_components=3))
    tangents = Tangents(problem, point, problem.gradient(point))
    step = ConjugateGradientModel(tangents).minimise(radius)
    assert step.at_edge
    assert step.predicted == pytest.approx(-model_value(tangents, step.direction), rel=1e-9)
    assert step.predicted > 0
    assert step.length == pytest.approx(length_of(tangents, step.direction), rel=1e-6)
    assert np.isfinite(step.length)
    assert step.length == radius or radius == np.inf


@pytest.mark.parametrize("radius", [1e-3, 0.5, 3.0])
def test_the_constrained_minimiser_beats_a_fine_net(radius):
    net = np.random.default_rng(0).standard_normal((20000, 3))
    net *= radius / np.linalg.norm(net, axis=1)[:, None] * np.random.default_rng(1).uniform(0, 1, (20000, 1)) ** (1 / 3)
    slopes = [[0.3, -0.4, 0.2], [0.0, -0.4, 0.2], [1e-13, 0.0, 0.0], [-0.3, 0.4, 5.0]]
    for slope, lowest in product(np.array(slopes), (-0.5, 0.0, 0.1)):
        values = np.array([lowest, 0.2, 1.0])
        step, at_edge = constrained_minimiser(values, slope, radius)
        # The shift is found to 2e-12, which the smallest slope here turns into 1e-5 of the radius.
        assert np.linalg.norm(step) <= radius * (1 + 1e-5)
        assert step @ slope + 0.5 * step**2 @ values <= (net @ slope + 0.5 * net**2 @ values).min() + 1e-12
        assert at_edge == (lowest <= 0 or np.linalg.norm(slope / values) > radius)
        if at_edge:
            assert np.linalg.norm(step) == pytest.approx(radius, rel=1e-5)


def test_the_preconditioner_stays_positive_and_bounded():
    for factor in [1e-9, 1.0, 1e9]:
        surrogate = factor * small_problem("linear", n_features=9).initial_surrogate()
        values, vectors = np.linalg.eigh(surrogate)
        # Eigenvectors from within: some of the differences are negative, and those of the null space are equal.
        point = orthonormalised(vectors[:, [2, 5]])
        complement = np.linalg.qr(point, mode="complete")[0][:, point.shape[1] :]
        axes = [np.outer(column, axis) for column in complement.T for axis in np.eye(point.shape[1])]
        solved = np.array([IsmPreconditioner(surrogate, point).solve(axis).ravel() for axis in axes])
        form = solved @ np.array([axis.ravel() for axis in axes]).T
        inverse = np.linalg.eigvalsh(0.5 * (form + form.T))
        differences = 2 * np.abs(values[[2, 5]][None, :] - np.delete(values, [2, 5])[:, None])
        np.testing.assert_allclose(inverse[0], 1 / differences.max(), rtol=1e-9)
        # The smallest difference is lifted to a share of the largest: Newton steps are not thrown along one direction.
        assert 10 * inverse[0] < inverse[-1] <= 1e4 * inverse[0]
