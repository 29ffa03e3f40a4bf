"""Blocks of pairs: beta, Gamma and the kernel's sums there, over the upper triangle of all pairs of samples.

A row of blocks begins with the block on the diagonal; those to its right represent their transposes as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kdrbench.evaluation.weights import chunks
from kdrbench.kernels import Pairing, Term, restricted, terms_of
from kdrbench.kernels.family import FloatArray, value_and_derivative
from kdrbench.problems import TraceObjective

Elementwise = Callable[[Term, FloatArray], FloatArray]
# Blocks of this shape stay in the second-level cache and are large enough for threads not to wait for the interpreter.
_ROWS, _COLUMNS = 256, 512


def kernel_value(term: Term, beta: FloatArray) -> FloatArray:
    """Return f(beta)."""
    return term.kernel.value(beta)


def kernel_slope(term: Term, beta: FloatArray) -> FloatArray:
    """Return f'(beta)."""
    return term.kernel.derivative(beta)


def kernel_curvature(term: Term, beta: FloatArray) -> FloatArray:
    """Return f''(beta)."""
    return term.kernel.second_derivative(beta)


def kernel_value_and_slope(term: Term, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return f(beta) and f'(beta)."""
    return value_and_derivative(term.kernel, beta)


def summed(
    terms: Iterable[Term], beta: FloatArray, function: Callable[[Term, FloatArray], tuple[FloatArray, ...]]
) -> tuple[FloatArray, ...]:
    """Return sum_i mu_i g_i(beta) for each array g that ``function`` returns, new arrays in the precision of beta."""
    totals: list[FloatArray] = []
    for term in terms:
        for place, array in enumerate(function(term, beta)):
            part = array.astype(beta.dtype, copy=False)
            if term.weight != 1.0:
                part *= float(term.weight)
            if place == len(totals):
                totals.append(part)
            else:
                totals[place] += part
    return tuple(totals)


def initial_slope(term: Term, beta: FloatArray) -> FloatArray:
    """Return f'(0), or the sign of f' above it where that is zero."""
    zeros = np.zeros_like(beta)
    slope = term.kernel.derivative(zeros)
    return slope if slope.any() else np.sign(term.kernel.derivative(zeros + 1.0))


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


@dataclass(frozen=True)
class Block:
    """Gamma and beta of the samples ``rows`` against ``columns``, and the kernels that share the pairing."""

    rows: slice
    columns: slice
    gamma: FloatArray
    beta: FloatArray
    terms: tuple[Term, ...]

    @property
    def on_diagonal(self) -> bool:
        """Whether rows and columns are the same samples."""
        return self.rows == self.columns

    def weighted(self, function: Elementwise) -> FloatArray:
        """Return Gamma * sum_i mu_i function_i(beta), a new array."""
        total = self._summed(function)
        total *= self.gamma
        return total

    def value(self) -> float:
        """Return the block's part of F."""
        return self._counted(self._summed(kernel_value))

    def value_and_slopes(self) -> tuple[float, FloatArray]:
        """Return the block's part of F, and Gamma * f', what both share being computed once."""
        values, slopes = summed(self._own_terms(), self.beta, kernel_value_and_slope)
        slopes *= self.gamma
        return self._counted(values), slopes

    def _counted(self, values: FloatArray) -> float:
        return float(np.vdot(self.gamma, values)) * (1.0 if self.on_diagonal else 2.0)

    def _summed(self, function: Elementwise) -> FloatArray:
        return summed(self._own_terms(), self.beta, lambda term, beta: (function(term, beta),))[0]

    def _own_terms(self) -> Iterator[Term]:
        for term in self.terms:
            yield Term(term.weight, restricted(term.kernel, self.rows, self.columns))


class PairBlocks:
    """The blocks of a problem, in double or single precision."""

    def __init__(self, objective: TraceObjective, rows: int | None, *, single_precision: bool) -> None:
        self._dtype: Any = np.float32 if single_precision else np.float64
        self._zero_diagonal = objective.gamma.zero_diagonal
        self._left = self.cast(objective.gamma.factor * objective.gamma.weights)
        self._right = self.cast(objective.gamma.factor)
        grouped: dict[Pairing, list[Term]] = {}
        for term in terms_of(objective.kernel):
            grouped.setdefault(term.kernel.pairing, []).append(term)
        self._terms = {pairing: tuple(terms) for pairing, terms in grouped.items()}
        n_samples, (height, self._width) = len(self._right), (rows, rows) if rows else (_ROWS, _COLUMNS)
        self._rows = [slice(begin, min(begin + height, n_samples)) for begin in range(0, n_samples, height)]

    @property
    def pairings(self) -> tuple[Pairing, ...]:
        """The pairings that occur."""
        return tuple(self._terms)

    @property
    def n_rows(self) -> int:
        """Number of rows of blocks."""
        return len(self._rows)

    def features(self, objective: TraceObjective) -> FloatArray:
        """Return the features in the precision of the blocks; see :func:`single_precision_features`."""
        if self._dtype is np.float32:
            return single_precision_features(objective)
        return self.cast(objective.features)

    def cast(self, array: FloatArray) -> FloatArray:
        """Return the array in the precision of the blocks."""
        cast: FloatArray = np.ascontiguousarray(array, dtype=self._dtype)
        return cast

    def over(self, pairing: Pairing, samples: FloatArray) -> Callable[[int], Iterator[Block]]:
        """Return what yields the blocks of one row, for samples P (n x q)."""
        left, right = self.cast(samples), self.cast(samples)
        if pairing is Pairing.DIFFERENCE:
            # |p|^2 + |r|^2 - 2 p'r as one product; of centred samples, since it cancels.
            centred = self.cast(samples - samples.mean(axis=0))
            squares = np.einsum("ij,ij->i", centred, centred)[:, None]
            ones = np.ones_like(squares)
            left, right = np.hstack([-2.0 * centred, squares, ones]), np.hstack([centred, ones, squares])

        def blocks(number: int) -> Iterator[Block]:
            rows = self._rows[number]
            mine, gammas = left[rows], self._left[rows]
            for columns in self._columns(rows):
                beta = mine @ right[columns].T
                if pairing is Pairing.DIFFERENCE:
                    # Rounding may leave distances of coinciding samples a little below zero.
                    np.maximum(beta, 0.0, out=beta)
                gamma = gammas @ self._right[columns].T
                if self._zero_diagonal and rows == columns:
                    np.fill_diagonal(gamma, 0.0)
                yield Block(rows, columns, gamma, beta, self._terms[pairing])

        return blocks

    def _columns(self, rows: slice) -> Iterator[slice]:
        yield rows
        n_samples = self._rows[-1].stop
        for begin in range(rows.stop, n_samples, self._width):
            yield slice(begin, min(begin + self._width, n_samples))
