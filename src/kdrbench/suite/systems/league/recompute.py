"""The scores of a league, computed again from raw data and the stored linear maps.

A fold is drawn and standardised here once more, its rows are projected by the map A (d x q), and judged: by nearest
neighbours, by logistic regression, and by the distance correlation R of test rows and labels,

    R^2 = V(a, b) / sqrt(V(a, a) V(b, b)),   V(a, b) = mean(a b) + mean(a) mean(b) - 2 mean(row means of a and of b),

with a the distances of projected test rows, and b = 1 where labels differ. A shift of all rows changes none of them.

A packed record stores maps with 16 significant bits: each entry is known to within u |A|, u = 2^-16, and each distance
to within about u of its size. So is R^2, and R to within u / R. Labels may change of rows near a boundary between
classes, and of those whose k-th and next neighbour are equally near.

Source: Szekely, Rizzo, Bakirov, Annals of Statistics 35, 2007, Eq. 2.8 and 2.18.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from kdrbench.datasets import Dataset
from kdrbench.errors import InputError
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.recomputed import NOT_STORED, Arrays, Number, Recomputed, Row
from kdrbench.suite.systems.ikdr.objectives import Array
from kdrbench.suite.systems.ikdr.recompute import RunSamples, fold_of, seed_from, standardised

_NEIGHBOURS, _MOST_STEPS = 5, 1000
# Rows of which distances are correlated.
_MOST_ROWS = 2000
# Of maps in double precision, and of rounded ones: squared correlations, equal distances, and rows near a boundary.
_SQUARES, _EQUAL, _ROWS, _SHARE = (1e-9, 2.0**-15), (1e-12, 2.0**-13), (0, 2), 1e-12
SCORES = ("knn_accuracy", "linear_accuracy", "distance_correlation")

Codes = NDArray[np.int64]


def recompute(batch: Batch, row: Row, arrays: Arrays, data: Dataset, most_samples: int) -> Recomputed:
    """Return the columns of a row that can be computed again: sizes, and the scores of a linear map.

    Folds of a league are small, whatever ``most_samples``. Raises ``InputError`` for an array that is no such map.
    """
    samples = samples_of(batch.definition, data, int(row["run"]), batch.seed)
    sizes = {
        "n_train": len(samples.train),
        "n_test": len(samples.test),
        "n_features": samples.train.shape[1],
        "n_classes": len(np.unique(data.labels[samples.train_rows])),
    }
    numbers = {name: Number(size) for name, size in sizes.items()}
    if row["linear"] != "True":
        reason = "scores of maps that are not linear, of which nothing is stored"
        return Recomputed(numbers, (), (reason if row["linear"] else "runs without a result",))
    most = int(row["n_components"])
    name = f"projection_{most}"
    if name in arrays.get(NOT_STORED, ()):
        return Recomputed(numbers, (), ("scores of maps that the record does not store",))
    if name in arrays:
        numbers |= scores_of(samples, data.labels, arrays[name], most)
    return Recomputed(numbers, SCORES)


def samples_of(definition: Mapping[str, Any], data: Dataset, run: int, seed: int) -> RunSamples:
    """Return the rows of run ``run``, as docs/league.md says: fold ``run % n_folds`` of a partition of some rows."""
    n_folds = int(definition["folds"])
    rows = _some_rows(data, int(definition["most_rows"]), n_folds, seed)
    partition = seed_from("league partition", data.name, run // n_folds, seed)
    train, test = fold_of(StratifiedKFold, data.labels[rows], n_folds, run % n_folds, partition)
    return standardised(data, rows[train], rows[test])


def _some_rows(data: Dataset, most: int, least: int, seed: int) -> NDArray[np.intp]:
    n = len(data.labels)
    if not most or most >= n:
        return np.arange(n)
    rng = np.random.default_rng(seed_from("league rows", data.name, most, seed))
    chosen = []
    for code in np.unique(data.labels):
        members = np.flatnonzero(data.labels == code)
        chosen.append(rng.permutation(members)[: max(least, round(most * len(members) / n))])
    return np.sort(np.concatenate(chosen))


def scores_of(samples: RunSamples, codes: Codes, projection: NDArray[Any], most: int) -> dict[str, Number]:
    """Return the scores of a linear map of at most ``most`` columns, and how many it has; ``codes`` are of all rows.

    Raises ``InputError`` for an array that is no such map.
    """
    n_features, is_rounded = samples.train.shape[1], projection.dtype == np.float32
    if projection.dtype.kind != "f" or projection.ndim != 2 or len(projection) != n_features:
        raise InputError(f"the map is {projection.dtype} {projection.shape}; it needs {n_features} rows")
    if not 0 < projection.shape[1] <= most or not np.isfinite(projection).all():
        raise InputError(f"the map of shape {projection.shape} is none of finite numbers to {most} columns at most")
    train, test = (rows @ projection.astype(float) for rows in (samples.train, samples.test))
    codes, right = codes[samples.train_rows], codes[samples.test_rows]
    k = min(_NEIGHBOURS, len(train) - 1)
    neighbours = KNeighborsClassifier(k).fit(train, codes)
    last, following = neighbours.kneighbors(test, k + 1)[0][:, k - 1 :].T
    n_equal = int((following - last <= _EQUAL[is_rounded] * following).sum())
    linear, n = _by_logistic_regression(train, codes, test), len(test)
    correlation = distance_correlation(test[:_MOST_ROWS], right[:_MOST_ROWS])
    return {
        "n_found": Number(projection.shape[1]),
        "knn_accuracy": Number(
            float(np.mean(neighbours.predict(test) == right)), _SHARE + (_ROWS[is_rounded] + n_equal) / n
        ),
        "linear_accuracy": Number(float(np.mean(linear == right)), _SHARE + _ROWS[is_rounded] / n),
        "distance_correlation": Number(correlation, _SQUARES[is_rounded] / max(correlation, 0.01)),
    }


def _by_logistic_regression(train: Array, codes: Codes, test: Array) -> Codes:
    scaler = StandardScaler().fit(train)
    model = LogisticRegression(max_iter=_MOST_STEPS).fit(scaler.transform(train), codes)
    return np.asarray(model.predict(scaler.transform(test)))


def distance_correlation(points: Array, codes: Codes) -> float:
    """Return the distance correlation of points and their classes."""
    apart, differs = cdist(points, points), np.asarray(codes[:, None] != codes, dtype=float)
    product = (_variation(apart, apart) * _variation(differs, differs)) ** 0.5
    return math.sqrt(_variation(apart, differs) / product) if product > 0 else 0.0


def _variation(first: Array, second: Array) -> float:
    """Return V(a, b) of two symmetric matrices of distances."""
    across = 2.0 * np.mean(first.mean(axis=0) * second.mean(axis=0))
    return max(0.0, float(np.mean(first * second) + first.mean() * second.mean() - across))
