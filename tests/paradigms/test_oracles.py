"""Every kernel in every paradigm against the definition, differentiated by autograd."""

import autograd
import autograd.numpy as anp
import numpy as np
import pytest

from kdrbench.kernels import (
    Combination,
    Gaussian,
    Linear,
    Multiquadric,
    Pairing,
    Polynomial,
    RelativeGaussian,
    Squared,
    Term,
    UserKernel,
)
from kdrbench.paradigms import Alternation, ClusteringTask, expert_scores, given_labellings, supervised_problem
from kdrbench.solvers import Monitor, build_solver
from support.helpers import random_projection, random_samples, regression_problem

N = 24
FEATURES, LABELS = random_samples(n_samples=N)
OTHER_LABELS = np.random.default_rng(3).integers(0, 2, N)
TARGETS = np.random.default_rng(4).standard_normal(N)
SIGMAS = np.random.default_rng(5).uniform(1.0, 3.0, N)

# Each kernel with f of dot products s or of squared distances r, written out once more.
KERNELS = {
    "linear": (Linear(), lambda s, r: s),
    "squared": (Squared(), lambda s, r: -r),
    "polynomial": (Polynomial(degree=3, offset=1.0, scale=0.5), lambda s, r: (0.5 * s + 1.0) ** 3),
    "gaussian": (Gaussian(sigma=2.0), lambda s, r: anp.exp(-r / 8.0)),
    "multiquadric": (Multiquadric(offset=1.5), lambda s, r: -anp.sqrt(r + 2.25)),
    "rbf-relative": (RelativeGaussian(SIGMAS), lambda s, r: anp.exp(-r / (2 * np.outer(SIGMAS, SIGMAS)))),
    "user's": (
        UserKernel(lambda b: 1 / (1 + b), lambda b: -1 / (1 + b) ** 2, Pairing.DIFFERENCE, lambda b: 2 / (1 + b) ** 3),
        lambda s, r: 1 / (1 + r),
    ),
    "combination": (
        Combination((Term(3.0, Gaussian(sigma=2.0)), Term(0.02, Polynomial(degree=2)), Term(0.5, Multiquadric()))),
        lambda s, r: 3 * anp.exp(-r / 8.0) + 0.02 * (s + 1.0) ** 2 - 0.5 * anp.sqrt(r + 1.0),
    ),
}
CENTRING = np.eye(N) - 1 / N


def gram(function, samples):
    dots = anp.dot(samples, samples.T)
    own = anp.sum(samples**2, axis=1)
    return function(dots, own[:, None] + own - 2 * dots)


def one_hot(labels):
    return (labels[:, None] == np.unique(labels)).astype(float)


def embedding(affinity, k):
    affinity = CENTRING @ affinity @ CENTRING
    return np.linalg.eigh(affinity)[1][:, -k:]


def hollow(matrix):
    return matrix - np.diag(np.diag(matrix))


def scaling(function, samples):
    """D^-1/2, or nothing where a degree is not positive."""
    degrees = hollow(gram(function, samples)).sum(axis=1)
    return np.diag(degrees**-0.5) if degrees.min() > 0 else None


def clustering_gamma(function, start, with_degrees=0.0, without=None):
    """N (U U' + one extra) N' + H (the other) H with U of the unprojected kernel and D of that at the start."""
    first = scaling(function, FEATURES)
    second = None if first is None else scaling(function, FEATURES @ start)
    first, second = (np.eye(N) if found is None else found for found in (first, second))
    vectors = embedding(first @ hollow(gram(function, FEATURES)) @ first, 2)
    gamma = second @ CENTRING @ (vectors @ vectors.T + with_degrees) @ CENTRING @ second
    return gamma if without is None else gamma + CENTRING @ without @ CENTRING


START = random_projection(seed=7)


