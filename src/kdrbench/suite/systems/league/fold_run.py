"""One outer fold as a run: a method learns from its training rows, and what it projects is judged.

The rows are standardised by those for training. A run leaves the d x q matrix of a linear method
(``projection_<q>``), which compares folds. A method may find fewer components than it is asked for, as discriminant
analysis of two classes does, never more.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid, StratifiedKFold

from kdrbench.datasets import Dataset
from kdrbench.datasets.dataset import Standardiser
from kdrbench.errors import InputError
from kdrbench.estimators.common import linear_map
from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning.neighbours import IntArray
from kdrbench.metric_learning.selection import Part
from kdrbench.reduction.methods import METHODS, ReducerEntry
from kdrbench.status import Status
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.referee import Referee, Seconds
from kdrbench.suite.engine.run import RunResult, failed
from kdrbench.suite.engine.seeds import rng_of, seed_of
from kdrbench.suite.systems.league.judges import judge, knn_accuracy, linear_accuracy
from kdrbench.suite.systems.league.system import INNER_FOLDS, TUNED


@dataclass(frozen=True, eq=False)
class Learned(Part):
    """Projected rows (n x q and m x q), and W (d x q) of a map x -> W'x + b that is not constant, else ``None``."""

    projection: FloatArray | None


def fold_of(features: FloatArray, codes: IntArray, number: int, n_folds: int, seed: int) -> Part:
    """Return fold ``number`` of a stratified partition that ``seed`` draws; n x d features, n class codes.

    Rows are standardised by the statistics of those to learn from.
    """
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed % 2**32)
    learns, tests = list(folds.split(features, codes))[number]
    scaling = Standardiser.fit(features[learns])
    train, test = scaling.transform(features[learns]), scaling.transform(features[tests])
    return Part(train, codes[learns], test, codes[tests])


def fewer_rows(codes: IntArray, most: int, least: int, rng: np.random.Generator) -> IntArray:
    """Return the places of about ``most`` rows, drawn so that each class keeps its share and ``least`` rows."""
    if most >= len(codes):
        return np.arange(len(codes))
    chosen = []
    for code in np.unique(codes):
        places = np.flatnonzero(codes == code)
        chosen.append(rng.permutation(places)[: max(least, round(most * len(places) / len(codes)))])
    return np.sort(np.concatenate(chosen))


def tune(entry: ReducerEntry, fold: Part, n_components: int, seed: int) -> dict[str, Any]:
    """Return the parameters of the grid that are best by inner cross validation; none where the defaults are.

    A candidate that fails on an inner fold loses; where all fail, the defaults are left to fail in the open.
    """
    if not entry.grid:
        return {}
    n_folds = max(2, min(INNER_FOLDS, int(np.unique(fold.train_codes, return_counts=True)[1].min())))
    with warnings.catch_warnings():
        # A class of a single row is in one inner fold alone.
        warnings.simplefilter("ignore", UserWarning)
        parts = [fold_of(fold.train, fold.train_codes, number, n_folds, seed) for number in range(n_folds)]
    best, chosen = -np.inf, {}
    for candidate in ({}, *ParameterGrid(entry.grid)):
        try:
            scores = []
            for part in parts:
                learned = learn(entry, part, n_components, seed, candidate)
                scores.append(0.5 * (knn_accuracy(learned) + linear_accuracy(learned)))
            score = float(np.mean(scores))
        except (ImportError, MemoryError):
            raise
        except Exception:
            score = -np.inf
        if score > best:
            best, chosen = score, dict(candidate)
    return chosen


def fitted(entry: ReducerEntry, fold: Part, n_components: int, seed: int, parameters: Mapping[str, Any]) -> Any:
    """Return the method, fitted to the training rows of a fold with ``parameters`` in place of its defaults."""
    model = entry.factory(n_components, seed % 2**31)
    model.set_params(**parameters)
    with warnings.catch_warnings():
        # Methods are judged by what they find, whatever they say of it.
        warnings.simplefilter("ignore")
        return model.fit(fold.train, fold.train_codes)


def projected(model: Any, fold: Part, n_components: int) -> Learned:
    """Return the rows of a fold as a fitted method projects them.

    Raises ``InputError`` where there are more columns than ``n_components``.
    """
    train, test = (np.asarray(model.transform(rows), dtype=float) for rows in (fold.train, fold.test))
    if train.ndim != 2 or not 1 <= train.shape[1] <= n_components:
        raise InputError(f"the method was asked for {n_components} components at most; it returned {train.shape}")
    projection = linear_map(model, fold.train)
    if projection is not None and (not np.isfinite(projection).all() or not np.linalg.matrix_rank(projection)):
        projection = None
    return Learned(train, fold.train_codes, test, fold.test_codes, projection)


def learn(
    entry: ReducerEntry, fold: Part, n_components: int, seed: int, parameters: Mapping[str, Any] | None = None
) -> Learned:
    """Fit a method to a fold and return what it projects the rows to."""
    return projected(fitted(entry, fold, n_components, seed, parameters or {}), fold, n_components)


def fold_of_run(batch: Batch, dataset: Dataset, number: int) -> Part:
    """Return fold ``number % folds`` of partition ``number // folds``, the same for all methods and rules."""
    codes, n_folds, most_rows = dataset.labels, batch.definition["folds"], batch.definition["most_rows"]
    rng = rng_of("league rows", batch.dataset, most_rows, batch.seed)
    rows = fewer_rows(codes, most_rows or len(codes), n_folds, rng)
    partition = seed_of("league partition", batch.dataset, number // n_folds, batch.seed)
    return fold_of(dataset.features[rows], codes[rows], number % n_folds, n_folds, partition)


def run_fold(batch: Batch, dataset: Dataset, number: int, referee: Referee) -> Iterator[RunResult]:
    """Yield the result for each number of components as it ends; what the method raises is its message."""
    fold, seed = fold_of_run(batch, dataset, number), seed_of("league method", number, batch.seed)
    for (count,) in batch.rows:
        try:
            yield _played(batch.definition, fold, int(count), seed, referee)
        except Exception as error:
            yield failed(error, (count,))


def _played(definition: Mapping[str, Any], fold: Part, count: int, seed: int, referee: Referee) -> RunResult:
    entry, chosen, tuning = METHODS[definition["method"]], dict[str, Any](), Seconds()
    if definition["rules"] == TUNED:
        chosen, tuning = referee.timed(partial(tune, entry, fold, count, seed))
    model, fitting = referee.timed(partial(fitted, entry, fold, count, seed, chosen))
    learned, total = projected(model, fold, count), tuning.plus(fitting)
    if learned.projection is not None:
        referee.save(f"projection_{count}", learned.projection)
    columns = {
        "tuning_wall_s": tuning.wall_s,
        "tuning_cpu_s": tuning.cpu_s,
        "chosen": json.dumps(chosen, default=str, sort_keys=True) if chosen else "",
        "n_found": learned.train.shape[1],
        "linear": learned.projection is not None,
        **judge(learned),
    }
    return RunResult(Status.CONVERGED, "", total.wall_s, total.cpu_s, columns, (count,))
