"""The span of the features in which samples differ: F(W) depends on W only through its part in it.

For kernels of differences F is a function of X_c W, X_c the centred samples; for others of X W. With B (d x r) an
orthonormal basis of the row space, W = B V with V'V = I is searched. A constant column, the difference of two equal
columns or the sum of a one-hot group then have no weight: each W is the one of least norm among those of its X W.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from sys import getsizeof
from typing import Any, NamedTuple, cast

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from kdrbench.arrays import Device, contiguous, is_device_array, namespace_of, row_chunks
from kdrbench.kernels.family import FloatArray
from kdrbench.memory import check_memory
from kdrbench.paradigms import Learned
from kdrbench.samples import Cluster, Samples
from kdrbench.samples.passes import chunks
from kdrbench.solvers.geometry.stiefel import leading_eigenvectors, orthonormalised, outside, with_fixed_signs

# A direction whose share of the largest variance of scaled columns is below this is rounding.
_DEPENDENT = 1e-13
# Rounding of one column, in units of the precision of its largest entry.
_CONSTANT = 8.0
# Its standard deviation, in the same units.
_ROUNDING = 2.0
# Arrays as large as the matrix of second moments that a solve holds at once.
_SQUARES = 3
# Means beyond this many standard deviations cost kernels of differences digits.
_OFFSET = 100.0
# Samples at a time whose coordinates are made: their entries stay in a cache.
_ROWS = 256
# Up to this share of features that depend on others, their orthogonal complement is formed from the dependences.
_FEW = 0.25
# Entries that differ relatively by less than this are equal.
_TIE = 1e-6
# What orthonormal columns keep of their length in the span, at least, to be a start there.
_LEAST_PART = 1e-6


@dataclass(frozen=True, eq=False)
class FeatureSpan:
    """An r-dimensional span of d features: ``basis`` B is d x r, or ``None`` for all of them.

    ``mean`` is what is subtracted from samples first, if anything. ``constant`` are the places of features that do not
    vary (for kernels of dot products: that are zero). ``reflector`` is what B is made of where it is nearly as large as
    all features.
    """

    n_features: int
    constant: NDArray[np.intp]
    mean: FloatArray | None = None
    basis: FloatArray | None = None
    reflector: _Reflector | None = None

    @property
    def rank(self) -> int:
        """Its dimension r."""
        return self.n_features if self.basis is None else self.basis.shape[1]

    def lower(self, features: Any) -> Any:
        """Return B'(x - mean) for each sample, where the samples are; the features themselves where that is x."""
        if self.mean is None and self.basis is None:
            return features
        if isinstance(features, Samples):
            return _LoweredSamples(features, self)
        if is_device_array(features):
            return self._lowered(features)
        lowered = np.empty((len(features), self.rank), features.dtype)
        for rows in chunks(len(features), _ROWS):
            lowered[rows] = self._lowered(features[rows])
        return lowered

    def _lowered(self, features: Any) -> Any:
        device = Device.of(features)
        centred = features if self.mean is None else features - contiguous(device.up(self.mean), features.dtype)
        if self.reflector is not None:
            return self.reflector.applied(centred)
        if self.basis is None:
            return centred
        return contiguous(centred @ contiguous(device.up(self.basis), features.dtype), features.dtype)

    def restricted(self, projection: FloatArray, count: int) -> FloatArray:
        """Return ``count`` orthonormal columns of the span (r x count), those of d x q ``projection`` in it first.

        Columns that hardly reach into the span are replaced by its first axes.
        """
        if self.basis is None:
            return np.ascontiguousarray(projection[:, :count])
        inside = self.basis.T @ projection[:, :count]
        left, sizes, right = np.linalg.svd(inside, full_matrices=False)
        if sizes[-1] > _LEAST_PART:
            return np.ascontiguousarray(left @ right)
        kept = left[:, sizes > _LEAST_PART]
        others = _heaviest_on_first_axes(_complement(kept), count - kept.shape[1])
        return np.ascontiguousarray(np.hstack([kept, others]))

    def lift(self, projection: FloatArray, count: int) -> FloatArray:
        """Return W = B V for r x q ``projection`` V, with ``count`` >= q columns.

        Those beyond q are outside the span, where F does not depend on them, with most weight on the first axes.
        """
        if self.basis is None:
            return projection
        lifted = self.basis @ projection
        if count > projection.shape[1]:
            rest = _heaviest_on_first_axes(_complement(self.basis), count - projection.shape[1])
            lifted = np.hstack([lifted, rest])
        return np.ascontiguousarray(lifted)

    def lifted(self, learned: Learned, count: int) -> Learned:
        """Return what was learned with projections for all features; its problem stays that of the span."""
        if self.basis is None:
            return learned
        result = learned.result
        lowest = None if result.lowest is None else self.basis @ result.lowest
        result = replace(result, projection=self.lift(result.projection, count), lowest=lowest)
        return replace(learned, projection=self.lift(learned.projection, count), result=result)


