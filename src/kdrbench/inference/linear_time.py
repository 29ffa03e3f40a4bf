"""Tests in time linear in the number of samples: HSIC by random Fourier features, and one fit for held-out samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import train_test_split
from sklearn.utils import check_array

from kdrbench.inference.permutation import PermutationTest, check_limits, permuted_places, sequential_test
from kdrbench.inference.refits import check_samples, classes_of, embedded, prepared, seed_of
from kdrbench.inference.statistics import gamma_of, in_unit, rms_distance
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import COUNT, check_value


def linear_time_hsic(
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_frequencies: int = 100,
    n_permutations: int = 999,
    max_exceedances: int | None = 20,
    random_state: Any = None,
) -> PermutationTest:
    """Test whether features X (n x d) and labels or targets y depend on each other, in O(n) time and memory.

    The statistic is |C' L|^2 / n^2, an estimate of HSIC: C holds the centred features cos(w'x), sin(w'x) / sqrt(m) of m
    frequencies w, drawn from the normal law of the Gaussian kernel whose bandwidth is the root mean square distance,
    and LL' = H K_y H for labels (one-hot) or continuous targets (Gaussian kernel). The null hypothesis is that y is
    exchangeable. Rows of L are permuted with C as it is, each in O(n m) time, so the p-value is exact for any n and m.

    This tests the features themselves. A projection that was learned from the same samples depends on their labels
    whether or not these mean anything: use :func:`held_out_test` or :func:`.permutation_test`.

    Parameters are those of :func:`.permutation_test`; ``n_frequencies`` is m. Raises ``InputError`` for values that are
    not allowed, and ``ValueError`` for features that are no finite numbers.

    References
    ----------
    Zhang, Filippi, Gretton, Sejdinovic, "Large-scale kernel methods for independence testing", Stat. Comput. 28, 2018,
    section 3.3.
    Rahimi, Recht, "Random features for large-scale kernel machines", NIPS 2007.
    """
    check_limits(n_permutations, max_exceedances)
    check_value("n_frequencies", n_frequencies, COUNT)
    features = check_array(X, dtype=np.float64, ensure_min_samples=2, input_name="X")
    check_samples(features, y)
    seed = seed_of(random_state)
    features = in_unit(features)
    rng, sigma = np.random.default_rng((seed, n_permutations)), rms_distance(features)
    frequencies = rng.standard_normal((features.shape[1], n_frequencies)) / (sigma if sigma > 0.0 else 1.0)
    angles = features @ frequencies
    fourier: FloatArray = np.hstack([np.cos(angles), np.sin(angles)]) / np.sqrt(n_frequencies)
    fourier -= fourier.mean(axis=0)
    gamma = gamma_of(y)
    target = gamma.factor * np.sqrt(gamma.weights)

    def value(rows: FloatArray) -> float:
        return float(np.sum((fourier.T @ rows) ** 2)) / len(rows) ** 2

    orders = (permuted_places(len(target), (seed, number)) for number in range(n_permutations))
    return sequential_test(value(target), (value(target[order]) for order in orders), n_permutations, max_exceedances)


def held_out_test(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_permutations: int = 999,
    max_exceedances: int | None = 20,
    random_state: Any = None,
) -> PermutationTest:
    """Test a projection by one fit: learned from half of the samples, tested on the others in linear time.

    Halves are split by classes, and :func:`linear_time_hsic` tests whether the projection of the second half depends on
    its labels. The null hypothesis is that samples are independent and y says nothing about X. As fewer samples are
    learned from, weak dependence is found more often by :func:`.permutation_test`.

    Raises as these two functions do.
    """
    subject, known, seed = prepared(estimator, X, y, random_state)
    learned_from, others, labels, hidden = train_test_split(
        X, known, test_size=0.5, stratify=classes_of(known), random_state=seed
    )
    projected = embedded(subject.fit(learned_from, labels), others)
    return linear_time_hsic(
        projected, hidden, n_permutations=n_permutations, max_exceedances=max_exceedances, random_state=seed
    )
