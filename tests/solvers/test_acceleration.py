"""Gradient passes with a corrected surrogate, approximations and problems of fewer samples."""

import numpy as np
import pytest

from kdrbench.evaluation import Evaluation, PanelProblem, build_problem
from kdrbench.kernels import Gaussian, Multiquadric
from kdrbench.problems import TraceObjective, supervised_gamma
from kdrbench.solvers import IterationMonitor, Status, build_solver, make_start, solve
from kdrbench.solvers.geometry.certificate import certify
from kdrbench.solvers.geometry.stiefel import relative_stationarity


def classes(n_samples, n_features, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(n_samples) % 4
    features = rng.standard_normal((n_samples, n_features)) + 0.7 * rng.standard_normal((4, n_features))[labels]
    return features - features.mean(axis=0), labels


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
