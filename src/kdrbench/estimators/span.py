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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdrbench.arrays import Device, contiguous, is_device_array, namespace_of, row_chunks
from kdrbench.kernels.family import FloatArray
from kdrbench.memory import check_memory
from kdrbench.paradigms import Learned
from kdrbench.samples import Cluster, Samples
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
# What orthonormal columns keep of their length in the span, at least, to be a start there.
_LEAST_PART = 1e-6


@dataclass(frozen=True, eq=False)
class FeatureSpan:
    """An r-dimensional span of d features: ``basis`` B is d x r, or ``None`` for all of them.

    ``mean`` is what is subtracted from samples first, if anything. ``constant`` are the places of features that do not
    vary (for kernels of dot products: that are zero).
    """

    n_features: int
    constant: NDArray[np.intp]
    mean: FloatArray | None = None
    basis: FloatArray | None = None

    @property
    def rank(self) -> int:
        """Its dimension r."""
        return self.n_features if self.basis is None else self.basis.shape[1]

    def lower(self, features: Any) -> Any:
        """Return B'(x - mean) for each sample, where the samples are; the features themselves where that is x."""
        if self.mean is None and self.basis is None:
            return features
        mean = np.zeros(self.n_features) if self.mean is None else self.mean
        if isinstance(features, Samples):
            return _LoweredSamples(features, mean, np.eye(self.n_features) if self.basis is None else self.basis)
        device = Device.of(features)
        centred = features if self.mean is None else features - contiguous(device.up(mean), features.dtype)
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


class _LoweredSamples(Samples):
    """B'(x - mean) of other samples, made when they are read; ``basis`` B is d x r."""

    def __init__(self, samples: Samples, mean: FloatArray, basis: FloatArray) -> None:
        self.shape, self.dtype = (samples.shape[0], basis.shape[1]), np.dtype(np.float64)
        self.in_order, self.labels = samples.in_order, samples.labels
        self._samples, self._mean, self._basis = samples, mean, basis

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + getsizeof(self._samples)

    def part(self, rows: slice) -> Samples:
        """Return some of the samples, numbered from 0."""
        return _LoweredSamples(self._samples.part(rows), self._mean, self._basis)

    def place(self, blocks: Sequence[slice], cluster: Cluster) -> list[Any]:
        """Return futures of blocks, which are lowered where they are."""
        lowered = partial(_LoweredSamples, mean=self._mean, basis=self._basis)
        return cluster.make(lowered, cluster.placed(self._samples, blocks))

    def rows(self, rows: slice) -> FloatArray:
        """Return some rows."""
        return np.ascontiguousarray((self._samples.rows(rows) - self._mean) @ self._basis)


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
    basis = _row_space(vectors[:, kept | (values == values.max())], lengths)
    far = of_differences and bool((np.abs(mean[varies]) > _OFFSET * deviations).any())
    if len(basis) == basis.shape[1] == n_features:
        return FeatureSpan(n_features, constant, mean if far else None)
    lifted = np.zeros((n_features, basis.shape[1]))
    lifted[varies] = basis
    return FeatureSpan(n_features, constant, mean if of_differences else None, lifted)


def _row_space(vectors: FloatArray, lengths: FloatArray) -> FloatArray:
    """Return an orthonormal basis (d x r) of the row space of columns, given that of these scaled to length one."""
    if vectors.shape[1] == len(vectors):
        return np.eye(len(vectors))
    basis = orthonormalised(lengths[:, None] / lengths.max() * vectors)
    return _heaviest_on_first_axes(basis, basis.shape[1])


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

    Columns are first centred and divided by ``unit``, of which lengths are multiples. Eigenvalues are those of Z where
    it has no more rows than columns: Z'Z would be larger.
    """
    n_samples, count = features.shape[0], len(places)
    if isinstance(features, Samples):
        way_out = "choose fewer features first, for instance by sklearn.feature_selection.SelectKBest"
        check_memory(_SQUARES * 8.0 * count * min(count, n_samples), f"a fit to {count} features that vary", way_out)
    scaled = (_scaled(values, mean, unit, places) for values in _blocks(features))
    if n_samples <= count:
        rows = np.concatenate([_on_host(values) for values in scaled])
        lengths = np.linalg.norm(rows, axis=0)
        _, sizes, right = np.linalg.svd(rows / lengths, full_matrices=False)
        return sizes**2, right.T, lengths
    moment = np.zeros((count, count))
    for values in scaled:
        moment += _on_host(values.T @ values)
    lengths = np.sqrt(np.diagonal(moment))
    values, vectors = np.linalg.eigh(moment / np.outer(lengths, lengths))
    return values, vectors, lengths


def _scaled(values: Any, mean: FloatArray, unit: FloatArray, places: NDArray[np.intp]) -> Any:
    device = Device.of(values)
    return (device.xp.take(values, device.up(places), axis=1) - device.up(mean[places])) / device.up(unit[places])


def _on_host(array: Any) -> FloatArray:
    return Device.of(array).down(array)
