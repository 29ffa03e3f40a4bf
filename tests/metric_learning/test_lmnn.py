import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.metric_learning import LMNN, lmnn_objective
from kdrbench.metric_learning.learner import descend, inverse_scale
from support.helpers import random_samples


def problem(seed=0, n_samples=14, n_features=3, k=2, **options):
    features, labels = random_samples(seed, n_samples=n_samples, n_features=n_features)
    return lmnn_objective(features, labels, k, **options)


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
                    total += objective.push * max(slack, 0.0)
    return total


@pytest.mark.parametrize("options", [{}, {"push": 0.3, "regularisation": 0.2}])
@pytest.mark.usefixtures("blocks_of_rows")
def test_the_objective_is_its_definition(options):
    objective = problem(**options)
    projection = np.random.default_rng(1).standard_normal((3, 2))
    value, _ = objective.value_and_gradient(projection)
    assert value == pytest.approx(by_loops(objective, projection @ projection.T), rel=1e-12)


@pytest.mark.usefixtures("blocks_of_rows")
def test_the_gradient_is_the_derivative():
    objective = problem(push=0.3, regularisation=0.2)
    rng = np.random.default_rng(1)
    projection, direction = rng.standard_normal((3, 3)), rng.standard_normal((3, 3))
    gradient = objective.value_and_gradient(projection)[1]
    ahead, behind = (
        by_loops(objective, (projection + step * direction) @ (projection + step * direction).T)
        for step in (1e-6, -1e-6)
    )
    # No slack changes its sign within the step, and f is quadratic in A between kinks.
    assert np.vdot(gradient, direction) == pytest.approx((ahead - behind) / 2e-6, rel=1e-7)


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


@pytest.mark.parametrize(("name", "value"), [("push", -1.0), ("regularisation", np.nan)])
def test_options_out_of_range_are_refused(name, value):
    features, labels = random_samples()
    with pytest.raises(InputError, match=f"learner option {name} must be a finite number >= 0, got {value}"):
        LMNN(**{name: value}).fit(features, labels)
