"""Hollow kernel matrices as operators against their definition."""

from itertools import product

import numpy as np
import pytest

from kdrbench.evaluation import Evaluation
from kdrbench.evaluation.gram import DenseGram, FactorGram, PanelGram, gram_operator
from kdrbench.kernels import Combination, Gaussian, Multiquadric, Pairing, Polynomial, Squared, Term, terms_of
from kdrbench.kernels.bounded_factor import bounded_factor
from support.evaluation_cases import RATIONAL, kernels_of
from support.helpers import KERNELS, random_samples, traced_memory

N = 50
ALL_KERNELS = {
    **kernels_of(N),
    "even degree, no offset": Polynomial(degree=2, offset=0.0, scale=0.5),
    "exact combination": Combination((Term(0.1, Polynomial(degree=2)), Term(0.0, RATIONAL), Term(0.5, Squared()))),
}
EXACT = ["linear", "squared", "polynomial", "even degree, no offset", "exact combination"]
HARD = ["plain", "repeated", "tiny", "huge", "far from the origin", "one component", "all at the origin"]


def samples_named(name="plain", n_samples=N):
    samples = random_samples(n_samples=n_samples)[0][:, :2]
    return {
        "plain": samples,
        "repeated": np.repeat(samples[: n_samples // 5], 5, axis=0),
        "tiny": 1e-8 * samples,
        "huge": 1e8 * samples,
        "far from the origin": samples + 1e3,
        "one component": samples[:, :1],
        "all at the origin": 0.0 * samples,
    }[name]


def kernel_matrix(kernel, samples):
    """K from every pair's own difference or product."""
    dots = (samples[:, None] * samples).sum(axis=2)
    squares = ((samples[:, None] - samples) ** 2).sum(axis=2)
    total = np.zeros((len(samples), len(samples)))
    for term in terms_of(kernel):
        total += term.weight * term.kernel.value(dots if term.kernel.pairing is Pairing.DOT else squares)
    return total


def hollow(matrix):
    return matrix - np.diag(np.diag(matrix))


def assert_is(operator, expected, rounding=1e-12):
    columns = np.random.default_rng(1).standard_normal((len(expected), 3))
    for mine, products in ((operator.applied(columns), columns), (operator.degrees(), np.ones(len(expected)))):
        # Sums of terms of both signs: rounding is relative to their sizes.
        scale = (np.abs(expected) @ np.abs(products)).max()
        np.testing.assert_allclose(mine, expected @ products, atol=rounding * scale, rtol=0)


@pytest.mark.parametrize("kernel", ALL_KERNELS)
def test_panels_are_the_kernel_matrix_without_its_diagonal(kernel):
    samples = samples_named()
    expected = hollow(kernel_matrix(ALL_KERNELS[kernel], samples))
    for panel, threads, kept in product((7, 25, 64), (1, 3), (False, True)):
        operator = PanelGram(ALL_KERNELS[kernel], samples, panel=panel, threads=threads, kept=kept)
        assert_is(operator, expected)
        # Once more, from what may have been kept.
        assert_is(operator, expected)


@pytest.mark.parametrize("kernel", [*EXACT, "gaussian", "multiquadric"])
def test_all_forms_agree_on_hard_samples(kernel):
    for data, evaluator in product(HARD, ("dense", "panels", "factored", "auto")):
        samples, exact = samples_named(data), evaluator == "factored" and kernel in EXACT
        operator = gram_operator(ALL_KERNELS[kernel], samples, Evaluation(evaluator=evaluator))
        assert isinstance(operator, FactorGram) or not exact, data
        # Far from the origin |p|^2 is 1e6 times a squared distance, and so is its rounding, but in exact factors.
        far = data == "far from the origin" and not (exact and kernel == "squared")
        assert_is(operator, hollow(kernel_matrix(ALL_KERNELS[kernel], samples)), 1e-8 if far else 1e-12)


@pytest.mark.parametrize("kept", [False, True])
def test_panels_do_not_depend_on_the_number_of_threads(kept):
    samples, columns = samples_named(n_samples=1000), np.random.default_rng(2).standard_normal((1000, 4))
    products = [
        PanelGram(Gaussian(1.0), samples, panel=64, threads=threads, kept=kept).applied(columns)
        for threads in (1, 2, 5, 1)
    ]
    for other in products[1:]:
        np.testing.assert_array_equal(other, products[0])


@pytest.mark.parametrize("kernel", [*KERNELS, "combination"])
@pytest.mark.parametrize(("data", "tolerance"), [("plain", 1e-2), ("repeated", 1e-8), ("huge", 1e-4)])
def test_a_bounded_factor_leaves_a_small_semi_definite_rest(kernel, data, tolerance):
    kernel, samples = ALL_KERNELS[kernel], samples_named(data)
    matrix = kernel_matrix(kernel, samples)
    left, right = bounded_factor(kernel, samples, tolerance, N)
    # Distances are definite against vectors of sum zero only, measured from the mean.
    origin = np.vstack([samples, samples.mean(axis=0)])
    full = kernel_matrix(kernel, origin)
    negative = any(isinstance(term.kernel, Squared | Multiquadric) for term in terms_of(kernel))
    definite = (full - full[:, -1:] - full[-1] + full[-1, -1])[:-1, :-1] if negative else matrix
    rest, size = matrix - left @ right.T, np.trace(definite)
    assert np.linalg.eigvalsh(0.5 * (rest + rest.T)).min() > -1e-11 * size
    assert -1e-11 * size < np.trace(rest) <= (tolerance + 1e-11) * size
    np.testing.assert_allclose(rest, rest.T, atol=1e-12 * size)


def test_a_bounded_factor_is_not_longer_than_asked_for():
    samples = random_samples(n_samples=N)[0]
    assert bounded_factor(Gaussian(0.01), samples, 1e-3, 20) is None
    left, _ = bounded_factor(Gaussian(0.01), samples, 1e-3, 20, always=True)
    assert left.shape == (N, 20)
    assert bounded_factor(Gaussian(0.01), samples, 1e-3, N)[0].shape == (N, N)
    assert bounded_factor(Gaussian(1.0), samples, 1e-3, 0) is None
    for kernel in (RATIONAL, ALL_KERNELS["rbf-relative"], Combination((Term(1.0, RATIONAL), Term(1.0, Gaussian(1.0))))):
        assert bounded_factor(kernel, samples, 1e-3, N, always=True) is None


@pytest.mark.parametrize(
    ("n_samples", "kernel", "options", "form"),
    [
        (400, Gaussian(2.0), {}, DenseGram),
        (400, Gaussian(2.0), {"tolerance": 1e-3}, DenseGram),
        (400, Gaussian(2.0), {"memory_mib": 2.0}, PanelGram),
        (400, Gaussian(2.0), {"memory_mib": 2.0, "tolerance": 1e-3}, FactorGram),
        (400, Gaussian(2.0), {"evaluator": "low_rank", "tolerance": 1e-3}, FactorGram),
        (400, Gaussian(2.0), {"evaluator": "panels", "tolerance": 1e-3}, PanelGram),
        (400, Polynomial(), {"memory_mib": 2.0}, FactorGram),
        (400, Polynomial(degree=20), {"memory_mib": 2.0}, PanelGram),
        (400, Polynomial(), {"memory_mib": 0.01}, PanelGram),
        (3000, Gaussian(2.0), {}, PanelGram),
        (3000, Gaussian(2.0), {"evaluator": "dense"}, DenseGram),
        (3000, Gaussian(2.0), {"tolerance": 1e-3}, FactorGram),
        # Its rank is that of the samples.
        (3000, Gaussian(1e-3), {"tolerance": 1e-3}, PanelGram),
        (3000, Squared(), {}, FactorGram),
        (3000, Combination((Term(1.0, Polynomial()), Term(1.0, Gaussian(1.0)))), {}, PanelGram),
    ],
)
def test_the_form_suits_the_samples_the_kernel_and_the_request(n_samples, kernel, options, form):
    samples = samples_named(n_samples=n_samples)
    assert type(gram_operator(kernel, samples, Evaluation(**options))) is form


def test_a_first_factor_has_the_rank_asked_for():
    samples = np.random.default_rng(0).standard_normal((3000, 12))
    for kernel in (Gaussian(1.0), Multiquadric(1.0), Polynomial(degree=5)):
        operator = gram_operator(kernel, samples, Evaluation(tolerance=1e-3), rank=40)
        assert isinstance(operator, FactorGram)
        assert 40 <= operator.left.shape[1] <= 42


def test_panels_are_never_an_array_of_all_pairs():
    samples = samples_named(n_samples=3000)
    with traced_memory() as traced:
        gram_operator(Gaussian(1.0), samples, Evaluation(memory_mib=16.0)).applied(samples)
    # The array would be of 72 MB.
    assert traced.peak < 8e6
