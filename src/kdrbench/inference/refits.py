"""Fits of one estimator to many versions of its data: the same in every run, and in the same order on any cores."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import scipy.linalg
from joblib import Parallel, effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state, resample
from sklearn.utils.multiclass import type_of_target

from kdrbench.errors import InputError
from kdrbench.estimators import InterpretableKDR
from kdrbench.estimators.common import linear_map
from kdrbench.kernels import Gaussian
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import OneOf

# n samples with replacement, or n // 2 of them without.
SCHEMES = OneOf(("bootstrap", "half"))
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
