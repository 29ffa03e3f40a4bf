"""Blocks of pairs: beta, Gamma and the kernel's sums there, over the upper triangle of all pairs of samples.

A row of blocks begins with the block on the diagonal; those to its right represent their transposes as well. Where
samples come class after class, rows are cut so that each has samples of one class: Gamma is then the same in all rows
of a block, and weighs the sums instead of every pair. Classes of few samples share rows, with Gamma for each pair.

Gaussian, multiquadric and polynomial kernels are functions g of a beta + b. The product of matrices that makes beta
makes that argument as well, and g takes its memory. So it does with a bandwidth for each sample: the argument is
-beta / (2 sigma_i sigma_j) there, and the factors of the product are scaled by row. Kernels of users get beta and
return new arrays. On a device every array is a new one, and blocks are as large as suits it.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kdrbench.arrays import Device, contiguous, inner, is_device_array, matmul, multiply, namespace_of, row_products
from kdrbench.errors import InputError
from kdrbench.extras import needed_for
from kdrbench.kernels import Pairing, RelativeGaussian, restricted, terms_of
from kdrbench.kernels.family import Derivatives, FloatArray, Kernel, derivatives_at, form_of
from kdrbench.problems import FactoredGamma, TraceObjective
from kdrbench.samples.passes import chunks

# A rounding of the argument by up to this share of what it is at beta = 0 (or of 1) changes no kernel by more.
_HARMLESS = 2.0**-10
# Blocks of this shape stay in the second-level cache and are large enough for threads not to wait for the interpreter.
_ROWS, _COLUMNS = 256, 512
# On a side of a block of a device: of the caches of a processor, and enough work for one with thousands of cores.
_CPU_SIDE, _DEVICE_SIDE = 512, 4096
# OpenBLAS multiplies matrices without copying them first up to this number of multiplications.
_SMALL_PRODUCT = 1_000_000
_FEWEST_PAIRS, _MOST_PAIRS = 192 * 192, 384 * 384
_LINE = 64
# Rows of fewer samples cost more than the pairs' own weights do.
_FEWEST_OF_A_CLASS = 64


def _arguments(kernel: Kernel, samples: FloatArray, dtype: Any) -> tuple[FloatArray, FloatArray, list[float | None]]:
    """Return L and R with LR = a beta + b, and the least and largest argument that rounding might otherwise pass.

    A kernel with bandwidths must have them in the order of the samples.
    """
    xp = namespace_of(samples)
    form = form_of(kernel)
    scale, offset = (form.scale, form.offset) if form else (1.0, 0.0)
    limits: list[float | None] = [None, None]
    ones = xp.ones_like(samples[:, :1])
    if kernel.pairing is Pairing.DOT:
        left, right = scale * samples, samples
        if offset:
            left, right = xp.concat([left, ones], axis=1), xp.concat([right, offset * ones], axis=1)
    else:
        # |p|^2 + |r|^2 - 2 p'r as one product; of centred samples, since it cancels.
        centred = samples - xp.mean(samples, axis=0)
        squares = scale * row_products(centred, centred)[:, None]
        left = xp.concat([-2.0 * scale * centred, squares + offset, ones], axis=1)
        right = xp.concat([centred, ones, squares], axis=1)
        rounding = 4.0 * (samples.shape[1] + 2) * float(xp.finfo(dtype).eps) * float(xp.max(xp.abs(squares)))
        if isinstance(kernel, RelativeGaussian):
            rows, columns = kernel.inverse_sigmas
            rounding *= float(rows.max() * columns.max())
            up = Device.of(samples).up
            left, right = left * up(rows), right * up(columns.T)
        # Rounding may leave distances of coinciding samples a little below zero.
        if form is None or not rounding <= _HARMLESS * (offset or 1.0):
            limits[0 if scale > 0 else 1] = offset
    return contiguous(left, dtype), contiguous(right.T, dtype), limits


def _user_derivatives(kernel: Kernel, beta: FloatArray, orders: tuple[int, ...]) -> Derivatives:
    """Yield 1 and a user's functions of beta; ``InputError`` where they are not written for arrays of the device."""
    if not is_device_array(beta):
        yield from ((1.0, array.astype(beta.dtype, copy=False)) for array in derivatives_at(kernel, beta, orders))
        return
    for order in orders:
        try:
            (values,) = derivatives_at(kernel, beta, (order,))
            why: object = None if is_device_array(values) and values.shape == beta.shape else type(values).__name__
        except (TypeError, AttributeError, RuntimeError) as error:
            why = error
        if why is not None:
            raise InputError(
                f"{type(kernel).__name__} does not work with arrays of this device ({why}); write its functions with "
                "operators, or with array_api_compat.array_namespace(beta), or pass features as numpy arrays"
            )
        yield 1.0, contiguous(values, beta.dtype)


