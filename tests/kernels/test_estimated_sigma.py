from functools import partial

import numpy as np
import pytest

from kdrbench.estimators import InterpretableKDR
from kdrbench.kernels import EstimatedGaussian, Gaussian, estimated_median_distance, median_distance, registry
from kdrbench.kernels.registry import build_kernel, check_definition

FEATURES = np.random.default_rng(0).standard_normal((120, 3))
LABELS = np.arange(120) % 3


@pytest.fixture(autouse=True)
def many_samples(monkeypatch):
    """So few samples count as many, and an estimate takes few of their pairs."""
    monkeypatch.setattr(registry, "EXACT_SAMPLES", 100)
    monkeypatch.setattr(registry, "estimated_median_distance", partial(estimated_median_distance, n_pairs=400))


@pytest.fixture(scope="module")
def exact():
    return Gaussian(median_distance(FEATURES))


def gaussian(sigma, **settings):
    return build_kernel({"family": "gaussian", "sigma": sigma}, FEATURES, 2, **settings)


def estimated(seed, share=1.0):
    estimate = estimated_median_distance(FEATURES, np.random.default_rng(seed), n_pairs=400)
    return EstimatedGaussian(share * estimate.value, share * estimate.standard_error)


def test_a_bandwidth_is_exact_unless_a_seed_is_given(monkeypatch, exact):
    assert gaussian("median") == gaussian("exact median", seed=7) == exact
    assert gaussian("median", seed=7) == estimated(7) != exact
    assert gaussian("0.5 median", seed=7) == gaussian("0.5 estimated median", seed=7) == estimated(7, 0.5)
    assert gaussian("estimated median") == estimated(0)
    monkeypatch.setattr(registry, "EXACT_SAMPLES", 120)
    assert gaussian("median", seed=7) == exact
    check_definition({"family": "gaussian", "sigma": "0.1 estimated median"})


def test_every_fit_without_a_random_state_has_the_same_bandwidth(exact):
    def fitted(sigma="median", random_state=None):
        model = InterpretableKDR(2, kernel_params={"sigma": sigma}, random_state=random_state, tol=0.1)
        return model.fit(FEATURES, LABELS).kernel_

    assert fitted() == fitted() == fitted(random_state=np.random.RandomState(3)) == estimated(0)
    assert fitted(random_state=np.int64(5)) == estimated(5)
    assert fitted("exact median", random_state=5) == exact
