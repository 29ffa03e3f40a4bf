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


def test_new_samples_are_scaled_with_training_statistics():
    train, new = np.array([[0.0], [2.0]]), np.array([[5.0]])
    assert Standardiser.fit(train).transform(new)[0, 0] == 4.0


def test_constant_columns_become_zero_and_are_reported():
    features = np.column_stack([np.arange(5.0), np.full(5, 0.1), np.zeros(5)])
    fitted = Standardiser.fit(features)
    assert fitted.constant.tolist() == [False, True, True]
    assert np.abs(fitted.transform(features + 3.0)[:, 1:]).max() == 0.0


def test_bad_features_are_refused():
    with pytest.raises(InputError, match="hold 1 NaN or infinite values, the first at row 1, column 0"):
        Standardiser.fit(np.array([[1.0], [np.nan]]))
    with pytest.raises(InputError, match="non-empty n x d array"):
        Standardiser.fit(np.empty((0, 3)))
    with pytest.raises(InputError, match=r"expected n x 2 features as fitted, got shape \(4, 3\)"):
        Standardiser.fit(np.eye(4, 2)).transform(np.eye(4, 3))
