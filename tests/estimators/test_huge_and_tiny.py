"""Values whose squares overflow or underflow: every estimator gives a finite result or a sentence of ours."""

import re
import warnings

import numpy as np
import pytest

from kdrbench import estimators
from kdrbench.errors import InputError

SCALES = [1e308, 1e307, 1e200, 1e154, 1e-155, 1e-200, 1e-320]
KERNELS = ["gaussian", "polynomial", "linear", "squared", "multiquadric", "rbf_relative"]
METRICS = ["LMNN", "NCA", "DNE"]
ESTIMATORS = [*(name for name in estimators.__all__ if name != "InterpretableKDR"), *KERNELS]


def samples(rng):
    """Three classes, of which all, a column, or one value is scaled, or all are moved."""
    labels = np.arange(24) % 3
    features, scale = rng.uniform(-0.3, 0.3, (24, 4)) + 0.3 * labels[:, None], SCALES[rng.integers(len(SCALES))]
    which = rng.integers(4)
    if which < 2:
        features[:, : 1 if which else 4] *= scale
    elif which == 2:
        features[rng.integers(24), rng.integers(4)] = scale
    else:
        features += scale
    return features, labels


def outcome(name, features, labels):
    """Return whether all values are finite, or the sentence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = estimators.InterpretableKDR(2, kernel=name) if name in KERNELS else getattr(estimators, name)()
        try:
            model.fit(features, labels)
        except InputError as error:
            return str(error)
        values = model.transform(features) if hasattr(model, "transform") else model.kernel_
    return bool(np.isfinite(values).all())


@pytest.mark.attack("stranger: huge and tiny values")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_gives_finite_values_or_says_why_not(name, attack_rng):
    for _ in range(3):
        said = outcome(name, *samples(attack_rng))
        assert said is True or (isinstance(said, str) and len(said) < 300), said


@pytest.mark.parametrize(
    ("name", "scale", "message"),
    [
        *((name, 4e307, r"e\+308, so their .* overflow; scale them, for instance with") for name in METRICS),
        # Squares below the largest number are no reason to refuse.
        *((name, scale, None) for name in METRICS for scale in (1e150, 1e-150)),
        *(
            (name, 1e-170, "so their squares underflow; scale them, for instance with")
            for name in (*KERNELS, *METRICS, "LowRankKernelLearner")
        ),
        ("LowRankKernelLearner", 1e120, "scale the"),
        ("rbf_relative", 1e120, "scale the"),
        ("multiquadric", 1e120, "scale the"),
    ],
)
def test_messages_on_huge_and_tiny_values_say_what_to_do(name, scale, message):
    labels = np.arange(24) % 3
    features = np.random.default_rng(0).standard_normal((24, 4)) + labels[:, None]
    said = outcome(name, scale * features, labels)
    assert said is True if message is None else re.search(message, said)
