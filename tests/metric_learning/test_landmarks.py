"""Landmarks: with all samples the KPCA trick itself, with fewer a bound on what is lost, in memory without n x n."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from kdrbench.errors import InputError
from kdrbench.estimators import KPCATrick
from kdrbench.kernels import Combination, Polynomial, Term
from kdrbench.metric_learning import SamplePairs, drawn_landmarks, kernel_pca, landmark_pca, scaled_gaussian
from support.helpers import random_samples, traced_memory

NARROW, WIDE = scaled_gaussian(0.3, 5), scaled_gaussian(30.0, 5)
KERNELS = {
    "narrow": NARROW,
    # 1 - 1e-3 everywhere: without expm1 few digits would be left.
    "wide": WIDE,
    "polynomial": Polynomial(2),
    "combination": Combination((Term(2.0, NARROW), Term(0.1, Polynomial(1)))),
    "function": lambda left, right: (left @ right.T) ** 2 / 25.0 + left @ right.T,
}


def exact(kernel, features):
    gram = SamplePairs(features, features).gram(kernel, up_to_constant=True)
    return kernel_pca(gram, 4), gram


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))
def test_all_samples_as_landmarks_give_kpca(kernel):
    features, _ = random_samples(0, n_samples=60, n_features=5)
    whole, gram = exact(kernel, features)
    shuffled = np.random.default_rng(1).permutation(60)
    found = landmark_pca(kernel, features[shuffled], features, 4)
    np.testing.assert_allclose(found.values, whole.values, rtol=1e-7)
    assert found.explained == pytest.approx(whole.explained, rel=1e-6)
    first, second = found.transform(gram[:, shuffled]), whole.transform(gram)
    np.testing.assert_allclose(np.abs(first), np.abs(second), atol=1e-6 * np.abs(second).max())


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))
def test_what_is_explained_is_a_lower_bound(kernel):
    features, labels = random_samples(0, n_samples=200, n_features=5)
    whole, gram = exact(kernel, features)
    total = float(np.trace(gram)) - float(gram.sum()) / 200
    for count in (5, 20, 80):
        landmarks = features[drawn_landmarks(labels, count, np.random.default_rng(count))]
        found = landmark_pca(kernel, landmarks, features, 4)
        held = float(found.values.sum()) / total
        # The mean of what lies beyond the span is all that the bound gives away.
        assert 0.8 * held <= found.explained <= held + 1e-9
        assert held <= whole.explained + 1e-9
        coordinates = found.transform(SamplePairs(features, landmarks).gram(kernel, up_to_constant=True))
        np.testing.assert_allclose(coordinates.mean(axis=0), 0.0, atol=1e-6 * np.abs(coordinates).max())
        np.testing.assert_allclose(coordinates.T @ coordinates, np.diag(found.values), atol=1e-6 * found.values[0])


def test_landmarks_have_the_shares_of_the_classes():
    labels = np.repeat(["a", "b", "c"], [700, 290, 10])
    drawn = drawn_landmarks(labels, 100, np.random.default_rng(0))
    assert (len(set(drawn)), np.all(np.diff(drawn) > 0)) == (100, True)
    assert [int(np.sum(labels[drawn] == name)) for name in "abc"] == pytest.approx([70, 29, 1], abs=1)
    with pytest.raises(InputError, match="n_landmarks"):
        drawn_landmarks(labels, 1001, np.random.default_rng(0))


@pytest.mark.parametrize("selection", [None, "centred_alignment", "cross_validation"])
def test_few_landmarks_classify_as_all_samples_do(selection):
    X, y = make_moons(1500, noise=0.1, random_state=0)
    options = {"candidates": [scaled_gaussian(0.3, 2), scaled_gaussian(1.0, 2)]} if selection else {"kernel_params": {}}
    model = KPCATrick("dne", selection=selection, n_landmarks=100, **options)
    with traced_memory() as traced:
        pipeline = make_pipeline(model, KNeighborsClassifier(1)).fit(X[:1300], y[:1300])
    assert traced.peak < 8 * 1300**2
    assert pipeline.score(X[1300:], y[1300:]) > 0.97
    assert (model.map_.samples.shape, model.explained_ > 0.9) == ((100, 2), True)
    again = clone(model).fit(X[:1300], y[:1300])
    np.testing.assert_array_equal(again.transform(X[:9]), model.transform(X[:9]))


def test_landmarks_are_the_default_for_many_samples(monkeypatch):
    X, y = make_moons(120, noise=0.1, random_state=0)
    monkeypatch.setattr("kdrbench.estimators.kpca_trick._WITHOUT_LANDMARKS", 100)
    monkeypatch.setattr("kdrbench.estimators.kpca_trick._LANDMARKS", 40)
    counts = {n: len(KPCATrick("dne", selection=None).fit(X[:n], y[:n]).map_.samples) for n in (100, 101)}
    assert counts == {100: 100, 101: 40}
    assert len(KPCATrick("dne", selection=None, n_landmarks=None).fit(X, y).map_.samples) == 120
    gram = X @ X.T
    assert KPCATrick("dne", kernel="precomputed", selection=None).fit(gram, y).map_.samples is None
    with pytest.raises(ValueError, match="n_landmarks at None or 'auto'"):
        KPCATrick("dne", kernel="precomputed", selection=None, n_landmarks=50).fit(gram, y)