def single_precision_features(objective: TraceObjective) -> FloatArray:
    """Return the features in float32, centred before where only differences of samples count.

    An offset would take the digits of what matters; the sums over pairs are blind to it.
    """
    features = objective.array
    differences = all(term.kernel.pairing is Pairing.DIFFERENCE for term in terms_of(objective.kernel))
    offset = features.mean(axis=0) if differences else np.zeros(features.shape[1])
    single: FloatArray = np.empty_like(features, dtype=np.float32)
    for rows in chunks(len(features)):
        # In double precision, and without a second array of that size.
        single[rows] = features[rows] - offset
    return single


class Block(NamedTuple):
    """The samples ``rows`` against ``columns``; ``gamma`` has their weights, or one row of them that holds for all.

    Arrays share memory with those of the next block. Of the memory to spare only the first array is used here.
    """

    rows: slice
    columns: slice
    gamma: FloatArray
    argument: FloatArray
    memory: list[FloatArray | None]
    kernel: Kernel
    zero_diagonal: bool
    compiled: bool
    one_class: bool
    on_diagonal: bool

    def spare(self, number: int) -> FloatArray | None:
        """Return further memory of the argument's shape."""
        return _shaped(self.memory[number], self.argument.shape)

    def derivatives(self, orders: tuple[int, ...]) -> Derivatives:
        """Yield the derivatives of f as :class:`.Form` does, zero on a diagonal that does not count. Once.

        They lack the factors of :meth:`Sweep.scaled`: columns and sums are multiplied by these, not every pair.
        """
        form = form_of(self.kernel)
        if form is None:
            found = _user_derivatives(self.kernel, self.argument, orders)
        else:
            found = form.derivatives(self.argument, orders, self.spare(0), self.compiled)
        return _hollow(found) if self.on_diagonal and self.zero_diagonal else found

    def counted(self, values: FloatArray) -> float:
        """Return the sum of Gamma * values over the block and its transpose, in double precision."""
        if self.one_class:
            xp = namespace_of(values)
            total = float(xp.sum(values @ self.gamma[0, :], dtype=xp.float64))
        else:
            total = inner(self.gamma, values)
        return total if self.on_diagonal else 2.0 * total


def _hollow(arrays: Derivatives) -> Derivatives:
    for number, array in arrays:
        if is_device_array(array):
            xp = namespace_of(array)
            own = xp.eye(array.shape[0], dtype=xp.int8, device=Device.of(array).place) == 1
            yield number, xp.where(own, xp.zeros_like(array), array)
            continue
        own = array.diagonal().copy()
        np.fill_diagonal(array, 0.0)
        yield number, array
        # The next one may be made of this one.
        np.fill_diagonal(array, own)


