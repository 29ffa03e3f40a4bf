"""The two models of a Newton step, and the smallest curvature, against dense linear algebra."""

from itertools import product

import numpy as np
import pytest

from kdrbench.solvers.geometry import curvature
from kdrbench.solvers.geometry.curvature import largest_turn, smallest_curvature
from kdrbench.solvers.geometry.stiefel import orthonormalised, outside
from kdrbench.solvers.geometry.tangents import IsmPreconditioner, Tangents
from kdrbench.solvers.safeguarded import quadratic_model
from kdrbench.solvers.safeguarded.quadratic_model import (
    ConjugateGradientModel,
    FormedModel,
    build_model,
    constrained_minimiser,
)
from support.helpers import random_projection, small_problem


class Rough:
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


def residuals_of_plain_conjugate_gradients(tangents, count):
    """The textbook's preconditioned iteration in coordinates, with dense matrices."""
    inverse = np.array(
        [tangents.fold(tangents.preconditioner.solve(tangents.unfold(axis))) for axis in np.eye(tangents.dimension)]
    )
    residual = tangents.fold(tangents.gradient)
    search, sizes = inverse @ residual, [np.linalg.norm(residual)]
    for _ in range(count):
        before = residual @ inverse @ residual
        residual = residual - before / (search @ tangents.hessian @ search) * tangents.hessian @ search
        search = inverse @ residual + residual @ inverse @ residual / before * search
        sizes.append(np.linalg.norm(residual))
    return np.array(sizes)


def test_products_are_as_many_as_the_residual_needs():
    for turn in [0.3, 0.1, 0.01, 1e-3]:
        tangents = tangents_near_optimum(turn)
        sizes = residuals_of_plain_conjugate_gradients(tangents, 18)
        enough = sizes[0] * min(0.1, sizes[0] / np.linalg.norm(tangents.gradient))
        before = tangents.problem.products
        step = ConjugateGradientModel(tangents).minimise(np.inf)
        assert tangents.problem.products - before == np.flatnonzero(sizes <= enough)[0] > 2
        slope = -tangents.fold(tangents.gradient)
        residual = np.linalg.norm(slope + tangents.hessian @ tangents.fold(step.direction))
        assert residual == pytest.approx(sizes[sizes <= enough][0], rel=1e-6)


def test_conjugate_gradients_end_at_the_edge_of_the_region():
    for share in [0.05, 0.4, 0.8, 0.95]:
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


VALUES = np.array([-0.5, 0.2, 1.0])


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


def test_without_a_bound_an_indefinite_model_gives_a_unit_step():
    step, at_edge = constrained_minimiser(VALUES, np.array([0.3, -0.4, 0.2]), np.inf)
    assert at_edge
    assert np.linalg.norm(step) == pytest.approx(1.0)


def test_the_lowest_eigenvector_is_followed_on_the_slopes_side():
    ahead, behind = (constrained_minimiser(VALUES, sign * np.array([1e-14, 0.1, 0.1]), 2.0)[0] for sign in (1, -1))
    assert ahead[0] < 0 < behind[0]
    assert np.linalg.norm(ahead) == pytest.approx(2.0)


def test_a_step_does_not_depend_on_the_unit_of_f():
    problem = small_problem("gaussian")
    point = random_projection()
    tangents = Tangents(problem, point, problem.gradient(point))

    class Scaled:
        def __init__(self, factor):
            self.factor = factor

        def hessian_vector(self, point, direction):
            return self.factor * problem.hessian_vector(point, direction)

    for factor in (1e-12, 1e12):
        scaled = FormedModel(Tangents(Scaled(factor), point, factor * tangents.gradient)).minimise(0.3)
        plain = FormedModel(tangents).minimise(0.3)
        np.testing.assert_allclose(scaled.direction, plain.direction, atol=1e-7)
        assert scaled.predicted == pytest.approx(factor * plain.predicted, rel=1e-7)
        assert scaled.length == pytest.approx(np.linalg.norm(plain.direction))


def test_the_model_is_formed_where_the_tangent_space_is_small(monkeypatch):
    tangents = tangents_near_optimum()
    for dense, kind in ((18, FormedModel), (17, ConjugateGradientModel)):
        monkeypatch.setattr(quadratic_model, "DENSE_DIMENSION", dense)
        assert tangents.dimension == 18
        assert type(build_model(tangents)) is kind


def test_the_preconditioner_stays_positive_and_bounded():
    for factor in [1e-9, 1.0, 1e9]:
        surrogate = factor * small_problem("linear", n_features=9).initial_surrogate()
        values, vectors = np.linalg.eigh(surrogate)
        # Eigenvectors from within: some of the differences are negative, and those of the null space are equal.
        point = orthonormalised(vectors[:, [2, 5]])
        axes = complement_axes(point)
        solved = np.array([IsmPreconditioner(surrogate, point).solve(axis).ravel() for axis in axes])
        form = solved @ np.array([axis.ravel() for axis in axes]).T
        inverse = np.linalg.eigvalsh(0.5 * (form + form.T))
        differences = 2 * np.abs(values[[2, 5]][None, :] - np.delete(values, [2, 5])[:, None])
        np.testing.assert_allclose(inverse[0], 1 / differences.max(), rtol=1e-9)
        # The smallest difference is lifted to a share of the largest: Newton steps are not thrown along one direction.
        assert 10 * inverse[0] < inverse[-1] <= 1e4 * inverse[0]


