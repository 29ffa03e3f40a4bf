"""What proves LMNN's optimum, by its definition: the bound from multipliers, and the directions that are added."""

from dataclasses import replace

import numpy as np
import pytest

from kdrbench.metric_learning import lmnn_objective, lmnn_optimum
from kdrbench.metric_learning.lmnn import _with_lacking_direction
from support.helpers import random_samples


def problem(seed=0, **options):
    features, labels = random_samples(seed, n_samples=14, n_features=3)
    return lmnn_objective(features, labels, 2, **options)


def bound_by_bisection(objective, projection):
    """Return s sum a_t, with s the largest share in [0, 1] for which B + s sum a_t C_t has no negative eigenvalue."""
    features, labels = objective.features, objective.codes
    linear, pushed, total = objective.regularisation * np.eye(3), np.zeros((3, 3)), 0.0
    for i, targets in enumerate(objective.targets):
        for j in targets[targets >= 0]:
            near = np.outer(features[i] - features[j], features[i] - features[j])
            linear = linear + near
            for impostor in np.flatnonzero(labels != labels[i]):
                far = np.outer(features[i] - features[impostor], features[i] - features[impostor])
                slack = 1.0 + np.sum((near - far) * (projection @ projection.T))
                multiplier = objective.push * np.clip(slack / objective.smoothing, 0.0, 1.0)
                pushed, total = pushed + multiplier * (near - far), total + multiplier
    low, high = 0.0, 1.0
    if np.linalg.eigvalsh(linear + pushed)[0] >= 0:
        return total, 1.0
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.linalg.eigvalsh(linear + middle * pushed)[0] >= 0 else (low, middle)
    return low * total, low


@pytest.mark.parametrize("options", [{}, {"push": 0.2, "regularisation": 3.0}])
def test_the_lower_bound_is_the_largest_share_of_the_multipliers(options):
    objective, shares = replace(problem(**options), smoothing=0.5), []
    for seed in range(6):
        for size in (0.1, 0.3, 1.0, 3.0):
            projection = size * np.random.default_rng(seed).standard_normal((3, 3))
            expected, share = bound_by_bisection(objective, projection)
            assert objective.lower_bound(projection) == pytest.approx(expected, rel=1e-9, abs=1e-9)
            shares.append(share)
    # All of them may be taken in some places, and only a part in others.
    assert 0 < min(shares) < 0.9
    assert max(shares) == 1 or not options


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
