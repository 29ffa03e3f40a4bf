"""The promises of safeguarded ISM on 200 random problems."""

import numpy as np
import pytest

from kdrbench.datasets import synthetic
from kdrbench.kernels import build_kernel, median_distance
from kdrbench.paradigms import supervised_problem
from kdrbench.solvers import Status, make_start
from kdrbench.solvers.geometry.certificate import certify
from support.helpers import Watcher, regression_problem, solved


def broken_promises(problem, start):
    """Solve by both ISMs and say in words what the safeguarded one did not keep."""
    watcher = Watcher(problem)
    result = solved(problem.fresh(), start=start, monitor=watcher)
    plain = solved(problem.fresh(), method="ism", start=start)
    values = [*watcher.values, problem.value(result.projection)]
    scale = max(map(abs, values))
    # A square projection is returned at once.
    fall = -np.diff(values).min(initial=0.0)
    certificate = certify(problem.fresh(), result.projection)
    found = {
        f"status {result.status}: {result.message}": result.status is not Status.CONVERGED,
        f"F fell by {fall:.1e} of {scale:.1e}": fall > 1e-12 * scale,
        f"infeasible: {certificate.feasibility:.1e}": certificate.feasibility > 1e-12,
        f"stationarity {certificate.stationarity:.1e}": not certificate.stationarity <= 1e-6,
        f"curvature {certificate.curvature:.1e}": not certificate.curvature >= -1e-6,
        "below plain ISM": values[-1] < problem.value(plain.projection) - 1e-9 * scale,
    }
    return [words for words, broken in found.items() if broken]


@pytest.mark.parametrize("factor", [1e-16, 1e-8, 1e8])
def test_a_scaled_kernel_has_the_same_solution(factor):
    for seed in range(2):
        rng, solutions = np.random.default_rng(seed), []
        features, labels = rng.standard_normal((60, 8)), rng.integers(0, 3, 60)
        for weight in (1.0, factor):
            definition = {"family": "combination", "members": [{"family": "gaussian", "sigma": 1.2, "weight": weight}]}
            problem = supervised_problem(features, labels, build_kernel(definition, features, 3))
            start = make_start("surrogate", problem, 3, np.random.default_rng(0))
            result = solved(problem, start=start)
            assert result.status is Status.CONVERGED
            solutions.append(problem.value(result.projection) / weight)
        # Rounding may lead to another local optimum only if the two paths part; here they do not.
        assert solutions[1] == pytest.approx(solutions[0], rel=1e-9)


def random_problem(rng):
    """Draw samples, labels or targets, a kernel and the number of components."""
    n_features, n_classes = int(rng.integers(2, 30)), int(rng.integers(2, 6))
    features, labels = synthetic.noise(int(rng.integers(5 * n_classes, 70)), n_features, n_classes, rng)
    if rng.uniform() < 0.6:
        features = features + rng.uniform(0.2, 3.0) * rng.standard_normal((n_classes, n_features))[labels]
    features = features * 10.0 ** rng.uniform(-0.5, 0.5, n_features)
    features = features - features.mean(axis=0)
    n_components = int(rng.integers(1, min(n_features, 6) + 1))
    median = median_distance(features)
    families = {
        "gaussian": {"sigma": float(median * 10 ** rng.uniform(-1.0, 0.5))},
        "polynomial": {"degree": int(rng.integers(1, 7)), "offset": float(rng.uniform(0, 2))},
        "multiquadric": {"offset": float(median * 10 ** rng.uniform(-2.0, 0.5))},
        "rbf_relative": {"neighbour": int(rng.integers(1, 5))},
        "squared": {},
        "linear": {},
    }
    members = [{"family": family, **families[family]} for family in rng.choice([*families], 2, replace=False)]
    definition = members[0]
    if rng.uniform() < 0.25:
        weighted = [{**member, "weight": float(10 ** rng.uniform(-2, 2))} for member in members]
        definition = {"family": "combination", "members": weighted}
    kernel = build_kernel(definition, features, n_components)
    if rng.uniform() < 0.2:
        targets = features[:, 0] + rng.standard_normal(len(features))
        target_kernel = build_kernel({"family": "gaussian"}, targets[:, None], 1)
        return regression_problem(features, targets, kernel, target_kernel), n_components
    return supervised_problem(features, labels, kernel), n_components


@pytest.mark.parametrize("chunk", [0, *(pytest.param(chunk, marks=pytest.mark.whole) for chunk in range(1, 10))])
def test_two_hundred_random_problems(chunk):
    for seed in range(20 * chunk, 20 * chunk + 20):
        rng = np.random.default_rng([7, seed])
        problem, n_components = random_problem(rng)
        start = make_start(str(rng.choice(["surrogate", "random", "identity"])), problem, n_components, rng)
        assert broken_promises(problem, start) == [], seed
