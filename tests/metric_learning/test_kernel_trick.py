import numpy as np
import pytest
from scipy.optimize import minimize

from kdrbench.errors import InputError
from kdrbench.kernels import Polynomial
from kdrbench.metric_learning import (
    DNE,
    SamplePairs,
    fit_in_coordinates,
    kdne,
    kernel_pca,
    lmnn_objective,
    scaled_gaussian,
    squared_distances,
)
from support.helpers import random_samples
from support.metric_definitions import dne_weights_by_loops


def centred_gram(kernel, features):
    gram = SamplePairs(features, features).gram(kernel)
    centring = np.eye(len(gram)) - 1 / len(gram)
    return centring @ gram @ centring


def samples(n_samples=24):
    features, labels = random_samples(n_samples=n_samples)
    return features, labels, SamplePairs(features, features).gram(scaled_gaussian(0.7, 6))


def test_kdne_solves_its_generalised_eigenproblem():
    _, labels, gram = samples()
    solved = kdne(gram, labels)
    values, vectors = np.linalg.eigh(gram)
    weights = dne_weights_by_loops(vectors * np.sqrt(values), labels, 3)
    form = gram @ (np.diag(weights.sum(axis=1)) - weights) @ gram
    np.testing.assert_allclose(form @ solved.dual, gram @ solved.dual * solved.values, atol=1e-9 * np.abs(form).max())
    np.testing.assert_allclose(solved.dual.T @ gram @ solved.dual, np.eye(len(solved.values)), atol=1e-10)
    assert (solved.values < 0).all()


def test_the_kpca_tricks_optimum_is_the_kernel_tricks_for_kdne():
    # Theorem 1 (and 2): equal values of the objective, and equal learned distances.
    _, labels, gram = samples()
    dual, primal = kdne(gram, labels), fit_in_coordinates(DNE(), gram, labels)
    mine, other = primal.transform_gram(gram), gram @ dual.dual
    assert mine.shape == other.shape
    expected = squared_distances(other, other)
    np.testing.assert_allclose(squared_distances(mine, mine), expected, atol=1e-9 * expected.max())


def test_regularised_klmnn_has_one_optimum_by_either_trick():
    # Theorem 3, on a convex problem: the dual optimum is found from other starts in other variables.
    features, labels, _ = samples(12)
    gram = centred_gram(scaled_gaussian(0.7, 6), features)
    found = kernel_pca(gram)
    squared = squared_distances(found.transform(gram), found.transform(gram))
    scale = 1.0 / np.sqrt(squared.mean())
    primal = lmnn_objective(scale * found.transform(gram), labels, 2, regularisation=4.0)
    gram = scale**2 * gram
    rows = lmnn_objective(gram, labels, 2, squared=squared)

    def dual(flat):
        at = flat.reshape(12, 12)
        value, gradient = rows.value_and_gradient(at)
        return value + 4.0 * np.vdot(at, gram @ at), (gradient + 8.0 * gram @ at).ravel()

    def direct(flat):
        value, gradient = primal.value_and_gradient(flat.reshape(len(found.values), -1))
        return value, gradient.ravel()

    def least(objective, n_rows):
        starts = [np.random.default_rng(seed).standard_normal(n_rows**2) / 4 for seed in range(3)]
        return min(minimize(objective, start, jac=True, options={"maxiter": 2000}).fun for start in starts)

    # A method for smooth functions stops at kinks, near the optimum.
    assert least(dual, 12) == pytest.approx(least(direct, len(found.values)), rel=1e-2)


def test_a_singular_kernel_needs_epsilon_or_the_kpca_trick():
    # Proposition 2. The kernel x'y + 1 of six features has rank 7.
    features, labels = random_samples(n_samples=30)
    gram = SamplePairs(features, features).gram(Polynomial(1))
    message = r"singular: the kernel has rank 7 of 30 \(condition .*set epsilon > 0, or use the KPCA trick"
    with pytest.raises(InputError, match=message):
        kdne(gram, labels)
    primal = fit_in_coordinates(DNE(), gram, labels).transform_gram(gram)
    expected = squared_distances(primal, primal)
    errors = []
    for epsilon in (1e-4, 1e-7, 1e-10):
        solved = kdne(gram, labels, epsilon=epsilon, n_components=primal.shape[1])
        other = squared_distances(gram @ solved.dual, gram @ solved.dual)
        errors.append(np.abs(other - expected).max() / expected.max())
        # Epsilon is in units of the kernel.
        scaled = kdne(1e6 * gram, labels, epsilon=epsilon, n_components=primal.shape[1]).dual
        again = 1e-6 * squared_distances(1e6 * gram @ scaled, 1e6 * gram @ scaled)
        np.testing.assert_allclose(again, other, atol=1e-3 * errors[0] * expected.max())
    # The ridge is another problem, and the same one in the limit.
    assert errors[0] > errors[1]
    assert errors[0] < 1e-2
    assert errors[1] < 1e-5


def test_what_kdne_refuses():
    _, labels, gram = samples()
    with pytest.raises(InputError, match="epsilon must be a finite number >= 0, got -1"):
        kdne(gram, labels, epsilon=-1)
    with pytest.raises(InputError, match="n_components must be None or an integer >= 1, got 0"):
        kdne(gram, labels, n_components=0)
    with pytest.raises(InputError, match="at least 2 classes"):
        kdne(gram, np.zeros(24))
    # One sample twice.
    twice = np.r_[0, 0, 1:24]
    with pytest.raises(InputError, match="rank 24 of 25"):
        kdne(gram[np.ix_(twice, twice)], labels[twice])