class _Reflector(NamedTuple):
    """B, the columns at ``places`` of the block reflector I - 2 U (U'U)^-1 U', for U (d x k) with far fewer columns.

    ``left`` is U, and ``right`` (k x r) is 2 (U'U)^-1 times the transposed rows of U at ``places``.
    """

    places: NDArray[np.intp]
    left: FloatArray
    right: FloatArray

    def applied(self, features: Any) -> Any:
        """Return X B = X_places - (X U) ``right``."""
        device = Device.of(features)
        left, right = (contiguous(device.up(one), features.dtype) for one in (self.left, self.right))
        product = device.xp.take(features, device.up(self.places), axis=1)
        product -= (features @ left) @ right
        return contiguous(product, features.dtype)

    def basis(self) -> FloatArray:
        """Return B."""
        return cast(FloatArray, self.applied(np.eye(len(self.left))))


class _LoweredSamples(Samples):
    """B'(x - mean) of other samples, made when they are read."""

    def __init__(self, samples: Samples, span: FeatureSpan) -> None:
        self.shape, self.dtype = (samples.shape[0], span.rank), np.dtype(np.float64)
        self.in_order, self.labels = samples.in_order, samples.labels
        self._samples, self._span = samples, span

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + getsizeof(self._samples)

    def part(self, rows: slice) -> Samples:
        """Return some of the samples, numbered from 0."""
        return _LoweredSamples(self._samples.part(rows), self._span)

    def place(self, blocks: Sequence[slice], cluster: Cluster) -> list[Any]:
        """Return futures of blocks, which are lowered where they are."""
        return cluster.make(partial(_LoweredSamples, span=self._span), cluster.placed(self._samples, blocks))

    def rows(self, rows: slice) -> FloatArray:
        """Return some rows."""
        return np.ascontiguousarray(self._span.lower(self._samples.rows(rows)))


def precision_of(features: Any, dtype: Any) -> float:
    """Return the relative rounding of features, of which those in memory are converted from an array of ``dtype``."""
    if is_device_array(features):
        return float(namespace_of(features).finfo(features.dtype).eps)
    given = np.dtype(features.dtype if isinstance(features, Samples) else dtype)
    return float(np.finfo(given if given.kind == "f" else np.float64).eps)


def span_of(
    features: Any, *, of_differences: bool, precision: float, among: NDArray[np.intp] | None = None
) -> FeatureSpan:
    """Return the span of n x d features: of their differences where the kernel is one ``of_differences``.

    ``precision`` is the relative rounding of the features' type. All features are kept, as they are, where they are
    independent and their means do not exceed 100 standard deviations. Features of which none varies are kept as well.
    Two passes: columns are scaled to equal length, so that their units play no part. ``among``: the features that may
    have weight, instead of all.
    """
    n_samples, n_features = features.shape
    low, high, mean = _ranges(features)
    largest = np.maximum(np.abs(low), np.abs(high))
    varies = high - low > _CONSTANT * precision * largest if of_differences else largest > 0.0
    constant = np.flatnonzero(~varies)
    if not varies.any():
        return FeatureSpan(n_features, constant)
    if among is not None:
        varies &= np.isin(np.arange(n_features), among)
    mean = mean if of_differences else np.zeros(n_features)
    unit = np.where(varies, high - low if of_differences else largest, 1.0)
    values, vectors, lengths = _correlations(features, mean, unit, np.flatnonzero(varies))
    lengths *= unit[varies]
    deviations = lengths / np.sqrt(n_samples)
    # Rounding of the columns of a direction is as much of its variance.
    noise = (_ROUNDING * precision * largest[varies] / deviations) ** 2
    kept = values > np.maximum(_DEPENDENT * values.max(), vectors.T**2 @ noise)
    kept |= values == values.max()
    far = of_differences and bool((np.abs(mean[varies]) > _OFFSET * deviations).any())
    if kept.sum() == n_features:
        return FeatureSpan(n_features, constant, mean if far else None)
    centre = mean if of_differences else None
    places = np.flatnonzero(varies)
    n_dependent = len(places) - kept.sum()
    # With fewer samples than features not all dependences are known.
    if len(kept) == len(places) and n_dependent <= _FEW * len(places):
        reflector = _orthogonal_to(_null_space(vectors[:, ~kept], lengths), places, n_features)
        return FeatureSpan(n_features, constant, centre, reflector.basis(), reflector)
    basis = np.zeros((n_features, kept.sum()))
    basis[varies] = _row_space(vectors[:, kept], lengths)
    return FeatureSpan(n_features, constant, centre, basis)


def _row_space(vectors: FloatArray, lengths: FloatArray) -> FloatArray:
    """Return an orthonormal basis (d x r) of the row space of columns, given that of these scaled to length one."""
    basis = orthonormalised(lengths[:, None] / lengths.max() * vectors)
    return _heaviest_on_first_axes(basis, basis.shape[1])


