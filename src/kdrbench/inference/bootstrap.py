"""How far a projection turns when samples are drawn again, and which features keep their part in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import polar
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array

from kdrbench.errors import InputError
from kdrbench.extras import needed_for
from kdrbench.inference.refits import prepared
from kdrbench.inference.resampling import (
    SCHEMES,
    encoded,
    feature_names,
    is_numeric,
    projection_of,
    refitted_projections,
    turned_to,
)
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import FRACTION, check_value, whole
from kdrbench.solvers.geometry.stiefel import principal_angles_deg

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

    Each resample is fitted from the beginning, and classes keep their numbers of samples in it.

    Parameters
    ----------
    estimator : estimator
        Anything whose ``transform`` is linear in the features. Its matrix is what ``transform`` makes of the axes. Of a
        pipeline, or what a search has chosen, it belongs to the features as they leave the first steps that take
        columns one by one: scaled, or as indicators, so that units do not matter.
    X, y :
        Features n x d, of any types that such a pipeline takes, and labels or targets.
    n_resamples, confidence : int, float
        Number of resamples, at least 20, and the central share of them that intervals hold.
    scheme : {"bootstrap", "half"}
        ``bootstrap``: n samples with replacement. ``half``: n // 2 of them without, which suits learners that look at
        near neighbours, for a repeated sample is its own neighbour. Angles vary about as much (Politis and Romano).
    random_state, n_jobs :
        As in :func:`.permutation_test`; the result does not depend on ``n_jobs``.

    Raises ``InputError`` for values that are not allowed, a projection that is not linear, spans all features, or has
    another number of components in some resample.

    References
    ----------
    Efron, Tibshirani, "An introduction to the bootstrap", 1993. Politis, Romano, "Large sample confidence regions based
    on subsamples", Ann. Statist. 22, 1994. Meinshausen, Buehlmann, "Stability selection", J. R. Statist. Soc. B 72,
    2010.
    """
    check_value("n_resamples", n_resamples, whole(20))
    check_value("confidence", confidence, FRACTION)
    check_value("scheme", scheme, SCHEMES)
    samples = X if isinstance(estimator, Pipeline) or not is_numeric(X) else check_array(X, input_name="X")
    subject, known, seed = prepared(estimator, samples, y, random_state)
    parts = encoded(clone(subject).fit(samples, known), samples)
    reference = _directions(projection_of(parts.model, parts.features), estimator)
    refits = refitted_projections(
        subject, samples, known, parts, n_resamples=n_resamples, scheme=scheme, seed=seed, n_jobs=n_jobs
    )
    drawn = [_directions(columns, estimator) for columns in refits]
    if any(columns.shape != reference.shape for columns in drawn):
        raise InputError("resamples have learned different numbers of components; set n_components of the estimator")
    turned = np.array([turned_to(columns, reference) for columns in drawn])
    names, (n_encoded, n_components) = feature_names(X), reference.shape
    # Rows of features, of which each has some of the encoded ones.
    members = np.arange(len(names))[:, None] == parts.sources
    limits = [50.0 * (1.0 - confidence), 50.0 * (1.0 + confidence)]

    def intervals(values: FloatArray) -> FloatArray:
        return np.moveaxis(np.percentile(values, limits, axis=0), 0, -1)

    angles = np.array([principal_angles_deg(one, reference) for one in turned])
    random = np.random.default_rng((seed, n_resamples)).standard_normal((_RANDOM_SUBSPACES, n_encoded, n_components))
    chance = np.median([principal_angles_deg(one, reference) for one in random], axis=0)
    importances = intervals((turned**2).sum(axis=2) @ members.T)
    return BootstrapAngles(
        reference,
        intervals(angles),
        angles,
        chance,
        intervals(turned),
        members @ (reference**2).sum(axis=1),
        importances,
        importances[:, 0] > n_components / len(names),
        names,
        parts.names if parts.n_steps else names,
    )


def _directions(projection: FloatArray, estimator: Any) -> FloatArray:
    """Return the nearest orthonormal columns; ``InputError`` where they span everything."""
    if np.linalg.matrix_rank(projection) == len(projection):
        raise InputError(
            f"{type(estimator).__name__} has learned a projection that spans all {len(projection)} features, so it has "
            "no direction to turn; set n_components of the estimator to fewer"
        )
    return np.asarray(polar(projection)[0])
