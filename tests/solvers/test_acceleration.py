"""Gradient passes with a corrected surrogate, approximations and problems of fewer samples."""

from itertools import pairwise

import numpy as np
import pytest

from kdrbench.evaluation import DenseProblem, Evaluation, LowRankProblem, PanelProblem, build_problem
from kdrbench.kernels import Gaussian, Multiquadric
from kdrbench.problems import TraceObjective, supervised_gamma
from kdrbench.solvers import IterationMonitor, Status, build_solver, make_start, solve
from kdrbench.solvers.geometry.certificate import certify
from kdrbench.solvers.geometry.stiefel import relative_stationarity
from kdrbench.solvers.safeguarded.approach import approach
from support.helpers import KERNELS, random_projection, random_samples
from support.numerics import in_order


def classes(n_samples, n_features, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(n_samples) % 4
    features = rng.standard_normal((n_samples, n_features)) + 0.7 * rng.standard_normal((4, n_features))[labels]
    return features - features.mean(axis=0), labels


@pytest.mark.parametrize("kernel", KERNELS)
def test_accepted_steps_never_decrease_f_and_end_at_fixed_points(kernel, permutation):
    for seed in range(4):
        features, labels = random_samples(n_samples=80, n_features=10, seed=seed)
        problem = DenseProblem(TraceObjective(features, KERNELS[kernel], supervised_gamma(labels)))
        start = make_start("random", problem, 3, np.random.default_rng(seed))
        shown = []
        found = approach(
            problem, start, problem.surrogate(start), 1e-6, lambda point, shown=shown: shown.append(point) or True
        )
        values = [problem.fresh().value(point) for point in shown]
        rounding = 1e-11 * np.abs(values).max()
        assert all(after >= before - rounding for before, after in pairwise(values))
        assert found.value == pytest.approx(problem.value(found.point), rel=1e-12)
        assert found.stationarity == pytest.approx(
            relative_stationarity(found.point, problem.gradient(found.point)), rel=1e-6, abs=1e-14
        )
        if found.stationarity <= 1e-6:
            surrogate = problem.surrogate(found.point)
            image = surrogate @ found.point
            residual = np.linalg.norm(image - found.point @ (found.point.T @ image))
            assert residual <= 2e-6 * np.linalg.norm(image)


@pytest.mark.parametrize("kernel", [Gaussian(6.0), Gaussian(4.0), Multiquadric(1.0)])
def test_a_search_on_an_approximation_ends_at_an_exact_optimum(kernel):
    features, labels = classes(2100, 110)
    problem = build_problem(TraceObjective(features, kernel, supervised_gamma(labels)))
    start = make_start("surrogate", problem, 4, np.random.default_rng(0))
    rough = problem.approximation(4)
    assert rough is not None
    assert rough.counters is problem.counters
    values = []

    class Watch(IterationMonitor):
        def keep_going(self, iterate):
            values.append(iterate() if callable(iterate) else iterate)
            return super().keep_going(iterate)

    result = solve(build_solver({"method": "ism_safeguarded"}), problem, start, Watch())
    assert result.status is Status.CONVERGED
    exact = PanelProblem(problem.objective)
    assert relative_stationarity(result.projection, exact.gradient(result.projection)) <= 1e-6
    plain = solve(build_solver({"method": "ism"}), exact, start, IterationMonitor())
    value = exact.value(result.projection)
    assert value >= exact.value(plain.projection) - 1e-9 * abs(value)
    assert value >= max(exact.value(point) for point in values[-3:]) - 1e-9 * abs(value)
    certificate = certify(problem.fresh(), result.projection)
    assert certificate.stationarity <= 1e-6
    assert certificate.curvature >= -1e-6
    assert certificate.theorem_1.startswith("not evaluated")


def test_approximate_problems_are_solved_to_their_accuracy():
    features, labels = classes(2500, 120)
    problem = build_problem(
        TraceObjective(features, Gaussian(12.0), supervised_gamma(labels)), Evaluation(tolerance=1e-3)
    )
    start = make_start("surrogate", problem, 4, np.random.default_rng(0))
    result = solve(build_solver({"method": "ism_safeguarded"}), problem, start, IterationMonitor())
    assert result.status is Status.CONVERGED
    assert "0.0001" in result.message
    exact = PanelProblem(problem.objective)
    assert relative_stationarity(result.projection, exact.gradient(result.projection)) <= 1e-3


def second_differences(problem, point, direction, step):
    """|g(W + tZ) - 2 g(W) + g(W - tZ)| / t^2 of the gradient g."""
    ahead, here, behind = (problem.gradient(point + sign * step * direction) for sign in (1, 0, -1))
    return np.linalg.norm(ahead - 2 * here + behind) / step**2


def test_frozen_factors_change_smoothly(permutation):
    features, labels = in_order(*classes(2100, 12))
    # The tolerance is below that of single precision, so that sums are in double.
    problem = LowRankProblem(TraceObjective(features, Gaussian(2.0), supervised_gamma(labels)), tolerance=9e-6)
    point, direction = (random_projection(seed=seed, n_features=12, n_components=3) for seed in (1, 2))
    frozen = problem.linearised_at(point)
    assert frozen.counters is problem.counters
    gradient = problem.gradient(point)
    np.testing.assert_allclose(frozen.gradient(point), gradient, rtol=0, atol=1e-12 * np.abs(gradient).max())
    # Over t^2, second differences err by t^2 and by rounding, 1e-16 |g| / t^2: below 1e-3 of 6e5 at both steps, for
    # |g| of 1e5. A jump of the order of the tolerance is 1 / t^2 of it, many times 6e5 at the short step.
    steps = 1e-3, 1e-4
    smooth = [second_differences(frozen, point, direction, step) for step in steps]
    jumping = [second_differences(problem, point, direction, step) for step in steps]
    assert smooth[1] == pytest.approx(smooth[0], rel=1e-2)
    assert jumping[1] > 1.5 * smooth[1]
