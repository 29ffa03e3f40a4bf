import numpy as np
import pytest
from sklearn.datasets import load_iris

from kdrbench.errors import InputError
from kdrbench.kernels import Combination, Gaussian, Polynomial, Term
from kdrbench.metric_learning import DNE, NCA, KPCATrick, SamplePairs, kernel_pca, scaled_gaussian, squared_distances
from kdrbench.metric_learning.dne import kernel_distances
from support.helpers import random_samples


def laplace(left, right):
    return np.exp(-np.abs(left[:, None, :] - right).sum(axis=2))


KERNELS = {
    "gaussian": scaled_gaussian(0.7, 6),
    "wide": scaled_gaussian(1000.0, 6),
    "near identity": scaled_gaussian(0.01, 6),
    "polynomial": Polynomial(2),
    "function": laplace,
    "combination": Combination((Term(0.3, scaled_gaussian(1.0, 6)), Term(2.0, Polynomial(3)))),
}


def samples():
    features, labels = random_samples(n_samples=30)
    return features, labels, random_samples(seed=9, n_samples=11)[0]


def test_the_scaled_gaussian_is_the_papers():
    features, _, others = samples()
    gram = SamplePairs(others, features).gram(scaled_gaussian(0.7, 6))
    by_loops = [[np.exp(-np.sum((x - y) ** 2) / (2 * 6 * 0.7**2)) for y in features] for x in others]
    np.testing.assert_allclose(gram, by_loops, rtol=1e-13)
    with pytest.raises(InputError, match="sigma must be a finite number > 0, got 0"):
        scaled_gaussian(0, 6)


@pytest.mark.parametrize("name", KERNELS)
def test_a_gram_up_to_a_constant_is_the_gram_once_centred(name):
    features, _, _ = samples()
    pairs = SamplePairs(features, features)
    exact, shifted = pairs.gram(KERNELS[name]), pairs.gram(KERNELS[name], up_to_constant=True)
    np.testing.assert_allclose(np.ptp(exact - shifted), 0.0, atol=1e-15 * len(exact) * np.abs(exact).max())
    assert (name in ("gaussian", "wide", "near identity", "combination")) == (shifted[0, 0] != exact[0, 0])


@pytest.mark.parametrize("name", ["gaussian", "near identity", "polynomial", "function", "combination"])
def test_distances_of_coordinates_are_those_of_feature_vectors(name):
    # Proposition 3.
    features, _, _ = samples()
    gram = SamplePairs(features, features).gram(KERNELS[name])
    coordinates = kernel_pca(gram).transform(gram)
    distances = kernel_distances(gram)
    np.testing.assert_allclose(
        squared_distances(coordinates, coordinates), distances, rtol=0, atol=1e-13 * distances.max()
    )
    np.testing.assert_allclose(coordinates.mean(axis=0), 0.0, atol=1e-12 * np.abs(coordinates).max())


def test_coordinates_are_uncorrelated_and_largest_first():
    features, _, _ = samples()
    gram = SamplePairs(features, features).gram(KERNELS["gaussian"])
    found = kernel_pca(gram)
    coordinates = found.transform(gram)
    np.testing.assert_allclose(coordinates.T @ coordinates, np.diag(found.values), atol=1e-12 * found.values[0])
    assert (np.diff(found.values) <= 0).all()
    first = kernel_pca(gram, n_components=4)
    np.testing.assert_array_equal(first.transform(gram), coordinates[:, :4])
    assert kernel_pca(gram, n_components=1000).values.shape == found.values.shape


