from dataclasses import replace

import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.metric_learning import LMNN, lmnn_objective, lmnn_optimum
from kdrbench.metric_learning.learner import descend, inverse_scale
from kdrbench.metric_learning.lmnn import _with_lacking_direction
from support.helpers import random_samples


def problem(seed=0, n_samples=14, n_features=3, k=2, **options):
    features, labels = random_samples(seed, n_samples=n_samples, n_features=n_features)
    return lmnn_objective(features, labels, k, **options)


def hinge(slack, smoothing):
    if slack <= 0:
        return 0.0
    return slack**2 / (2 * smoothing) if slack < smoothing else slack - smoothing / 2


def by_loops(objective, metric):
    """f(M), pair by pair and triple by triple."""
    features, labels, n = objective.features, objective.codes, len(objective.codes)

    def distance(i, j):
        return float((features[i] - features[j]) @ metric @ (features[i] - features[j]))

    total = objective.regularisation * np.trace(metric)
    for i in range(n):
        same = [j for j in range(n) if j != i and labels[j] == labels[i]]
        targets = sorted(same, key=lambda j: float(np.sum((features[i] - features[j]) ** 2)))
        for j in targets[: objective.targets.shape[1]]:
            total += distance(i, j)
            for impostor in range(n):
                if labels[impostor] != labels[i]:
                    slack = 1.0 + distance(i, j) - distance(i, impostor)
                    total += objective.push * hinge(slack, objective.smoothing)
    return total


@pytest.mark.parametrize(("smoothing", "options"), [(0.0, {}), (0.7, {}), (0.7, {"push": 0.3, "regularisation": 0.2})])
@pytest.mark.usefixtures("blocks_of_rows")
def test_the_objective_is_its_definition(options, smoothing):
    objective = replace(problem(**options), smoothing=smoothing)
    projection = np.random.default_rng(1).standard_normal((3, 2))
    value, _ = objective.value_and_gradient(projection)
    assert value == pytest.approx(by_loops(objective, projection @ projection.T), rel=1e-12)


