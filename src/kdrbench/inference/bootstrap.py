"""How far a projection turns when samples are drawn again, and which features keep their part in it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_array

from kdrbench.errors import InputError
from kdrbench.extras import needed_for
from kdrbench.inference.refits import (
    SCHEMES,
    Encoded,
    check_samples,
    dense,
    encoded,
    feature_names,
    fitted,
    in_order,
    is_numeric,
    names_out,
    nearest_orthonormal,
    principal_angles_deg,
    projection_of,
    resampled,
    seed_of,
    seeded,
    split,
    turned_to,
)
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import FRACTION, check_value, whole

# Random subspaces that the angles are compared with.
_RANDOM_SUBSPACES = 500


@dataclass(frozen=True, eq=False)
class BootstrapAngles:
    """Intervals of a projection of d features to q components under resampling.

    A pipeline's first steps may encode d features as m others, scaled or as indicators; otherwise m = d.

    Attributes
    ----------
    projection : ndarray of shape (m, q)
        Of all samples: the orthonormal columns nearest to the estimator's own.
    angles_deg : ndarray of shape (q, 2)
        Intervals of the principal angles in degrees between resampled projections and ``projection``, ascending.
    angle_draws_deg : ndarray of shape (n_resamples, q)
        The angles themselves.
    chance_deg : ndarray of shape (q,)
        Median angles of ``projection`` with uniformly random subspaces: an angle as large means no agreement.
    loadings : ndarray of shape (m, q, 2)
        Intervals of the entries of resampled projections, turned within their span to agree best with ``projection``.
    importances : ndarray of shape (d,)
        Squared lengths of the rows of ``projection``, whatever its basis, those of a feature's indicators together; q
        in all.
    importance_intervals : ndarray of shape (d, 2)
        Their intervals.
    stable_features : ndarray of shape (d,)
        Whether the interval of the importance lies above q / d, its mean over features.
    feature_names, encoded_names : tuple of str
        Names of the d features, and of the m that are encoded.
    """

    projection: FloatArray = field(repr=False)
    angles_deg: FloatArray
    angle_draws_deg: FloatArray = field(repr=False)
    chance_deg: FloatArray
    loadings: FloatArray = field(repr=False)
    importances: FloatArray
    importance_intervals: FloatArray = field(repr=False)
    stable_features: NDArray[np.bool_]
    feature_names: tuple[str, ...] = field(repr=False)
    encoded_names: tuple[str, ...] = field(repr=False)

    def to_frame(self) -> Any:
        """Return importances with their intervals, and which are stable, as a frame of pandas; the largest first."""
        with needed_for("to_frame"):
            import pandas as pd
        lower, upper = self.importance_intervals.T
        columns = {"importance": self.importances, "lower": lower, "upper": upper, "stable": self.stable_features}
        return pd.DataFrame(columns, index=list(self.feature_names)).sort_values("importance", ascending=False)


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
        Anything whose ``transform`` is linear in the features. The matrix is what ``transform`` makes of the axes. Of a
        pipeline, or what a search has chosen, it belongs to the features as the first steps leave them which take
        columns one by one: scaled, or as indicators, so that units do not matter. Of others it belongs to the features
        as given.
    X, y :
        Features n x d, of any types that such a pipeline takes, and labels or targets. Classes keep their numbers of
        samples in each resample.
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
    samples = X if isinstance(estimator, Pipeline) or not is_numeric(X) else check_array(X, input_name="X")
    check_samples(samples, y)
    seed, known = seed_of(random_state), np.asarray(y)
    subject = seeded(estimator, seed)
    parts = encoded(clone(subject).fit(samples, known), samples)
    reference = _span_of(parts.model, parts.features)
    resamples = (resampled(len(known), known, scheme, (seed, number)) for number in range(n_resamples))
    calls = (delayed(_learned)(subject, samples, known, rows, parts) for rows in resamples)
    drawn = list(in_order(calls, n_jobs))
    if any(columns.shape != reference.shape for columns in drawn):
        raise InputError("resamples have learned different numbers of components; set n_components of the estimator")
    turned = np.array([turned_to(columns, reference) for columns in drawn])
    return _summary(reference, turned, confidence, seed, (parts, feature_names(X)))


def _learned(
    estimator: Any, samples: Any, known: NDArray[Any], rows: NDArray[np.intp], reference: Encoded
) -> FloatArray:
    """Return the span that a resample has learned, for the encoded features of all samples.

    A category that the resample has not drawn is no feature there, and has the loading 0.
    """
    before, after = split(fitted(estimator, _safe_indexing(samples, rows), known[rows]), reference.n_steps)
    if before is None:
        return _span_of(after, reference.features)
    columns = _span_of(after, np.asarray(dense(before.transform(samples)), dtype=np.float64))
    if len(columns) == len(reference.names):
        return columns
    places = {name: place for place, name in enumerate(names_out(before, feature_names(samples), len(columns)))}
    return np.array([columns[places[name]] if name in places else 0.0 * columns[0] for name in reference.names])


def _span_of(model: Any, features: FloatArray) -> FloatArray:
    with warnings.catch_warnings():
        # Axes are no frame, whatever the model has been fitted to.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        projection = projection_of(model, features)
    if np.linalg.matrix_rank(projection) == len(projection):
        raise InputError(
            f"{type(model).__name__} has learned a projection that spans all {len(projection)} features, so it has no "
            "direction to turn; set n_components of the estimator to fewer"
        )
    return nearest_orthonormal(projection)


def _summary(
    reference: FloatArray, drawn: FloatArray, confidence: float, seed: int, labelled: tuple[Encoded, tuple[str, ...]]
) -> BootstrapAngles:
    n_encoded, n_components = reference.shape
    parts, names = labelled
    # Rows of features, of which each has some of the encoded ones.
    members = np.arange(len(names))[:, None] == parts.sources
    limits = [50.0 * (1.0 - confidence), 50.0 * (1.0 + confidence)]

    def intervals(values: FloatArray) -> FloatArray:
        return np.moveaxis(np.percentile(values, limits, axis=0), 0, -1)

    angles = np.array([principal_angles_deg(one, reference) for one in drawn])
    rng = np.random.default_rng((seed, len(drawn)))
    random = rng.standard_normal((_RANDOM_SUBSPACES, n_encoded, n_components))
    chance = np.median([principal_angles_deg(one, reference) for one in random], axis=0)
    importances = intervals((drawn**2).sum(axis=2) @ members.T)
    return BootstrapAngles(
        reference,
        intervals(angles),
        angles,
        chance,
        intervals(drawn),
        members @ (reference**2).sum(axis=1),
        importances,
        importances[:, 0] > n_components / len(names),
        names,
        parts.names if parts.n_steps else names,
    )
