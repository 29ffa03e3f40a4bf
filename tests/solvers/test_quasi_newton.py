"""The two limited-memory methods: their parts against written-out references, and what holds at every step."""

from functools import reduce

import numpy as np
import pytest

from kdrbench.solvers import Monitor, make_start
from kdrbench.solvers.callbacks import Search
from kdrbench.solvers.geometry import curvature
from kdrbench.solvers.geometry.curvature import IsmPreconditioner
from kdrbench.solvers.geometry.stiefel import feasibility_error, orthonormalised, subspace_turn
from kdrbench.solvers.limited_memory import QuasiNewtonSearch, _Memory, retracted
from support.helpers import random_projection, small_problem

KERNELS = ["gaussian", "polynomial", "multiquadric"]


def tangents_at(point, count, seed=0):
    # Other numbers than those of which points are drawn.
    free = np.random.default_rng(100 + seed).standard_normal((count, *point.shape))
    return free - point @ (point.T @ free)


def filled(point, seed=0, count=5):
    """A memory of ``count`` pairs of a positive definite Hessian, as arrays too."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((point.size, point.size))
    memory = _Memory(count)
    for step in tangents_at(point, count, seed):
        change = (root @ (root.T @ step.ravel())).reshape(point.shape)
        memory.add(step, change - point @ (point.T @ change))
    assert len(memory.pairs) == count
    return memory


def dense_inverse(memory, first):
    """BFGS's update of an inverse Hessian, (I - r s y') H (I - r y s') + r s s', written out as matrices."""

    def updated(inverse, pair):
        step, change = pair.step.ravel(), pair.change.ravel()
        across = np.eye(len(step)) - np.outer(change, step) / pair.product
        return across.T @ inverse @ across + np.outer(step, step) / pair.product

    return reduce(updated, memory.pairs, first)


def test_two_loops_are_the_dense_update():
    for seed in range(5):
        point = random_projection()
        memory, tangent = filled(point, seed), tangents_at(point, 1, seed + 10)[0]
        expected = dense_inverse(memory, 0.3 * np.eye(point.size)) @ tangent.ravel()
        found = memory.applied(tangent, lambda column: 0.3 * column)
        np.testing.assert_allclose(found.ravel(), expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())
        # The secant condition of the last pair.
        last = memory.pairs[-1]
        np.testing.assert_allclose(memory.applied(last.change, lambda column: column), last.step, atol=1e-9)


def test_carried_pairs_are_tangents_and_positive_definite():
    for seed in range(5):
        memory, elsewhere = filled(random_projection(), seed), random_projection(seed + 20)
        before = list(memory.pairs)
        memory.carry_to(elsewhere)
        for old, new in zip(before, memory.pairs, strict=True):
            for one, other in zip(old[:2], new[:2], strict=True):
                np.testing.assert_allclose(other, one - elsewhere @ (elsewhere.T @ one), atol=1e-12 * np.abs(one).max())
        # The products of the carried pairs may be negative: those of the pairs as they were made are kept.
        inverse = dense_inverse(memory, np.eye(elsewhere.size))
        assert np.linalg.eigvalsh(0.5 * (inverse + inverse.T))[0] > 0.0


def test_the_retraction_is_the_polar_factor():
    for length in [1e-3, 1.0, 1e3]:
        point = random_projection(n_features=9, n_components=3)
        tangent = length * tangents_at(point, 1)[0]
        reached = retracted(point, tangent)
        assert feasibility_error(reached) <= 1e-13
        assert subspace_turn(orthonormalised(point + tangent), reached) <= 1e-12
        overlap = point.T @ reached
        np.testing.assert_allclose(overlap, overlap.T, atol=1e-13)
        assert np.linalg.eigvalsh(overlap)[0] > 0.0


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_step_gains_what_armijos_rule_asks(kernel):
    problem = small_problem(kernel, n_features=12)
    start = make_start("random", problem, 3, np.random.default_rng(4))
    search = QuasiNewtonSearch(problem, start, *problem.value_and_gradient(start))
    steps = 0
    while search.stationarity > 1e-6:
        point, value, slope = search.point, search.value, search.slope
        assert search.step()
        steps += 1
        assert feasibility_error(search.point) <= 1e-13
        # The direction of the step, as the chart of the retraction around the point before sees it.
        moved = search.point @ np.linalg.inv(point.T @ search.point) - point
        promised = -np.vdot(slope, moved)
        assert promised > 0.0
        assert search.value >= value + 1e-4 * promised * (1 - 1e-6) - 1e3 * np.spacing(abs(value))
        # What is remembered is carried to the new W.
        for pair in search._memory.pairs:
            np.testing.assert_allclose(search.point.T @ pair.change, 0.0, atol=1e-12 * np.abs(pair.change).max())
    assert steps > 5


@pytest.mark.parametrize("kernel", KERNELS)
def test_scipys_gradient_is_that_of_the_orthonormal_factor(kernel):
    problem, rng = small_problem(kernel), np.random.default_rng(3)
    search = Search(problem, random_projection(), Monitor(), 1e-6)
    variables = rng.standard_normal(12)
    direction = rng.standard_normal(12)
    value, gradient = search.cost_and_gradient(variables)
    # F does not change along the span of V.
    assert np.abs(gradient.reshape(6, 2).T @ variables.reshape(6, 2)).max() <= 1e-10 * np.abs(gradient).max()

    steps = np.geomspace(1e-4, 1e-3, 5)
    costs = np.array([search.cost_and_gradient(variables + step * direction)[0] for step in steps])
    missed = np.abs(costs - value - steps * (gradient @ direction))
    assert np.polyfit(np.log(steps), np.log(missed), 1)[0] == pytest.approx(2.0, abs=0.1)


def test_few_eigenvectors_suffice_where_the_others_are_equal(monkeypatch):
    # Let Phi of sixty features have too many eigenvectors to compute all: two more than q at each end suffice.
    monkeypatch.setattr(curvature, "_MANY_FEATURES", 50)
    monkeypatch.setattr(curvature, "_EXTREMES", 2)
    # Three above, two below and 53 that are equal, on the complement of the leading two.
    vectors = np.linalg.qr(np.random.default_rng(0).standard_normal((60, 60)))[0]
    matrix = (vectors * np.r_[50.0, 40.0, 30.0, 20.0, 10.0, -10.0, -20.0, np.full(53, 1.0)]) @ vectors.T
    point, tangent = vectors[:, :2], tangents_at(vectors[:, :2], 1)[0]
    some = IsmPreconditioner(matrix, point)
    monkeypatch.setattr(curvature, "_MANY_FEATURES", 1000)
    every = IsmPreconditioner(matrix, point)
    assert some._basis.shape[1] < 10 < every._basis.shape[1]
    expected = every.solve(tangent)
    np.testing.assert_allclose(some.solve(tangent), expected, atol=1e-6 * np.abs(expected).max())
    # That is the inverse of Z -> 2 (Z Lambda - Phi Z).
    image = 2.0 * (expected * [50.0, 40.0] - matrix @ expected)
    np.testing.assert_allclose(image, tangent, atol=1e-10 * np.abs(tangent).max())
