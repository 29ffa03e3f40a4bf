"""What methods of dimension reduction share: the response they learn from, how many components there are, their map."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svd
from sklearn.covariance import ledoit_wolf_shrinkage

from kdrbench.errors import InputError
from kdrbench.estimators.common import LabelledTransformer, LinearMap
from kdrbench.estimators.targets import (
    AUTO,
    CLASSES,
    CONTINUOUS,
    TARGETS,
    coded_classes,
    is_continuous,
    varying_targets,
)
from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning.learner import centred_features
from kdrbench.metric_learning.neighbours import IntArray
from kdrbench.parameters import COUNT, Either, Interval, OneOf, check_value, optional, whole

Components = Annotated[int | None, optional(COUNT)]
# Rounding of a column, in units of the precision of its largest entry.
_CONSTANT = 8.0
Target = Annotated[str, TARGETS]
Shrinkage = Annotated[Any, Either((OneOf(("auto",)), Interval(0.0, 1.0)), or_none=True)]


@dataclass(frozen=True, eq=False)
class Response:
    """What y says of n samples: class codes 0, 1, ..., or continuous values; ``classes`` holds the labels, if any."""

    values: NDArray[Any]
    classes: NDArray[Any] | None = None

    @property
    def n_classes(self) -> int:
        """The number of classes; 0 where y is continuous."""
        return 0 if self.classes is None else len(self.classes)

    def indicators(self) -> FloatArray:
        """Return the one-hot columns of the classes, n x k, or the values as one column."""
        if self.classes is None:
            return np.asarray(self.values[:, None], dtype=np.float64)
        return np.asarray(np.eye(self.n_classes)[self.values])

    def slices(self, n_slices: int) -> IntArray:
        """Return the slice of each sample, 0, 1, ...: its class, or one of ``n_slices`` equal parts of the values.

        Equal values are in one slice, so that the order of samples plays no part; there may be fewer slices then.
        """
        if self.classes is not None:
            return np.asarray(self.values)
        # The last sample of each slice but one, by whole numbers: quantiles would round.
        last = -(-len(self.values) * np.arange(1, n_slices) // n_slices) - 1
        values = np.unique(self.values)
        # Where most values are the largest one, it has a slice of its own all the same.
        edges = np.unique(np.minimum(np.sort(self.values)[last], values[-2]))
        return np.asarray(np.searchsorted(edges, self.values, side="left"), dtype=np.intp)


class Reducer(LabelledTransformer):
    """A supervised transformer to ``n_components`` columns; a subclass learns, and maps checked samples.

    ``target`` of those that learn from both, "auto", "classes" or "continuous", says what y is: by itself real numbers
    are continuous, and so are whole numbers of more than 20 values that are no codes 0, 1, ... or 1, 2, ...

    All have ``target_type_``, "classes" or "continuous", how y was taken, ``classes_`` (unless y was continuous), and
    ``n_features_in_`` and ``feature_names_in_`` as in scikit-learn.
    """

    _continuous: ClassVar[bool] = True
    # Squares of smaller differences lose their digits.
    _spread: ClassVar[tuple[float, float]] = (1e-137, np.inf)
    # Bytes for each pair of samples: a kernel matrix that is factored in place, and as much again while it is made.
    _bytes_of_pairs: ClassVar[float] = 0.0
    n_components: int | None

    def _needed(self, n_samples: int, n_features: int) -> float:
        return super()._needed(n_samples, n_features) + self._bytes_of_pairs * n_samples**2

    def _learn(self, features: FloatArray, labels: NDArray[np.generic]) -> None:
        self.__dict__.pop("classes_", None)
        target = getattr(self, "target", AUTO if self._continuous else CLASSES)
        self.target_type_ = CONTINUOUS if is_continuous(labels, target) else CLASSES
        if self.target_type_ == CONTINUOUS:
            response = Response(varying_targets(labels))
        else:
            self.classes_, codes = coded_classes(labels, "target='continuous'" if target != AUTO else "")
            response = Response(codes, self.classes_)
        n_features = features.shape[1]
        check_value("n_components", self.n_components, optional(whole(1, n_features, f"the {n_features} features")))
        count = self.n_components or min(max(1, response.n_classes - 1), n_features)
        centred = centred_features(features, squared=True)
        # Rounding leaves this much of the differences of equal rows.
        if np.abs(centred).max() <= 1e-14 * np.abs(features).max():
            raise InputError(f"all {len(features)} samples coincide; no component can separate them")
        self._reduce(features, centred, response, count)

    @abstractmethod
    def _reduce(self, features: FloatArray, centred: FloatArray, response: Response, n_components: int) -> None:
        """Set the fitted attributes from the features, the same less their means, and what is known of samples."""


class LinearReducer(LinearMap, Reducer):
    """A reducer with ``transform(X) = X @ components_.T``; a feature that does not vary has the weight 0."""

    def _reduce(self, features: FloatArray, centred: FloatArray, response: Response, n_components: int) -> None:
        varies = np.ptp(features, axis=0) > _CONSTANT * np.finfo(float).eps * np.abs(features).max(axis=0)
        rows = self._rows(centred if varies.all() else np.ascontiguousarray(centred[:, varies]), response, n_components)
        self.components_ = np.zeros((len(rows), len(varies)))
        # The method determines no signs: the largest entry of a row is positive.
        largest = rows[np.arange(len(rows)), np.abs(rows).argmax(axis=1)]
        self.components_[:, varies] = rows * np.where(largest < 0.0, -1.0, 1.0)[:, None]

    @abstractmethod
    def _rows(self, centred: FloatArray, response: Response, n_components: int) -> FloatArray:
        """Return at most ``n_components`` rows of the map, q x d, of the features that vary."""


def in_their_span(centred: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return centred samples (n x d) in coordinates of their own span, n x r, and its orthonormal axes, r x d.

    Distances and products are the same. By one singular value decomposition, O(n d min(n, d)).
    """
    left, singular, right = svd(centred, full_matrices=False, lapack_driver="gesdd")
    rank = numerical_rank(singular, max(centred.shape))
    return left[:, :rank] * singular[:rank], right[:rank]


def numerical_rank(singular: FloatArray, size: int) -> int:
    """Return how many singular values, largest first, are more than rounding in a matrix of this size; at least one."""
    return max(1, int(np.count_nonzero(singular > singular[0] * size * np.finfo(float).eps)))


def shrinkage_of(shrinkage: str | float | None, centred: FloatArray, *, forced: bool) -> float:
    """Return s: the number given; that of Ledoit and Wolf for ``auto``, and for ``None`` where it is ``forced``."""
    if shrinkage == "auto" or (shrinkage is None and forced):
        return float(ledoit_wolf_shrinkage(centred, assume_centered=True))
    return 0.0 if shrinkage is None else float(shrinkage)
