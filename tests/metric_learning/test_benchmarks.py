import lmnn as lmnn_benchmark
import numpy as np
import pytest
from kpca_trick_figures import by_qz, solve_both
from kpca_trick_synthetic import cone, ring

from helpers import random_samples
from kdrbench.kernels import Polynomial
from kdrbench.metric_learning import SamplePairs, kdne, lmnn_objective, lmnn_optimum, scaled_gaussian, squared_distances


def solved(kernel, k=3):
    features, labels = random_samples(n_samples=30)
    others = random_samples(seed=5, n_samples=12)[0]
    gram, cross = SamplePairs(features, features).gram(kernel), SamplePairs(others, features).gram(kernel)
    return {both.method: both for both in solve_both(gram, cross, labels, k, None)}


def test_both_tricks_agree_on_a_regular_kernel():
    assert list(solved(scaled_gaussian(0.5, 6))) == ["regular"]
    both = solved(scaled_gaussian(0.5, 6))["regular"]
    assert 1 < both.condition < 1e4
    assert both.disagreement < 1e-10


def test_on_a_singular_kernel_a_ridge_agrees_and_qz_is_tried_too():
    both = solved(Polynomial(1))
    assert set(both) == {"ridge", "qz"}
    assert both["ridge"].disagreement < 1e-6
    assert both["ridge"].condition > 1e12
    assert both["qz"].condition == both["ridge"].condition


def test_on_a_regular_kernel_qz_is_the_symmetric_solver():
    features, labels = random_samples(n_samples=30)
    gram = SamplePairs(features, features).gram(scaled_gaussian(0.5, 6))
    dual, exact = by_qz(gram, labels, 3, 4), kdne(gram, labels, n_components=4).dual
    expected = squared_distances(gram @ exact, gram @ exact)
    # Within condition times rounding.
    np.testing.assert_allclose(squared_distances(gram @ dual, gram @ dual), expected, atol=1e-8 * expected.max())


@pytest.mark.parametrize(("draw", "form"), [(ring, [1, 1]), (cone, [1, -1, 1, -1])])
def test_the_synthetic_classes_are_parted_by_a_form_of_degree_two(draw, form):
    features, labels = draw(np.random.default_rng(0), 100)
    values = np.square(features) @ form
    assert len(labels) == 100
    assert values[labels == 0].max() < values[labels == 1].min()


def test_the_independent_lmnn_comes_near_and_not_below():
    features, labels = random_samples(n_samples=20, n_features=3)
    objective = lmnn_objective(features / 3, labels, 2)
    optimum = lmnn_optimum(objective)
    other, ours = lmnn_benchmark.independent(objective), lmnn_benchmark.ours(objective)
    assert optimum.lower_bound <= min(other.values) <= optimum.value * 1.05
    assert optimum.lower_bound <= min(ours.values) <= optimum.value * 1.01
    assert ours.until(np.inf) == ours.seconds[0]
    assert ours.until(0.0) == np.inf
