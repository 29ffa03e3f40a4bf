import numpy as np
import pytest
from scipy.spatial.distance import cdist

from kdrbench.errors import InputError
from kdrbench.kernels import median_distance


@pytest.mark.parametrize("n_samples", [2, 3, 4, 7, 10, 31])
def test_equals_the_median_of_the_full_distance_matrix(n_samples):
    features = np.random.default_rng(n_samples).standard_normal((n_samples, 3))
    if n_samples == 2:
        # Two of four entries are zero: the median is half the one distance.
        assert median_distance(features) == pytest.approx(np.linalg.norm(features[0] - features[1]) / 2)
    else:
        assert median_distance(features) == pytest.approx(np.median(cdist(features, features)), rel=1e-12)


def test_refuses_samples_that_coincide():
    with pytest.raises(InputError, match="median distance of these 5 samples is 0"):
        median_distance(np.ones((5, 2)))


def test_refuses_a_single_sample():
    with pytest.raises(InputError, match="at least 2 samples, got 1"):
        median_distance(np.ones((1, 2)))
