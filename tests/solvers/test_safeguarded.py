"""Second order of safeguarded ISM: the Hessian, both models, the eigengap, and constant surrogates."""

import numpy as np
import pytest

from kdrbench.kernels import build_kernel
from kdrbench.paradigms import supervised_problem
from kdrbench.solvers import IterationMonitor, build_solver, make_start, solve
from kdrbench.solvers.geometry import curvature
from kdrbench.solvers.geometry.certificate import certify
from kdrbench.solvers.geometry.curvature import largest_turn, smallest_curvature
from kdrbench.solvers.geometry.stiefel import outside
from kdrbench.solvers.geometry.tangents import Tangents
from kdrbench.solvers.safeguarded import quadratic_model
from kdrbench.solvers.safeguarded.quadratic_model import FormedModel
from support.helpers import random_projection, random_samples, small_problem


def tangent_basis(projection):
    """An orthonormal basis of the tangent space, as flat coordinates -> tangent."""
    complement = np.linalg.qr(projection, mode="complete")[0][:, projection.shape[1] :]
    return complement, lambda flat: complement @ flat.reshape(-1, projection.shape[1])


def hessian_of(problem, projection):
    """The Riemannian Hessian, column by column from its products."""
    tangents = Tangents(problem, projection, problem.gradient(projection))
    return np.column_stack(
        [tangents.fold(tangents.hessian_vector(tangents.unfold(axis))) for axis in np.eye(tangents.dimension)]
    )


def hessian_by_differences(problem, projection):
    """The same from central differences of the Riemannian gradient at retracted points, in the frame of W."""
    complement, unfold = tangent_basis(projection)
    step, columns = 1e-5, []

    def gradient_at(moved):
        orthonormal = np.linalg.qr(moved)[0]
        # Brought from the frame that QR has chosen to that of W.
        return -outside(orthonormal, problem.gradient(orthonormal)) @ np.linalg.inv(projection.T @ orthonormal)

    for axis in np.eye(complement.shape[1] * projection.shape[1]):
        direction = step * unfold(axis)
        difference = gradient_at(projection + direction) - gradient_at(projection - direction)
        columns.append((complement.T @ difference).ravel() / (2 * step))
    return np.column_stack(columns)


@pytest.mark.parametrize("kernel", ["gaussian", "polynomial", "multiquadric"])
def test_the_hessian_agrees_with_differences_of_the_gradient(kernel, permutation):
    problem, projection = small_problem(kernel), random_projection()
    hessian = hessian_of(problem, projection)
    size = np.abs(hessian).max()
    np.testing.assert_allclose(hessian, hessian.T, atol=1e-10 * size)
    # The difference errs by step^2 and by rounding of the gradient over the step.
    np.testing.assert_allclose(hessian, hessian_by_differences(problem, projection), atol=1e-5 * size)
    tangents = Tangents(problem, projection, problem.gradient(projection))
    np.testing.assert_allclose(tangents.hessian, hessian, atol=1e-12 * size)
    value, direction = smallest_curvature(tangents)
    assert value == pytest.approx(np.linalg.eigvalsh(hessian)[0], rel=1e-9)
    np.testing.assert_allclose(tangents.hessian_vector(direction), value * direction, atol=1e-8 * size)


@pytest.fixture
def no_hessian_is_formed(monkeypatch):
    monkeypatch.setattr(curvature, "DENSE_DIMENSION", 0)
    monkeypatch.setattr(curvature, "_AFFORDABLE_DIMENSION", 0)
    monkeypatch.setattr(quadratic_model, "DENSE_DIMENSION", 0)


def wide_problem():
    features, labels = random_samples(n_samples=60, n_features=25)
    problem = supervised_problem(features, labels, build_kernel({"family": "gaussian"}, features, 3))
    return problem, make_start("surrogate", problem, 3, np.random.default_rng(0))