def clustering_problem(kernel, guidance):
    solver = build_solver({"method": "ism", "max_iterations": 1})
    task = ClusteringTask(FEATURES, Alternation(2, max_rounds=1), tuple(guidance))
    return task.learn(kernel, solver, START, Monitor).problem


PARADIGMS = {
    "supervised": (
        lambda kernel: supervised_problem(FEATURES, LABELS, kernel),
        lambda function: CENTRING @ one_hot(LABELS) @ one_hot(LABELS).T @ CENTRING,
    ),
    "several label columns": (
        lambda kernel: supervised_problem(FEATURES, np.column_stack([LABELS, OTHER_LABELS]), kernel),
        lambda function: (
            CENTRING
            @ (one_hot(LABELS) @ one_hot(LABELS).T + one_hot(OTHER_LABELS) @ one_hot(OTHER_LABELS).T)
            @ CENTRING
        ),
    ),
    "regression": (
        lambda kernel: regression_problem(FEATURES, TARGETS, kernel, Gaussian(sigma=0.8)),
        lambda function: CENTRING @ np.exp(-(np.subtract.outer(TARGETS, TARGETS) ** 2) / 1.28) @ CENTRING,
    ),
    "unsupervised": (lambda kernel: clustering_problem(kernel, []), lambda function: clustering_gamma(function, START)),
    "semi-supervised": (
        lambda kernel: clustering_problem(kernel, [expert_scores(TARGETS, mu=0.3)]),
        lambda function: clustering_gamma(function, START, without=0.3 * np.outer(TARGETS, TARGETS)),
    ),
    "alternative": (
        lambda kernel: clustering_problem(kernel, [given_labellings(np.column_stack([LABELS, OTHER_LABELS]), mu=0.5)]),
        lambda function: clustering_gamma(
            function,
            START,
            with_degrees=-0.5 * (one_hot(LABELS) @ one_hot(LABELS).T + one_hot(OTHER_LABELS) @ one_hot(OTHER_LABELS).T),
        ),
    ),
}
# A paradigm changes Gamma only, and a kernel all else; a multiquadric kernel has no degrees.
CASES = [
    *((kernel, "supervised") for kernel in KERNELS),
    *(("gaussian", paradigm) for paradigm in PARADIGMS if paradigm != "supervised"),
    ("multiquadric", "alternative"),
]


def built(kernel, paradigm):
    """The problem and F as a function of W for autograd."""
    (kernel, function), (build, gamma_of) = KERNELS[kernel], PARADIGMS[paradigm]
    gamma = hollow(gamma_of(function))
    return build(kernel), lambda projection: anp.sum(gamma * gram(function, anp.dot(FEATURES, projection)))


def close(mine, expected, rounding=1e-10):
    np.testing.assert_allclose(mine, expected, atol=rounding * np.abs(expected).max(), rtol=0)


@pytest.mark.parametrize(("kernel", "paradigm"), CASES)
def test_every_oracle_equals_the_differentiated_definition(kernel, paradigm):
    problem, objective = built(kernel, paradigm)
    projection, direction = random_projection(seed=11), random_projection(seed=12)
    gradient, hessian = autograd.grad(objective), autograd.hessian(objective)(projection)
    # F is a sum of terms of both signs: rounding is relative to their sizes, not to their sum.
    assert problem.value(projection) == pytest.approx(objective(projection), rel=1e-9)
    expected = gradient(projection)
    close(problem.gradient(projection), expected)
    close(2 * problem.surrogate(projection) @ projection, expected)
    close(problem.hessian_vector(projection, direction), np.einsum("iajb,jb->ia", hessian, direction))
    basis = np.linalg.qr(projection, mode="complete")[0][:, 2:]
    close(problem.hessian(projection, basis), np.einsum("iu,iajb,jv->uavb", basis, hessian, basis).reshape(8, 8))
    # F depends on the subspace only.
    rotation = random_projection(seed=9, n_features=2)
    assert problem.value(projection @ rotation) == pytest.approx(problem.value(projection), rel=1e-9)
