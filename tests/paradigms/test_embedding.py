"""Spectral embeddings of operators against those of arrays."""

import warnings
from itertools import product

import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.evaluation import Evaluation
from kdrbench.evaluation.gram import gram_operator
from kdrbench.kernels import Gaussian, Linear, Multiquadric, Polynomial, Squared
from kdrbench.paradigms import degree_scaling, spectral_embedding
from kdrbench.paradigms.embedding import largest_eigenpairs
from support.helpers import KERNELS, random_samples


def clustered_samples(n_samples=300, n_groups=4, seed=0):
    rng = np.random.default_rng(seed)
    centres = 4.0 * rng.standard_normal((n_groups, 3))
    return centres[np.arange(n_samples) % n_groups] + rng.standard_normal((n_samples, 3))


def sine(first, second):
    return np.linalg.norm(second - first @ (first.T @ second), 2)


def dense(kernel, samples):
    return gram_operator(kernel, samples, Evaluation(evaluator="dense"))


@pytest.mark.parametrize("kernel", ["gaussian", "multiquadric", "polynomial", "squared"])
def test_operators_have_the_eigenvectors_of_arrays(kernel):
    samples, kernel = clustered_samples(), KERNELS[kernel]
    array = dense(kernel, samples)
    operators = [gram_operator(kernel, samples, Evaluation(evaluator=name)) for name in ("panels", "factored")]
    for operator, scaled, centred in product(operators, (True, False), (True, False)):
        scaling = np.abs(array.degrees()) ** -0.5 if scaled else None
        # Fewer than the centred squared distances have ranks.
        expected, basis = spectral_embedding(array, 3, scaling=scaling, centred=centred)
        values, vectors = spectral_embedding(operator, 3, scaling=scaling, centred=centred)
        np.testing.assert_allclose(values, expected, atol=1e-10 * np.abs(expected).max(), rtol=0)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(3), atol=1e-12)
        # A residual of 1e-8 |A| over gaps of 1e-3 |A| and more.
        assert sine(basis, vectors) < 1e-5
        np.testing.assert_allclose(np.abs(vectors).max(axis=0), vectors.max(axis=0), atol=0)


def diagonal(entries, counts=None):
    def applied(columns):
        if counts is not None:
            counts.append(columns.shape[1])
        return entries[:, None] * columns

    return applied


def test_a_warm_start_saves_products_and_a_wrong_one_no_vector():
    entries = 1.0 / np.arange(1.0, 401.0)
    cold, warm, wrong = [], [], []
    values, vectors = largest_eigenpairs(diagonal(entries, cold), 400, 4, tolerance=1e-8)
    np.testing.assert_allclose(values, entries[:4], atol=1e-12)
    largest_eigenpairs(diagonal(entries, warm), 400, 4, tolerance=1e-8, start=vectors)
    assert sum(warm) < 0.6 * sum(cold)
    # Exact eigenvectors, but not the largest ones.
    start = np.eye(400)[:, 4:8]
    values, vectors = largest_eigenpairs(diagonal(entries, wrong), 400, 4, tolerance=1e-8, start=start)
    np.testing.assert_allclose(values, entries[:4], atol=1e-12)
    np.testing.assert_allclose(np.abs(vectors[:4]), np.eye(4), atol=1e-6)


def test_few_rows_are_solved_exactly():
    for n_rows in (3, 4, 9, 10, 11, 17, 30):
        rng = np.random.default_rng(n_rows)
        matrix = rng.standard_normal((n_rows, n_rows))
        matrix = matrix + matrix.T
        values, vectors = largest_eigenpairs(matrix.__matmul__, n_rows, 3, tolerance=1e-10)
        np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix)[::-1][:3], atol=1e-9)
        np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-8 * np.abs(matrix).sum())


@pytest.mark.parametrize(
    "entries",
    [
        np.zeros(200),
        np.ones(200),
        np.r_[np.ones(100), np.zeros(100)],
        -np.arange(200.0),
        np.r_[5.0, -np.ones(199)],
        1e-100 * np.arange(200.0),
        # Nothing tells the wanted eigenvalues from the next ones.
        1.0 + 1e-9 * np.arange(200.0),
    ],
    ids=["zero", "identity", "half", "negative", "one and a tie", "tiny", "continuum"],
)
def test_ties_and_continua_give_the_largest_eigenvalues(entries):
    values, vectors = largest_eigenpairs(diagonal(entries), 200, 4, tolerance=1e-8)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(values, np.sort(entries)[::-1][:4], atol=1e-7 * np.abs(entries).max())


@pytest.mark.parametrize("kernel", [Linear(), Squared(), Polynomial(degree=2), Multiquadric(), Gaussian(1e-3)])
def test_more_clusters_than_ranks_do_not_break_it(kernel):
    samples = np.repeat(random_samples(n_samples=40)[0][:, :1], 8, axis=0)
    expected, _ = spectral_embedding(dense(kernel, samples), 6, scaling=None, centred=True)
    for evaluator in ("panels", "factored"):
        operator = gram_operator(kernel, samples, Evaluation(evaluator=evaluator))
        values, vectors = spectral_embedding(operator, 6, scaling=None, centred=True)
        # Beyond the rank are the entries of the removed diagonal, too close for 60 products to separate.
        np.testing.assert_allclose(values, expected, atol=1e-4 * np.abs(expected).max())
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(6), atol=1e-10)


@pytest.mark.parametrize(
    ("kernel", "scale", "evaluator"),
    [
        *((Polynomial(degree=3), 1e120, Evaluation(evaluator=name)) for name in ("dense", "panels", "factored")),
        *((Multiquadric(), scale, Evaluation(evaluator="low_rank", tolerance=1e-3)) for scale in (1e154, 1e170)),
    ],
)
def test_a_kernel_that_is_not_finite_is_refused(kernel, scale, evaluator):
    # Threads have error states of their own.
    with warnings.catch_warnings(action="ignore"):
        operator = gram_operator(kernel, scale * random_samples(n_samples=200)[0], evaluator)
        with pytest.raises(InputError, match="not finite on these samples"):
            spectral_embedding(operator, 3, scaling=None, centred=True)
        if scale == 1e120:
            with pytest.raises(InputError, match="not finite on these samples"):
                degree_scaling(operator)