class PairBlocks:
    """The blocks of a problem, in double or single precision, its samples as given or in another ``order``.

    ``side`` is the number of samples of a block, where it is not to be chosen. ``compiled`` ones have functions of
    kernels in machine code; not those on a device.
    """

    def __init__(
        self,
        gamma: FactoredGamma,
        side: int | None,
        *,
        order: NDArray[np.intp] | None,
        single_precision: bool,
        compiled: bool = False,
        device: Device | None = None,
    ) -> None:
        device = device or Device.of(gamma.table)
        xp = device.xp
        self.dtype: Any = xp.float32 if single_precision else xp.float64
        self.on_device, self.zero_diagonal, self.order = not device.is_host, gamma.zero_diagonal, order
        self.compiled = compiled and device.is_host
        if self.compiled:
            with needed_for("evaluation with compiled=True"):
                import_module("kdrbench.kernels.compiled")
        codes = gamma.codes if order is None or gamma.codes is None else gamma.codes[order]
        self._weights: FloatArray = device.up(gamma.weights.astype(float))
        if device.is_host:
            factor = gamma.factor if order is None else gamma.factor[order]
        elif codes is None:
            factor = device.up(gamma.factor)
        else:
            # An index is of a type that every library takes for one.
            factor = xp.take(device.up(gamma.table), device.up(codes.astype(np.int64)), axis=0)
        if self.on_device:
            side = side or (_CPU_SIDE if "cpu" in str(device).lower() else _DEVICE_SIDE)
        self._factor, self._side = self.cast(factor), side
        self._runs = class_runs(codes, gamma.n_samples)

    def cast(self, array: FloatArray) -> FloatArray:
        """Return the array in the precision of the blocks."""
        cast: FloatArray = contiguous(array, self.dtype)
        return cast

    def over(self, kernel: Kernel, samples: FloatArray, n_columns: int | None = None, n_features: int = 1) -> Sweep:
        """Return the rows of blocks for samples P (n x q), of a shape for products with ``n_columns``, or with X."""
        if self._side is not None:
            # A block's columns of X are held as well.
            pairs = self._side**2 if n_columns else min(self._side**2, max(self._side**3 // n_features, self._side))
            return Sweep(self, kernel, samples, self._side, pairs)
        if n_columns is None:
            return Sweep(self, kernel, samples, _ROWS, _ROWS * _COLUMNS)
        # The product that makes the argument is small as well; rows have work of their own.
        pairs = min(max(_SMALL_PRODUCT // max(n_columns, samples.shape[1] + 2), _FEWEST_PAIRS), _MOST_PAIRS)
        return Sweep(self, kernel, samples, isqrt(3 * pairs // 2), pairs)

    def cut(self, height: int) -> list[tuple[slice, bool]]:
        """Return the samples of each row of blocks, and whether they are of one class."""
        rows = []
        for begin, end, of_one_class in self._runs:
            n_rows = -(-(end - begin) // height)
            bounds = [begin + (end - begin) * number // n_rows for number in range(n_rows + 1)]
            rows += [(slice(first, last), of_one_class) for first, last in pairwise(bounds)]
        return rows

    def gamma(self, rows: slice, columns: slice, out: FloatArray | None = None) -> FloatArray:
        """Return Gamma's entries for some pairs, its diagonal kept."""
        weighed = self.cast(self._factor[rows, :] * self._weights)
        found: FloatArray = matmul(weighed, self._factor[columns, :].T, out)
        return found


class Sweep:
    """All pairs of samples for one kernel, in rows of blocks."""

    def __init__(self, pairs: PairBlocks, kernel: Kernel, samples: FloatArray, height: int, block: int) -> None:
        self._pairs, self._block = pairs, block
        order = slice(None) if pairs.order is None else pairs.order
        self._kernel = restricted(kernel, order, order)
        self._rows, self._n_samples = pairs.cut(height), samples.shape[0]
        self._left, self._right, self._limits = _arguments(self._kernel, samples, pairs.dtype)
        # 1 / sigma_i of bandwidths: the k-th derivative has the k-th powers of those of both samples.
        self._factors: FloatArray | None = None
        if isinstance(self._kernel, RelativeGaussian):
            self._factors = contiguous(Device.of(samples).up(self._kernel.inverse_sigmas[0]), pairs.dtype)

    def scaled(self, columns: FloatArray, rows: slice = slice(None), order: int = 1) -> FloatArray:
        """Return ``columns`` of these samples times their factors in a derivative of this order."""
        return columns if self._factors is None else columns * self._factors[rows, :] ** order

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._rows)

    def memory(self) -> list[FloatArray | None]:
        """Return what one thread needs for a row of blocks."""
        if self._pairs.on_device:
            return [None] * 4
        heights = [rows.stop - rows.start for rows, _ in self._rows]
        size = max(height * max(height, self._widest(height)) for height in heights)
        return [_aligned(size, self._pairs.dtype) for _ in range(4)]

    def row(self, number: int, memory: list[FloatArray | None]) -> tuple[slice, Iterator[Block]]:
        """Return the samples of a row and its blocks, to be taken in turn: they share the memory."""
        rows, of_one_class = self._rows[number]
        one, right = slice(rows.start, rows.start + 1), slice(rows.start, None)
        return rows, self._blocks(rows, self._pairs.gamma(one, right) if of_one_class else None, memory)

    def _widest(self, height: int) -> int:
        return max(self._block // height // 8 * 8, 1)

    def _blocks(self, rows: slice, gamma: FloatArray | None, memory: list[FloatArray | None]) -> Iterator[Block]:
        pairs, height, left = self._pairs, rows.stop - rows.start, self._left[rows, :]
        widest = self._widest(height)
        starts = range(rows.stop, self._n_samples, widest)
        for columns in [rows, *(slice(start, min(start + widest, self._n_samples)) for start in starts)]:
            shape = (height, columns.stop - columns.start)
            argument = matmul(left, self._right[:, columns], _shaped(memory[2], shape))
            if self._limits != [None, None]:
                argument = self._clipped(argument)
            if gamma is None:
                weights = pairs.gamma(rows, columns, _shaped(memory[3], shape))
            else:
                weights = gamma[:, columns.start - rows.start : columns.stop - rows.start]
            about = (self._kernel, pairs.zero_diagonal, pairs.compiled, gamma is not None, columns is rows)
            yield Block(rows, columns, weights, argument, memory, *about)

    def _clipped(self, argument: FloatArray) -> FloatArray:
        least, largest = self._limits
        if self._pairs.on_device:
            clipped: FloatArray = namespace_of(argument).clip(argument, least, largest)
            return clipped
        if self._pairs.compiled:
            from kdrbench.kernels.compiled import clip

            clip(argument, -np.inf if least is None else least, np.inf if largest is None else largest)
            return argument
        if largest is None:
            return np.maximum(argument, least or 0.0, out=argument)
        return np.minimum(argument, largest, out=argument)


def _shaped(memory: FloatArray | None, shape: tuple[int, ...]) -> FloatArray | None:
    return None if memory is None else memory[: shape[0] * shape[1]].reshape(shape)


def _aligned(size: int, dtype: Any) -> FloatArray:
    """Return memory that begins where a line of the cache does: products read it in two thirds of the time."""
    memory = np.empty(size * np.dtype(dtype).itemsize + _LINE, dtype=np.uint8)
    begin = -memory.ctypes.data % _LINE
    aligned: FloatArray = memory[begin : begin + size * np.dtype(dtype).itemsize].view(dtype)
    return aligned


class RowProducts:
    """Products with one row of blocks of Gamma * f and, to the right of the diagonal, with their transposes.

    Where one row of Gamma serves all samples of the row, it weighs the columns, not the blocks.
    """

    def __init__(self, rows: slice, columns: FloatArray) -> None:
        self._rows, self._columns = rows, columns
        mine = columns[rows, :]
        self._mine = contiguous(mine.T, columns.dtype)
        self._own: FloatArray = Device.of(columns).zeros(*mine.shape)

    def add(self, block: Block, factor: float, array: FloatArray, products: FloatArray) -> None:
        """Add a block of f, given as a number and an array; its transpose to all ``products``, (columns) x n."""
        others, scale = self._columns[block.columns, :], factor * block.gamma[0, :]
        if not block.one_class:
            weights = multiply(array, block.gamma, block.spare(1))
            others = factor * others
        elif is_device_array(array):
            weights, others = array, others * scale[:, None]
        else:
            # Quicker than a product of arrays of unlike shapes, whose rows are short.
            weights, others = array, others * scale.repeat(others.shape[1]).reshape(others.shape)
        self._own += weights @ others
        if not block.on_diagonal:
            across = self._mine @ weights
            across *= scale if block.one_class else factor
            products[:, block.columns] += across

    def add_to(self, products: FloatArray) -> None:
        """Add what the row's own samples have."""
        products[:, self._rows] += self._own.T


def with_ones(columns: FloatArray) -> FloatArray:
    """Return the columns, one of ones for the degrees, and zeros: multiples of four columns are quicker."""
    n_columns, xp = columns.shape[1], namespace_of(columns)
    ones = xp.ones_like(columns[:, :1])
    padding = [xp.zeros_like(ones)] * (-(n_columns + 1) % 4)
    padded: FloatArray = xp.concat([columns, ones, *padding], axis=1)
    return padded


def class_runs(codes: NDArray[np.int64] | None, n_samples: int) -> list[tuple[int, int, bool]]:
    """Return begin and end of samples that are of one class, and whether they are; small classes are taken together."""
    changes = [] if codes is None else (np.flatnonzero(np.diff(codes)) + 1).tolist()
    if codes is None or len(changes) > codes.max():
        # A class comes twice.
        return [(0, n_samples, False)]
    runs: list[tuple[int, int, bool]] = []
    for begin, end in pairwise([0, *changes, n_samples]):
        large = end - begin >= _FEWEST_OF_A_CLASS
        if runs and not large and not runs[-1][2]:
            begin = runs.pop()[0]
        runs.append((begin, end, large))
    return runs
