"""Fits of one estimator to many versions of its data: the same in every run, and in the same order on any cores."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import scipy.linalg
from joblib import Parallel, effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OneToOneFeatureMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_array, check_random_state, resample
from sklearn.utils.multiclass import type_of_target

from kdrbench.errors import InputError
from kdrbench.estimators import InterpretableKDR
from kdrbench.estimators.common import linear_map
from kdrbench.kernels import Gaussian
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import OneOf

# n samples with replacement, or n // 2 of them without.
SCHEMES = OneOf(("bootstrap", "half"))
# Entries of a table of which columns are permuted to see what is made of them, and its rows at least.
_PROBED_ENTRIES, _LEAST_PROBED = 2**21, 256
# Calls that a core is given at a time: the answers to some of the last ones may not be needed.
_CALLS = 8


def seed_of(random_state: Any) -> int:
    """Return a seed drawn from an integer, a ``RandomState``, a ``Generator`` or, for ``None``, numpy's own state."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return int(check_random_state(random_state).randint(2**31))


def seeded(estimator: Any, seed: int) -> Any:
    """Return a clone in which each ``random_state`` that is ``None`` is ``seed``: its fit is a function of its data."""
    if not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
        raise InputError(f"the estimator must have scikit-learn's fit and get_params, got {estimator!r}")
    states = {
        name: seed
        for name, value in estimator.get_params().items()
        if name.split("__")[-1] == "random_state" and value is None
    }
    return clone(estimator).set_params(**states)


def fitted(estimator: Any, X: Any, y: Any = None) -> Any:
    """Return a fitted clone; refits that end at their limit of iterations do so silently, as they are many."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(estimator).fit(X) if y is None else clone(estimator).fit(X, y)


def resampled(n_samples: int, y: Any, scheme: str, key: tuple[int, int]) -> NDArray[np.intp]:
    """Return the places of a resample, ascending, with the classes of y in their shares; ``key`` decides which.

    ``scheme`` is one of ``SCHEMES``. Continuous y, several columns of it, or none, are not stratified.
    """
    is_bootstrap = scheme == "bootstrap"
    is_classes = y is not None and type_of_target(y) in ("binary", "multiclass")
    drawn: NDArray[np.intp] = resample(
        np.arange(n_samples),
        replace=is_bootstrap,
        n_samples=n_samples if is_bootstrap else n_samples // 2,
        stratify=y if is_classes else None,
        random_state=int(np.random.default_rng(key).integers(2**31)),
    )
    return np.sort(drawn)


def with_shared_bandwidth(estimator: Any, model: Any) -> Any:
    """Return the estimator with the bandwidth of ``model``, its fit, where that is one of X alone, whatever the labels.

    So it is for a Gaussian ``InterpretableKDR`` that learns from labels. Others are returned as they are: a combination
    of kernels may be aligned with the labels, and steps of a pipeline may have chosen features by them.
    """
    if not isinstance(estimator, InterpretableKDR) or estimator.paradigm != "supervised":
        return estimator
    if estimator.kernel not in ("gaussian", "rbf"):
        return estimator
    return clone(estimator).set_params(kernel=Gaussian(model.kernel_.sigma), kernel_params=None, sigma=None, gamma=None)


def in_order(calls: Iterable[Any], n_jobs: int | None) -> Iterator[Any]:
    """Yield the answers of joblib's delayed ``calls`` in their order; calls begin only when answers are asked for."""
    waiting, cores = iter(calls), effective_n_jobs(n_jobs)
    with Parallel(n_jobs=n_jobs) as parallel:
        while batch := list(islice(waiting, 1 if cores == 1 else _CALLS * cores)):
            yield from parallel(batch)


def with_components(estimator: Any, n_components: int) -> Any:
    """Return a clone that learns ``n_components``, of the last step of a pipeline; ``InputError`` if it cannot."""
    prefix = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
    name = f"{prefix}n_components"
    if name not in estimator.get_params():
        raise InputError(f"{type(estimator).__name__} has no parameter {name!r}, so its components cannot be chosen")
    return clone(estimator).set_params(**{name: n_components})


def embedded(model: Any, X: Any) -> FloatArray:
    """Return what a fitted estimator makes of its training samples, n x q: by ``transform``, or its ``embedding_``."""
    if hasattr(model, "transform"):
        values = np.asarray(model.transform(X), dtype=np.float64)
    elif hasattr(model, "embedding_"):
        values = np.asarray(model.embedding_, dtype=np.float64)
    else:
        raise InputError(f"{type(model).__name__} has neither transform nor embedding_: it learns no projection")
    return values.reshape(len(values), -1)


def projection_of(model: Any, features: FloatArray) -> FloatArray:
    """Return A (d x q) of a fitted estimator whose ``transform`` is x -> A'x + b, as :func:`.linear_map` finds it.

    Raises ``InputError`` where ``transform`` is missing or not linear on the features, or A is 0.
    """
    if not hasattr(model, "transform"):
        raise InputError(f"{type(model).__name__} has no transform; intervals of angles need a linear projection")
    if (axes := linear_map(model, features)) is None:
        raise InputError(f"{type(model).__name__} is not a linear projection of the features, so it has no angles")
    if not axes.any():
        raise InputError(f"{type(model).__name__} has learned a projection that is 0")
    return axes