def complement_axes(point):
    complement = np.linalg.qr(point, mode="complete")[0][:, point.shape[1] :]
    return [np.outer(column, axis) for column in complement.T for axis in np.eye(point.shape[1])]


@pytest.fixture
def no_dense_space(monkeypatch):
    monkeypatch.setattr(curvature, "DENSE_DIMENSION", 0)


def counted(kernel="gaussian", n_features=14):
    problem = small_problem(kernel, n_features=n_features)
    point = random_projection(n_features=n_features)
    return problem, Tangents(problem, point, problem.gradient(point))


def test_a_settled_iteration_needs_no_hessian(no_dense_space):
    problem, tangents = counted()
    value, direction = smallest_curvature(tangents)
    assert problem.counters.hessian == 0
    scale = np.linalg.norm(tangents.point.T @ tangents.gradient, 2)
    assert value == pytest.approx(np.linalg.eigvalsh(tangents.hessian)[0], abs=1e-4 * scale)
    assert np.linalg.norm(tangents.hessian_vector(direction) - value * direction) <= 1e-3 * scale
    assert np.linalg.norm(direction) == pytest.approx(1.0)


@pytest.mark.parametrize("affordable", [True, False])
def test_an_unsettled_iteration_is_replaced_where_affordable(no_dense_space, monkeypatch, affordable):
    problem, tangents = counted()
    monkeypatch.setattr(curvature, "_MOST_ROUNDS", 1)
    monkeypatch.setattr(
        curvature, "_AFFORDABLE_DIMENSION", tangents.dimension if affordable else tangents.dimension - 1
    )
    value, direction = smallest_curvature(tangents)
    assert problem.counters.hessian == affordable
    smallest, scale = np.linalg.eigvalsh(tangents.hessian)[0], np.linalg.norm(tangents.hessian, 2)
    # A Rayleigh quotient is never below the smallest eigenvalue, and after one round it is not there yet.
    assert value == pytest.approx(np.vdot(direction, tangents.hessian_vector(direction)), rel=1e-6)
    assert abs(value - smallest) <= 1e-9 * scale if affordable else smallest + 1e-4 * scale < value < scale


def test_products_find_the_largest_turn_of_the_formed_one(no_dense_space, monkeypatch):
    _, tangents = counted()
    surrogate = tangents.problem.surrogate(tangents.point)
    by_products = largest_turn(tangents)
    monkeypatch.setattr(curvature, "DENSE_DIMENSION", 400)
    formed = largest_turn(tangents)
    scale = np.linalg.norm(tangents.point.T @ surrogate @ tangents.point, 2)
    assert by_products == pytest.approx(formed, abs=1e-3 * scale)


def test_unsettled_turns_are_nan_and_no_tangents_need_nothing(no_dense_space, monkeypatch):
    _, tangents = counted()
    monkeypatch.setattr(curvature, "_MOST_TURNS", 1)
    assert np.isnan(largest_turn(tangents))
    square = Tangents(tangents.problem, np.eye(14), np.zeros((14, 14)))
    assert largest_turn(square) == -np.inf
    assert smallest_curvature(square)[0] == np.inf


def test_from_some_of_the_samples_the_best_combination_is_taken(no_dense_space):
    problem, tangents = counted()

    class Coarse:
        """What a costly problem offers: here the problem itself, so that the result is known."""

        gradient, hessian_vector, surrogate = problem.gradient, problem.hessian_vector, problem.surrogate

        def subsampled(self, n_samples):
            return None

    costly = Tangents(problem, tangents.point, tangents.gradient, Coarse())
    value, direction = smallest_curvature(costly)
    smallest, scale = np.linalg.eigvalsh(tangents.hessian)[0], np.linalg.norm(tangents.hessian, 2)
    assert value == pytest.approx(smallest, abs=1e-5 * scale)
    assert value == pytest.approx(np.vdot(direction, tangents.hessian_vector(direction)), rel=1e-9)
    assert np.linalg.norm(direction) == pytest.approx(1.0)
    assert np.isnan(largest_turn(costly))


def test_a_small_tangent_space_is_formed_whatever_products_cost(monkeypatch):
    problem, tangents = counted()
    monkeypatch.setattr(curvature, "DENSE_DIMENSION", tangents.dimension)
    value, _ = smallest_curvature(tangents)
    assert (problem.counters.hessian, problem.counters.hessian_vector) == (1, 0)
    assert value == pytest.approx(np.linalg.eigvalsh(tangents.hessian)[0], rel=1e-12)
    costly = Tangents(problem, tangents.point, tangents.gradient, problem)
    assert np.isfinite(largest_turn(costly))


def test_the_iteration_does_not_depend_on_the_unit_of_f(no_dense_space, monkeypatch):
    monkeypatch.setattr(curvature, "_AFFORDABLE_DIMENSION", 0)
    found, unscaled = [], tangents_near_optimum(0.5)
    smallest = np.linalg.eigvalsh(unscaled.hessian)[0]
    for factor in (2.0**-40, 1.0, 2.0**40):
        tangents = tangents_near_optimum(0.5, factor)
        before = tangents.problem.products
        assert smallest_curvature(tangents)[0] / factor == pytest.approx(smallest, abs=1e-3)
        found.append(tangents.problem.products - before)
    assert found[0] == found[1] == found[2]
