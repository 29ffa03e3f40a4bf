"""What each part of a solve promises, on problems small enough to know the answer, and second order."""

from types import SimpleNamespace

import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.evaluation import Evaluation, build_problem, cost_model
from kdrbench.kernels import Gaussian
from kdrbench.problems import TraceObjective, supervised_gamma
from kdrbench.solvers import Monitor, SolverOutcome, Status, build_solver, solve
from kdrbench.solvers.geometry import curvature
from kdrbench.solvers.geometry.certificate import certify
from kdrbench.solvers.geometry.curvature import Tangents, largest_turn, smallest_curvature
from kdrbench.solvers.geometry.stiefel import outside
from kdrbench.solvers.registry import eigengap_components
from kdrbench.solvers.safeguarded import explore
from support.helpers import random_projection, random_samples, small_problem, solved
from support.quadratics import Noted, Quadratic


def test_a_monitor_hears_of_begin_iterates_end_and_result():
    monitor = Noted()
    result = solve(build_solver({"method": "ism"}), small_problem(), random_projection(), monitor)
    going = monitor.calls.count("keep_going")
    assert monitor.calls == ["begin", *["keep_going"] * going, "end", "accept"]
    assert result.iterations == monitor.iterations == going > 1
    np.testing.assert_array_equal(monitor.accepted[0], result.projection)
    # A second run counts from zero.
    assert solve(build_solver({"method": "ism"}), small_problem(), random_projection(), monitor).iterations == going


def test_a_lowest_direction_of_another_shape_is_refused():
    odd = SimpleNamespace(requires=frozenset())
    odd.run = lambda problem, start, monitor: SolverOutcome(start, Status.CONVERGED, "", start[:, :1])
    with pytest.raises(InputError, match=r"lowest has shape \(6, 1\), but the projection \(6, 2\)"):
        solve(odd, small_problem(), random_projection(), Monitor())


def test_the_largest_eigengap_above_zero():
    for values, expected in (
        ([9, 8, 3, 2], 2),
        # A gap between eigenvalues that add nothing to F does not count, the last step down to one does.
        ([3, 2, -1, -9], 2),
        ([-1, -5, -9], 1),
        ([4], 1),
        # What is rounding beside the largest eigenvalue is not positive.
        ([1, 1 - 1e-9, 1e-14, -0.5], 2),
    ):
        turn = np.linalg.qr(np.random.default_rng(0).standard_normal((len(values),) * 2))[0]
        for factor in (1e-20, 1.0, 1e20):
            assert eigengap_components(factor * (turn * values) @ turn.T) == expected


def test_a_certificate_by_hand():
    for factor in [1e-9, 1.0, 1e9]:
        certificate = certify(Quadratic(*(factor * np.array([5.0, 4.0, 3.0, 1.0]))), np.eye(4)[:, [0, 2]])
        # 3 was chosen where 4 was better: that turn has the curvature 2 (3 - 4), and 2 times 5 is the scale.
        assert certificate.curvature == pytest.approx(-1 / 5)
        assert certificate.eigengap == pytest.approx(-1 / 5)
        assert certificate.eigengap_needed == pytest.approx(0.0, abs=1e-12)
        assert certificate.stationarity == certificate.feasibility == 0.0
        assert certificate.curvature_error <= 1e-14
        first = certify(Quadratic(factor * 5.0, factor * 2.0), np.eye(2, 1))
        assert first.curvature == first.eigengap == pytest.approx(3 / 5)


def test_an_eigenvalue_lies_within_the_certificates_error(monkeypatch):
    for factor in [1e-9, 1.0, 1e9]:
        # After one round of an iteration that is not replaced, the error is large.
        for name, value in (("DENSE_DIMENSION", 0), ("_AFFORDABLE_DIMENSION", 0), ("_MOST_ROUNDS", 1)):
            monkeypatch.setattr(curvature, name, value)
        problem, point = Quadratic(*(factor * np.linspace(1.0, 2.0, 30) ** 2)), np.eye(30)[:, [3, 20]]
        certificate = certify(problem, point)
        values = np.linalg.eigvalsh(Tangents(problem, point, problem.gradient(point)).hessian)
        distance = np.abs(values / (2 * problem.matrix[20, 20]) - certificate.curvature).min()
        assert 1e-4 < certificate.curvature_error < 1
        assert distance <= certificate.curvature_error


def test_ism_knows_that_an_unchanged_surrogate_changes_nothing():
    problem = Quadratic(9, 8, 4, 3, 2, 1)
    result = solved(problem, method="ism", start=random_projection())
    assert (result.status, problem.counters.surrogate) == (Status.CONVERGED, 2)
    np.testing.assert_allclose(np.abs(result.projection), np.eye(6, 2), atol=1e-12)


