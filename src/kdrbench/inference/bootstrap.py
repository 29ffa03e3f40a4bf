"""How far a projection turns when samples are drawn again, and which features keep their part in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_array

from kdrbench.errors import InputError
from kdrbench.inference.refits import (
    SCHEMES,
    check_samples,
    fitted,
    in_order,
    nearest_orthonormal,
    principal_angles_deg,
    projection_of,
    resampled,
    seed_of,
    seeded,
    turned_to,
)
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import FRACTION, check_value, whole

# Random subspaces that the angles are compared with.
_RANDOM_SUBSPACES = 500


@dataclass(frozen=True, eq=False)
class BootstrapAngles:
    """Intervals of a projection of d features to q components under resampling.

    Attributes
    ----------
    projection : ndarray of shape (d, q)
        Of all samples: the orthonormal columns nearest to the estimator's own.
    angles_deg : ndarray of shape (q, 2)
        Intervals of the principal angles in degrees between resampled projections and ``projection``, ascending.
    angle_draws_deg : ndarray of shape (n_resamples, q)
        The angles themselves.
    chance_deg : ndarray of shape (q,)
        Median angles of ``projection`` with uniformly random subspaces: an angle as large means no agreement.
    loadings : ndarray of shape (d, q, 2)
        Intervals of the entries of resampled projections, turned within their span to agree best with ``projection``.
    importances : ndarray of shape (d,)
        Squared lengths of the rows of ``projection``: a share from 0 to 1 a feature, q in all, whatever the basis.
    importance_intervals : ndarray of shape (d, 2)
        Their intervals.
    stable_features : ndarray of shape (d,)
        Whether the interval of the importance lies above q / d, its mean over features.
    """

    projection: FloatArray = field(repr=False)
    angles_deg: FloatArray
    angle_draws_deg: FloatArray = field(repr=False)
    chance_deg: FloatArray
    loadings: FloatArray = field(repr=False)
    importances: FloatArray
    importance_intervals: FloatArray = field(repr=False)
    stable_features: NDArray[np.bool_]


def bootstrap_angles(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_resamples: int = 200,
    confidence: float = 0.9,
    scheme: str = "bootstrap",
    random_state: Any = None,
    n_jobs: int | None = None,
) -> BootstrapAngles:
    """Return how far the projection of a linear ``estimator`` turns, and how its loadings vary, under resampling.

    Each resample is fitted from the beginning. Intervals hold the central share ``confidence`` of the resamples. Angles
    are not negative, so their intervals describe variation and never hold 0. For a direction whose estimate is normal,
    its angle with the direction of all samples varies as the latter's angle with the truth.

    Parameters
    ----------
    estimator : estimator
        Anything whose ``transform`` is linear in the features, pipelines with scaling included. The matrix is what
        ``transform`` makes of the axes, so it belongs to the features as given. Scale these to compare their loadings.
    X, y :
        Features n x d, and labels or targets. Classes keep their numbers of samples in each resample.
    n_resamples : int
        Number of resamples, at least 20.
    confidence : float
        Share of the resamples within an interval.
    scheme : {"bootstrap", "half"}
        ``bootstrap``: n samples with replacement. ``half``: n // 2 of them without, which suits learners that look at
        near neighbours, for a repeated sample is its own neighbour. Angles of halves are about as large as those of
        a bootstrap (Politis and Romano: n / 2 of n samples vary as n with replacement).
    random_state : int, RandomState, Generator or None
        Draws the resamples and the seed of the fits. The result does not depend on ``n_jobs``.
    n_jobs : int or None
        Processes that fit side by side; ``None`` is 1, -1 all cores.

    Raises ``InputError`` for values that are not allowed, a projection that is not linear, spans all features, or has
    another number of components in some resample.

    References
    ----------
    Efron, Tibshirani, "An introduction to the bootstrap", 1993.
    Politis, Romano, "Large sample confidence regions based on subsamples", Ann. Statist. 22, 1994.
    Meinshausen, Buehlmann, "Stability selection", J. R. Statist. Soc. B 72, 2010 (halves, and which features stay).
    """
    check_value("n_resamples", n_resamples, whole(20))
    check_value("confidence", confidence, FRACTION)
    check_value("scheme", scheme, SCHEMES)
    features = check_array(X, dtype=np.float64, ensure_min_samples=4, input_name="X")
    check_samples(features, y)
    seed, known = seed_of(random_state), np.asarray(y)
    subject = seeded(estimator, seed)
    reference = _span_of(clone(subject).fit(features, known), features)
    resamples = (resampled(len(known), known, scheme, (seed, number)) for number in range(n_resamples))
    drawn = list(in_order((delayed(_learned)(subject, features, known, rows) for rows in resamples), n_jobs))
    if any(columns.shape != reference.shape for columns in drawn):
        raise InputError("resamples have learned different numbers of components; set n_components of the estimator")
    return _summary(reference, np.array([turned_to(columns, reference) for columns in drawn]), confidence, seed)


def _learned(estimator: Any, features: FloatArray, known: NDArray[Any], rows: NDArray[np.intp]) -> FloatArray:
    return _span_of(fitted(estimator, features[rows], known[rows]), features)


def _span_of(model: Any, features: FloatArray) -> FloatArray:
    projection = projection_of(model, features)
    if np.linalg.matrix_rank(projection) == len(projection):
        raise InputError(
            f"{type(model).__name__} has learned a projection that spans all {len(projection)} features, so it has no "
            "direction to turn; set n_components of the estimator to fewer"
        )
    return nearest_orthonormal(projection)


def _summary(reference: FloatArray, drawn: FloatArray, confidence: float, seed: int) -> BootstrapAngles:
    n_features, n_components = reference.shape
    limits = [50.0 * (1.0 - confidence), 50.0 * (1.0 + confidence)]

    def intervals(values: FloatArray) -> FloatArray:
        return np.moveaxis(np.percentile(values, limits, axis=0), 0, -1)

    angles = np.array([principal_angles_deg(one, reference) for one in drawn])
    rng = np.random.default_rng((seed, len(drawn)))
    random = rng.standard_normal((_RANDOM_SUBSPACES, n_features, n_components))
    chance = np.median([principal_angles_deg(one, reference) for one in random], axis=0)
    importances = intervals((drawn**2).sum(axis=2))
    return BootstrapAngles(
        reference,
        intervals(angles),
        angles,
        chance,
        intervals(drawn),
        (reference**2).sum(axis=1),
        importances,
        importances[:, 0] > n_components / n_features,
    )
