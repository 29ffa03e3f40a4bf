"""Learners of Mahalanobis distances by name, their contract, and what all of them need of their samples."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.kernels.neighbours import SquaredRows, row_blocks
from kdrbench.methods import build_method
from kdrbench.metric_learning.neighbours import IntArray, nearest_among


class Learner(Protocol):
    """Learns the map A (D x d) of the distance |A'x - A'y|, that is M = AA'; whatever does so can be kernelised."""

    def fit(self, features: FloatArray, labels: NDArray[np.generic]) -> FloatArray:
        """Return A for ``features`` (n x D) and their n class labels."""


# What a learner's class must have.
CONTRACT = ("fit",)
LEARNERS: Mapping[str, str] = {
    "nca": "kdrbench.metric_learning.descent:NCA",
    "lmnn": "kdrbench.metric_learning.descent:LMNN",
    "dne": "kdrbench.metric_learning.dne:DNE",
}


def build_learner(learner: object, options: Mapping[str, Any] | None = None) -> Learner:
    """Return the learner of a name with its options, or an object with ``fit`` as it is.

    A name may also be a file, ``module:Class`` or an entry point's name, for a learner of the user's own: a dataclass
    of its options.

    Raises ``InputError`` for an unknown name or option, an object without ``fit``, or options of an object.
    """
    if isinstance(learner, str):
        if not isinstance(options, Mapping | None):
            raise InputError(f"options of a learner must be None or a dict, got {options!r}")
        return cast("Learner", build_method("learner", {"method": learner, **(options or {})}, LEARNERS, CONTRACT))
    if isinstance(learner, type):
        name = learner.__name__
        raise InputError(f"a learner must be an object or a name, and {name} is a class; write {name}()")
    if not callable(getattr(learner, "fit", None)):
        raise InputError(f"a learner must be one of {', '.join(LEARNERS)} or an object with fit; got {learner!r}")
    if options:
        raise InputError("options belong to a learner's name; a learner object has its own")
    return cast("Learner", learner)


def learn_map(learner: Learner, features: FloatArray, labels: NDArray[np.generic]) -> FloatArray:
    """Return the learner's map; ``InputError`` unless it is a finite array of D rows."""
    learned = np.asarray(learner.fit(features, labels), dtype=np.float64)
    if learned.ndim != 2 or learned.shape[0] != features.shape[1] or learned.shape[1] < 1:
        raise InputError(
            f"fit of {type(learner).__name__} must return a map of shape ({features.shape[1]}, d), d >= 1; "
            f"it returned shape {learned.shape}"
        )
    if not np.isfinite(learned).all():
        raise InputError(f"fit of {type(learner).__name__} returned a map that is not finite; scale the features")
    return learned


def checked_classes(features: FloatArray, labels: NDArray[np.generic]) -> IntArray:
    """Return the class codes 0, 1, ... of the samples.

    Raises ``InputError`` for arrays of unequal length, values that are not finite, and fewer than two classes.
    """
    labels = np.asarray(labels)
    if features.ndim != 2 or labels.shape != (len(features),):
        raise InputError(
            f"expected features of shape (n, D) and n labels; got shapes {features.shape} and {labels.shape}"
        )
    if not np.isfinite(features).all():
        count = int((~np.isfinite(features)).sum())
        raise InputError(f"features hold {count} NaN or infinite values; remove or impute them")
    return class_codes(labels)


def class_codes(labels: NDArray[np.generic]) -> IntArray:
    """Return codes 0, 1, ... of the labels in sorted order; ``InputError`` with fewer than two classes."""
    names, codes = np.unique(labels, return_inverse=True)
    if len(names) < 2:
        raise InputError(f"a metric is learned from at least 2 classes; got {len(names)}: {names.tolist()}")
    return np.asarray(codes, dtype=np.intp)


def target_neighbours(squared: SquaredRows, codes: IntArray, n_neighbours: int) -> list[IntArray]:
    """Return for each sample its nearest others of the same class.

    A class with no more than ``n_neighbours`` samples gives those there are: rare classes are no reason to refuse the
    others, and a sample alone in its class has no target.

    Raises ``InputError`` when no class has two samples.
    """
    check_targets(codes)
    found: list[IntArray] = []
    for rows in row_blocks(len(codes)):
        found += nearest_among(squared(rows), others_of_class(codes, rows), n_neighbours)
    return found


def check_targets(codes: IntArray) -> None:
    """Raise ``InputError`` when no class has two samples."""
    if len(np.unique(codes)) == len(codes):
        raise InputError(f"no class has 2 samples among these {len(codes)}, so no sample has a target neighbour")


def others_of_class(codes: IntArray, rows: slice) -> NDArray[np.bool_]:
    """Return for some samples which of all n are others of the same class, (rows) x n."""
    same: NDArray[np.bool_] = codes[rows, None] == codes
    same[np.arange(len(same)), np.arange(rows.start, rows.stop)] = False
    return same


def centred_features(features: FloatArray, *, squared: bool = False) -> FloatArray:
    """Return the features less their means.

    Raises ``InputError`` when that overflows, or where it is to be ``squared``, when squared distances would.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        centred: FloatArray = features - features.mean(axis=0)
        largest = float(np.abs(centred).max(initial=0.0))
        # The square of a distance is at most that of the difference 2 |x| in each of the features.
        reach = 4.0 * features.shape[1] * len(features) * largest * largest if squared else largest
    if not math.isfinite(reach):
        what = "their squared distances" if squared else "their differences"
        raise InputError(
            f"features reach {float(np.abs(features).max()):.3g}, so {what} overflow; scale them, for instance with "
            "sklearn.preprocessing.StandardScaler"
        )
    return centred


def laplacian(weights: FloatArray) -> FloatArray:
    """Return S with X'SX = sum_ij w_ij (x_i - x_j)(x_i - x_j)' for any ``weights`` w (n x n)."""
    both = weights + weights.T
    result: FloatArray = -both
    result[np.diag_indices(len(both))] += both.sum(axis=1)
    return result