def test_exploration_ends_where_two_iterates_take_turns():
    class Turning(Quadratic):
        """Phi sends the first axis to the second and the second to the first."""

        def surrogate(self, point):
            self.counters.surrogate += 1
            return np.diag([0.0, 1.0, 0.1]) if abs(point[0, 0]) > 0.5 else np.diag([1.0, 0.0, 0.1])

    problem = Turning(3.0, 2.0, 1.0)
    found = explore(problem, np.eye(3)[:, 1:2], Monitor(), tolerance=1e-12, max_steps=50)
    assert problem.counters.surrogate == 2
    assert found.value == 3.0
    np.testing.assert_array_equal(np.abs(found.point), np.eye(3, 1))
    assert explore(problem, np.eye(3, 1), Monitor(0), tolerance=1e-12, max_steps=50) is None


def hessian_by_differences(problem, projection):
    """The Riemannian Hessian from central differences of the gradient at retracted points, in the frame of W."""
    complement, q = np.linalg.qr(projection, mode="complete")[0][:, projection.shape[1] :], projection.shape[1]
    step, columns = 1e-5, []

    def gradient_at(moved):
        orthonormal = np.linalg.qr(moved)[0]
        # Brought from the frame that QR has chosen to that of W.
        return -outside(orthonormal, problem.gradient(orthonormal)) @ np.linalg.inv(projection.T @ orthonormal)

    for axis in np.eye(complement.shape[1] * q):
        direction = step * complement @ axis.reshape(-1, q)
        difference = gradient_at(projection + direction) - gradient_at(projection - direction)
        columns.append((complement.T @ difference).ravel() / (2 * step))
    return np.column_stack(columns)


@pytest.mark.parametrize("kernel", ["gaussian", "polynomial", "multiquadric"])
def test_the_hessian_agrees_with_differences_of_the_gradient(kernel, permutation):
    problem, projection = small_problem(kernel), random_projection()
    tangents = Tangents(problem, projection, problem.gradient(projection))
    axes = map(tangents.unfold, np.eye(tangents.dimension))
    hessian = np.column_stack([tangents.fold(tangents.hessian_vector(axis)) for axis in axes])
    size = np.abs(hessian).max()
    np.testing.assert_allclose(hessian, hessian.T, atol=1e-10 * size)
    # The difference errs by step^2 and by rounding of the gradient over the step.
    np.testing.assert_allclose(hessian, hessian_by_differences(problem, projection), atol=1e-5 * size)
    np.testing.assert_allclose(tangents.hessian, hessian, atol=1e-12 * size)
    value, direction = smallest_curvature(tangents)
    assert value == pytest.approx(np.linalg.eigvalsh(hessian)[0], rel=1e-9)
    np.testing.assert_allclose(tangents.hessian_vector(direction), value * direction, atol=1e-8 * size)


def test_the_curvature_of_many_samples_is_sought_with_some(monkeypatch):
    for module, name, value in ((curvature, "DENSE_DIMENSION", 0), (curvature, "_SOME_SAMPLES", 200)):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(cost_model, "SUMS_SAMPLES", 300)
    features, labels = random_samples(n_samples=400)
    objective, projection = TraceObjective(features, Gaussian(3.0), supervised_gamma(labels)), random_projection()
    exact, near = build_problem(objective), build_problem(objective, Evaluation(tolerance=1e-3))
    tangents = Tangents(near, projection, near.gradient(projection))
    spectrum = np.linalg.eigvalsh(Tangents(exact, projection, exact.gradient(projection)).hessian)
    assert smallest_curvature(tangents)[0] == pytest.approx(spectrum[0], rel=0.02)
    assert 0 < near.counters.hessian_vector <= 3


def test_the_curvature_of_many_samples_comes_from_few_products(monkeypatch):
    monkeypatch.setattr("kdrbench.solvers.geometry.certificate.DENSE_DIMENSION", 0)
    for name, value in (("DENSE_DIMENSION", 0), ("_SOME_SAMPLES", 200)):
        monkeypatch.setattr(curvature, name, value)
    features, labels = random_samples(n_samples=2000, n_features=12)
    problem = build_problem(TraceObjective(features, Gaussian(3.0), supervised_gamma(labels)))
    projection = solved(problem, 2).projection
    tangents = Tangents(problem, projection, problem.gradient(projection))
    spectrum = np.linalg.eigvalsh(tangents.hessian) / (2.0 * np.abs(np.linalg.eigvalsh(tangents.inner)).max())
    certificate = certify(problem, projection)
    assert 0 < problem.counters.hessian_vector <= 8
    assert spectrum[0] <= certificate.curvature + 1e-12
    assert np.abs(spectrum - certificate.curvature).min() <= certificate.curvature_error < 0.01


@pytest.mark.parametrize("kernel", ["linear", "gaussian", "polynomial", "multiquadric"])
def test_the_eigengap_and_what_theorem_1_asks_of_it(kernel, monkeypatch):
    monkeypatch.setattr(curvature, "DENSE_DIMENSION", 0)
    monkeypatch.setattr(curvature, "_AFFORDABLE_DIMENSION", 0)
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
        starts = {"leading": vectors[:, -2:], "saddle": vectors[:, [0, 3]], "other": random_projection(n_features=7)}
        start = starts[first]
        result = solved(problem, start=start)
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