def test_without_a_formed_hessian_the_same_is_found(no_hessian_is_formed):
    problem, start = wide_problem()
    result = solve(build_solver({"method": "ism_safeguarded"}), problem, start, IterationMonitor())
    assert result.counters["hessian"] == 0 < result.counters["hessian_vector"]
    certificate = certify(problem, result.projection)
    scale = np.linalg.norm(result.projection.T @ problem.gradient(result.projection), 2)
    assert certificate.stationarity <= 1e-6
    smallest = np.linalg.eigvalsh(hessian_of(problem, result.projection))[0]
    assert certificate.curvature * scale == pytest.approx(smallest, abs=1e-5 * scale)


def tangents_at(projection, kernel="gaussian"):
    problem = small_problem(kernel)
    return Tangents(problem, projection, problem.gradient(projection))


def test_the_formed_model_is_minimised_to_optimality(permutation):
    for radius in [1e-3, 0.1, 10.0]:
        tangents = tangents_at(random_projection())
        slope, hessian = -tangents.fold(tangents.gradient), tangents.hessian
        step = FormedModel(tangents).minimise(radius)
        folded = tangents.fold(step.direction)
        assert np.linalg.norm(folded) <= radius * (1 + 1e-9)
        assert step.predicted == pytest.approx(-slope @ folded - 0.5 * folded @ hessian @ folded, rel=1e-9)
        # More and Sorensen: (Hess + shift) Z = -g with shift >= 0, Hess + shift >= 0, and shift 0 inside the region.
        residual = hessian @ folded + slope
        shift = max(0.0, -(residual @ folded) / (folded @ folded))
        size = np.abs(hessian).max()
        np.testing.assert_allclose(residual + shift * folded, 0.0, atol=1e-8 * size * radius)
        assert np.linalg.eigvalsh(hessian)[0] + shift >= -1e-8 * size
        assert step.at_edge == (shift > 1e-9 * size)


@pytest.mark.parametrize("kernel", ["linear", "gaussian", "polynomial", "multiquadric"])
def test_the_eigengap_and_what_theorem_1_asks_of_it(kernel, no_hessian_is_formed):
    problem, projection = small_problem(kernel), random_projection()
    tangents = Tangents(problem, projection, problem.gradient(projection))
    rng, size = np.random.default_rng(0), np.abs(problem.surrogate(projection)).max()
    most = largest_turn(tangents)
    # By differences of Phi along many tangents: none turns more than the largest, and some come near.
    turns = []
    for _ in range(300):
        tangent = tangents.unfold(rng.standard_normal(tangents.dimension))
        tangent /= np.linalg.norm(tangent)
        ahead, behind = (problem.surrogate(projection + step * tangent) for step in (1e-5, -1e-5))
        turns.append(np.vdot(tangent, (ahead - behind) @ projection) / 2e-5)
    assert max(turns) <= most + 1e-6 * size
    assert max(turns) >= most - 0.75 * (max(turns) - min(turns)) - 1e-6 * size


@pytest.mark.parametrize("kernel", ["linear", "squared"])
def test_a_constant_surrogate_is_solved_by_its_eigenvectors(kernel):
    for first in ["leading", "saddle", "other"]:
        problem = small_problem(kernel, n_features=7)
        surrogate = problem.initial_surrogate()
        values, vectors = np.linalg.eigh(surrogate)
        start = {"leading": vectors[:, -2:], "saddle": vectors[:, [0, 3]], "other": random_projection(n_features=7)}[
            first
        ]
        result = solve(build_solver({"method": "ism_safeguarded"}), problem, start, IterationMonitor())
        assert str(result.status) == "converged"
        # Rounding of an eigenproblem of seven rows.
        assert np.vdot(result.projection, surrogate @ result.projection) == pytest.approx(
            values[-2:].sum(), abs=1e-12 * np.abs(values).max()
        )
        # What is the solution already is handed back as it is.
        assert np.array_equal(result.projection, start) == (first == "leading")
        curvature = 2.0 * (values[-2] - values[-3])
        tangents = Tangents(problem, result.projection, problem.gradient(result.projection))
        found = np.vdot(result.lowest, tangents.hessian_vector(result.lowest))
        assert found == pytest.approx(curvature, abs=1e-11 * np.abs(values).max())
