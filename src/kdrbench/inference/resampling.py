"""How far a projection turns when samples are drawn again, and which features keep their part in it.

A projection belongs to the features as the first steps of a pipeline encode them.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import delayed
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import polar
from scipy.sparse import issparse
from sklearn.base import OneToOneFeatureMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_array, resample

from kdrbench.errors import InputError
from kdrbench.estimators.common import columns_of_any_name, linear_map
from kdrbench.extras import needed_for
from kdrbench.inference.refits import classes_of, fitted, in_order, prepared
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import FRACTION, OneOf, check_value, whole
from kdrbench.solvers.geometry.stiefel import principal_angles_deg

# n samples with replacement, or n // 2 of them without.
SCHEMES = OneOf(("bootstrap", "half"))
# Random subspaces that the angles are compared with.
_RANDOM_SUBSPACES = 500
# Entries of a table of which columns are permuted to see what is made of them, and its rows at least.
_PROBED_ENTRIES, _LEAST_PROBED = 2**21, 256


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
        Whether the interval of the importance lies above the feature's even share q r_j / (r_1 + ... + r_d). r_j is
        the rank of its encoded columns, centred: 1 for a number, at most k - 1 for the indicators of k categories. The
        share is the mean of its importance over random projections of the span of all columns, if no feature determines
        another.
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
    model = clone(subject).fit(samples, known)
    parts = encoded(model, samples, feature_names(X, estimator))
    reference = _directions(projection_of(parts.model, parts.features), estimator)
    refits = refitted_projections(
        subject, samples, known, parts, n_resamples=n_resamples, scheme=scheme, seed=seed, n_jobs=n_jobs
    )
    drawn = [_directions(columns, estimator) for columns in refits]
    if any(columns.shape != reference.shape for columns in drawn):
        raise InputError("resamples have learned different numbers of components; set n_components of the estimator")
    turned = np.array([turned_to(columns, reference) for columns in drawn])
    n_encoded, n_components = reference.shape
    # Rows of features, of which each has some of the encoded ones.
    members = np.arange(len(parts.given_names))[:, None] == parts.sources
    limits = [50.0 * (1.0 - confidence), 50.0 * (1.0 + confidence)]

    def intervals(values: FloatArray) -> FloatArray:
        return np.moveaxis(np.percentile(values, limits, axis=0), 0, -1)

    angles = np.array([principal_angles_deg(one, reference) for one in turned])
    random = np.random.default_rng((seed, n_resamples)).standard_normal((_RANDOM_SUBSPACES, n_encoded, n_components))
    chance = np.median([principal_angles_deg(one, reference) for one in random], axis=0)
    importances = intervals((turned**2).sum(axis=2) @ members.T)
    ranks = np.array([_rank(parts.features[:, columns]) for columns in members])
    return BootstrapAngles(
        reference,
        intervals(angles),
        angles,
        chance,
        intervals(turned),
        members @ (reference**2).sum(axis=1),
        importances,
        importances[:, 0] > n_components * ranks / ranks.sum(),
        parts.given_names,
        parts.names,
    )


def _rank(columns: FloatArray) -> int:
    """Return the rank of the centred columns of one feature, at least 1, as for a feature that does not vary."""
    return max(1, int(np.linalg.matrix_rank(columns - columns.mean(axis=0)))) if columns.shape[1] > 1 else 1


def _directions(projection: FloatArray, estimator: Any) -> FloatArray:
    """Return the nearest orthonormal columns; ``InputError`` where they span everything."""
    if np.linalg.matrix_rank(projection) == len(projection):
        raise InputError(
            f"{type(estimator).__name__} has learned a projection that spans all {len(projection)} features, so it has "
            "no direction to turn; set n_components of the estimator to fewer"
        )
    return np.asarray(polar(projection)[0])


def projection_of(model: Any, features: FloatArray) -> FloatArray:
    """Return A (d x q) of a fitted estimator whose ``transform`` is x -> A'x + b, as :func:`.linear_map` finds it.

    Raises ``InputError`` where ``transform`` is missing or not linear on the features, or A is 0.
    """
    if not hasattr(model, "transform"):
        raise InputError(f"{type(model).__name__} has no transform; intervals of angles need a linear projection")
    with columns_of_any_name():
        axes = linear_map(model, features)
    if axes is None:
        raise InputError(
            f"{type(model).__name__} is not a linear projection of the features; give an estimator that is, such as "
            "InterpretableKDR or LinearDiscriminantAnalysis"
        )
    if not axes.any():
        raise InputError(f"{type(model).__name__} has learned a projection that is 0")
    return axes


@dataclass(frozen=True, eq=False)
class Encoded:
    """What the first ``n_steps`` steps of a fitted pipeline make of samples by columns: scaled, or as indicators.

    ``features`` are n x m, with columns called ``names``, those of X ``given_names``. ``sources`` are the places of the
    columns of X of which they are made (-1: of none that varies), and ``model`` are the other steps.
    """

    n_steps: int
    features: FloatArray
    given_names: tuple[str, ...]
    names: tuple[str, ...]
    sources: NDArray[np.intp]
    model: Any


def encoded(fitted: Any, X: Any, given_names: tuple[str, ...]) -> Encoded:
    """Return what the leading steps of a fitted pipeline make of X, as far as each takes columns one by one.

    Of a search it is what the search has chosen. Of other estimators, ``features`` are X.

    Raises ``ValueError`` where these are no finite numbers.
    """
    model = getattr(fitted, "best_estimator_", fitted)
    values, n_steps, names = X, 0, given_names
    sources = np.arange(len(names))
    with columns_of_any_name():
        for step in model[:-1].named_steps.values() if isinstance(model, Pipeline) and len(model) > 1 else ():
            if step is not None and step != "passthrough":
                if (columns := _sources(step, values)) is None:
                    break
                sources = np.where(columns >= 0, sources[columns], -1)
                names, values = _names_out(step, names, len(sources)), _transformed(step, values)
            n_steps += 1
    features = check_array(values, dtype=np.float64, ensure_min_samples=4, input_name="X")
    return Encoded(n_steps, features, given_names, names, sources, model[n_steps:] if n_steps else model)


def refitted_projections(
    estimator: Any, X: Any, y: Any, parts: Encoded, *, n_resamples: int, scheme: str, seed: int, n_jobs: int | None
) -> Iterator[FloatArray]:
    """Yield A (m x q) of fits to resamples, for the encoded features of all samples.

    ``scheme`` is one of ``SCHEMES``. Resamples have the classes of y in their shares; continuous y, several columns of
    it, or none, are not stratified.
    """
    n_samples, classes, is_bootstrap = len(parts.features), classes_of(y), scheme == "bootstrap"
    options = {"replace": is_bootstrap, "n_samples": n_samples if is_bootstrap else n_samples // 2, "stratify": classes}

    def rows_of(number: int) -> NDArray[np.intp]:
        state = int(np.random.default_rng((seed, number)).integers(2**31))
        return np.sort(resample(np.arange(n_samples), **options, random_state=state))

    calls = (delayed(_refitted_projection)(estimator, X, y, rows_of(number), parts) for number in range(n_resamples))
    return in_order(calls, n_jobs, "resamples", n_resamples)


def _refitted_projection(estimator: Any, X: Any, y: Any, rows: NDArray[np.intp], parts: Encoded) -> FloatArray:
    """Return A of a fit to some samples. A category that is not among them is no feature there: its loading is 0."""
    again = fitted(estimator, _safe_indexing(X, rows), None if y is None else _safe_indexing(y, rows))
    again = getattr(again, "best_estimator_", again)
    if not parts.n_steps:
        return projection_of(again, parts.features)
    before, after = again[: parts.n_steps], again[parts.n_steps :]
    with columns_of_any_name():
        columns = projection_of(after, np.asarray(_transformed(before, X), dtype=np.float64))
    if len(columns) == len(parts.names):
        return columns
    places = {name: place for place, name in enumerate(_names_out(before, parts.given_names, len(columns)))}
    return np.array([columns[places[name]] if name in places else 0.0 * columns[0] for name in parts.names])


def feature_names(X: Any, estimator: Any = None) -> tuple[str, ...]:
    """Return the names of the columns of a frame; of an array those ``estimator`` was fitted with, or x0, x1, ..."""
    columns, count = getattr(X, "columns", None), np.shape(X)[1]
    names = getattr(estimator, "feature_names_in_", ()) if columns is None else columns
    return tuple(map(str, names)) if len(names) == count else tuple(f"x{place}" for place in range(count))


def is_numeric(X: Any) -> bool:
    """Return whether X is an array or frame of numbers alone."""
    return np.asarray(X).dtype.kind in "fiub"


def _names_out(step: Any, names: tuple[str, ...], count: int) -> tuple[str, ...]:
    """Return the names of the columns that a fitted step makes of columns with these names."""
    if hasattr(step, "get_feature_names_out"):
        return tuple(map(str, step.get_feature_names_out(np.array(names, dtype=object))))
    return tuple(f"x{place}" for place in range(count))


def _transformed(step: Any, values: Any) -> Any:
    made = step.transform(values)
    return made.toarray() if issparse(made) else made


def _sources(step: Any, X: Any) -> NDArray[np.intp] | None:
    """Return the column of X on which each column of a fitted step's output depends; ``None`` if any has several.

    Columns are permuted one at a time. A column that does not vary has no effect: its output has the source -1.
    """
    n_samples, n_features = np.shape(X)
    if isinstance(step, OneToOneFeatureMixin):
        return np.arange(n_features)
    count = min(n_samples, max(_LEAST_PROBED, _PROBED_ENTRIES // n_features))
    some = _safe_indexing(X, np.linspace(0, n_samples - 1, count).astype(np.intp))
    before = np.asarray(_transformed(step, some), dtype=np.float64)
    order, depends = np.random.default_rng(0).permutation(count), []
    for place in range(n_features):
        moved = copy(some)
        if hasattr(moved, "isetitem"):
            moved.isetitem(place, some.iloc[order, place].array)
        elif hasattr(moved, "replace_column"):
            moved.replace_column(place, some.to_series(place)[order])
        else:
            moved[:, place] = some[order, place]
        after = np.asarray(_transformed(step, moved), dtype=np.float64)
        depends.append(~np.isclose(before, after, rtol=0.0, atol=0.0, equal_nan=True).all(axis=0))
    table = np.array(depends)
    if (table.sum(axis=0) > 1).any():
        return None
    return np.where(table.any(axis=0), table.argmax(axis=0), -1)


def turned_to(projection: FloatArray, reference: FloatArray) -> FloatArray:
    """Return PQ for the Q with orthonormal columns or rows that minimises |PQ - R|, P = ``projection``, d x p.

    R = ``reference`` is d x q.

    Source: Schoenemann, "A generalized solution of the orthogonal Procrustes problem", Psychometrika 31, 1966.
    """
    return np.asarray(projection @ polar(projection.T @ reference)[0])
