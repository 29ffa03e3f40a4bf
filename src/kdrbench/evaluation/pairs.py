"""Blocks of pairs: beta, Gamma and the kernel's sums there, over the upper triangle of all pairs of samples.

A row of blocks begins with the block on the diagonal; those to its right represent their transposes as well. Where
samples come class after class, rows are cut so that each has samples of one class: Gamma is then the same in all rows
of a block, and weighs the sums instead of every pair. Classes of few samples share rows, with Gamma for each pair.

Gaussian, multiquadric and polynomial kernels are functions g of a beta + b. The product of matrices that makes beta
makes that argument as well, and g takes its memory (:func:`derivatives_in_turn`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import isqrt, perm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdrbench.evaluation.weights import chunks
from kdrbench.kernels import Gaussian, Multiquadric, Pairing, Polynomial, Term, restricted, terms_of
from kdrbench.kernels.family import FloatArray, Kernel, value_and_derivative
from kdrbench.problems import FactoredGamma, TraceObjective

# Blocks of this shape stay in the second-level cache and are large enough for threads not to wait for the interpreter.
_ROWS, _COLUMNS = 256, 512
# OpenBLAS multiplies matrices without copying them first up to this number of multiplications.
_SMALL_PRODUCT = 1_000_000
_SHORTEST, _LONGEST = 192, 384
# Rows of fewer samples cost more than the pairs' own weights do.
_FEWEST_OF_A_CLASS = 64
# A rounding of the argument by up to this share of what it is at beta = 0 (or of 1) changes no kernel by more.
_HARMLESS = 2.0**-10


def single_precision_features(objective: TraceObjective) -> FloatArray:
    """Return the features in float32, centred before where only differences of samples count.

    An offset would take the digits of what matters; the sums over pairs are blind to it.
    """
    features = objective.features
    differences = all(term.kernel.pairing is Pairing.DIFFERENCE for term in terms_of(objective.kernel))
    offset = features.mean(axis=0) if differences else np.zeros(features.shape[1])
    single: FloatArray = np.empty_like(features, dtype=np.float32)
    for rows in chunks(len(features)):
        # In double precision, and without a second array of that size.
        single[rows] = features[rows] - offset
    return single


def affine_argument(kernel: Kernel) -> tuple[float, float] | None:
    """Return (a, b) where the kernel is a function of a beta + b that may take the memory of its argument."""
    # Subclasses may have another f.
    if type(kernel) is Gaussian:
        return -0.5 / float(kernel.sigma) ** 2, 0.0
    if type(kernel) is Multiquadric:
        return 1.0, float(kernel.offset) ** 2
    return (float(kernel.scale), float(kernel.offset)) if type(kernel) is Polynomial else None


def derivatives_in_turn(
    kernel: Kernel, argument: FloatArray, orders: tuple[int, ...]
) -> Iterator[tuple[float, FloatArray]]:
    """Yield a number and an array for each of ascending ``orders``: their product is that derivative of f(beta).

    ``argument`` is a beta + b for the kernels of :func:`affine_argument`, and beta for others. An array holds until
    the next one is asked for, and may take the memory of the argument.
    """
    if type(kernel) is Gaussian:
        np.exp(argument, out=argument)
        for order in orders:
            yield (-0.5 / float(kernel.sigma) ** 2) ** order, argument
    elif type(kernel) is Multiquadric:
        root = np.sqrt(argument, out=argument)
        if 0 in orders:
            yield -1.0, root
        inverse = np.reciprocal(root, out=root) if orders != (0,) else root
        if 1 in orders:
            yield -0.5, inverse
        if 2 in orders:
            yield 0.25, inverse * inverse * inverse
    elif type(kernel) is Polynomial:
        for order in orders:
            power = np.ones_like(argument)
            # Quicker than numpy's power.
            for _ in range(kernel.degree - order):
                power *= argument
            yield perm(kernel.degree, order) * float(kernel.scale) ** order, power
    else:
        functions = (kernel.value, kernel.derivative, kernel.second_derivative)
        together = orders == (0, 1)
        arrays = value_and_derivative(kernel, argument) if together else (functions[k](argument) for k in orders)
        for array in arrays:
            yield 1.0, array.astype(argument.dtype, copy=False)


@dataclass(frozen=True)
class Block:
    """The samples ``rows`` against ``columns``; ``gamma`` has their weights, or one row of them that holds for all."""

    rows: slice
    columns: slice
    gamma: FloatArray
    argument: FloatArray
    term: Term
    zero_diagonal: bool

    @property
    def on_diagonal(self) -> bool:
        """Whether rows and columns are the same samples."""
        return self.rows == self.columns

    def derivatives(self, *orders: int) -> Iterator[tuple[float, FloatArray]]:
        """Yield :func:`derivatives_in_turn` with the kernel's weight; zero on a diagonal that does not count. Once."""
        kernel = restricted(self.term.kernel, self.rows, self.columns)
        for number, array in derivatives_in_turn(kernel, self.argument, orders):
            if self.zero_diagonal and self.on_diagonal:
                # The next one may be made of this one.
                array = array.copy()
                np.fill_diagonal(array, 0.0)
            yield self.term.weight * number, array

    def counted(self, values: FloatArray) -> float:
        """Return the sum of Gamma * values over the block and its transpose, in double precision."""
        if len(self.gamma) == 1:
            total = float((values @ self.gamma[0]).sum(dtype=np.float64))
        else:
            total = float(np.vdot(self.gamma, values))
        return total if self.on_diagonal else 2.0 * total


@dataclass(frozen=True)
class Row:
    """The blocks of the samples ``rows``; ``gamma`` weighs them with all from their first, if they are of one class."""

    rows: slice
    gamma: FloatArray | None
    blocks: Iterator[Block]


