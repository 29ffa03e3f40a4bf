"""How a method plays: stratified folds, standardised by their training rows, and parameters by the :mod:`.rules`.

A method may find fewer components than it is asked for, as discriminant analysis of two classes does, never more.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid, StratifiedKFold

from kdrbench.datasets.dataset import Standardiser
from kdrbench.errors import InputError, error_text
from kdrbench.estimators.common import linear_map
from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning.neighbours import IntArray
from kdrbench.reduction.methods import METHODS, ReducerEntry
from kdrbench.suite.systems.league.judges import judge, knn_accuracy, linear_accuracy
from kdrbench.suite.systems.league.rules import FIXED, INNER_FOLDS, RULES, TUNED


@dataclass(frozen=True)
class Fold:
    """Rows to learn from and to test, standardised by the statistics of those to learn from."""

    train: FloatArray
    train_codes: IntArray
    test: FloatArray
    test_codes: IntArray


@dataclass(frozen=True, eq=False)
class Learned:
    """Projected rows (n x q and m x q), and the d x q matrix of a linear method, else ``None``."""

    train: FloatArray
    test: FloatArray
    projection: FloatArray | None


def fold_of(features: FloatArray, codes: IntArray, number: int, n_folds: int, seed: int) -> Fold:
    """Return fold ``number`` of a stratified partition that ``seed`` draws; n x d features, n class codes."""
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed % 2**32)
    learns, tests = list(folds.split(features, codes))[number]
    scaling = Standardiser.fit(features[learns])
    train, test = scaling.transform(features[learns]), scaling.transform(features[tests])
    return Fold(train, codes[learns], test, codes[tests])


def fewer_rows(codes: IntArray, most: int, least: int, rng: np.random.Generator) -> IntArray:
    """Return the places of about ``most`` rows, drawn so that each class keeps its share and ``least`` rows."""
    if most >= len(codes):
        return np.arange(len(codes))
    chosen = []
    for code in np.unique(codes):
        places = np.flatnonzero(codes == code)
        chosen.append(rng.permutation(places)[: max(least, round(most * len(places) / len(codes)))])
    return np.sort(np.concatenate(chosen))


def tune(entry: ReducerEntry, fold: Fold, n_components: int, seed: int) -> dict[str, Any]:
    """Return the parameters of the grid that are best by inner cross validation; none where the defaults are.

    A candidate that fails on an inner fold loses; where all fail, the defaults are left to fail in the open.
    """
    if not entry.grid:
        return {}
    best, chosen, parts = -np.inf, {}, list(_inner_folds(fold, seed))
    for candidate in ({}, *ParameterGrid(entry.grid)):
        score = _inner_score(entry, parts, n_components, seed, candidate)
        if score > best:
            best, chosen = score, dict(candidate)
    return chosen


def _inner_score(
    entry: ReducerEntry, parts: Sequence[Fold], n_components: int, seed: int, candidate: Mapping[str, Any]
) -> float:
    scores = []
    for part in parts:
        try:
            learned = learn(entry, part, n_components, seed, candidate)
            rows = learned.train, part.train_codes, learned.test, part.test_codes
            scores.append(0.5 * (knn_accuracy(*rows) + linear_accuracy(*rows)))
        except (ImportError, MemoryError):
            raise
        except Exception:
            return -np.inf
    return float(np.mean(scores))


def _inner_folds(fold: Fold, seed: int) -> Iterator[Fold]:
    n_folds = min(INNER_FOLDS, int(np.bincount(fold.train_codes)[np.unique(fold.train_codes)].min()))
    for number in range(max(2, n_folds)):
        with warnings.catch_warnings():
            # A class of a single row is in one inner fold alone.
            warnings.simplefilter("ignore", UserWarning)
            yield fold_of(fold.train, fold.train_codes, number, max(2, n_folds), seed)


def fitted(entry: ReducerEntry, fold: Fold, n_components: int, seed: int, parameters: Mapping[str, Any]) -> Any:
    """Return the method, fitted to the training rows of a fold with ``parameters`` in place of its defaults."""
    model = entry.factory(n_components, seed % 2**31)
    model.set_params(**parameters)
    with warnings.catch_warnings():
        # Methods are judged by what they find, whatever they say of it.
        warnings.simplefilter("ignore")
        return model.fit(fold.train, fold.train_codes)


def projected(model: Any, fold: Fold, n_components: int) -> Learned:
    """Return the rows of a fold as a fitted method projects them.

    Raises ``InputError`` where there are more columns than ``n_components``.
    """
    train, test = (np.asarray(model.transform(rows), dtype=float) for rows in (fold.train, fold.test))
    if train.ndim != 2 or not 1 <= train.shape[1] <= n_components:
        raise InputError(f"the method was asked for {n_components} components at most; it returned {train.shape}")
    return Learned(train, test, projection_of(model, fold.train))


def learn(
    entry: ReducerEntry, fold: Fold, n_components: int, seed: int, parameters: Mapping[str, Any] | None = None
) -> Learned:
    """Fit a method to a fold and return what it projects the rows to."""
    return projected(fitted(entry, fold, n_components, seed, parameters or {}), fold, n_components)


def projection_of(model: Any, features: FloatArray) -> FloatArray | None:
    """Return W (d x q) of a map x -> W'x + b that is not constant; ``None`` for another map."""
    projection = linear_map(model, features)
    if projection is None or not np.isfinite(projection).all() or not np.linalg.matrix_rank(projection):
        return None
    return projection


