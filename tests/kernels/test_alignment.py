import numpy as np
import pytest
from scipy.optimize import minimize

from kdrbench.errors import InputError
from kdrbench.kernels import Gaussian, Linear, Polynomial, RelativeGaussian, Squared, combination, neighbour_distances
from kdrbench.kernels.combination import aligned_weights, doubly_centred
from kdrbench.kernels.family import pairing_values
from support.helpers import random_samples, traced_memory

KERNELS = [Gaussian(sigma=2.0), Polynomial(degree=3), Linear()]


def target_of(labels):
    one_hot = np.eye(labels.max() + 1)[labels]
    return one_hot - one_hot.mean(axis=0)


def centred_gram(kernel, features):
    centring = np.eye(len(features)) - 1 / len(features)
    return centring @ kernel.value(pairing_values(kernel.pairing, features)) @ centring


def alignment(weights, kernels, features, target):
    gram = sum(weight * centred_gram(kernel, features) for weight, kernel in zip(weights, kernels, strict=True))
    aim = target @ target.T
    return np.vdot(gram, aim) / np.linalg.norm(gram) / np.linalg.norm(aim)


@pytest.mark.parametrize("seed", range(5))
def test_no_other_weights_are_more_aligned(seed):
    features, labels = random_samples(seed, n_samples=30)
    target = target_of(labels)
    weights = aligned_weights(KERNELS, features, target)
    best = alignment(weights, KERNELS, features, target)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1.0)
    # A general-purpose optimiser from several starts, over logarithms of the weights in units of the members' norms.
    norms = np.array([np.linalg.norm(centred_gram(kernel, features)) for kernel in KERNELS])
    rng = np.random.default_rng(seed)

    def loss(logs):
        return -alignment(np.exp(logs) / norms, KERNELS, features, target)

    found = [-minimize(loss, rng.standard_normal(3)).fun for _ in range(5)]
    assert max(found) <= best + 1e-9
    # Logarithms reach a weight of zero only in the limit.
    assert max(found) == pytest.approx(best, abs=1e-4)


def test_blocks_of_pairs_have_the_sums_of_whole_arrays():
    features, labels = random_samples(n_samples=600)
    target, kernels = target_of(labels), [*KERNELS, RelativeGaussian(neighbour_distances(features))]
    centred = [doubly_centred(kernel.value(pairing_values(kernel.pairing, features))) for kernel in kernels]
    products, alignments = combination._centred_products(kernels, features, target)
    expected = [[np.vdot(first, second) for second in centred] for first in centred]
    np.testing.assert_allclose(products, expected, rtol=1e-10)
    np.testing.assert_allclose(alignments, [np.vdot(matrix, target @ target.T) for matrix in centred], rtol=1e-10)


def test_no_array_of_samples_by_samples_is_made():
    features, labels = random_samples(n_samples=3000)
    target = target_of(labels)
    with traced_memory() as traced:
        aligned_weights(KERNELS, features, target)
    # Some blocks of pairs; n x n would be 72 MB.
    assert traced.peak < 0.15 * 8 * 3000**2


def test_twins_have_the_alignment_of_one_of_them():
    features, labels = random_samples()
    target = target_of(labels)
    # After centring, -|x - y|^2 and 2 x'y are one kernel, and the normal equations are singular.
    weights = aligned_weights([Squared(), Linear()], features, target)
    assert weights.sum() == pytest.approx(1.0)
    alone = alignment([1.0], [Linear()], features, target)
    assert alignment(weights, [Squared(), Linear()], features, target) == pytest.approx(alone, rel=1e-10)


def test_refuses_what_cannot_be_aligned():
    features, labels = random_samples()
    with pytest.raises(InputError, match="kernel 1 of the combination is constant"):
        aligned_weights([Linear(), Gaussian(sigma=1e12)], features, target_of(labels))

    class Against(Linear):
        def value(self, beta):
            return -beta

    with pytest.raises(InputError, match="no member of the combination is aligned with the labels"):
        aligned_weights([Against()], features, target_of(labels))
    with pytest.raises(InputError, match="got 0 kernels"):
        aligned_weights([], features, target_of(labels))
    with pytest.raises(InputError, match="40 samples, 39 targets"):
        aligned_weights([Linear()], features, target_of(labels)[1:])