def _null_space(vectors: FloatArray, lengths: FloatArray) -> FloatArray:
    """Return an orthonormal basis (d x k) of the null space of columns, given that of these scaled to length one."""
    if not vectors.size:
        # Older LAPACK refuses empty arrays.
        return vectors
    scaled = lengths.min() / lengths[:, None] * vectors
    # Rows in descending order and pivots keep the digits of rows that are small beside others.
    order = np.argsort(-np.abs(scaled).max(axis=1), kind="stable")
    basis = np.empty_like(scaled)
    basis[order] = scipy.linalg.qr(scaled[order], mode="economic", pivoting=True)[0]
    return np.asarray(basis)


def _orthogonal_to(null: FloatArray, places: NDArray[np.intp], n_features: int) -> _Reflector:
    """Return a basis of the features at ``places`` that is orthogonal to ``null`` (N), a function of N's span alone.

    The reflector moves the span of N to that of k axes, those where it is heaviest: with their rows N_1 = P S, P
    orthogonal and S positive, U is N with P added to these rows (Schreiber and Parlett, SIAM Journal on Numerical
    Analysis 25, 1988).
    """
    n_null = null.shape[1]
    # Of equal weights those on the first axes count as larger.
    preferred = null * (1.0 - _TIE * np.arange(len(null)) / len(null))[:, None]
    pivots = scipy.linalg.qr(preferred.T, mode="r", pivoting=True)[1] if n_null else np.arange(0)
    moved = np.sort(pivots[:n_null])
    first, _, second = np.linalg.svd(null[moved])
    left = np.zeros((n_features, n_null))
    left[places] = null
    left[places[moved]] += first @ second
    others = np.delete(places, moved)
    right = 2.0 * np.linalg.solve(left.T @ left, left[others].T)
    return _Reflector(others, left, np.asarray(right, dtype=float))


def _heaviest_on_first_axes(basis: FloatArray, count: int) -> FloatArray:
    """Return ``count`` orthonormal columns of the basis's span, with most weight on the first axes.

    They are leading eigenvectors of diag(1, 1/2, 1/3, ...) in it, with fixed signs: a function of the span alone.
    """
    weights = 1.0 / np.arange(1.0, len(basis) + 1)
    return with_fixed_signs(basis @ leading_eigenvectors(basis.T @ (weights[:, None] * basis), count)[1])


def _complement(basis: FloatArray) -> FloatArray:
    full = np.linalg.qr(basis, mode="complete")[0]
    return outside(basis, full[:, basis.shape[1] :])


def _blocks(features: Any) -> Iterator[Any]:
    if isinstance(features, Samples):
        yield from (values for _, values in features.blocks(slice(0, len(features))))
    else:
        wide = Device.of(features).wide
        yield from (wide(features[rows, :]) for rows in row_chunks(*features.shape))


def _ranges(features: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    parts = []
    for values in _blocks(features):
        xp = namespace_of(values)
        sums = (xp.min(values, axis=0), xp.max(values, axis=0), xp.sum(values / features.shape[0], axis=0))
        parts.append([_on_host(one) for one in sums])
    low, high, mean = (np.array(column) for column in zip(*parts, strict=True))
    return low.min(axis=0), high.max(axis=0), mean.sum(axis=0)


def _correlations(
    features: Any, mean: FloatArray, unit: FloatArray, places: NDArray[np.intp]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return eigenvalues and eigenvectors of Z'Z, Z the columns at ``places`` scaled to length one, and their lengths.

    Columns are first centred and divided by ``unit``, of which lengths are multiples. Where Z has no more rows than
    columns, the smaller ZZ' is decomposed, and directions without variance are left out.
    """
    n_samples, count = features.shape[0], len(places)
    if isinstance(features, Samples):
        way_out = "choose fewer features first, for instance by sklearn.feature_selection.SelectKBest"
        check_memory(_SQUARES * 8.0 * count * min(count, n_samples), f"a fit to {count} features that vary", way_out)
    scaled = (_scaled(values, mean, unit, places) for values in _blocks(features))
    if n_samples <= count:
        rows = np.concatenate([_on_host(values) for values in scaled])
        lengths = np.linalg.norm(rows, axis=0)
        rows /= lengths
        values, vectors = np.linalg.eigh(rows @ rows.T)
        apart = values > _DEPENDENT * values[-1]
        return values[apart], rows.T @ (vectors[:, apart] / np.sqrt(values[apart])), lengths
    moment = np.zeros((count, count))
    for values in scaled:
        moment += _on_host(values.T @ values)
    lengths = np.sqrt(np.diagonal(moment))
    values, vectors = np.linalg.eigh(moment / np.outer(lengths, lengths))
    return values, vectors, lengths


def _scaled(values: Any, mean: FloatArray, unit: FloatArray, places: NDArray[np.intp]) -> Any:
    device = Device.of(values)
    taken = values if len(places) == len(mean) else device.xp.take(values, device.up(places), axis=1)
    scaled = taken - device.up(mean[places])
    scaled /= device.up(unit[places])
    return scaled


def _on_host(array: Any) -> FloatArray:
    return Device.of(array).down(array)
