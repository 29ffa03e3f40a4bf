"""The memory of a fit is estimated before it begins, within a factor of two, and refused with a way out."""

import tracemalloc
import warnings

import pytest

from kdrbench import memory
from kdrbench.estimators import DNE, LMNN, NCA, AlignedKernel, InterpretableKDR, KPCATrick, LowRankKernelLearner
from support.helpers import random_samples

N, D = 1100, 20
MAKERS = {
    "nca": lambda: NCA(max_iter=1),
    "lmnn": lambda: LMNN(max_iter=2),
    "dne": DNE,
    "aligned": lambda: AlignedKernel("polynomial"),
    "kpca_trick": lambda: KPCATrick("dne", selection=None),
    "kpca_trick_all": lambda: KPCATrick("dne", selection=None, n_components=None),
    "low_rank": lambda: LowRankKernelLearner(10, kernel="gaussian", n_constraints=20),
    "dense": lambda: InterpretableKDR(2, evaluation={"evaluator": "dense"}, max_iter=3),
    "clusters": lambda: InterpretableKDR(
        2,
        paradigm="unsupervised",
        paradigm_params={"n_clusters": 2, "max_rounds": 1},
        evaluation={"evaluator": "panels"},
        max_iter=2,
    ),
}


def samples():
    return random_samples(3, n_samples=N, n_features=D)


def quietly(make, features, labels):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make().fit(features, labels)


def estimate_of(make, features, labels, monkeypatch):
    """Return what a fit is refused for where nothing is free."""
    asked = []
    with monkeypatch.context() as patched:
        patched.setattr(memory, "free_bytes", lambda: asked.append(0) or 0)
        with pytest.raises(
            ValueError, match=rf"a fit of \w+ to {len(features)} samples takes about .* free; \w+"
        ) as caught:
            make().fit(features, labels)
    assert asked
    return float(str(caught.value).split("takes about ")[1].split()[0]) * 2**30


def peak_of(make, features, labels):
    """Return the most bytes that a fit holds at once."""
    # What is imported or made when first used is no part of a fit.
    quietly(make, features[:60], labels[:60])
    tracemalloc.start()
    quietly(make, features, labels)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("name", MAKERS)
def test_the_estimate_is_within_a_factor_of_two_of_the_peak(name, monkeypatch):
    features, labels = samples()
    if name == "kpca_trick_all":
        features, labels = features[:500], labels[:500]
    make = MAKERS[name]
    peak = peak_of(make, features, labels)
    # It is printed with two digits.
    assert peak / 2.1 <= estimate_of(make, features, labels, monkeypatch) <= 2.1 * peak


def test_what_sums_over_samples_take_is_estimated(monkeypatch):
    features, labels = random_samples(0, n_samples=6000, n_features=D)
    estimates = {}
    for kernel in ("squared", "polynomial"):

        def make(kernel=kernel):
            return InterpretableKDR(4, kernel=kernel, max_iter=5)

        estimates[kernel] = estimate_of(make, features, labels, monkeypatch)
        assert 1 / 2.1 <= peak_of(make, features, labels) / estimates[kernel] <= 2.1
    # Second derivatives hold no products of the columns of X and XW.
    assert estimates["squared"] < estimates["polynomial"] < 3.0 * estimates["squared"]


@pytest.mark.parametrize("make", [NCA, LMNN, DNE, AlignedKernel, LowRankKernelLearner, InterpretableKDR])
def test_without_all_pairs_the_estimate_grows_as_the_samples(make, monkeypatch):
    features, labels = random_samples(0, n_samples=8000, n_features=4)
    whole, half = (estimate_of(make, features[:n], labels[:n], monkeypatch) for n in (8000, 4000))
    assert whole <= 2.1 * half
