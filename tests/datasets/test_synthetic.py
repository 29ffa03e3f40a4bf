"""Made sets: classes are where they are said to be, and labellings are independent."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from kdrbench.datasets import synthetic


@pytest.mark.parametrize("make", [synthetic.two_pairs_of_moons, synthetic.gaussians_on_a_rectangle])
def test_two_labellings_are_independent_and_balanced(make):
    features, labels = make(403, np.random.default_rng(0))
    assert features.shape[0] == labels.shape[0] == 403
    combined = np.bincount(2 * labels[:, 0] + labels[:, 1])
    assert combined.max() - combined.min() <= 1
    again, _ = make(403, np.random.default_rng(0))
    np.testing.assert_array_equal(features, again)


def test_each_pair_of_moons_tells_its_own_labelling_alone():
    features, labels = synthetic.two_pairs_of_moons(400, np.random.default_rng(0))
    for pair in (0, 1):
        columns = features[:, 2 * pair : 2 * pair + 2]
        own, other = labels[:, pair], labels[:, 1 - pair]
        fitted = KNeighborsClassifier(5).fit(columns[::2], own[::2])
        assert fitted.score(columns[1::2], own[1::2]) > 0.98
        # Of 200 fair coins more than 130 show heads with probability 1e-5.
        assert KNeighborsClassifier(5).fit(columns[::2], other[::2]).score(columns[1::2], other[1::2]) < 0.65
        # Half circles of radius 1 about (0, 0) and (1, 1/2), four standard deviations and more.
        centre = own[:, None] * np.array([1.0, 0.5])
        np.testing.assert_allclose(np.linalg.norm(columns - centre, axis=1), 1.0, atol=0.5)


def test_sequences_differ_as_their_tree_says():
    kernel, labels = synthetic.species_kernel((10, 31, 11), np.random.default_rng(0), n_sites=20_000)
    same = labels[:, None] == labels
    # Two members of a species keep a site with probability between 0.85^2 and 0.98^2, of two species times 0.7^2;
    # equal changes add at most (1 - 0.7 * 0.85)^2 / 19 = 0.009, and 20,000 sites err by 0.0035: four of these.
    inside, outside = kernel[same & ~np.eye(52, dtype=bool)], kernel[~same]
    assert inside.min() > 0.85**2 - 0.014
    assert inside.max() < 0.98**2 + 0.023
    assert outside.min() > 0.49 * 0.85**2 - 0.014
    assert outside.max() < 0.49 * 0.98**2 + 0.023
    assert np.linalg.eigvalsh(kernel)[0] > 0
    np.testing.assert_array_equal(kernel, kernel.T)
