"""Samples that a pass reads a few rows at a time: in memory, in a file, in a Zarr or Dask array, or as chunks."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import partial
from sys import getsizeof
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kdrbench.arrays import Device, HostRows, row_products
from kdrbench.errors import InputError
from kdrbench.samples.passes import Sums, ThreadEngine, parts_of

FloatArray = NDArray[np.float64]
# Entries that are read at once, 8 MiB in double precision, and what the number of their rows is a multiple of.
_READ_ENTRIES, _ROWS = 2**20, 2048


class Cluster(Protocol):
    """Workers that hold values; each method returns futures."""

    def placed(self, samples: Samples, blocks: Sequence[slice]) -> list[Any]:
        """Place blocks of samples, once."""

    def hold(self, values: Sequence[Any]) -> list[Any]:
        """Send values to the workers."""

    def make(self, function: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        """Call the function with values or the values of futures."""

    def compute(self, collections: Sequence[Any]) -> list[Any]:
        """Compute Dask collections."""


class Samples(ABC):
    """An n x d table of numbers; ``shape`` is (n, d), ``dtype`` the type it is kept in.

    A pickle holds where the numbers are and not the numbers, unless they are in memory only.
    """

    shape: tuple[int, int]
    dtype: np.dtype
    # Whether rows come fastest, or at all, from the first to the last: a pass is then left to one thread.
    in_order = False
    # Where rows are when they are read.
    device = Device(np, None)
    # Labels that came with the samples.
    labels: NDArray[np.generic] | None = None

    def __len__(self) -> int:
        return self.shape[0]

    @abstractmethod
    def rows(self, rows: slice) -> FloatArray:
        """Return rows start to stop in double precision; they must not be written to.

        Raises ``InputError`` where the source no longer has them.
        """

    def blocks(self, rows: slice) -> Iterator[tuple[slice, FloatArray]]:
        """Yield some rows in blocks of a few MiB, whose number of rows but the last one's is a multiple of 2048."""
        step = max(1, _READ_ENTRIES // self.shape[1] // _ROWS) * _ROWS
        for begin in range(rows.start, rows.stop, step):
            block = slice(begin, min(begin + step, rows.stop))
            yield block, self.rows(block)

    def part(self, rows: slice) -> Samples:
        """Return some of the samples, numbered from 0."""
        return _Part(self, rows)

    def place(self, blocks: Sequence[slice], cluster: Cluster) -> list[Any]:
        """Return futures of blocks of samples on the workers of a cluster.

        Here workers are sent where the numbers are, and read them with each pass.
        """
        return cluster.make(copy, [self.part(block) for block in blocks])

    def check_finite(self) -> None:
        """Raise ``InputError`` that says where the first NaN or infinite value is, if there is one."""
        count, first = 0, (0, 0)
        for rows, values in self.blocks(slice(0, len(self))):
            # The sum is not finite if an entry is not: mostly, no flags are made.
            with np.errstate(over="ignore", invalid="ignore"):
                if np.isfinite(values.sum()):
                    continue
            bad = np.argwhere(~np.isfinite(values))
            if len(bad) and not count:
                first = rows.start + int(bad[0, 0]), int(bad[0, 1])
            count += len(bad)
        if count:
            raise InputError(
                f"features hold {count} NaN or infinite values, the first at row {first[0]}, column {first[1]}; "
                "remove or impute them"
            )

    def scaled(self, mean: FloatArray, scale: FloatArray) -> ScaledSamples:
        """Return (x - mean) / scale, made when it is read; for instance by ``mean_`` and ``scale_`` of a scaler."""
        return ScaledSamples(self, mean, scale)

    def standardised(self) -> ScaledSamples:
        """Return the samples with mean 0 and variance 1, from two passes; features that do not vary are centred."""
        parts, mean, scale = parts_of(len(self)), np.zeros(self.shape[1]), np.ones(self.shape[1])
        for power in (1, 2):
            (total,) = ThreadEngine().run(self, parts, partial(power_sums, mean=mean, power=power))
            moment = total / len(self)
            if power == 1:
                mean = moment
            else:
                # As scikit-learn: below this, the variance is rounding.
                unit = np.finfo(np.float64).eps
                rounding = len(self) * unit * moment + (len(self) * mean * unit) ** 2
                scale = np.sqrt(np.where(moment > rounding, moment, 1.0))
        return ScaledSamples(self, mean, scale)

    def checksum(self) -> int:
        """Return a number that changes when an entry does, from one pass."""
        found = 0
        for _, values in self.blocks(slice(0, len(self))):
            found = zlib.crc32(np.ascontiguousarray(values).data, found)
        return found

    def take(self, places: NDArray[np.intp]) -> FloatArray:
        """Return the rows at ``places``, in that order, reading each part that has one of them once."""
        result = np.empty((len(places), self.shape[1]))
        order = np.argsort(places, kind="stable")
        ascending = places[order]
        for part in parts_of(len(self)):
            begin, end = np.searchsorted(ascending, [part.start, part.stop])
            if begin == end:
                continue
            for block, values in self.blocks(slice(int(ascending[begin]), int(ascending[end - 1]) + 1)):
                here = slice(*np.searchsorted(ascending, [block.start, block.stop]))
                result[order[here]] = values[ascending[here] - block.start]
        return result


class _Part(Samples):
    """Some rows of samples whose pickle is small."""

    def __init__(self, samples: Samples, part: slice) -> None:
        self.shape, self.dtype = (part.stop - part.start, samples.shape[1]), samples.dtype
        self.in_order, self._samples, self._first = samples.in_order, samples, part.start

    def rows(self, rows: slice) -> FloatArray:
        """Return some rows."""
        return self._samples.rows(slice(self._first + rows.start, self._first + rows.stop))


class ArraySamples(Samples):
    """Samples in memory; float64 rows are not copied."""

    def __init__(self, array: NDArray[np.generic]) -> None:
        self.shape, self.dtype, self._array = checked_shape(array.shape, array.dtype), array.dtype, aligned(array)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= {**state, "_array": aligned(state["_array"])}

    def __sizeof__(self) -> int:
        # By which a cluster decides whether it is worth moving.
        return object.__sizeof__(self) + self._array.nbytes

    def rows(self, rows: slice) -> FloatArray:
        """Return some rows."""
        return np.ascontiguousarray(self._array[rows], dtype=np.float64)

    def part(self, rows: slice) -> ArraySamples:
        """Return some of the samples, of which a pickle holds these only."""
        return ArraySamples(self._array[rows])

    def place(self, blocks: Sequence[slice], cluster: Cluster) -> list[Any]:
        """Send each block to a worker."""
        return cluster.hold([self.part(block) for block in blocks])

    def take(self, places: NDArray[np.intp]) -> FloatArray:
        """Return the rows at ``places``."""
        return np.asarray(self._array[places], dtype=np.float64)


class DeviceSamples(Samples):
    """Samples on a device, which are read there, in an ``order`` where that is given; one thread gives it its work."""

    in_order = True

    def __init__(self, array: Any, order: NDArray[np.intp] | None = None) -> None:
        self.shape, self.dtype, self._array = tuple(array.shape), np.dtype(np.float64), array
        self.device = Device.of(array)
        self._order = None if order is None else self.device.up(order)

    def ordered(self, order: NDArray[np.intp] | None) -> DeviceSamples:
        """Return the same samples in this order."""
        return DeviceSamples(self._array, order)

    def rows(self, rows: slice) -> Any:
        """Return some rows there."""
        if self._order is None:
            return self.device.wide(self._array[rows, :])
        return self.device.wide(self.device.xp.take(self._array, self._order[rows], axis=0))

    def take(self, places: NDArray[np.intp]) -> FloatArray:
        """Return copies in numpy of the rows at ``places``, numbered as they were given."""
        return HostRows(self._array)[places]


def aligned(array: NDArray[np.generic]) -> NDArray[Any]:
    """Return an array whose numbers begin at addresses that suit their type.

    Those of a message may not, and numpy then takes other ways through products and sums, which give other bits.
    """
    return np.require(array, requirements="A")


class ScaledSamples(Samples):
    """(x - mean) / scale of other samples, made when they are read; ``mean`` and ``scale`` have d entries."""

    def __init__(self, samples: Samples, mean: FloatArray, scale: FloatArray) -> None:
        self.shape, self.dtype, self.in_order = samples.shape, np.dtype(np.float64), samples.in_order
        self.labels = samples.labels
        self.mean, self.scale, self._samples = np.asarray(mean, dtype=float), np.asarray(scale, dtype=float), samples
        for name, values in (("mean", self.mean), ("scale", self.scale)):
            if values.shape != (self.shape[1],) or not np.isfinite(values).all():
                raise InputError(f"{name} must be {self.shape[1]} finite numbers, got shape {values.shape}")
        if (self.scale <= 0).any():
            raise InputError("scale must be positive; take 1 for features that do not vary, as StandardScaler does")

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + getsizeof(self._samples)

    def part(self, rows: slice) -> ScaledSamples:
        """Return some of the samples, numbered from 0."""
        return ScaledSamples(self._samples.part(rows), self.mean, self.scale)

    def place(self, blocks: Sequence[slice], cluster: Cluster) -> list[Any]:
        """Return futures of blocks, which are scaled where they are."""
        scaled = partial(ScaledSamples, mean=self.mean, scale=self.scale)
        return cluster.make(scaled, cluster.placed(self._samples, blocks))

    def rows(self, rows: slice) -> FloatArray:
        """Return some rows."""
        scaled: FloatArray = self._samples.rows(rows) - self.mean
        scaled /= self.scale
        return scaled


def power_sums(samples: Samples, rows: slice, mean: FloatArray, power: int = 1) -> Sums:
    """Return the sum of (x - mean)^power of each feature over some rows; ``power`` is 1 or 2."""
    device = samples.device
    total, offset = device.zeros(samples.shape[1]), device.up(mean)
    for _, values in samples.blocks(rows):
        centred = values - offset
        total += device.xp.sum(centred, axis=0) if power == 1 else row_products(centred.T, centred.T)
    return (total,)


def checked_shape(shape: tuple[int, ...], dtype: np.dtype) -> tuple[int, int]:
    """Return the shape of a table of real numbers; ``InputError`` for others."""
    if len(shape) != 2 or 0 in shape:
        raise InputError(f"samples must be a non-empty n x d table, got shape {tuple(shape)}")
    if dtype.kind not in "fiub":
        raise InputError(f"samples must be real numbers, got {dtype}; convert them to float32 or float64")
    return int(shape[0]), int(shape[1])


def evenly_drawn(values: NDArray[Any], count: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the numbers of ``count`` of n samples, ascending: at random, but evenly over their sorted ``values`` (n).

    Classes keep their shares, and the first and the last of them a sample; targets keep their quantiles.
    """
    ranks, shuffled = np.unique(values, return_inverse=True)[1], rng.permutation(len(values))
    ordered = shuffled[np.argsort(ranks[shuffled], kind="stable")]
    return np.sort(ordered[np.linspace(0, len(ordered) - 1, count).round().astype(np.intp)])
