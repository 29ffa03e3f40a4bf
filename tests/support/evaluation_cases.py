"""Kernels, matrices Gamma and objectives with which every way of evaluating is tested."""

import numpy as np

from kdrbench.kernels import (
    Combination,
    Gaussian,
    Linear,
    Pairing,
    Polynomial,
    RelativeGaussian,
    Squared,
    Term,
    UserKernel,
)
from kdrbench.problems import FactoredGamma, TraceObjective, supervised_gamma, target_gamma
from support.helpers import KERNELS, random_samples

COMBINATION = Combination((Term(2.0, Gaussian(2.0)), Term(0.1, Polynomial(degree=2)), Term(0.5, Squared())))
RATIONAL = UserKernel(
    lambda beta: 1 / (1 + beta), lambda beta: -((1 + beta) ** -2), Pairing.DIFFERENCE, lambda beta: 2 * (1 + beta) ** -3
)
FACTORED = {
    "linear": Linear(),
    "squared": Squared(),
    **{f"degree {p}": Polynomial(degree=p, offset=0.7, scale=0.3) for p in range(1, 6)},
    "no offset": Polynomial(degree=3, offset=0.0, scale=0.5),
}
# Of labels, a generator and factors.
_GAMMAS = {
    "classes in any order": lambda labels, rng, _: supervised_gamma(rng.permutation(labels)),
    "classes in order": lambda labels, *_: supervised_gamma(np.sort(labels)),
    "diagonal kept": lambda labels, *_: supervised_gamma(labels, zero_diagonal=False),
    "two label columns": lambda labels, rng, _: supervised_gamma(
        np.column_stack([labels, rng.integers(0, 2, len(labels))])
    ),
    "large, small and single classes": lambda labels, rng, _: supervised_gamma(rng.permutation(_shares(len(labels)))),
    "one sample against the rest": lambda labels, *_: supervised_gamma(np.arange(len(labels)) == 7),
    "continuous targets": lambda labels, rng, _: target_gamma(rng.standard_normal(len(labels)), Gaussian(1.0)),
    "factors of both signs": lambda labels, rng, factors: FactoredGamma(*factors),
    "factors, diagonal kept": lambda labels, rng, factors: FactoredGamma(*factors, zero_diagonal=False),
}
GAMMAS = list(_GAMMAS)


def _shares(n):
    """Classes of seven sixteenths of the samples and as many, of some, and of one each of the last two."""
    return np.searchsorted([7 * n // 16, 7 * n // 8, n - 2, n - 1], np.arange(n), side="right")


def kernels_of(n_samples):
    """One kernel of each kind, by name."""
    relative = RelativeGaussian(np.random.default_rng(0).uniform(1.0, 3.0, n_samples))
    return {**KERNELS, "rbf-relative": relative, "combination": COMBINATION, "user's": RATIONAL}


def gamma_of(name, labels):
    """A Gamma of that name for samples that have these labels."""
    rng = np.random.default_rng(1)
    factor, weights = rng.standard_normal((len(labels), 3)), np.array([1.0, -2.0, 0.5])
    return _GAMMAS[name](labels, rng, (factor, weights))


def objective_of(n_samples, kernel, n_features=6, gamma=None):
    """The objective of random samples, with the Gamma of their classes or the one of a name."""
    features, labels = random_samples(n_samples=n_samples, n_features=n_features)
    return TraceObjective(features, kernel, gamma_of(gamma, labels) if gamma else supervised_gamma(labels))


def each_once(first, firsts, second, seconds):
    """Return pairs in which each value is met: ``first`` with all ``seconds``, all other ``firsts`` with ``second``."""
    return [(first, one) for one in seconds] + [(one, second) for one in firsts if one != first]
