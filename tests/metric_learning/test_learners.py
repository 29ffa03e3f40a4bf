"""Learners of metrics against loops and known optima."""

import numpy as np
import pytest
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from kdrbench.errors import InputError
from kdrbench.kernels.neighbours import distance_rows
from kdrbench.metric_learning import DNE, LMNN, NCA, dne_weights, learn_map, lmnn_objective, squared_distances
from kdrbench.metric_learning.descent import descend, inverse_scale, nca_objective
from kdrbench.metric_learning.learner import target_neighbours
from support.helpers import random_samples
from support.metric_definitions import dne_weights_by_loops, nca_by_loops

LEARNERS = [NCA(), LMNN(), DNE()]


def small(seed=0, n_samples=14, n_features=3):
    features, labels = random_samples(seed, n_samples=n_samples, n_features=n_features)
    return features, labels


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.usefixtures("blocks_of_rows")
def test_dne_is_what_its_definition_says(k):
    features, labels = small()
    weights = dne_weights_by_loops(features, labels, k)
    np.testing.assert_array_equal(dne_weights(squared_distances(features, features), labels, k), weights)
    matrix = features.T @ (np.diag(weights.sum(axis=1)) - weights) @ features
    learned = DNE(k).fit(features, labels)
    values = np.linalg.eigvalsh(matrix)
    np.testing.assert_allclose(learned.T @ learned, np.eye(learned.shape[1]), atol=1e-12)
    np.testing.assert_allclose(matrix @ learned, learned * values[: learned.shape[1]], atol=1e-11)
    assert learned.shape[1] == max(1, (values < -1e-9 * np.abs(values).max()).sum())


def test_dne_without_a_negative_eigenvalue_keeps_the_smallest():
    # Samples of a class are far apart, and each coincides with one of the other class: no direction lowers the trace.
    features = np.repeat(10.0 * np.random.default_rng(0).standard_normal((8, 2)), 2, axis=0)
    assert DNE(1).fit(features, np.tile([0, 1], 8)).shape == (2, 1)
    assert DNE(1, n_components=2).fit(features, np.tile([0, 1], 8)).shape == (2, 2)
    with pytest.raises(InputError, match="n_components must be None or an integer between 1 and the 2 features, got 3"):
        DNE(1, n_components=3).fit(features, np.tile([0, 1], 8))


@pytest.mark.usefixtures("blocks_of_rows")
@pytest.mark.parametrize("n_components", [1, 2])
def test_nca_is_its_definition_and_its_gradient_the_derivative(n_components):
    features, labels = small()
    projection, direction = np.random.default_rng(1).standard_normal((2, 3, n_components))
    value, gradient = nca_objective(projection, features, labels)
    assert value == pytest.approx(nca_by_loops(projection, features, labels), rel=1e-13)
    ahead, behind = (nca_by_loops(projection + step * direction, features, labels) for step in (1e-5, -1e-5))
    # The error of central differences is some 1e-10, the square of the step.
    assert np.vdot(gradient, direction) == pytest.approx((ahead - behind) / 2e-5, rel=1e-7)


def test_nca_is_scikit_learns_on_scaled_features():
    features, labels = small()
    scale = inverse_scale(features)
    rows = scale * features
    pairs = [np.sum((rows[i] - rows[j]) ** 2) for i in range(14) for j in range(i)]
    assert np.mean(pairs) == pytest.approx(1.0, rel=1e-13)
    model = NeighborhoodComponentsAnalysis(init="identity", max_iter=50).fit(rows, labels)
    learned = NCA().fit(features, labels)
    value, _ = nca_objective(learned / scale, rows, labels)
    assert value == pytest.approx(nca_objective(model.components_.T, rows, labels)[0], rel=1e-10)
    assert value < nca_objective(np.eye(3), rows, labels)[0] - 0.1


@pytest.mark.parametrize("learner", LEARNERS)
def test_place_unit_axes_and_names_of_classes_do_not_matter(learner):
    features, labels = small(n_samples=30)
    metric = learner.fit(features, labels)
    np.testing.assert_array_equal(learner.fit(features, np.array(["x", "a", "m"])[labels]), metric)
    distances = squared_distances(features @ metric, features @ metric)
    moved = learner.fit(1e3 * features + 5e4, labels)
    again = squared_distances(1e3 * features @ moved, 1e3 * features @ moved)
    # Rounding of the moved features, 1e-14 relative, is carried on through 50 iterations.
    np.testing.assert_allclose(again / again.max(), distances / distances.max(), atol=1e-6)
    rotation = np.linalg.qr(np.random.default_rng(5).standard_normal((3, 3)))[0]
    turned = rotation @ learner.fit(features @ rotation, labels)
    np.testing.assert_allclose(turned @ turned.T, metric @ metric.T, atol=1e-7)


@pytest.mark.parametrize("learner", LEARNERS)
def test_small_classes_use_the_neighbours_they_have(learner):
    features, _ = small()
    # One sample, two samples, and the rest: with k = 3 the first has no target, the second one.
    labels = np.array([0, 1, 1] + [2] * 11)
    neighbours = target_neighbours(distance_rows(features), labels, 3)
    assert [len(row) for row in neighbours] == [0, 1, 1] + [3] * 11
    assert np.isfinite(learn_map(learner, features, labels)).all()
    # Repeated samples are at distance zero.
    assert np.isfinite(learn_map(learner, np.repeat(features, 3, axis=0), np.repeat(labels, 3))).all()


@pytest.mark.parametrize("learner", LEARNERS)
def test_what_cannot_be_learned_from_is_refused(learner):
    refused = [
        (np.eye(4), np.zeros(4), r"learned from at least 2 classes; got 1: \[0.0\]"),
        (np.eye(4), np.arange(3), r"n labels; got shapes \(4, 4\) and \(3,\)"),
        (np.full((4, 2), np.nan), np.arange(4) % 2, "features hold 8 NaN or infinite values"),
    ]
    if not isinstance(learner, NCA):
        refused.append((np.eye(4), np.arange(4), "no class has 2 samples among these 4"))
    if not isinstance(learner, DNE):
        refused += [(np.full((6, 2), value), np.arange(6) % 2, "all 6 samples coincide") for value in (0.0, 7.7)]
    for features, labels, message in refused:
        with pytest.raises(InputError, match=message):
            learner.fit(features, labels)


class Bad:
    def __init__(self, learned):
        self.learned = learned

    def fit(self, features, labels):
        return self.learned


def test_a_learner_of_ones_own_must_return_a_map():
    features, labels = small()
    np.testing.assert_array_equal(learn_map(Bad(np.ones((3, 1))), features, labels), np.ones((3, 1)))
    with pytest.raises(InputError, match=r"fit of Bad must return a map of shape \(3, d\).* returned shape \(2, 3\)"):
        learn_map(Bad(np.ones((2, 3))), features, labels)
    with pytest.raises(InputError, match="returned a map that is not finite"):
        learn_map(Bad(np.full((3, 3), np.inf)), features, labels)


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
