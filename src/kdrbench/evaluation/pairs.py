"""Blocks of pairs: beta, Gamma and the kernel's sums there, over the upper triangle of all pairs of samples.

A row of blocks begins with the block on the diagonal; those to its right represent their transposes as well. Where
samples come class after class, rows are cut so that each has samples of one class: Gamma is then the same in all rows
of a block, and weighs the sums instead of every pair. Classes of few samples share rows, with Gamma for each pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kdrbench.evaluation.arguments import arguments, derivatives_in_turn, sample_factors
from kdrbench.evaluation.weights import chunks
from kdrbench.kernels import Pairing, restricted, terms_of
from kdrbench.kernels.family import FloatArray, Kernel
from kdrbench.problems import FactoredGamma, TraceObjective

# Blocks of this shape stay in the second-level cache and are large enough for threads not to wait for the interpreter.
_ROWS, _COLUMNS = 256, 512
# OpenBLAS multiplies matrices without copying them first up to this number of multiplications.
_SMALL_PRODUCT = 1_000_000
_FEWEST_PAIRS, _MOST_PAIRS = 192 * 192, 384 * 384
_LINE = 64
# Rows of fewer samples cost more than the pairs' own weights do.
_FEWEST_OF_A_CLASS = 64


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
    memory: list[FloatArray]
    kernel: Kernel
    zero_diagonal: bool
    one_class: bool
    on_diagonal: bool

    def spare(self, number: int) -> FloatArray:
        """Return further memory of the argument's shape."""
        return _shaped(self.memory[number], self.argument.shape)

    def derivatives(self, orders: tuple[int, ...]) -> Iterator[tuple[float, FloatArray]]:
        """Return what yields :func:`derivatives_in_turn`, zero on a diagonal that does not count. Once."""
        found = derivatives_in_turn(self.kernel, self.argument, self.spare(0), orders)
        return _hollow(found) if self.on_diagonal and self.zero_diagonal else found

    def counted(self, values: FloatArray) -> float:
        """Return the sum of Gamma * values over the block and its transpose, in double precision."""
        if self.one_class:
            total = float((values @ self.gamma[0]).sum(dtype=np.float64))
        else:
            total = float(np.vdot(self.gamma, values))
        return total if self.on_diagonal else 2.0 * total


def _hollow(arrays: Iterator[tuple[float, FloatArray]]) -> Iterator[tuple[float, FloatArray]]:
    for number, array in arrays:
        own = array.diagonal().copy()
        np.fill_diagonal(array, 0.0)
        yield number, array
        # The next one may be made of this one.
        np.fill_diagonal(array, own)


class PairBlocks:
    """The blocks of a problem, in double or single precision, its samples as given or in another ``order``."""

    def __init__(
        self, gamma: FactoredGamma, side: int | None, *, order: NDArray[np.intp] | None, single_precision: bool
    ) -> None:
        self.dtype: Any = np.float32 if single_precision else np.float64
        self.zero_diagonal, self.order, self._weights, self._side = gamma.zero_diagonal, order, gamma.weights, side
        self._factor = self.cast(gamma.factor if order is None else gamma.factor[order])
        codes = gamma.codes if order is None or gamma.codes is None else gamma.codes[order]
        self._runs = class_runs(codes, len(self._factor))

    def cast(self, array: FloatArray) -> FloatArray:
        """Return the array in the precision of the blocks."""
        cast: FloatArray = np.ascontiguousarray(array, dtype=self.dtype)
        return cast

    def over(self, kernel: Kernel, samples: FloatArray, n_columns: int | None = None) -> Sweep:
        """Return the rows of blocks for samples P (n x q), of a shape for products with ``n_columns``, or with many."""
        if self._side is not None:
            return Sweep(self, kernel, samples, self._side, self._side**2)
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
        return np.matmul(self.cast(self._factor[rows] * self._weights), self._factor[columns].T, out=out)


