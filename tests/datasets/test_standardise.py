import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdrbench.datasets import Standardiser
from kdrbench.errors import InputError


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 2**31), scale=st.floats(1e-150, 1e150), shift=st.floats(-10, 10))
def test_training_columns_get_mean_zero_and_spread_one(seed, scale, shift):
    features = scale * (np.random.default_rng(seed).standard_normal((20, 3)) + shift)
    standard = Standardiser.fit(features).transform(features)
    np.testing.assert_allclose(standard.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(standard.std(axis=0), 1.0, rtol=1e-12)


def test_constant_columns_stay_zero_in_other_samples():
    features = np.column_stack([np.arange(5.0), np.full(5, 0.1), np.zeros(5)])
    assert np.abs(Standardiser.fit(features).transform(features + 3.0)[:, 1:]).max() == 0.0


def test_bad_features_are_refused():
    with pytest.raises(InputError, match="hold 1 NaN or infinite values, the first at row 1, column 0"):
        Standardiser.fit(np.array([[1.0], [np.nan]]))
    with pytest.raises(InputError, match="non-empty n x d array"):
        Standardiser.fit(np.empty((0, 3)))
    with pytest.raises(InputError, match=r"expected n x 2 features as fitted, got shape \(4, 3\)"):
        Standardiser.fit(np.eye(4, 2)).transform(np.eye(4, 3))


def random_features(seed):
    rng = np.random.default_rng(seed)
    n, d = rng.integers(2, 40), rng.integers(1, 8)
    return rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-3, 3, d) + rng.uniform(-5, 5, d)


@pytest.mark.parametrize("seed", range(3))
def test_units_and_origins_of_features_do_not_matter(seed):
    features = random_features(seed)
    standard = Standardiser.fit(features).transform(features)
    # Powers of two and a shift of zero change no bit; other units change rounding only.
    exact = features * 2.0 ** np.random.default_rng(seed).integers(-200, 200, features.shape[1])
    np.testing.assert_array_equal(Standardiser.fit(exact).transform(exact), standard)
    moved = 1000.0 * features + features.std(axis=0) * 1e3
    np.testing.assert_allclose(Standardiser.fit(moved).transform(moved), standard, rtol=1e-6, atol=1e-9)


def test_huge_and_tiny_features_are_standardised_as_others():
    features = np.random.default_rng(0).standard_normal((30, 2))
    expected = Standardiser.fit(features).transform(features)
    for size in (1e-300, 1e-160, 1e160, 1e300):
        np.testing.assert_allclose(Standardiser.fit(size * features).transform(size * features), expected, rtol=1e-9)


def test_constant_features_of_any_size_are_zero_and_reported():
    for value in (0.0, 0.1, -1e300, 1e-300, 5e-324):
        features = np.column_stack([np.full(7, value), np.arange(7.0)])
        fitted = Standardiser.fit(features)
        assert fitted.constant.tolist() == [True, False]
        assert np.all(fitted.transform(features)[:, 0] == 0.0)
        assert fitted.scale[0] == 1.0
