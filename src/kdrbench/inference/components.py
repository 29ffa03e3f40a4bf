"""How many components are real: a sequence of permutation tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import delayed
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array

from kdrbench.errors import InputError
from kdrbench.inference.permutation import (
    PermutationTest,
    check_limits,
    permuted_places,
    refitted_statistic,
    sequential_test,
)
from kdrbench.inference.refits import in_order, prepared
from kdrbench.inference.resampling import encoded, feature_names, is_numeric, projection_of
from kdrbench.inference.statistics import statistic_of
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import FRACTION, check_value, optional, whole

# Directions whose variance is a smaller share of the largest are constant.
_RANK = 1e-10


@dataclass(frozen=True, eq=False)
class TestedComponents:
    """The number of components that are significant, and the test of each next one.

    ``tests[q]`` tests whether there are more than q components; all but the last one reject at alpha, and that one as
    well where ``n_components`` is the most that were tested. Beyond q = 0 the null hypothesis is that the rest of x is
    independent of (W'x, y); as W is an estimate, the level is approximate. The chance of too many components is about
    alpha or less, since the first wrong step must reject.
    """

    # Not a test, whatever its name begins with.
    __test__ = False

    n_components: int
    tests: tuple[PermutationTest, ...]


def choose_n_components(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    max_components: int | None = None,
    alpha: float = 0.05,
    n_permutations: int = 199,
    statistic: object = "auto",
    max_exceedances: int | None = 20,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> TestedComponents:
    """Return how many components of a linear ``estimator`` a sequence of permutation tests finds.

    For q = 0, 1, ... until the first p-value above ``alpha``: are there more than q components? With the q components W
    of a fit, samples that have unit covariance are split into W'x and the rest. Rests are permuted among samples, while
    W'x and y stay as they are. The estimator with q + 1 components is fitted to data and permutations. For q = 0 that
    is the permutation of labels, which is exact.

    Parameters
    ----------
    estimator : estimator
        Anything linear with a parameter ``n_components``, or a pipeline whose last step has it.
    X, y :
        Features n x d, and labels or targets. Of a mixed frame the first steps of the pipeline, which take columns one
        by one, make the features; they are fitted once.
    max_components : int or None
        The most components that are tested, less than d; ``None`` is d - 1. LDA has at most (number of classes) - 1.
    alpha : float
        Level of each test, at least 1 / (n_permutations + 1).
    n_permutations, statistic, max_exceedances, random_state, n_jobs :
        As in :func:`.permutation_test`.

    Raises ``InputError`` for values that are not allowed, or an estimator that is not linear; other errors are the
    estimator's.

    References
    ----------
    Cook, Yin, "Dimension reduction and visualization in discriminant analysis", Aust. N. Z. J. Stat. 43, 2001.
    """
    check_limits(n_permutations, max_exceedances)
    check_value("alpha", alpha, FRACTION)
    if 1.0 / (n_permutations + 1) > alpha:
        raise InputError(f"alpha = {alpha} needs n_permutations of at least {int(np.ceil(1 / alpha)) - 1}")
    subject, known, seed = prepared(estimator, X, y, random_state)
    if not is_numeric(X):
        # Of a mixed frame the last steps learn from what the first ones make of it.
        parts = encoded(clone(subject).fit(X, known), X, feature_names(X))
        X, subject = parts.features, clone(parts.model)
    features = check_array(X, dtype=np.float64, ensure_min_samples=4, ensure_min_features=2, input_name="X")
    n_features = features.shape[1]
    check_value("max_components", max_components, optional(whole(1, n_features - 1, "n_features - 1")))
    name = f"{subject.steps[-1][0]}__n_components" if isinstance(subject, Pipeline) else "n_components"
    if name not in subject.get_params():
        raise InputError(f"{type(subject).__name__} has no parameter {name!r}, so its components cannot be chosen")
    tests: list[PermutationTest] = []
    kept: FloatArray = np.zeros((n_features, 0))
    for n_components in range(1, (max_components or n_features - 1) + 1):
        larger = clone(subject).set_params(**{name: n_components})
        model = clone(larger).fit(features, known)
        projection = projection_of(model, features)
        measure = statistic_of(statistic, model)
        rests = _permuted_rests(features, kept, n_permutations, (seed, n_components))
        calls = (delayed(refitted_statistic)(larger, samples, known, measure) for samples in rests)
        observed = float(measure(model, features, known))
        draws = in_order(calls, n_jobs, f"choose_n_components, component {n_components}", n_permutations)
        tests.append(sequential_test(observed, draws, n_permutations, max_exceedances))
        if tests[-1].p_value > alpha:
            break
        kept = projection
    return TestedComponents(sum(test.p_value <= alpha for test in tests), tuple(tests))


def _permuted_rests(
    features: FloatArray, kept: FloatArray, n_permutations: int, key: tuple[int, int]
) -> Iterator[FloatArray]:
    """Yield the features (n x d) with the rests permuted that ``kept`` (d x q) does not see.

    In coordinates of unit covariance, rests are orthogonal to the directions that are kept; there both are
    uncorrelated.
    """
    mean = features.mean(axis=0)
    left, sizes, axes = np.linalg.svd(features - mean, full_matrices=False)
    varies = sizes > np.sqrt(_RANK) * sizes[0]
    white, back = left[:, varies], sizes[varies, None] * axes[varies]
    directions, strengths, _ = np.linalg.svd(back @ kept, full_matrices=False)
    basis = directions[:, strengths > _RANK * strengths.max(initial=0.0)]
    seen = white @ basis @ basis.T
    rests = white - seen
    for number in range(n_permutations):
        yield mean + (seen + rests[permuted_places(len(features), (*key, number))]) @ back
