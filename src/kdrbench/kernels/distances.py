"""Squared distances between samples, block by block, with a bound of their rounding errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray

# Enough rows for a centre that a few samples far away do not move.
_CENTRE_ROWS = 1001
# Values that stay in the second-level cache.
_CHUNK_VALUES = 1 << 17
# Beyond, a power of two has no inverse.
_EXPONENT = 1000


def check_finite(distance: float) -> None:
    """Raise ``InputError`` for a distance that is infinite or no number."""
    if not np.isfinite(distance):
        raise InputError("distances of these samples are not finite, for their squares overflow; scale the features")


class CentredSamples:
    """The rows of X (n x d), centred and in a unit whose squares neither overflow nor vanish, ordered by length.

    The centre is a median of each column and the order ascending, so that the few samples far away share few blocks and
    do not round the distances of all others. The unit is a power of two, which rounds nothing. Rows are made when asked
    for: X is never copied as a whole. ``radii`` holds the n lengths, in their order.
    """

    def __init__(self, features: FloatArray) -> None:
        self.n_samples, self.n_features = features.shape
        self._features, self._order = features, np.arange(self.n_samples)
        rows = np.random.default_rng(0).choice(self.n_samples, min(self.n_samples, _CENTRE_ROWS), replace=False)
        # An entry of each column and not a mean of two, which might overflow.
        self._centre = np.sort(features[rows].astype(np.float64), axis=0)[len(rows) // 2]
        self.unit = 1.0
        every = slice(0, self.n_samples)
        peak = max(float(np.abs(self.rows(chunk)).max()) for chunk in self.chunks(every))
        check_finite(peak)
        self.unit = float(np.ldexp(1.0, np.clip(np.frexp(peak)[1], -_EXPONENT, _EXPONENT)))
        radii = np.concatenate([np.linalg.norm(self.rows(chunk), axis=1) for chunk in self.chunks(every)])
        self._order = np.argsort(radii, kind="stable")
        self.radii: FloatArray = radii[self._order]

    def rows(self, places: slice | NDArray[np.intp], *, centred: bool = True) -> FloatArray:
        """Return the rows at these places of the order, in units of ``unit``."""
        # Fancy indexing makes a copy.
        rows: FloatArray = self._features[self._order[places]].astype(np.float64, copy=False)
        if centred:
            with np.errstate(over="ignore", invalid="ignore"):
                rows -= self._centre
        if self.unit != 1.0:
            rows *= 1.0 / self.unit
        return rows

    def squared_distances(self, left: NDArray[np.intp], right: NDArray[np.intp]) -> FloatArray:
        """Return the squared distances of the pairs of places (left_k, right_k) from differences, in unit^2."""
        squares: FloatArray = np.empty(len(left))
        for pairs in self.chunks(slice(0, len(left))):
            # Not of centred rows, which are rounded.
            differences = self.rows(left[pairs], centred=False) - self.rows(right[pairs], centred=False)
            squares[pairs] = np.einsum("ij,ij->i", differences, differences)
        return squares

    def chunks(self, places: slice) -> Iterator[slice]:
        """Yield parts of these places whose rows are quick to make."""
        step = max(1, _CHUNK_VALUES // self.n_features)
        for begin in range(places.start, places.stop, step):
            yield slice(begin, min(begin + step, places.stop))


class Distances(Protocol):
    """How the squared distances between two blocks of samples are computed."""

    @property
    def dtype(self) -> Any:
        """Their precision."""
        ...

    def left(self, samples: CentredSamples, places: slice) -> FloatArray:
        """Return the rows of a block in the form that ``squares`` takes."""
        ...

    def right(self, samples: CentredSamples, places: slice) -> FloatArray:
        """Return the columns of a block in the form that ``squares`` takes."""
        ...

    def squares(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Return the squared distances of all rows to all columns."""
        ...

    def error(self, n_features: int, reach: float) -> float:
        """Return a bound of the absolute error where the lengths of two samples add to ``reach`` at most."""
        ...

    def relative_error(self, n_features: int) -> float:
        """Return a bound of the error beside that, as a share of the computed value."""
        ...


@dataclass(frozen=True)
class Products:
    """|x|^2 + |y|^2 - 2 x'y as one product of matrices with d + 2 columns: fast, and exact to eps (|x| + |y|)^2.

    With u the unit roundoff of ``dtype`` and that of float64 beside it, eps = (d + 8) u / (1 - (d + 8) u) + (d + 6)
    u64: a sum of d + 2 products in any order, the entries and |x|^2 rounded before (Higham, "Accuracy and Stability of
    Numerical Algorithms", 2002, section 3.1). What underflows adds a few of the least normal numbers.
    """

    dtype: Any

    def left(self, samples: CentredSamples, places: slice) -> FloatArray:
        """Return (-2 x, |x|^2, 1)."""
        left, squares = self._scaled(samples, places, -2.0)
        left[:, -2], left[:, -1] = squares, 1.0
        return left

    def right(self, samples: CentredSamples, places: slice) -> FloatArray:
        """Return (y, 1, |y|^2)."""
        right, squares = self._scaled(samples, places, 1.0)
        right[:, -2], right[:, -1] = 1.0, squares
        return right

    def squares(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Return the product; rounding may leave distances of coinciding samples a little below zero."""
        product: FloatArray = left @ right.T
        return product

    def error(self, n_features: int, reach: float) -> float:
        """Return eps reach^2, infinite where it has no digit."""
        limits = np.finfo(self.dtype)
        rounding = (n_features + 8) * 0.5 * float(limits.eps)
        if rounding >= 0.5:
            return np.inf
        relative = rounding / (1 - rounding) + (n_features + 6) * 0.5 * float(np.finfo(np.float64).eps)
        return relative * reach**2 + 4 * (n_features + 2) * float(limits.tiny)

    def relative_error(self, n_features: int) -> float:
        """Return 0: all of it depends on the lengths."""
        return 0.0

    def _scaled(self, samples: CentredSamples, places: slice, factor: float) -> tuple[FloatArray, FloatArray]:
        """Return ``factor`` times the samples, with two columns to fill, and their squared lengths."""
        scaled = np.empty((places.stop - places.start, samples.n_features + 2), dtype=self.dtype)
        for chunk in samples.chunks(places):
            np.multiply(
                samples.rows(chunk),
                factor,
                out=scaled[chunk.start - places.start : chunk.stop - places.start, :-2],
                casting="same_kind",
            )
        return scaled, samples.radii[places] ** 2


@dataclass(frozen=True)
class Differences:
    """sum_k (x_k - y_k)^2: some ten times slower than products, with a small relative error however far x is from 0."""

    dtype: Any = np.float64

    def left(self, samples: CentredSamples, places: slice) -> FloatArray:
        """Return the samples, not centred, which would round them."""
        return samples.rows(places, centred=False)

    right = left

    def squares(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Return the sums."""
        from scipy.spatial.distance import cdist

        squares: FloatArray = cdist(left, right, "sqeuclidean")
        return squares

    def error(self, n_features: int, reach: float) -> float:
        """Return 0: squares that underflow are taken for zero."""
        return 0.0

    def relative_error(self, n_features: int) -> float:
        """Return the rounding error of the differences, their squares and the sum."""
        return (n_features + 8) * float(np.finfo(np.float64).eps)