@pytest.mark.parametrize("smoothing", [0.0, 0.7])
@pytest.mark.usefixtures("blocks_of_rows")
def test_the_gradient_is_the_derivative(smoothing):
    objective = replace(problem(push=0.3, regularisation=0.2), smoothing=smoothing)
    rng = np.random.default_rng(1)
    projection, direction = rng.standard_normal((3, 3)), rng.standard_normal((3, 3))
    gradient = objective.value_and_gradient(projection)[1]
    ahead, behind = (
        by_loops(objective, (projection + step * direction) @ (projection + step * direction).T)
        for step in (1e-6, -1e-6)
    )
    # No slack changes its sign within the step, and f is quadratic in A between kinks.
    assert np.vdot(gradient, direction) == pytest.approx((ahead - behind) / 2e-6, rel=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_the_objective_is_convex_and_smoothing_near(seed):
    objective, rng = problem(seed), np.random.default_rng(seed)
    first, second = rng.standard_normal((2, 3, 3))
    middle = np.linalg.cholesky(0.5 * (first @ first.T + second @ second.T))
    ends = [objective.value_and_gradient(point)[0] for point in (first, second)]
    assert objective.value_and_gradient(middle)[0] <= 0.5 * sum(ends) + 1e-9
    triples = sum((objective.codes != objective.codes[i]).sum() * objective.targets.shape[1] for i in range(14))
    smoothed = replace(objective, smoothing=0.1).value_and_gradient(first)[0]
    assert ends[0] - 0.05 * triples <= smoothed < ends[0]


@pytest.mark.parametrize(("seed", "options"), [(0, {}), (1, {"push": 0.2}), (2, {"regularisation": 3.0})])
def test_the_optimum_is_proved(seed, options):
    objective = problem(seed, **options)
    optimum = lmnn_optimum(objective, tolerance=1e-6)
    assert 0 <= optimum.relative_gap <= 1e-6
    metric = optimum.projection @ optimum.projection.T
    assert optimum.value == pytest.approx(by_loops(objective, metric), rel=1e-12)


def test_the_lower_bound_is_below_every_value():
    objective, rng = problem(regularisation=0.1), np.random.default_rng(0)
    values = [objective.value_and_gradient(scale * rng.standard_normal((3, 3)))[0] for scale in (0.1, 0.3, 1.0, 3.0)]
    bounds = [replace(objective, smoothing=0.3).lower_bound(rng.standard_normal((3, 3))) for _ in range(10)]
    assert max(bounds) <= min(values)
    assert max(bounds) > 0
    # A feature that is constant, which f does not know of, costs nothing.
    wider = replace(objective, features=np.hstack([objective.features, np.full((14, 1), 3.0)]), regularisation=0.0)
    narrow = replace(objective, regularisation=0.0, smoothing=0.3)
    bound = replace(wider, smoothing=0.3).lower_bound(np.eye(4) / 3)
    assert bound == pytest.approx(narrow.lower_bound(np.eye(3) / 3), rel=1e-9)
    assert bound > 0
    # Where targets coincide with their samples the linear part is zero, and so is the bound.
    twins = lmnn_objective(np.repeat(rng.standard_normal((6, 3)), 2, axis=0), np.repeat(np.arange(6) % 2, 2), 1)
    assert twins.lower_bound(np.eye(3)) == 0.0


def test_fit_takes_steps_from_the_identity_in_scaled_features():
    features, labels = random_samples(n_samples=30)
    scale = inverse_scale(features)
    objective = lmnn_objective(scale * features, labels, 3)
    start, values = np.eye(6), []
    for steps in (1, 5, 20, 200):
        learned = LMNN(max_iterations=steps).fit(features, labels)
        if steps <= 5:
            # Later, rounding decides on which side of a kink a step ends.
            expected = descend(objective.value_and_gradient, start, maxiter=steps)[0]
            np.testing.assert_allclose(learned / scale, expected, rtol=1e-9, atol=1e-9)
        values.append(objective.value_and_gradient(learned / scale)[0])
    assert sorted(values, reverse=True) == values
    assert values[0] < objective.value_and_gradient(start)[0]
    optimum = lmnn_optimum(objective)
    assert optimum.value <= values[-1]
    assert optimum.value == pytest.approx(values[-1], rel=0.05)


@pytest.mark.parametrize(("name", "value"), [("push", -1.0), ("regularisation", np.nan)])
def test_options_out_of_range_are_refused(name, value):
    features, labels = random_samples()
    with pytest.raises(InputError, match=f"learner option {name} must be a finite number >= 0, got {value}"):
        LMNN(**{name: value}).fit(features, labels)


def test_a_singular_map_gains_the_direction_it_lacks():
    objective = problem()
    optimum = lmnn_optimum(objective)
    values, vectors = np.linalg.eigh(optimum.projection @ optimum.projection.T)
    # The optimum without its longest direction, along which the gradient by A is zero: no descent finds it.
    square = vectors[:, :2] * np.sqrt(np.maximum(values[:2], 0.0))
    square = np.hstack([square, np.zeros((3, 1))])
    assert np.abs(objective.value_and_gradient(square)[1][:, 2]).max() == 0
    before = objective.value_and_gradient(square)[0]
    wider = _with_lacking_direction(objective, square)
    after = objective.value_and_gradient(wider)[0]
    assert after < before
    assert np.linalg.matrix_rank(wider) > np.linalg.matrix_rank(square)
    for unit in (1e-4, 1e4):
        scaled = replace(objective, features=objective.features * unit)
        again = _with_lacking_direction(scaled, square / unit)
        metric = wider @ wider.T
        np.testing.assert_allclose(again @ again.T * unit**2, metric, atol=1e-7 * np.abs(metric).max())
    # At the optimum nothing is lacking, and M = 0 lacks everything.
    assert _with_lacking_direction(replace(objective, regularisation=1e6), np.zeros((3, 3))) is None
    assert (
        objective.value_and_gradient(_with_lacking_direction(objective, np.zeros((3, 3))))[0]
        < (objective.value_and_gradient(np.zeros((3, 3)))[0])
    )
