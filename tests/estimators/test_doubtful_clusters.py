"""Warnings where an alternative clustering is doubtful, and the bandwidth that is searched."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score

from kdrbench.datasets import Standardiser, synthetic
from kdrbench.errors import InputError
from kdrbench.estimators import InterpretableKDR


def data(maker, seed, n_samples=400):
    features, labels = maker(n_samples, np.random.default_rng(seed))
    return Standardiser.fit(features).transform(features), *labels.T


def alternative(features, given, **options):
    """Fit and return the model and the texts of its warnings."""
    model = InterpretableKDR(2, paradigm="alternative", random_state=0, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(features, given)
    return model, [str(warning.message) for warning in caught]


@pytest.mark.whole
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.whole) for seed in (2, 3))])
def test_moons_that_the_median_hides_are_found_by_the_search(seed):
    features, given, sought = data(synthetic.two_pairs_of_moons, seed)
    missed, texts = alternative(features, given)
    assert normalized_mutual_info_score(sought, missed.labels_) < 0.65
    assert any("the clusters depend on the bandwidth: with an eighth of sigma = 2." in text for text in texts)
    found, texts = alternative(features, given, kernel_params={"sigma": "search"})
    assert normalized_mutual_info_score(sought, found.labels_) > 0.9
    assert normalized_mutual_info_score(given, found.labels_) < 0.05
    assert not any("bandwidth" in text for text in texts)


@pytest.mark.slow("searches the bandwidth with several starts")
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.whole)])
def test_four_gaussians_are_found_without_a_warning(seed):
    features, given, sought = data(synthetic.gaussians_on_a_rectangle, seed)
    for options in ({}, {"kernel_params": {"sigma": "search"}}):
        model, texts = alternative(features, given, **options)
        assert normalized_mutual_info_score(sought, model.labels_) > 0.9
        assert not texts


def test_starts_that_disagree_are_warned_of_with_their_numbers():
    features, given, _ = data(synthetic.two_pairs_of_moons, 0)
    _, texts = alternative(features, given)
    (text,) = (text for text in texts if "starts disagree" in text)
    assert text.startswith("the 4 starts disagree: objectives from 0.89")
    assert "NMI of their clusters with the best from 0." in text
    # One start has nothing to disagree with.
    _, texts = alternative(features, given, start="surrogate")
    assert not any("disagree" in text for text in texts)


def test_the_default_start_is_multistart_for_alternatives():
    features, given, _ = data(synthetic.two_pairs_of_moons, 1, 120)
    default, _ = alternative(features, given)
    several, _ = alternative(features, given, start="multistart", n_init=4)
    single, _ = alternative(features, given, start="surrogate")
    np.testing.assert_array_equal(default.components_, several.components_)
    assert default.objective_ >= single.objective_
    one, other = (InterpretableKDR(2, start=start).fit(features, given) for start in (None, "surrogate"))
    np.testing.assert_array_equal(one.components_, other.components_)


def test_labels_need_no_search():
    features, given, _ = data(synthetic.gaussians_on_a_rectangle, 0, 60)
    with pytest.raises(InputError, match="sigma 'search' is for clusters; supervised learning has labels"):
        InterpretableKDR(2, kernel_params={"sigma": "search"}).fit(features, given)
