"""The optima that random starts lead to: how many there are, how often each is reached, and the best one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import delayed
from numpy.typing import ArrayLike, NDArray
from scipy.stats import kendalltau
from sklearn.base import clone

from kdrbench.errors import InputError
from kdrbench.estimators import InterpretableKDR
from kdrbench.inference.refits import fitted, in_order, prepared, with_shared_bandwidth
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import COUNT, POSITIVE, check_value
from kdrbench.solvers.geometry.certificate import Certificate
from kdrbench.solvers.geometry.stiefel import is_stationary, orthonormalised, principal_angles_deg

# An eigenvalue of the Hessian this far on the wrong side of 0, on the certificate's scale, is rounding.
_CURVATURE = -1e-6


@dataclass(frozen=True, eq=False)
class Optimum:
    """A local maximum: its ``projection`` (d x q), ``objective`` F, certificate, and the number of starts it ends."""

    projection: FloatArray = field(repr=False)
    objective: float
    certificate: Certificate = field(repr=False)
    n_reached: int


@dataclass(frozen=True, eq=False)
class Atlas:
    """The distinct certified ``optima``, by falling objective.

    ``reached`` has the place among them for each start, or -1 for a fit without a certificate of first and second
    order: it is none of the optima, and still one of the starts.
    """

    optima: tuple[Optimum, ...]
    reached: NDArray[np.intp] = field(repr=False)

    @property
    def shares(self) -> FloatArray:
        """The share of all starts that reach each optimum."""
        return np.array([one.n_reached for one in self.optima]) / len(self.reached)


def atlas(
    estimator: InterpretableKDR,
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_starts: int = 200,
    angle_deg: float = 1.0,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Atlas:
    """Return the local maxima that the estimator's solver reaches from random starts.

    Starts are uniformly random projections: the orthonormal factor of a Gaussian matrix. A fit is an optimum where its
    certificate shows relative stationarity of at most 1e-6 and no negative curvature. Two of them are the same one
    where their largest principal angle is at most ``angle_deg``; of these the one of largest objective is kept.

    ``estimator`` is an ``InterpretableKDR`` that learns from labels, with the number of components that its ``fit``
    makes of X and y. ``random_state`` draws the starts; the result does not depend on ``n_jobs``, the number of
    processes.

    Raises ``InputError`` for values that are not allowed, or another estimator; other errors are the estimator's.
    """
    if not isinstance(estimator, InterpretableKDR) or estimator.paradigm != "supervised":
        raise InputError(f"an atlas is of an InterpretableKDR that learns from labels, got {estimator!r}")
    check_value("n_starts", n_starts, COUNT)
    check_value("angle_deg", angle_deg, POSITIVE)
    subject, _, seed = prepared(estimator, X, y, random_state)
    model = fitted(subject, X, y)
    shared = with_shared_bandwidth(subject, model).set_params(n_components=len(model.components_))
    shape = model.components_.T.shape
    draws = (np.random.default_rng((seed, number)).standard_normal(shape) for number in range(n_starts))
    calls = (delayed(_end)(shared, X, y, orthonormalised(draw).T) for draw in draws)
    ends: list[tuple[FloatArray, float, Certificate]] = list(in_order(calls, n_jobs, "atlas", n_starts))
    certified = [
        is_stationary(certificate.stationarity) and bool(certificate.curvature >= _CURVATURE)
        for *_, certificate in ends
    ]
    first, reached = distinct_optima([end[0] for end in ends], [end[1] for end in ends], certified, angle_deg)
    counts = np.bincount(reached[reached >= 0], minlength=len(first))
    return Atlas(tuple(Optimum(*ends[one], int(count)) for one, count in zip(first, counts, strict=True)), reached)


def _end(estimator: Any, X: Any, y: Any, start: FloatArray) -> tuple[FloatArray, float, Certificate]:
    model = fitted(clone(estimator).set_params(start=start), X, y)
    return model.components_.T, float(model.objective_), model.certificate_


def distinct_optima(
    projections: Sequence[FloatArray], objectives: Sequence[float], certified: Sequence[bool], angle_deg: float
) -> tuple[list[int], NDArray[np.intp]]:
    """Return which of the ``projections`` are the distinct optima, by falling objective, and what each one is.

    Two are the same optimum where their largest principal angle is at most ``angle_deg`` degrees; the one of largest
    objective represents it. The second array has for each projection the place of its optimum, -1 where it is not
    ``certified``.
    """
    first: list[int] = []
    reached = np.full(len(projections), -1)
    for number in sorted(range(len(projections)), key=lambda number: -objectives[number]):
        if not certified[number]:
            continue
        place = place_of(projections[number], [projections[one] for one in first], angle_deg)
        if place < 0:
            place = len(first)
            first.append(number)
        reached[number] = place
    return first, reached


def place_of(projection: FloatArray, known: Iterable[FloatArray], angle_deg: float) -> int:
    """Return the place of the first known projection within the angle, or -1."""
    near = (principal_angles_deg(one, projection)[-1] <= angle_deg for one in known)
    return next((place for place, is_near in enumerate(near) if is_near), -1)


def rank_correlation(
    costs: ArrayLike, scores: ArrayLike, rng: np.random.Generator, n_resamples: int = 500
) -> tuple[float, float, float] | None:
    """Return Kendall's tau-b of costs and scores of optima, and its 95 % percentile interval from resampled optima.

    ``None`` for fewer than four optima, or where all costs or all scores are equal: there is nothing to rank.
    """
    pairs = np.array([costs, scores], dtype=float)
    pairs = pairs[:, np.isfinite(pairs).all(axis=0)]
    if pairs.shape[1] < 4 or not np.ptp(pairs, axis=1).all():
        return None
    draws = rng.integers(0, pairs.shape[1], (n_resamples, pairs.shape[1]))
    low, high = np.nanpercentile([kendalltau(*pairs[:, draw]).statistic for draw in draws], [2.5, 97.5])
    return float(kendalltau(*pairs).statistic), float(low), float(high)