class Sweep:
    """All pairs of samples for one kernel, in rows of blocks."""

    def __init__(self, pairs: PairBlocks, kernel: Kernel, samples: FloatArray, height: int, block: int) -> None:
        self._pairs, self._block = pairs, block
        order = slice(None) if pairs.order is None else pairs.order
        self._kernel = restricted(kernel, order, order)
        self._rows, self._n_samples = pairs.cut(height), len(samples)
        self._left, self._right, self._bound = arguments(self._kernel, samples, pairs.dtype)
        self._factors = sample_factors(self._kernel, pairs.dtype)

    def scaled(self, columns: FloatArray, rows: slice = slice(None), order: int = 1) -> FloatArray:
        """Return ``columns`` of these samples times their factors in a derivative of this order."""
        return columns if self._factors is None else columns * self._factors[rows] ** order

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._rows)

    def memory(self) -> list[FloatArray]:
        """Return what one thread needs for a row of blocks."""
        heights = [rows.stop - rows.start for rows, _ in self._rows]
        size = max(height * max(height, self._widest(height)) for height in heights)
        return [_aligned(size, self._pairs.dtype) for _ in range(4)]

    def row(self, number: int, memory: list[FloatArray]) -> tuple[slice, Iterator[Block]]:
        """Return the samples of a row and its blocks, to be taken in turn: they share the memory."""
        rows, of_one_class = self._rows[number]
        one, right = slice(rows.start, rows.start + 1), slice(rows.start, None)
        return rows, self._blocks(rows, self._pairs.gamma(one, right) if of_one_class else None, memory)

    def _widest(self, height: int) -> int:
        return max(self._block // height // 8 * 8, 1)

    def _blocks(self, rows: slice, gamma: FloatArray | None, memory: list[FloatArray]) -> Iterator[Block]:
        pairs, height, left = self._pairs, rows.stop - rows.start, self._left[rows]
        widest = self._widest(height)
        starts = range(rows.stop, self._n_samples, widest)
        for columns in [rows, *(slice(start, min(start + widest, self._n_samples)) for start in starts)]:
            argument = _shaped(memory[2], (height, columns.stop - columns.start))
            np.matmul(left, self._right[:, columns], out=argument)
            if self._bound is not None:
                limit, value = self._bound
                limit(argument, value, out=argument)
            if gamma is None:
                weights = pairs.gamma(rows, columns, _shaped(memory[3], argument.shape))
            else:
                weights = gamma[:, columns.start - rows.start : columns.stop - rows.start]
            about = (self._kernel, pairs.zero_diagonal, gamma is not None, columns is rows)
            yield Block(rows, columns, weights, argument, memory, *about)


def _shaped(memory: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    return memory[: shape[0] * shape[1]].reshape(shape)


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
        self._mine = np.ascontiguousarray(columns[rows].T)
        self._own: FloatArray = np.zeros(columns[rows].shape)

    def add(self, block: Block, factor: float, array: FloatArray, products: FloatArray) -> None:
        """Add a block of f, given as a number and an array; its transpose to all ``products``, (columns) x n."""
        others = self._columns[block.columns]
        if block.one_class:
            weights, scale = array, factor * block.gamma[0]
            # Quicker than a product of arrays of unlike shapes, whose rows are short.
            others = others * scale.repeat(others.shape[1]).reshape(others.shape)
        else:
            weights, scale = np.multiply(array, block.gamma, out=block.spare(1)), np.full(1, factor, array.dtype)
            others = others * scale
        self._own += weights @ others
        if not block.on_diagonal:
            across = self._mine @ weights
            across *= scale
            products[:, block.columns] += across

    def add_to(self, products: FloatArray) -> None:
        """Add what the row's own samples have."""
        products[:, self._rows] += self._own.T


def with_ones(columns: FloatArray) -> FloatArray:
    """Return the columns, one of ones for the degrees, and zeros: multiples of four columns are quicker."""
    n_samples, n_columns = columns.shape
    padded: FloatArray = np.zeros((n_samples, -(-(n_columns + 1) // 4) * 4), dtype=columns.dtype)
    padded[:, :n_columns] = columns
    padded[:, n_columns] = 1.0
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
