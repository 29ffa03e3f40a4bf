"""X' diag(w) X without what most samples have in common, against sums in extended precision."""

from functools import cache

import numpy as np
import pytest

from kdrbench.evaluation import skyline
from kdrbench.evaluation.dense import DenseProblem
from kdrbench.evaluation.factored import FactoredProblem
from kdrbench.evaluation.skyline import WeightedGrams
from kdrbench.evaluation.weights import weighted_gram
from kdrbench.kernels import Polynomial
from kdrbench.problems import TraceObjective, supervised_gamma
from support.helpers import random_projection

N, D = 600, 300
# |z_i| + |m| <= |x_i| + 2 |m| <= (1 + 2 * 4) |x_i| in each factor of a term.
AMPLIFIED = 81.0


def images(seed=0, n_samples=N):
    """Standardised counts, most of them zero, the later the feature the more so; one feature is full."""
    rng = np.random.default_rng(seed)
    shares = 0.5 * np.linspace(1.0, 0.1, D) ** 4
    counts = rng.integers(1, 9, (n_samples, D)) * (rng.random((n_samples, D)) < shares)
    counts[:, 0] = rng.standard_normal(n_samples)
    counts[:3] += 1
    return (counts - counts.mean(axis=0)) / counts.std(axis=0)


@cache
def exact_gram(name, dtype=float):
    """Return X' diag(w) X for the images and weights of that name."""
    wide = images().astype(dtype).astype(np.longdouble)
    return (wide.T * WEIGHTS[name]) @ wide


def rounding(features, weights):
    unit = np.finfo(features.dtype).eps
    return unit * len(features) * np.sum(np.abs(weights) * np.einsum("ij,ij->i", features, features, dtype=float))


RNG = np.random.default_rng(1)
WEIGHTS = {
    "positive": RNG.uniform(0.1, 1.0, N),
    "heavy": 10.0 ** RNG.uniform(0.0, 12.0, N),
    "of both signs": RNG.standard_normal(N),
    "negative": -RNG.uniform(0.1, 1.0, N),
    "one": (np.arange(N) == 5).astype(float),
    "tiny": 1e-200 * RNG.uniform(0.1, 1.0, N),
    "none": np.zeros(N),
}


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize(("threads", "held"), [(1, False), (3, True)])
def test_a_skyline_gives_the_plain_sum(monkeypatch, name, threads, held):
    if not held:
        monkeypatch.setattr(skyline, "_HELD_ENTRIES", 0)
    features, weights = images(), WEIGHTS[name]
    grams = WeightedGrams(features, threads)
    for _ in range(2):
        got = grams.of(weights)
        assert np.abs(got - exact_gram(name)).max() <= AMPLIFIED * rounding(features, weights)
        np.testing.assert_array_equal(got, got.T)
    assert name == "none" or grams._found[0] is not None
    if name == "positive":
        # Unlike the plain sum, it leaves out work.
        assert sum(len(level.samples) * level.width**2 for level in grams._found[0]._levels) < 0.7 * N * D**2


def test_single_precision_is_summed_in_double():
    features, weights = images().astype(np.float32), WEIGHTS["heavy"]
    grams = WeightedGrams(features)
    got = grams.of(weights)
    assert got.dtype == np.float64
    assert grams._found[0] is not None
    assert np.abs(got - exact_gram("heavy", np.float32)).max() <= AMPLIFIED * rounding(features, weights)


def test_dense_and_small_features_have_no_skyline():
    dense = np.random.default_rng(0).standard_normal((N, D))
    for features in (dense, images()[:40]):
        grams, weights = WeightedGrams(features), np.ones(len(features))
        np.testing.assert_array_equal(grams.of(weights), weighted_gram(features, weights))
        assert grams._found == [None]


def test_what_would_cancel_is_summed_plainly():
    """Where heavy samples are much smaller than what the others share, terms exceed their sum by 1e16."""
    features = np.where(images() > 0.0, 3.0, 1e8)
    features[:10] = 1.0
    weights = np.where(np.arange(N) < 10, 1.0, 0.0)
    got = WeightedGrams(features).of(weights)
    np.testing.assert_allclose(got, np.full((D, D), 10.0), rtol=1e-12)
    # Where they share zero, the same samples are no obstacle.
    grams = WeightedGrams(features - 1e8)
    grams.of(weights)
    assert grams._found[0] is not None


def test_what_is_not_a_number_is_passed_on():
    weights = np.where(np.arange(N) == 7, np.nan, WEIGHTS["positive"])
    assert np.isnan(WeightedGrams(images()).of(weights)).all()


@pytest.mark.parametrize("degree", [2, 3])
def test_surrogates_with_a_skyline_are_those_of_all_pairs(degree):
    objective = TraceObjective(images(), Polynomial(degree=degree, scale=0.3), supervised_gamma(np.arange(N) % 4))
    problem = FactoredProblem(objective)
    projection = random_projection(n_features=D, n_components=3)
    expected = DenseProblem(objective).surrogate(projection)
    np.testing.assert_allclose(problem.surrogate(projection), expected, atol=1e-12 * np.abs(expected).max())
    assert problem._grams._found[0] is not None
    # Twins need not look for it again.
    assert problem.fresh()._grams is problem._grams
