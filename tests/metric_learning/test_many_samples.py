"""Blocks of rows give what n x n arrays give, in less memory."""

import sys

import numpy as np
import pytest

from kdrbench import memory
from kdrbench.errors import InputError
from kdrbench.estimators import KPCATrick
from kdrbench.metric_learning import DNE, LMNN, NCA, KernelMap, SamplePairs, descent, kernel_pca, scaled_gaussian
from kdrbench.metric_learning.descent import lmnn_objective, nca_objective
from support.helpers import random_samples, traced_memory

N = 1300


@pytest.fixture(scope="module")
def many():
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 3, N)
    labels[-1] = 3  # A class of one sample.
    return rng.standard_normal((N, 6)) + labels[:, None] * [0.5, 0, 0, 0.2, 0, 0], labels


@pytest.mark.parametrize("chosen", [LMNN(max_iterations=2), NCA(2), DNE()], ids=["lmnn", "nca", "dne"])
def test_no_array_of_all_pairs_is_made(many, chosen):
    features, labels = many
    with traced_memory() as traced:
        chosen.fit(features, labels)
    # Blocks have 2^17 entries; an n x n array of float64 has 1.7 million.
    assert traced.peak < 8 * N * N


@pytest.mark.parametrize(("push", "n_components"), [(1.0, 3), (0.3, 2)])
def test_pairs_of_many_samples_are_summed_to_six_digits(many, monkeypatch, push, n_components):
    features, labels = many
    projection = np.random.default_rng(1).standard_normal((6, n_components))
    impostors = lmnn_objective(features, labels, 3, push=push).value_and_gradient
    for objective in (lambda: nca_objective(projection, features, labels), lambda: impostors(projection)):
        value, gradient = objective()
        monkeypatch.setattr(descent, "_MANY", N)
        single, of_single = objective()
        monkeypatch.setattr(descent, "_MANY", N + 1)
        assert gradient.dtype == of_single.dtype == np.float64
        assert 0.0 < abs(single / value - 1.0) < 1e-6
        np.testing.assert_allclose(of_single, gradient, atol=1e-5 * np.abs(gradient).max())


def test_the_largest_components_alone_are_those_of_all(many):
    features, _ = many
    gram = SamplePairs(features, features).gram(scaled_gaussian(1.0, 6), up_to_constant=True)
    whole, some, auto = kernel_pca(gram), kernel_pca(gram, 20), kernel_pca(gram, "auto")
    assert len(some.values) == 20
    np.testing.assert_allclose(some.values, whole.values[:20], rtol=1e-10)
    first, second = some.transform(gram), whole.transform(gram)[:, :20]
    np.testing.assert_allclose(np.abs(first), np.abs(second), atol=1e-8 * np.abs(second).max())
    assert some.explained == pytest.approx(whole.values[:20].sum() / whole.values.sum(), rel=1e-10)
    assert whole.explained == pytest.approx(1.0)
    # As many as hold 99 %, and not one more.
    share = np.cumsum(whole.values) / whole.values.sum()
    assert len(auto.values) == min(100, int(np.argmax(share >= 0.99)) + 1)
    np.testing.assert_array_equal(kernel_pca(gram, 20).values, some.values)


def test_a_negative_eigenvalue_is_seen_where_few_are_sought(many):
    features, _ = many
    gram = SamplePairs(features, features).gram(scaled_gaussian(1.0, 6))
    direction = np.random.default_rng(0).standard_normal(N)
    direction -= direction.mean()
    direction /= np.linalg.norm(direction)
    # It has a curvature of at most the largest eigenvalue along it, so this makes it negative.
    gram -= (direction @ gram @ direction + 1e-6) * np.outer(direction, direction)
    with pytest.raises(InputError, match="most negative eigenvalue is -"):
        kernel_pca(gram, 20)


def test_auto_keeps_all_of_few_and_bounds_those_of_many(many):
    features, labels = many
    assert KPCATrick("dne").fit(*random_samples(0, n_samples=40)).explained_ == pytest.approx(1.0)
    bounded = KPCATrick("dne", selection=None).fit(features, labels)
    assert bounded.map_.projection.shape[0] <= 100
    assert 0 < bounded.explained_ <= 1


def test_a_kernel_too_large_for_the_machine_is_refused(many, monkeypatch):
    features, labels = many
    monkeypatch.setattr(memory, "free_bytes", lambda: 8 * N * N)
    with pytest.raises(ValueError, match=r"a fit of KPCATrick to 1300 samples takes about 0.057 GiB of memory, and"):
        KPCATrick("dne", selection=None).fit(features, labels)


def test_samples_are_mapped_in_parts_as_they_are_together(many, monkeypatch):
    features, labels = many
    model = KPCATrick("dne", selection=None).fit(features[:300], labels[:300])
    together = model.transform(features)
    monkeypatch.setattr(sys.modules[KernelMap.__module__], "_ROWS", 100)
    np.testing.assert_allclose(model.transform(features), together, atol=1e-10)
