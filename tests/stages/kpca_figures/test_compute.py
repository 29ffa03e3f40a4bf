"""What Figures 2 to 5 of the KPCA trick compute: both tricks side by side, and the made data."""

import numpy as np
import pytest

from helpers import random_samples
from kdrbench.datasets import Dataset, load_dataset
from kdrbench.datasets.quadratic import cone, ring
from kdrbench.errors import InputError
from kdrbench.kernels import Polynomial
from kdrbench.metric_learning import SamplePairs, kdne, scaled_gaussian, squared_distances
from kdrbench.stages.kpca_figures.compute import leading_of, made_samples
from kdrbench.stages.kpca_figures.trick_comparison import EXACT, QZ, RIDGE, by_qz, draw_halves, solve_both

IRIS = load_dataset("iris")


def solved(kernel, k=3):
    features, labels = random_samples(n_samples=30)
    others = random_samples(seed=5, n_samples=12)[0]
    gram, cross = SamplePairs(features, features).gram(kernel), SamplePairs(others, features).gram(kernel)
    return {both.method: both for both in solve_both(gram, cross, labels, k, None)}


def test_both_tricks_agree_on_a_regular_kernel():
    found = solved(scaled_gaussian(0.5, 6))
    assert list(found) == [EXACT, QZ]
    assert 1 < found[EXACT].condition < 1e4
    assert found[EXACT].disagreement < 1e-10
    first, second = found[EXACT].predictions(np.arange(30) % 3)
    np.testing.assert_array_equal(first, second)


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


@pytest.mark.parametrize(("draw", "form"), [(ring, [1, 1]), (cone, [1, -1, 1, -1])])
def test_the_synthetic_classes_are_parted_by_a_form_of_degree_two(draw, form):
    features, labels = draw(np.random.default_rng(0), 100)
    values = np.square(features) @ form
    assert len(labels) == 100
    assert values[labels == 0].max() < values[labels == 1].min()


def test_no_training_sample_is_there_twice():
    twice = Dataset("iris", np.repeat(IRIS.features[:20], 2, axis=0), np.arange(40) % 2, IRIS.feature_names, ("a", "b"))
    halves = draw_halves(twice, 30, 0)
    assert len(np.unique(halves.train, axis=0)) == len(halves.train) == len(halves.train_labels) < 30
    assert len(halves.test) == len(halves.test_labels) == 10


def test_plain_learners_fail_and_kernels_succeed_on_the_made_data():
    for name in ("disc-and-ring", "cone"):
        features, labels = made_samples(name, 400, 0)
        results = list(leading_of(features, labels, 200, ["nca", "lmnn", "dne"]))
        assert [(one.learner, one.degree) for one in results[:3]] == [("nca", 1), ("nca", 2), ("lmnn", 1)]
        for one in results:
            assert one.accuracy <= 0.85 if one.degree == 1 else one.accuracy >= 0.95
            assert one.coordinates.shape == (200,)
            assert one.coordinates.std() == pytest.approx(1.0)


def test_other_data_are_not_made():
    with pytest.raises(InputError, match="unknown data set of Figure 2 'ring'; allowed: cone, disc-and-ring"):
        made_samples("ring", 10, 0)
