"""The promises of safeguarded ISM, on problems made to break plain ISM."""

import numpy as np
import pytest

from helpers import random_projection, random_samples, small_problem
from kdrbench.kernels import build_kernel, median_distance
from kdrbench.paradigms import supervised_problem
from kdrbench.solvers import IterationMonitor, Status, build_solver, make_start, solve
from kdrbench.solvers.certificate import certify, riemannian_hessian_vector, smallest_curvature
from kdrbench.solvers.newton import NewtonSearch
from kdrbench.solvers.preconditioner import IsmPreconditioner
from kdrbench.solvers.stiefel import outside

DEFINITIONS = {
    "gaussian": {"family": "gaussian"},
    "narrow gaussian": {"family": "gaussian", "sigma": 0.3},
    "narrowest gaussian": {"family": "gaussian", "sigma": 0.1},
    "polynomial": {"family": "polynomial"},
    "multiquadric": {"family": "multiquadric"},
    "combination": {
        "family": "combination",
        "members": [{"family": "gaussian", "weight": 5}, {"family": "polynomial"}],
    },
}


def hard_problem(definition, seed, *, noise):
    """Three classes, or noise with random labels; narrow bandwidths are shares of the median distance."""
    rng = np.random.default_rng(seed)
    features, labels = random_samples(seed, n_samples=60, n_features=8)
    if noise:
        features, labels = rng.standard_normal(features.shape), rng.permutation(labels)
    definition = dict(definition)
    if "sigma" in definition:
        definition["sigma"] *= median_distance(features)
    return supervised_problem(features, labels, build_kernel(definition, features, 3))


class Watcher(IterationMonitor):
    """Keeps F of every iterate offered."""

    def __init__(self, problem):
        super().__init__()
        self._problem = problem.fresh()
        self.values = []

    def keep_going(self, iterate):
        self.values.append(self._problem.value(iterate))
        return super().keep_going(iterate)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("noise", [False, True], ids=["classes", "noise"])
@pytest.mark.parametrize("name", DEFINITIONS)
def test_monotone_stationary_certified_and_never_worse_than_plain_ism(name, noise, seed):
    problem = hard_problem(DEFINITIONS[name], seed, noise=noise)
    start = make_start("surrogate", problem, 3, np.random.default_rng(0))
    watcher = Watcher(problem)
    result = solve(build_solver({"method": "ism_safeguarded"}), problem, start, watcher)
    value = problem.value(result.projection)
    scale = abs(value)
    assert result.status is Status.CONVERGED
    assert np.diff([*watcher.values, value]).min(initial=0.0) >= -1e-12 * scale
    certificate = certify(problem.fresh(), result.projection)
    assert certificate.feasibility <= 1e-12
    assert certificate.stationarity <= 1e-6
    assert certificate.curvature >= -1e-6
    plain = solve(build_solver({"method": "ism"}), problem.fresh(), start, IterationMonitor())
    assert value >= problem.value(plain.projection) - 1e-9 * scale


@pytest.mark.parametrize("name", DEFINITIONS)
def test_higher_accuracy_on_request(name):
    problem = hard_problem(DEFINITIONS[name], 0, noise=False)
    start = make_start("surrogate", problem, 3, np.random.default_rng(0))
    result = solve(build_solver({"method": "ism_safeguarded", "tolerance": 1e-10}), problem, start, IterationMonitor())
    assert result.status is Status.CONVERGED
    assert certify(problem, result.projection).stationarity <= 1e-10


@pytest.mark.parametrize("factor", [1e-16, 1e-8, 1e8])
def test_a_scaled_kernel_has_the_same_solution(factor):
    for seed in range(2):
        solutions = []
        for weight in (1.0, factor):
            member = {**DEFINITIONS["narrow gaussian"], "weight": weight}
            member["sigma"] = 1.2
            definition = {"family": "combination", "members": [member]}
            problem = hard_problem(definition, seed, noise=True)
            start = make_start("surrogate", problem, 3, np.random.default_rng(0))
            result = solve(build_solver({"method": "ism_safeguarded"}), problem, start, IterationMonitor())
            assert result.status is Status.CONVERGED
            solutions.append(problem.value(result.projection) / weight)
        # Rounding may lead to another local optimum only if the two paths part; here they do not.
        assert solutions[1] == pytest.approx(solutions[0], rel=1e-9)


