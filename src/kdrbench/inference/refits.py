"""Fits of one estimator to many versions of its data: the same in every run, and in the same order on any cores."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from joblib import Parallel, effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from kdrbench.errors import InputError
from kdrbench.estimators import InterpretableKDR, InterpretableKDRCV, targets
from kdrbench.kernels import Gaussian
from kdrbench.kernels.family import FloatArray
from kdrbench.progress import CountProgress

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


def prepared(estimator: Any, X: Any, y: ArrayLike, random_state: Any) -> tuple[Any, NDArray[Any], int]:
    """Return a seeded clone that knows what y is, y as an array, and the seed; ``InputError`` where lengths differ."""
    check_samples(X, y)
    seed = seed_of(random_state)
    return with_target_of(seeded(estimator, seed), y), np.asarray(y), seed


def fitted(estimator: Any, X: Any, y: Any = None) -> Any:
    """Return a fitted clone; refits that end at their limit of iterations do so silently, as they are many."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(estimator).fit(X) if y is None else clone(estimator).fit(X, y)


def classes_of(y: Any) -> NDArray[Any] | None:
    """Return y where it is one column of class labels, by which samples can be stratified."""
    known = None if y is None else targets.plain_values(y)
    return known if known is not None and known.ndim == 1 and targets.type_of(known) == targets.CLASSES else None


def with_shared_bandwidth(estimator: Any, model: Any) -> Any:
    """Return the estimator with the bandwidth of ``model``, its fit, where that is one of X alone, whatever the labels.

    So it is for a Gaussian ``InterpretableKDR`` that learns from labels. Others are returned as they are: a combination
    of kernels may be aligned with the labels, and steps of a pipeline may have chosen features by them.
    """
    supervised = isinstance(estimator, InterpretableKDR) and estimator.paradigm == "supervised"
    if not supervised or estimator.kernel not in ("gaussian", "rbf"):
        return estimator
    return clone(estimator).set_params(kernel=Gaussian(model.kernel_.sigma), kernel_params=None, sigma=None, gamma=None)


def with_target_of(estimator: Any, y: Any) -> Any:
    """Return a clone whose ``target``, where it is ``auto``, says what all of y is: a part need not look like it."""
    taken: dict[str, Any] = {}
    for name, part in {"": estimator, **{f"{name}__": part for name, part in estimator.get_params().items()}}.items():
        if isinstance(part, InterpretableKDRCV) and part.estimator is None:
            taken[f"{name}estimator"] = InterpretableKDR(target=_target_of(y, part))
        elif isinstance(target := getattr(part, "target", None), str) and target == targets.AUTO:
            taken[f"{name}target"] = _target_of(y, part)
    return clone(estimator).set_params(**taken)


def _target_of(y: Any, part: Any) -> str:
    """Return what an estimator has taken y for, or will; ``auto`` where y has no say in that."""
    paradigm = getattr(part, "paradigm", "supervised")
    if hasattr(part, "target_type_"):
        return str(part.target_type_)
    if "target_kernel" in (getattr(part, "paradigm_params", None) or ()) or paradigm in ("unsupervised", "alternative"):
        return targets.AUTO
    if paradigm == "semi_supervised":
        return targets.CONTINUOUS if targets.labels_with_unknown(y, targets.AUTO)[1] is None else targets.CLASSES
    return targets.CONTINUOUS if targets.is_continuous(targets.plain_values(y)) else targets.CLASSES


def in_order(calls: Iterable[Any], n_jobs: int | None, title: str, total: int) -> Iterator[Any]:
    """Yield the answers of joblib's delayed ``calls`` in their order; calls begin only when answers are asked for.

    Work of more than 10 s says under a ``title`` how many of ``total`` calls are answered.
    """
    waiting, cores, progress = iter(calls), effective_n_jobs(n_jobs), CountProgress(title, total)
    with Parallel(n_jobs=n_jobs) as parallel:
        while batch := list(islice(waiting, 1 if cores == 1 else _CALLS * cores)):
            for answer in parallel(batch):
                progress.count()
                yield answer


def embedded(model: Any, X: Any) -> FloatArray:
    """Return what a fitted estimator makes of its training samples, n x q: by ``transform``, or its ``embedding_``."""
    if not hasattr(model, "transform") and not hasattr(model, "embedding_"):
        raise InputError(f"{type(model).__name__} has neither transform nor embedding_: it learns no projection")
    values = model.transform(X) if hasattr(model, "transform") else model.embedding_
    return np.asarray(values, dtype=np.float64).reshape(len(values), -1)


def check_samples(X: Any, y: ArrayLike) -> None:
    """Raise ``InputError`` unless y holds one entry or row for each sample of X."""
    if y is None:
        raise InputError("y is None: labels or targets are needed, since what they say of X is resampled")
    known, n_samples = np.shape(y), np.shape(X)[0] if np.ndim(X) else 0
    if not known or known[0] != n_samples or n_samples < 2:
        raise InputError(f"X and y need the same number of samples, at least 2; got {n_samples} and {known}")
