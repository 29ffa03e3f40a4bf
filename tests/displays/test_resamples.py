import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from kdrbench.displays import LoadingsDisplay
from kdrbench.estimators import InterpretableKDR
from kdrbench.inference import bootstrap_angles

X, Y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)


@pytest.mark.parametrize("scheme", ["bootstrap", "half"])
def test_displays_and_angles_are_of_the_same_resamples(scheme):
    # An odd number: halves are rounded alike.
    odd, labels, model = X[1::4][:43], Y[1::4][:43], InterpretableKDR(2, sigma=5.0)
    found = bootstrap_angles(model, odd, labels, n_resamples=20, scheme=scheme, random_state=3)
    shown = LoadingsDisplay.from_estimator(model, odd, labels, n_resamples=20, resampling=scheme, random_state=3)
    lower, upper = shown.intervals(0.9)
    np.testing.assert_allclose(np.stack([lower.T, upper.T], axis=-1), found.loadings, atol=1e-9)