def test_plain_ism_does_break_on_these_problems():
    # Else the tests above would test nothing: on noise with a narrow bandwidth plain ISM must end unsettled.
    unsettled = 0
    for seed in range(4):
        problem = hard_problem(DEFINITIONS["narrow gaussian"], seed, noise=True)
        start = make_start("surrogate", problem, 3, np.random.default_rng(0))
        plain = solve(build_solver({"method": "ism"}), problem, start, IterationMonitor())
        unsettled += certify(problem, plain.projection).stationarity > 1e-2
    assert unsettled >= 3


def tangent_basis(projection):
    """An orthonormal basis of the tangent space, as flat coordinates -> tangent."""
    complement = np.linalg.qr(projection, mode="complete")[0][:, projection.shape[1] :]
    return complement, lambda flat: complement @ flat.reshape(-1, projection.shape[1])


def hessian_of(problem, projection):
    """The Riemannian Hessian, column by column from its products."""
    gradient = problem.gradient(projection)
    complement, unfold = tangent_basis(projection)
    columns = [
        complement.T @ riemannian_hessian_vector(problem, projection, gradient, unfold(axis))
        for axis in np.eye(complement.shape[1] * projection.shape[1])
    ]
    return np.column_stack([column.ravel() for column in columns])


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
def test_riemannian_hessian_agrees_with_differences_of_the_gradient(kernel):
    problem, projection = small_problem(kernel), random_projection()
    hessian = hessian_of(problem, projection)
    size = np.abs(hessian).max()
    np.testing.assert_allclose(hessian, hessian.T, atol=1e-10 * size)
    # The difference errs by step^2 and by rounding of the gradient over the step.
    np.testing.assert_allclose(hessian, hessian_by_differences(problem, projection), atol=1e-5 * size)
    gradient = problem.gradient(projection)
    value, direction = smallest_curvature(problem, projection, gradient)
    assert value == pytest.approx(np.linalg.eigvalsh(hessian)[0], rel=1e-9)
    image = riemannian_hessian_vector(problem, projection, gradient, direction)
    np.testing.assert_allclose(image, value * direction, atol=1e-8 * size)


def test_curvature_in_a_large_tangent_space_equals_the_dense_one():
    features, labels = random_samples(n_samples=60, n_features=25)
    problem = supervised_problem(features, labels, build_kernel({"family": "gaussian"}, features, 3))
    start = make_start("surrogate", problem, 3, np.random.default_rng(0))
    point = solve(build_solver({"method": "ism_safeguarded"}), problem, start, IterationMonitor()).projection
    gradient = problem.gradient(point)
    value, _ = smallest_curvature(problem, point, gradient)
    scale = np.linalg.norm(point.T @ gradient, 2)
    assert value == pytest.approx(np.linalg.eigvalsh(hessian_of(problem, point))[0], abs=1e-5 * scale)


def test_a_saddle_is_left():
    # The trailing eigenvectors of a quadratic problem are stationary, and a minimum of F.
    problem = small_problem("linear")
    saddle = np.linalg.eigh(problem.initial_surrogate())[1][:, :2]
    search = NewtonSearch(problem, saddle)
    assert search.stationarity < 1e-10
    solver = build_solver({"method": "ism_safeguarded"})
    assert certify(problem, saddle).curvature < 0
    assert solver._escape(problem, search)
    assert search.value > problem.value(saddle)


def test_preconditioner_inverts_isms_operator_on_tangents():
    problem = small_problem("linear")
    surrogate = problem.initial_surrogate()
    projection = np.linalg.eigh(surrogate)[1][:, -2:]
    inner = projection.T @ surrogate @ projection
    direction = outside(projection, random_projection(seed=3))
    image = 2 * (direction @ inner - outside(projection, surrogate @ direction))
    np.testing.assert_allclose(IsmPreconditioner(surrogate, projection).solve(image), direction, atol=1e-10)


def test_square_projections_have_no_tangent():
    problem = small_problem()
    certificate = certify(problem, np.eye(6))
    assert (certificate.curvature, certificate.eigengap) == (np.inf, np.inf)