@pytest.mark.parametrize("name", KERNELS)
def test_a_training_sample_has_its_coordinates_again(name):
    features, labels, _ = samples()
    fitted = KPCATrick(KERNELS[name], DNE()).fit(features, labels)
    pairs = SamplePairs(features, features)
    coordinates = fitted.coordinates.transform(pairs.gram(KERNELS[name], up_to_constant=True))
    alone = np.vstack([fitted.transform(row[None, :]) for row in features])
    expected = coordinates @ fitted.projection
    np.testing.assert_allclose(alone, expected, atol=1e-10 * np.abs(coordinates).max())
    np.testing.assert_allclose(fitted.transform(features[::-1]), expected[::-1], atol=1e-10 * np.abs(coordinates).max())


def test_wide_gaussians_keep_no_noise():
    # Of iris 4 components of first order and 10 of second one are left at sigma = 1000, and no noise.
    features = load_iris().data
    pairs = SamplePairs(features, features)
    assert len(kernel_pca(pairs.gram(scaled_gaussian(1000.0, 4), up_to_constant=True)).values) == 14
    # From K itself the smallest are lost in rounding, and the rank says so.
    assert 4 <= len(kernel_pca(pairs.gram(scaled_gaussian(1000.0, 4))).values) < 14


def test_a_constant_added_to_the_kernel_changes_nothing():
    features, labels, others = samples()
    plain = KPCATrick(KERNELS["polynomial"], NCA()).fit(features, labels)
    shifted = KPCATrick(lambda a, b: (a @ b.T + 1) ** 2 + 5.0, NCA()).fit(features, labels)
    distances = squared_distances(plain.transform(others), plain.transform(features))
    again = squared_distances(shifted.transform(others), shifted.transform(features))
    np.testing.assert_allclose(again, distances, atol=1e-6 * distances.max())


def test_a_kernel_that_is_not_positive_is_refused():
    features, labels, _ = samples()

    def sigmoid(left, right):
        return np.tanh(left @ right.T - 1.0)

    centring = np.eye(30) - 1 / 30
    smallest = np.linalg.eigvalsh(centring @ sigmoid(features, features) @ centring)[0]
    with pytest.raises(InputError, match=f"most negative eigenvalue is {smallest:.6g} "):
        KPCATrick(sigmoid, DNE()).fit(features, labels)


FEATURES, LABELS, _ = samples()


@pytest.mark.parametrize(
    ("trick", "features", "message"),
    [
        ("precomputed", np.ones((3, 2)), r"a training kernel must be a finite square matrix, got shape \(3, 2\)"),
        ("precomputed", np.full((3, 3), np.nan), "must be a finite square matrix"),
        ("precomputed", np.array([[1, 0.5], [0.2, 1]]), "must be symmetric; entries differ from their mirror by up to"),
        ("precomputed", np.ones((3, 3)), "the kernel is constant on these 3 samples"),
        ("precomputed", np.zeros((3, 3)), "the kernel is constant on these 3 samples"),
        ("rbf", FEATURES, r"must be 'precomputed', a kernel of kdrbench\.kernels or a function"),
        (Gaussian(1.0), np.full((30, 6), np.nan), "features hold 180 NaN"),
        (lambda a, b: np.ones(len(a)), FEATURES, r"a finite real array of shape \(30, 30\); got float64 of shape"),
    ],
)
def test_what_cannot_be_mapped_is_refused(trick, features, message):
    with pytest.raises(InputError, match=message):
        KPCATrick(trick, DNE()).fit(features, LABELS[: len(features)])


def test_what_a_map_refuses():
    with pytest.raises(InputError, match="n_components must be None, one of auto, or an integer >= 1, got 0"):
        KPCATrick(Gaussian(1.0), DNE(), n_components=0).fit(FEATURES, LABELS)
    fitted = KPCATrick(Gaussian(1.0), DNE()).fit(FEATURES, LABELS)
    with pytest.raises(InputError, match=r"expected features with 6 columns, got shape \(2, 5\)"):
        fitted.transform(np.ones((2, 5)))
    with pytest.raises(InputError, match=r"the 30 training samples, m x 30; got shape \(2, 5\)"):
        fitted.transform_gram(np.ones((2, 5)))
