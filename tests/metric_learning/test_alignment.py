import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.kernels import Gaussian, Polynomial
from kdrbench.metric_learning import SamplePairs, aligned_kernel, gaussian_grid, scaled_gaussian
from kdrbench.metric_learning.selection import _aligned
from support.helpers import random_samples


def grams_of(n_samples=30, seed=0, kernels=None):
    features, labels = random_samples(seed, n_samples=n_samples)
    pairs = SamplePairs(features, features)
    return [pairs.gram(kernel) for kernel in kernels or gaussian_grid(6)], labels, pairs


def align(grams, codes, *, centred=False):
    return _aligned(lambda rows, columns: [gram[rows, columns] for gram in grams], codes, centred=centred)[0]


def normalised(grams):
    return [gram / np.trace(gram) * len(gram) for gram in grams]


def target_by_loops(labels):
    p = len(set(labels.tolist()))
    return np.array([[1.0 if a == b else -1.0 / (p - 1) for b in labels] for a in labels])


@pytest.mark.parametrize(("seed", "centred"), [(0, False), (1, True)])
def test_the_quadratic_program_is_solved(seed, centred, monkeypatch):
    blocks = [slice(0, 7), slice(7, 20), slice(20, 30)]
    monkeypatch.setattr("kdrbench.metric_learning.selection.row_blocks", lambda _: blocks)
    # The program is convex: the conditions of KKT of min v'Mv - 2v'b over v >= 0 prove the optimum.
    grams, labels, _ = grams_of(seed=seed)
    centring = np.eye(30) - 1 / 30 if centred else np.eye(30)
    vectors = np.array([(centring @ gram @ centring).ravel() for gram in normalised(grams)])
    target = (centring @ target_by_loops(labels) @ centring).ravel()
    found = align(grams, labels, centred=centred)
    fitted = found.weights @ vectors
    # Weights come with sum one; the program's own length is the best multiple.
    weights = found.weights * (fitted @ target) / (fitted @ fitted)
    slope = 2 * (vectors @ (weights @ vectors) - vectors @ target)
    size = np.linalg.norm(vectors, axis=1) * np.linalg.norm(target)
    assert (slope >= -1e-10 * size).all()
    assert np.abs(slope[weights > 0] / size[weights > 0]).max() <= 1e-10
    assert found.weights.min() >= 0
    assert found.weights.sum() == pytest.approx(1.0)
    assert found.alignment == pytest.approx(fitted @ target / np.linalg.norm(fitted) / np.linalg.norm(target))


def test_the_aligned_kernel_is_the_combination_with_a_trace_of_n():
    grams, labels, pairs = grams_of(kernels=[scaled_gaussian(0.5, 6), Polynomial(2), scaled_gaussian(3.0, 6)])
    kernels = [scaled_gaussian(0.5, 6), Polynomial(2), scaled_gaussian(3.0, 6)]
    kernel, found = aligned_kernel(kernels, pairs, np.array(["a", "b", "c"])[labels])
    assert np.trace(pairs.gram(kernel)) == pytest.approx(30.0, rel=1e-12)
    expected = sum(w * gram for w, gram in zip(align(grams, labels).weights, normalised(grams), strict=True))
    np.testing.assert_allclose(pairs.gram(kernel), expected, atol=1e-12)
    # Kernels without weight are not computed for test samples.
    assert len(kernel.terms) == (found.weights > 0).sum()


def test_what_cannot_be_aligned_is_refused():
    grams, labels, pairs = grams_of(12)
    with pytest.raises(InputError, match="needs at least one kernel; got none"):
        aligned_kernel([], pairs, labels)
    with pytest.raises(InputError, match=r"kernel 1 has the trace 0; it must be > 0"):
        align([grams[5], np.zeros((12, 12))], labels)
    # Of classes of equal size the target sums to zero: b = <11', T> = 0.
    with pytest.raises(InputError, match=r"no kernel is positively aligned with the labels \(b <= 0"):
        align([np.ones((12, 12))], labels)
    with pytest.raises(InputError, match="at least 2 classes"):
        aligned_kernel([Gaussian(1.0)], pairs, np.zeros(12))