def play(
    data: Mapping[str, tuple[FloatArray, IntArray]],
    methods: Sequence[str] | None = None,
    *,
    n_components: Sequence[int] = (1, 2, 4),
    rules: str = FIXED,
    n_folds: int = 5,
    n_repeats: int = 2,
    random_state: int = 0,
) -> list[dict[str, Any]]:
    """Return a row for each data set, method, fold and number of components smaller than that of the features.

    Parameters
    ----------
    data : mapping of str to (X, y)
        Features n x d and class codes 0, 1, ... by the name of the data set.
    methods : sequence of str or None
        Names of :data:`kdrbench.reduction.methods.METHODS`; all of them where nothing is said.
    n_components : sequence of int
        Numbers q of components.
    rules : {"fixed", "tuned"}
        Whether parameters are the defaults or tuned.
    n_folds, n_repeats : int
        Outer folds, and how often they are drawn.
    random_state : int
        Decides folds and whatever the methods draw.

    Returns
    -------
    list of dict
        Columns ``dataset``, ``method``, ``n_components``, ``run`` (repeat times folds plus fold), ``status``
        ("converged" or "failed"), ``message``, ``time_s`` (tuning and fit), ``chosen``, ``n_train``, ``n_test``, and
        the scores of :class:`.Judgement`, which are missing where the method failed.

    Raises
    ------
    InputError
        For unknown rules or methods.
    """
    if rules not in RULES:
        raise InputError(f"rules must be one of {', '.join(RULES)}; got {rules!r}")
    names = list(METHODS if methods is None else methods)
    if unknown := [name for name in names if name not in METHODS]:
        raise InputError(f"unknown method {unknown[0]!r}; there are {', '.join(METHODS)}")
    rows = []
    for dataset, (features, codes) in data.items():
        for run in range(n_folds * n_repeats):
            fold = fold_of(features, codes, run % n_folds, n_folds, random_state + run // n_folds)
            for count in (one for one in n_components if one < features.shape[1]):
                axes: dict[str, Any] = {"dataset": dataset, "run": run, "n_components": count}
                axes |= {"n_train": len(fold.train), "n_test": len(fold.test)}
                rows += [{**axes, **_played(name, fold, count, rules, random_state + run)} for name in names]
    return rows


def _played(name: str, fold: Fold, n_components: int, rules: str, seed: int) -> dict[str, Any]:
    entry, began = METHODS[name], time.perf_counter()
    try:
        chosen = tune(entry, fold, n_components, seed) if rules == TUNED else {}
        model = fitted(entry, fold, n_components, seed, chosen)
        seconds = time.perf_counter() - began
        learned = projected(model, fold, n_components)
        scores = judge(learned.train, fold.train_codes, learned.test, fold.test_codes).columns()
    except Exception as error:
        return {"method": name, "status": "failed", "message": error_text(error)}
    ended = {"status": "converged", "message": "", "time_s": seconds, "chosen": json.dumps(chosen, default=str)}
    return {"method": name, **ended, **scores}
