"""The scores of a league, computed again from raw data and the stored linear maps.

A fold is drawn and standardised here once more, its rows are projected by the map A (d x q), and judged: by nearest
neighbours, by logistic regression, and by the distance correlation R of test rows and labels,

    R^2 = V(a, b) / sqrt(V(a, a) V(b, b)),   V(a, b) = mean(a b) + mean(a) mean(b) - 2 mean(row means of a and of b),

with a the distances of projected test rows, and b = 1 where labels differ. A shift of all rows changes none of them.

A packed record stores maps with 16 significant bits: each entry is known to within u |A|, u = 2^-16. Roundings are
taken for independent, so that y_i - y_j = A'(x_i - x_j) is known to within

    s_ij = LAMBDA u / sqrt(3) (sum_k |A_k|^2 (x_ik - x_jk)^2)^1/2,   A_k the rows of A,

as :mod:`.pairs` has it of sums; the variance of an error that is spread evenly over [-h, h] is h^2 / 3. By it R^2
changes by at most |s| / |Ha H|, in Frobenius norms.

Source: Szekely, Rizzo, Bakirov, Annals of Statistics 35, 2007, Eq. 2.8 and 2.18.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.model_selection import StratifiedKFold

from kdrbench.datasets import Dataset
from kdrbench.errors import InputError
from kdrbench.suite.verification.classifiers import (
    Codes,
    Rows,
    by_logistic_regression,
    by_neighbours,
    in_doubt_by_logistic_regression,
    in_doubt_by_neighbours,
)
from kdrbench.suite.verification.members import Array, centred
from kdrbench.suite.verification.number import Number
from kdrbench.suite.verification.pairs import LAMBDA
from kdrbench.suite.verification.samples import seed_from, standardiser_of

# Half a unit of the last of 16 bits, as a share of the number.
_UNIT = 2.0**-16
_EPS = np.finfo(float).eps
# Maps that are rounded otherwise, to which logistic regression is fitted as well.
_DRAWS = 2
# Rows of which distances are correlated.
_MOST_ROWS = 2000
_SHARE, _CORRELATION = 1e-12, 1e-9
# The columns of which a stored map must be there.
SCORES = ("knn_accuracy", "linear_accuracy", "distance_correlation")


@dataclass(frozen=True)
class Fold:
    """Standardised rows to learn from and to test, with their classes."""

    train: Array
    train_codes: Codes
    test: Array
    test_codes: Codes

    def sizes(self) -> dict[str, Number]:
        """Return the columns that the fold decides."""
        n_train, n_features = self.train.shape
        sizes = {"n_train": n_train, "n_test": len(self.test), "n_features": n_features}
        return {name: Number(size, 0.0) for name, size in sizes.items()} | {
            "n_classes": Number(len(np.unique(self.train_codes)), 0.0)
        }


def fold_of(definition: Mapping[str, Any], data: Dataset, run: int, seed: int) -> Fold:
    """Return the rows of run ``run``, as docs/league.md says: fold ``run % n_folds`` of a partition of some rows."""
    n_folds, most = int(definition["folds"]), int(definition["most_rows"])
    rows = _some_rows(data, most, n_folds, seed)
    codes = data.labels[rows]
    partition = seed_from("league partition", data.name, run // n_folds, seed) % 2**32
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=partition).split(rows, codes)
    learns, tests = list(folds)[run % n_folds]
    features = data.features[rows]
    scaled = standardiser_of(features[learns])
    return Fold(scaled(features[learns]), codes[learns], scaled(features[tests]), codes[tests])


def _some_rows(data: Dataset, most: int, least: int, seed: int) -> NDArray[np.intp]:
    """Return about ``most`` rows, each class with its share and ``least`` at least; all where ``most`` is 0."""
    n = len(data.labels)
    if not most or most >= n:
        return np.arange(n)
    rng = np.random.default_rng(seed_from("league rows", data.name, most, seed))
    chosen = []
    for code in np.unique(data.labels):
        members = np.flatnonzero(data.labels == code)
        chosen.append(rng.permutation(members)[: max(least, round(most * len(members) / n))])
    return np.sort(np.concatenate(chosen))


def numbers_of(fold: Fold, row: Mapping[str, str], arrays: Mapping[str, NDArray[Any]]) -> dict[str, Number]:
    """Return the columns of a row that can be computed again: sizes, and the scores of a linear map.

    Raises ``InputError`` for an array that is no map, and where there is one of a map that is said not to be linear.
    """
    most = int(row["n_components"])
    projection = arrays.get(f"projection_{most}")
    if projection is None:
        return fold.sizes()
    if row["linear"] != "True":
        raise InputError("a matrix is stored of a map that is not linear")
    return fold.sizes() | scores_of(fold, projection, most)


def scores_of(fold: Fold, projection: NDArray[Any], most: int) -> dict[str, Number]:
    """Return the scores of a linear map of at most ``most`` columns, and how many it has.

    Raises ``InputError`` for an array that is no such map.
    """
    n_features = fold.train.shape[1]
    if projection.dtype.kind != "f" or projection.ndim != 2 or len(projection) != n_features:
        raise InputError(f"the map is {projection.dtype} {projection.shape}; it needs {n_features} rows")
    if not 0 < projection.shape[1] <= most or not np.isfinite(projection).all():
        raise InputError(f"the map of shape {projection.shape} is none of finite numbers to {most} columns at most")
    unit = _UNIT if projection.dtype == np.float32 else _EPS * n_features**0.5
    return _scores(fold, projection.astype(float), unit)


def _scores(fold: Fold, projection: Array, unit: float) -> dict[str, Number]:
    """Return the scores; by how much rounding changes them is computed where a recorded score is another."""
    rows = _projected(fold, projection)
    weights = LAMBDA / 3**0.5 * unit * np.linalg.norm(projection, axis=1)
    codes = fold.train_codes, fold.test_codes

    def slack(tested: Array, known: Array) -> Array:
        return np.asarray(cdist(tested * weights, known * weights))

    def moved() -> list[Rows]:
        rng = np.random.default_rng(0)
        rounded = [projection * (1.0 + unit * rng.uniform(-1.0, 1.0, projection.shape)) for _ in range(_DRAWS)]
        return [_projected(fold, one) for one in rounded]

    n = slice(_MOST_ROWS)
    return {
        "n_found": Number(projection.shape[1], 0.0),
        "knn_accuracy": Number(
            by_neighbours(rows, *codes),
            _SHARE,
            lambda: _SHARE + in_doubt_by_neighbours(rows, *codes, slack(fold.test, fold.train)),
        ),
        "linear_accuracy": Number(
            by_logistic_regression(rows, *codes),
            _SHARE,
            lambda: _SHARE + in_doubt_by_logistic_regression(rows, fold.train_codes, moved()),
        ),
        "distance_correlation": _correlation(rows[1][n], fold.test_codes[n], lambda: slack(fold.test[n], fold.test[n])),
    }


def _projected(fold: Fold, projection: Array) -> Rows:
    return fold.train @ projection, fold.test @ projection


def _correlation(points: Array, codes: Codes, slack: Callable[[], Array]) -> Number:
    """Return the distance correlation of points and their classes; distances are known to within ``slack``."""
    apart, differs = cdist(points, points), np.asarray(codes[:, None] != codes, dtype=float)
    product = (_variation(apart, apart) * _variation(differs, differs)) ** 0.5
    square = max(0.0, _variation(apart, differs)) / product if product > 0 else 0.0
    value, size = math.sqrt(square), float(np.linalg.norm(centred(apart)))

    def wider() -> float:
        change = float(np.linalg.norm(slack())) / size if size > 0 else 0.0
        low, high = math.sqrt(max(0.0, square - change)), math.sqrt(square + change)
        return _CORRELATION + max(value - low, high - value)

    return Number(value, _CORRELATION, wider)


def _variation(first: Array, second: Array) -> float:
    """Return V(a, b) of two symmetric matrices of distances."""
    across = 2.0 * np.mean(first.mean(axis=0) * second.mean(axis=0))
    return max(0.0, float(np.mean(first * second) + first.mean() * second.mean() - across))