@dataclass(frozen=True, eq=False)
class Encoded:
    """What the first ``n_steps`` steps of a fitted pipeline make of samples by columns: scaled, or as indicators.

    ``features`` are n x m. ``names`` are those of its columns, ``sources`` the places of the columns of X of which they
    are made (-1: of none that varies), and ``model`` are the other steps.
    """

    n_steps: int
    features: FloatArray
    names: tuple[str, ...]
    sources: NDArray[np.intp]
    model: Any


def encoded(fitted: Any, X: Any) -> Encoded:
    """Return what the leading steps of a fitted pipeline make of X, as far as each takes columns one by one.

    Of a search it is what the search has chosen. Of other estimators, ``features`` are X.

    Raises ``ValueError`` where these are no finite numbers.
    """
    model = getattr(fitted, "best_estimator_", fitted)
    steps = list(model.named_steps.values())[:-1] if isinstance(model, Pipeline) else []
    values, n_steps, names = X, 0, feature_names(X)
    sources = np.arange(len(names))
    for step in steps:
        if step is not None and step != "passthrough":
            if (columns := _sources(step, values)) is None:
                break
            sources = np.where(columns >= 0, sources[columns], -1)
            names = names_out(step, names, len(sources))
            values = dense(step.transform(values))
        n_steps += 1
    features = check_array(values, dtype=np.float64, ensure_min_samples=4, input_name="X")
    return Encoded(n_steps, features, names, sources, split(fitted, n_steps)[1])


def split(fitted: Any, n_steps: int) -> tuple[Any, Any]:
    """Return the first steps of a fitted pipeline (``None`` for 0) and the others, of a search those of its choice."""
    model = getattr(fitted, "best_estimator_", fitted)
    return (model[:n_steps], model[n_steps:]) if n_steps else (None, model)


def feature_names(X: Any) -> tuple[str, ...]:
    """Return the names of the columns of a frame, and x0, x1, ... for an array."""
    columns = getattr(X, "columns", None)
    return tuple(f"x{place}" for place in range(np.shape(X)[1])) if columns is None else tuple(map(str, columns))


def is_numeric(X: Any) -> bool:
    """Return whether X is an array or frame of numbers alone."""
    return np.asarray(X).dtype.kind in "fiub"


def names_out(step: Any, names: tuple[str, ...], count: int) -> tuple[str, ...]:
    """Return the names of the columns that a fitted step makes of columns with these names."""
    if hasattr(step, "get_feature_names_out"):
        return tuple(map(str, step.get_feature_names_out(np.array(names, dtype=object))))
    return tuple(f"x{place}" for place in range(count))


def dense(values: Any) -> Any:
    """Return an array for a sparse matrix, and other values as they are."""
    return values.toarray() if hasattr(values, "toarray") else values


def _sources(step: Any, X: Any) -> NDArray[np.intp] | None:
    """Return the column of X on which each column of a fitted step's output depends; ``None`` if any has several.

    Columns are permuted one at a time. A column that does not vary has no effect: its output has the source -1.
    """
    n_samples, n_features = np.shape(X)
    if isinstance(step, OneToOneFeatureMixin):
        return np.arange(n_features)
    count = min(n_samples, max(_LEAST_PROBED, _PROBED_ENTRIES // n_features))
    some = _safe_indexing(X, np.linspace(0, n_samples - 1, count).astype(np.intp))
    before = np.asarray(dense(step.transform(some)), dtype=np.float64)
    order, depends = np.random.default_rng(0).permutation(count), []
    for place in range(n_features):
        moved = some.copy()
        if hasattr(moved, "isetitem"):
            moved.isetitem(place, some.iloc[order, place].array)
        else:
            moved[:, place] = some[order, place]
        after = np.asarray(dense(step.transform(moved)), dtype=np.float64)
        depends.append(((before != after) & ~(np.isnan(before) & np.isnan(after))).any(axis=0))
    table = np.array(depends)
    if (table.sum(axis=0) > 1).any():
        return None
    return np.where(table.any(axis=0), table.argmax(axis=0), -1)


def nearest_orthonormal(columns: FloatArray) -> FloatArray:
    """Return the orthonormal columns nearest to ``columns`` (d x q): U V' of their singular value decomposition."""
    left, _, right = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(left @ right)


def turned_to(projection: FloatArray, reference: FloatArray) -> FloatArray:
    """Return PQ for the Q with orthonormal columns or rows that minimises |PQ - R|, P = ``projection``, d x p.

    R = ``reference`` is d x q.

    Source: Schoenemann, "A generalized solution of the orthogonal Procrustes problem", Psychometrika 31, 1966.
    """
    return projection @ nearest_orthonormal(projection.T @ reference)


def principal_angles_deg(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the principal angles between the spans of two d x q arrays in degrees, ascending."""
    return np.asarray(np.degrees(scipy.linalg.subspace_angles(first, second))[::-1])


def check_samples(X: Any, y: ArrayLike) -> None:
    """Raise ``InputError`` unless y holds one entry or row for each sample of X."""
    known, n_samples = np.shape(y), np.shape(X)[0] if np.ndim(X) else 0
    if not known or known[0] != n_samples or n_samples < 2:
        raise InputError(f"X and y need the same number of samples, at least 2; got {n_samples} and {known}")