class PairBlocks:
    """The blocks of a problem, in double or single precision, its samples as given or in another ``order``."""

    def __init__(
        self, gamma: FactoredGamma, side: int | None, *, order: NDArray[np.intp] | None, single_precision: bool
    ) -> None:
        self.dtype: Any = np.float32 if single_precision else np.float64
        self.zero_diagonal, self.order, self._weights, self._side = gamma.zero_diagonal, order, gamma.weights, side
        self._factor = self.cast(gamma.factor if order is None else gamma.factor[order])
        codes = gamma.codes if order is None or gamma.codes is None else gamma.codes[order]
        self._runs = _runs(codes, len(self._factor))

    def cast(self, array: FloatArray) -> FloatArray:
        """Return the array in the precision of the blocks."""
        cast: FloatArray = np.ascontiguousarray(array, dtype=self.dtype)
        return cast

    def over(self, term: Term, samples: FloatArray, n_columns: int | None = None) -> Sweep:
        """Return the rows of blocks for samples P (n x q), of a shape for products with ``n_columns``, or with many."""
        height, width = _ROWS, _COLUMNS
        if n_columns is not None:
            # Also the product that makes the argument is small.
            height = isqrt(_SMALL_PRODUCT // max(n_columns, samples.shape[1] + 2)) // 8 * 8
            height = width = min(max(height, _SHORTEST), _LONGEST)
        if self._side is not None:
            height = width = self._side
        return Sweep(self, term, samples, height, width)

    def cut(self, height: int) -> list[tuple[slice, bool]]:
        """Return the samples of each row of blocks, and whether they are of one class."""
        rows = []
        for begin, end, of_one_class in self._runs:
            n_rows = -(-(end - begin) // height)
            bounds = [begin + (end - begin) * number // n_rows for number in range(n_rows + 1)]
            rows += [(slice(first, last), of_one_class) for first, last in pairwise(bounds)]
        return rows

    def gamma(self, rows: slice, columns: slice) -> FloatArray:
        """Return Gamma's entries for some pairs, its diagonal kept."""
        return np.asarray(self.cast(self._factor[rows] * self._weights) @ self._factor[columns].T)


class Sweep:
    """All pairs of samples for one kernel, in rows of blocks."""

    def __init__(self, pairs: PairBlocks, term: Term, samples: FloatArray, height: int, width: int) -> None:
        self._pairs, self._height, self._width = pairs, height, width
        everybody = slice(None) if pairs.order is None else pairs.order
        self._term = Term(term.weight, restricted(term.kernel, everybody, everybody))
        self._rows, self._n_samples = pairs.cut(height), len(samples)
        self._left, self._right, self._bound = _arguments(term.kernel, samples, pairs.dtype)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._rows)

    def row(self, number: int) -> Row:
        """Return a row of blocks, to be taken in turn: they share memory."""
        rows, of_one_class = self._rows[number]
        gamma = None
        if of_one_class:
            gamma = self._pairs.gamma(slice(rows.start, rows.start + 1), slice(rows.start, None))
        return Row(rows, None if gamma is None else gamma[0], self._blocks(rows, gamma))

    def _blocks(self, rows: slice, gamma: FloatArray | None) -> Iterator[Block]:
        height, left = rows.stop - rows.start, self._left[rows]
        memory = np.empty(height * max(height, self._width), dtype=self._pairs.dtype)
        starts = range(rows.stop, self._n_samples, self._width)
        for columns in [rows, *(slice(start, min(start + self._width, self._n_samples)) for start in starts)]:
            width = columns.stop - columns.start
            argument = memory[: height * width].reshape(height, width)
            np.matmul(left, self._right[:, columns], out=argument)
            if self._bound is not None:
                limit, value = self._bound
                limit(argument, value, out=argument)
            if gamma is None:
                weights = self._pairs.gamma(rows, columns)
            else:
                weights = gamma[:, columns.start - rows.start : columns.stop - rows.start]
            yield Block(rows, columns, weights, argument, self._term, self._pairs.zero_diagonal)


def _runs(codes: NDArray[np.int64] | None, n_samples: int) -> list[tuple[int, int, bool]]:
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


def _arguments(
    kernel: Kernel, samples: FloatArray, dtype: Any
) -> tuple[FloatArray, FloatArray, tuple[np.ufunc, float] | None]:
    """Return L and R with LR = a beta + b, and the bound that rounding might otherwise pass."""
    affine = affine_argument(kernel)
    scale, offset = affine or (1.0, 0.0)
    bound = None
    if kernel.pairing is Pairing.DOT:
        left, right = scale * samples, samples
        if offset:
            ones = np.ones((len(samples), 1))
            left, right = np.hstack([left, ones]), np.hstack([right, offset * ones])
    else:
        # |p|^2 + |r|^2 - 2 p'r as one product; of centred samples, since it cancels.
        centred = samples - samples.mean(axis=0)
        squares = scale * np.einsum("ij,ij->i", centred, centred)[:, None]
        ones = np.ones_like(squares)
        left, right = np.hstack([-2.0 * scale * centred, squares + offset, ones]), np.hstack([centred, ones, squares])
        rounding = 4.0 * (samples.shape[1] + 2) * float(np.finfo(dtype).eps) * float(np.abs(squares).max())
        # Rounding may leave distances of coinciding samples a little below zero.
        if affine is None or not rounding <= _HARMLESS * (offset or 1.0):
            bound = (np.maximum if scale > 0 else np.minimum, offset)
    return np.ascontiguousarray(left, dtype), np.ascontiguousarray(right.T, dtype), bound
