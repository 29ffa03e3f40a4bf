"""Both tricks side by side, and the made data of Figure 2."""

import numpy as np
import pytest

from kdrbench.datasets import Dataset
from kdrbench.datasets.synthetic import cone, ring
from kdrbench.kernels import Polynomial
from kdrbench.metric_learning import SamplePairs, kdne, scaled_gaussian, squared_distances
from kdrbench.suite.systems.kpca_figures.run import EXACT, QZ, RIDGE, by_qz, draw_distinct, solve_both
from kdrbench.suite.systems.kpca_trick.split import SampleSplit
from support.helpers import random_samples
from support.kpca_trick_cases import iris


def solved(kernel, k=3):
    features, labels = random_samples(n_samples=30)
    others = random_samples(seed=5, n_samples=12)[0]
    split = SampleSplit(features, labels, others, np.arange(12) % 3)
    return {both.method: both for both in solve_both(split, kernel, k, None)}


def test_both_tricks_agree_on_a_regular_kernel():
    both = solved(scaled_gaussian(0.5, 6))
    assert list(both) == [EXACT, QZ]
    assert 1 < both[EXACT].condition < 1e4
    assert both[EXACT].disagreement < 1e-10
    first, second = both[EXACT].accuracies(np.arange(30) % 3, np.arange(12) % 3)
    assert first == second


def test_on_a_singular_kernel_a_ridge_agrees_and_qz_is_tried_too():
    both = solved(Polynomial(1))
    assert list(both) == [RIDGE, QZ]
    assert both[RIDGE].disagreement < 1e-6
    assert both[RIDGE].condition > 1e12
    assert both[QZ].condition == both[RIDGE].condition


def test_on_a_regular_kernel_qz_is_the_symmetric_solver():
    features, labels = random_samples(n_samples=30)
    gram = SamplePairs(features, features).gram(scaled_gaussian(0.5, 6))
    dual, exact = by_qz(gram, labels, 3, 4), kdne(gram, labels, n_components=4).dual
    expected = squared_distances(gram @ exact, gram @ exact)
    # Within condition times rounding.
    np.testing.assert_allclose(squared_distances(gram @ dual, gram @ dual), expected, atol=1e-8 * expected.max())


def test_no_two_training_samples_are_equal():
    features = np.repeat(iris().features[:20], 2, axis=0)
    twice = Dataset("twice", features, np.arange(40) % 2, iris().feature_names, ("a", "b"))
    split = draw_distinct(twice, 30, 0)
    assert len(np.unique(split.train, axis=0)) == len(split.train) == len(split.train_codes) < 30
    assert len(split.test) == len(split.test_codes) == 10


@pytest.mark.parametrize(("draw", "form"), [(ring, [1, 1]), (cone, [1, -1, 1, -1])])
def test_the_made_classes_are_separated_by_a_form_of_degree_two(draw, form):
    features, labels = draw(100, np.random.default_rng(0))
    values = np.square(features) @ form
    assert len(labels) == 100
    assert values[labels == 0].max() < values[labels == 1].min()
