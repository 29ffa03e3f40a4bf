"""Exact evaluation in panels of rows and columns: no n x n array is ever made.

The sums are those of :mod:`kdrbench.evaluation.dense`, for any kernel, taken block by block over the upper triangle of
pairs; Gamma's blocks are made from its factors. Value, gradient and products take O(n^2 q) time and O(n q) memory. The
surrogate is a quadratic form, which half the pairs determine: S + S' with S = sum_I X_I' (G_II X_I/2 + sum_{J > I} G_IJ
X_J), in O(n^2 d/2) time and O(b d + d^2) memory for panels of b samples.

With ``single_precision`` blocks are made and multiplied in float32, and rows of them summed in float64. Relative errors
are then some 1e-7 of the sums of magnitudes; where the surrogate of a difference kernel cancels, so much more of what
is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from kdrbench.evaluation.base import PairSums, curvature_form
from kdrbench.evaluation.pairs import (
    Block,
    Elementwise,
    PairBlocks,
    initial_slope,
    kernel_curvature,
    kernel_slope,
)
from kdrbench.evaluation.passes import run_pass
from kdrbench.evaluation.weights import initial_surrogate, slopes_are_one_number, weighted_gram
from kdrbench.kernels import Pairing
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import TraceObjective

_Row = Callable[[int], Iterator[Block]]
# A block of G.
_Weights = Callable[[Block], FloatArray]
# For each tangent, two arrays with a row a sample, whose products are dbeta.
_Changes = list[tuple[FloatArray, FloatArray]]


class PanelProblem(PairSums):
    """Oracles of a :class:`TraceObjective` in memory linear in n; ``threads`` share the blocks.

    ``panel`` is the number of samples of a block, where it is not to be chosen.
    """

    def __init__(
        self,
        objective: TraceObjective,
        *,
        panel: int | None = None,
        threads: int = 1,
        single_precision: bool = False,
    ) -> None:
        self._pairs = PairBlocks(objective, panel, single_precision=single_precision)
        super().__init__(self._pairs.features(objective))
        self._threads, self._objective = threads, objective

    def _forget(self) -> None:
        """No point is ever held."""

    def _value(self, projection: FloatArray) -> float:
        samples = self._projected(projection)

        def visit(total: _Sums, block: Block) -> None:
            total.value += block.value()

        return sum(
            part.value
            for pairing in self._pairs.pairings
            for part in self._swept(self._pairs.over(pairing, samples), samples[:, :0], visit)
        )

    def _value_and_gradient(self, projection: FloatArray) -> tuple[float, FloatArray]:
        samples = self._projected(projection)
        value, through = 0.0, np.zeros(samples.shape)

        def visit(total: _Sums, block: Block) -> None:
            part, slopes = block.value_and_slopes()
            total.value += part
            total.add(block, slopes)

        for pairing in self._pairs.pairings:
            sums = self._swept(self._pairs.over(pairing, samples), samples, visit)
            value += sum(part.value for part in sums)
            through += _combined(pairing, sums, samples)
        return value, self._back(through)

    def _sloped(self, projection: FloatArray, columns: FloatArray) -> FloatArray:
        samples = self._projected(projection)
        total: FloatArray = np.zeros(columns.shape)
        for pairing in self._pairs.pairings:
            blocks = self._pairs.over(pairing, samples)
            total += self._product(pairing, blocks, lambda block: block.weighted(kernel_slope), columns)
        return total

    def _turned(self, projection: FloatArray, moved: FloatArray) -> FloatArray:
        return self._turned_together(projection, [moved])[0]

    def _turned_together(self, projection: FloatArray, moved: list[FloatArray]) -> list[FloatArray]:
        """Return the derivative of sloped(P) along each tangent: the kernel is evaluated once for all of them."""
        samples, columns = self._projected(projection), self._pairs.cast(np.hstack(moved))
        total: FloatArray = np.zeros(columns.shape)
        for pairing in self._pairs.pairings:
            blocks = self._pairs.over(pairing, samples)
            changes = [_change_of_beta(pairing, samples, self._pairs.cast(one)) for one in moved]

            def new() -> list[_Sums]:
                return [_Sums(columns), *(_Sums(samples) for _ in moved)]

            def visit(sums: list[_Sums], number: int, blocks: _Row = blocks, changes: _Changes = changes) -> None:
                for block in blocks(number):
                    sums[0].add(block, block.weighted(kernel_slope))
                    curvature = block.weighted(kernel_curvature)
                    for one, (left, right) in zip(sums[1:], changes, strict=True):
                        change = left[block.rows] @ right[block.columns].T
                        change *= curvature
                        one.add(block, change)

            swept = run_pass(range(self._pairs.n_rows), self._threads, new, visit, self.report)
            sloped, *bent = (list(parts) for parts in zip(*swept, strict=True))
            total += _combined(pairing, sloped, columns)
            total += np.hstack([_combined(pairing, parts, samples) for parts in bent])
        return np.split(total, len(moved), axis=1)

    def _curvature_form(self, projection: FloatArray, moved: FloatArray) -> FloatArray:
        samples = self._projected(projection)
        m, q = moved.shape[1], samples.shape[1]
        form = np.zeros((m, q, m, q))
        for pairing in self._pairs.pairings:
            blocks = self._pairs.over(pairing, samples)

            def weighted(columns: FloatArray, blocks: _Row = blocks) -> FloatArray:
                return self._product(Pairing.DOT, blocks, lambda block: block.weighted(kernel_curvature), columns)

            form += curvature_form(pairing, weighted, moved, samples)
        return form

    def _surrogate(self, projection: FloatArray) -> FloatArray:
        return self._form(kernel_slope, self._projected(projection), self._features)

    def _initial_surrogate(self) -> FloatArray:
        if slopes_are_one_number(self._objective):
            return initial_surrogate(self._objective, self._threads, self.report)
        return self._form(initial_slope, self._features[:, :1], self._features)

    def _quadratic(self, projection: FloatArray, columns: FloatArray) -> FloatArray:
        return self._form(kernel_slope, self._projected(projection), columns)

    def _projected(self, projection: FloatArray) -> FloatArray:
        return self._features @ self._pairs.cast(projection)

    def _product(self, pairing: Pairing, blocks: _Row, weights: _Weights, targets: FloatArray) -> FloatArray:
        """Return G V (dot) or 2 (diag(G 1) - G) V (difference) for G given by its blocks."""

        def visit(total: _Sums, block: Block) -> None:
            total.add(block, weights(block))

        return _combined(pairing, self._swept(blocks, self._pairs.cast(targets), visit), targets)

    def _form(self, function: Elementwise, samples: FloatArray, columns: FloatArray) -> FloatArray:
        """Return V' G V (dot) plus 2 V' (diag(G 1) - G) V (difference), G = Gamma * function(beta)."""
        held = self._pairs.cast(columns)
        size = held.shape[1]
        result: FloatArray = np.zeros((size, size))
        for pairing in self._pairs.pairings:
            blocks = self._pairs.over(pairing, samples)

            def visit(total: _Sums, number: int, blocks: _Row = blocks) -> None:
                rows, through = slice(0), held[:0]
                for block in blocks(number):
                    weights = block.weighted(function)
                    total.add(block, weights)
                    if block.on_diagonal:
                        rows, through = block.rows, 0.5 * (weights @ held[block.columns])
                    else:
                        through += weights @ held[block.columns]
                total.form += held[rows].T @ through

            sums = run_pass(
                range(self._pairs.n_rows), self._threads, lambda: _Sums(held[:, :0], size), visit, self.report
            )
            half = np.sum([part.form for part in sums], axis=0)
            if pairing is Pairing.DIFFERENCE:
                degrees = np.sum([part.products[:, -1] for part in sums], axis=0)
                result += 2.0 * (weighted_gram(held, degrees, self._threads) - half - half.T)
            else:
                result += half + half.T
        return result

    def _swept(self, blocks: _Row, targets: FloatArray, visit: Callable[[_Sums, Block], None]) -> list[_Sums]:
        """Visit all blocks of the upper triangle."""

        def visit_row(total: _Sums, number: int) -> None:
            for block in blocks(number):
                visit(total, block)

        return run_pass(range(self._pairs.n_rows), self._threads, lambda: _Sums(targets), visit_row, self.report)


class _Sums:
    """What one thread adds up: a value, G (V, 1) for columns V, and a quadratic form."""

    def __init__(self, targets: FloatArray, form_size: int = 0) -> None:
        # With a column of ones, for the degrees.
        self._targets = np.hstack([targets, np.ones((len(targets), 1), dtype=targets.dtype)])
        self.value = 0.0
        self.products: FloatArray = np.zeros(self._targets.shape)
        self.form: FloatArray = np.zeros((form_size, form_size))

    def add(self, block: Block, weights: FloatArray) -> None:
        """Add a block of G and, off the diagonal, its transpose."""
        self.products[block.rows] += weights @ self._targets[block.columns]
        if not block.on_diagonal:
            self.products[block.columns] += weights.T @ self._targets[block.rows]


def _change_of_beta(pairing: Pairing, samples: FloatArray, moved: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return A and B with dbeta[Z] = A B' for P = ``samples`` and R = XZ = ``moved``: one product a block."""
    if pairing is Pairing.DOT:
        return np.hstack([samples, moved]), np.hstack([moved, samples])
    # Differences do not see the mean, and products of centred columns cancel least.
    samples, moved = samples - samples.mean(axis=0), moved - moved.mean(axis=0)
    own = 2.0 * np.einsum("ij,ij->i", samples, moved)[:, None]
    ones = np.ones_like(own)
    return np.hstack([-2.0 * samples, -2.0 * moved, own, ones]), np.hstack([moved, samples, ones, own])


def _combined(pairing: Pairing, sums: list[_Sums], targets: FloatArray) -> FloatArray:
    """Return G V, or 2 (diag(G 1) - G) V for the difference pairing."""
    total: FloatArray = np.sum([part.products for part in sums], axis=0)
    if pairing is Pairing.DOT:
        return total[:, :-1]
    return 2.0 * (total[:, -1:] * targets - total[:, :-1])
