"""Permutation tests of a learned projection: the p-value by fitting to permuted labels, not by scoring a fit.

In time linear in the number of samples there are HSIC by random Fourier features, and one fit for held-out samples.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.utils import check_array

from kdrbench.errors import InputError, counted
from kdrbench.estimators.targets import AUTO, TARGETS, missing_entries, plain_values, type_of
from kdrbench.inference.refits import (
    check_samples,
    classes_of,
    embedded,
    fitted,
    in_order,
    prepared,
    seed_of,
    with_shared_bandwidth,
)
from kdrbench.inference.statistics import Statistic, gamma_of, in_unit, rms_distance, statistic_of
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import COUNT, check_value, optional

# Values this close, relative to the statistic, are ties, which count as exceedances: the same labels under other names
# differ by rounding.
_TIE = 1e-9


@dataclass(frozen=True, eq=False)
class PermutationTest:
    """A p-value, the ``statistic`` of the data, and ``null``, its values on permutations, in the order drawn.

    ``exceedances`` of them are at least the statistic. ``n_permutations`` were drawn, fewer than were allowed where the
    test stopped early, since it was hopeless.
    """

    p_value: float
    statistic: float
    null: FloatArray = field(repr=False)
    exceedances: int
    n_permutations: int


def permutation_test(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    n_permutations: int = 999,
    statistic: object = "auto",
    max_exceedances: int | None = 20,
    groups: ArrayLike | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> PermutationTest:
    """Test whether ``estimator`` has learned more from y than it would learn from labels at random.

    The null hypothesis is that y is exchangeable given X: each order of the labels is as likely. The estimator is
    fitted to permuted labels from the beginning, so what it can make of noise is in the null. Data and permutations
    have the same statistic T, larger for more dependence. With b of B permutations at least as large as the data,

        p = (1 + b) / (1 + B),

    which is at most alpha with probability at most alpha, for any estimator and n (Phipson and Smyth). At the h-th
    exceedance, h = ``max_exceedances``, the test stops with p = h / (permutations drawn), which keeps that property
    (Besag and Clifford). A clear result takes all B; a hopeless one about h / p.

    Parameters
    ----------
    estimator : estimator
        Anything with ``fit(X, y)`` and ``transform`` (or ``embedding_``), such as ``InterpretableKDR``,
        ``LinearDiscriminantAnalysis``, ``NeighborhoodComponentsAnalysis``, or a pipeline. It is cloned, and each
        ``random_state`` of ``None`` gets one seed for all fits.
    X, y : array or DataFrame of n_samples rows, array of shape (n_samples,) or (n_samples, n_columns)
        What ``fit`` takes, and labels or targets; rows of several columns are permuted together.
    n_permutations : int
        B, the most permutations. The smallest p-value is 1 / (B + 1).
    statistic : {"auto", "objective", "hsic", "accuracy"} or callable
        ``objective``: ``objective_`` of the fit. ``hsic``: dependence of the projected samples on y, by a Gaussian
        kernel whose bandwidth is the root mean square distance. ``accuracy``: cross-validated, of 5 nearest neighbours;
        five more fits each. ``auto``: ``objective`` for ``InterpretableKDR``, else ``hsic``. A function of (fitted
        estimator, X, y) returns a number.
    max_exceedances : int or None
        h, where a hopeless test stops; ``None`` draws all permutations.
    groups : array of shape (n_samples,) or None
        Labels are permuted within groups only, for instance within subjects that were measured repeatedly. Some group
        must hold different labels.
    random_state : int, RandomState, Generator or None
        Draws the permutations and the seed of the fits. The result does not depend on ``n_jobs``.
    n_jobs : int or None
        Processes that fit side by side (joblib); ``None`` is 1, -1 all cores.

    Raises ``InputError`` for values that are not allowed, or a statistic that is not finite on the data; other errors
    are the estimator's.

    References
    ----------
    Besag, Clifford, "Sequential Monte Carlo p-values", Biometrika 78, 1991.
    Phipson, Smyth, "Permutation p-values should never be zero", Stat. Appl. Genet. Mol. Biol. 9, 2010.
    Ojala, Garriga, "Permutation tests for studying classifier performance", JMLR 11, 2010.
    """
    check_limits(n_permutations, max_exceedances)
    subject, known, seed = prepared(estimator, X, y, random_state)
    blocks = None if groups is None else _blocks(groups, known)
    # Warnings about this fit are shown: there is one of it.
    model = clone(subject).fit(X, known)
    measure = statistic_of(statistic, model)
    observed = float(measure(model, X, known))
    shared = with_shared_bandwidth(subject, model)
    orders = (permuted_places(len(known), (seed, number), blocks) for number in range(n_permutations))
    calls = (delayed(refitted_statistic)(shared, X, known[order], measure) for order in orders)
    draws = in_order(calls, n_jobs, "permutation_test", n_permutations)
    return sequential_test(observed, draws, n_permutations, max_exceedances)


def refitted_statistic(estimator: Any, X: Any, y: NDArray[Any], measure: Statistic) -> float:
    """Return the statistic of a new fit."""
    return float(measure(fitted(estimator, X, y), X, y))


def _blocks(groups: ArrayLike, y: NDArray[Any]) -> list[NDArray[np.intp]]:
    """Return the samples of each group; ``InputError`` unless some group has samples of different y."""
    members = plain_values(groups)
    if members.shape != (len(y),) or missing_entries(members).any():
        missing = int(missing_entries(members).sum())
        raise InputError(
            f"groups must be one entry for each of {len(y)} samples, got shape {members.shape} with "
            f"{counted(missing, 'missing entry', 'missing entries')}"
        )
    _, codes, sizes = np.unique(members, return_inverse=True, return_counts=True)
    blocks = np.split(np.argsort(codes, kind="stable"), np.cumsum(sizes)[:-1])
    if all((y[places] == y[places[0]]).all() for places in blocks):
        raise InputError(
            f"each of the {len(blocks)} groups has one value of y, so that no permutation within groups changes y; "
            "give groups in which y differs, such as subjects measured under several conditions, or groups=None"
        )
    return blocks


def permuted_places(
    n_samples: int, key: tuple[int, ...], blocks: list[NDArray[np.intp]] | None = None
) -> NDArray[np.intp]:
    """Return a permutation of the samples, within ``blocks`` of them if there are any; ``key`` seeds it."""
    rng = np.random.default_rng(key)
    if blocks is None:
        return rng.permutation(n_samples)
    order = np.arange(n_samples)
    for places in blocks:
        order[places] = rng.permutation(places)
    return order


def check_limits(n_permutations: int, max_exceedances: int | None) -> None:
    """Raise ``InputError`` unless both are counts, or the second is ``None``."""
    check_value("n_permutations", n_permutations, COUNT)
    check_value("max_exceedances", max_exceedances, optional(COUNT))


def sequential_test(
    observed: float, draws: Iterable[float], n_permutations: int, max_exceedances: int | None
) -> PermutationTest:
    """Return the test of ``observed`` among values drawn under the null, as :func:`permutation_test` describes it.

    A draw that is NaN counts as an exceedance. Raises ``InputError`` unless ``observed`` is finite.
    """
    if not np.isfinite(observed):
        raise InputError(f"the statistic of the data is {observed}; it must be a finite number")
    null: list[float] = []
    exceedances = 0
    for value in draws:
        null.append(value)
        exceedances += not value < observed - _TIE * abs(observed)
        if exceedances == max_exceedances:
            p_value = exceedances / len(null)
            break
    else:
        p_value = (1 + exceedances) / (1 + len(null))
    return PermutationTest(p_value, observed, np.array(null), exceedances, len(null))


def linear_time_hsic(
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_frequencies: int = 100,
    n_permutations: int = 999,
    max_exceedances: int | None = 20,
    random_state: Any = None,
    target: str = AUTO,
) -> PermutationTest:
    """Test whether features X (n x d) and labels or targets y depend on each other, in O(n) time and memory.

    The statistic is |C' L|^2 / n^2, an estimate of HSIC: C holds the centred features cos(w'x), sin(w'x) / sqrt(m) of m
    frequencies w, drawn from the normal law of the Gaussian kernel whose bandwidth is the root mean square distance,
    and LL' = H K_y H for labels (one-hot) or continuous targets (Gaussian kernel). The null hypothesis is that y is
    exchangeable. Rows of L are permuted with C as it is, each in O(n m) time, so the p-value is exact for any n and m.

    This tests the features themselves. A projection that was learned from the same samples depends on their labels
    whether or not these mean anything: use :func:`held_out_test` or :func:`permutation_test`.

    Parameters are those of :func:`.permutation_test`; ``n_frequencies`` is m, and ``target`` says what y is, as that of
    :class:`.InterpretableKDR`. Raises ``InputError`` for values that are not allowed, and ``ValueError`` for features
    that are no finite numbers.

    References
    ----------
    Zhang, Filippi, Gretton, Sejdinovic, "Large-scale kernel methods for independence testing", Stat. Comput. 28, 2018,
    section 3.3.
    Rahimi, Recht, "Random features for large-scale kernel machines", NIPS 2007.
    """
    check_limits(n_permutations, max_exceedances)
    check_value("n_frequencies", n_frequencies, COUNT)
    check_value("target", target, TARGETS)
    features = check_array(X, dtype=np.float64, ensure_min_samples=2, input_name="X")
    check_samples(features, y)
    seed = seed_of(random_state)
    features = in_unit(features)
    rng, sigma = np.random.default_rng((seed, n_permutations)), rms_distance(features)
    frequencies = rng.standard_normal((features.shape[1], n_frequencies)) / (sigma if sigma > 0.0 else 1.0)
    angles = features @ frequencies
    fourier: FloatArray = np.hstack([np.cos(angles), np.sin(angles)]) / np.sqrt(n_frequencies)
    fourier -= fourier.mean(axis=0)
    gamma = gamma_of(y, target)
    labels = gamma.factor * np.sqrt(gamma.weights)

    def value(rows: FloatArray) -> float:
        return float(np.sum((fourier.T @ rows) ** 2)) / len(rows) ** 2

    orders = (permuted_places(len(labels), (seed, number)) for number in range(n_permutations))
    return sequential_test(value(labels), (value(labels[order]) for order in orders), n_permutations, max_exceedances)


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
        projected,
        hidden,
        n_permutations=n_permutations,
        max_exceedances=max_exceedances,
        random_state=seed,
        target=type_of(known),
    )
