"""Exact evaluation in panels of rows and columns: no n x n array is ever made.

The sums are those of :mod:`kdrbench.evaluation.dense`, for any kernel, taken block by block over the upper triangle of
pairs. Value, gradient and products take O(n^2 q) time and O(n q) memory; they go through the samples class by class
(:mod:`.pairs`). The surrogate is a quadratic form, which half the pairs determine: S + S' with S = sum_I X_I' (G_II
X_I/2 + sum_{J > I} G_IJ X_J), in O(n^2 d/2) time and O(b d + d^2) memory for panels of b samples. It takes the samples
as they are given: X would have to be copied, and Gamma for each pair costs little beside d columns.

With ``single_precision`` blocks are made and multiplied in float32, and rows of them summed in float64. Relative errors
are then some 1e-7 of the sums of magnitudes; where the surrogate of a difference kernel cancels, so much more of what
is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kdrbench.evaluation.arguments import value_per_slope
from kdrbench.evaluation.base import PairSums
from kdrbench.evaluation.curvature_form import curvature_form
from kdrbench.evaluation.pairs import PairBlocks, RowProducts, single_precision_features, with_ones
from kdrbench.evaluation.passes import run_pass
from kdrbench.evaluation.weights import initial_surrogate, weighted_gram
from kdrbench.kernels import Combination, Pairing, RelativeGaussian, Term, terms_of
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import TraceObjective


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
        gamma, order = objective.gamma, objective.gamma.class_order
        super().__init__(single_precision_features(objective) if single_precision else objective.array, order)
        self._by_class = PairBlocks(gamma, panel, order=order, single_precision=single_precision)
        self._as_given = PairBlocks(gamma, panel, order=None, single_precision=single_precision)
        self._threads, self._objective = threads, objective
        self._terms = terms_of(objective.kernel)

    def _forget(self) -> None:
        """No point is ever held."""

    def _value(self, projection: FloatArray) -> float:
        samples = self._samples(projection)
        return sum(self._summed(term, samples, {0: None}).value for term in self._terms)

    def _value_and_gradient(self, projection: FloatArray) -> tuple[float, FloatArray]:
        given = self._samples(projection)
        value, through = 0.0, np.zeros(given.shape)
        for term in self._terms:
            pairing, ratio = term.kernel.pairing, value_per_slope(term.kernel)
            # Sums of squared distances cancel.
            samples = given - given.mean(axis=0) if pairing is Pairing.DIFFERENCE else given
            sums = self._summed(term, samples, {1: samples} if ratio else {0: None, 1: samples})
            part = _combined(pairing, sums.products[1], samples)
            if ratio:
                degrees, squares = float(sums.products[1][samples.shape[1]].sum()), float(np.vdot(samples, part))
                value += ratio[0] * degrees + ratio[1] * squares
            else:
                value += sums.value
            through += part
        return value, self._back(through)

    def _sloped(self, projection: FloatArray, columns: FloatArray) -> FloatArray:
        samples = self._samples(projection)
        total: FloatArray = np.zeros(columns.shape)
        for term in self._terms:
            total += _combined(term.kernel.pairing, self._summed(term, samples, {1: columns}).products[1], columns)
        return total

    def _turned(self, projection: FloatArray, moved: FloatArray) -> FloatArray:
        return self._turned_together(projection, [moved])[0]

    def _turned_together(self, projection: FloatArray, moved: list[FloatArray]) -> list[FloatArray]:
        """Return the derivative of sloped(P) along each tangent: the kernel is evaluated once for all of them."""
        samples, columns = self._samples(projection), np.hstack(moved)
        total: FloatArray = np.zeros(columns.shape)
        for term in self._terms:
            pairing = term.kernel.pairing
            changes = [_changes(pairing, samples, one) for one in moved]
            products = self._summed(term, samples, {1: columns, 2: samples}, changes).products
            total += _combined(pairing, products[1], columns)
            total += np.hstack([_combined(pairing, products[2 + place], samples) for place in range(len(moved))])
        return np.split(total, len(moved), axis=1)

    def _curvature_form(self, projection: FloatArray, moved: FloatArray) -> FloatArray:
        samples = self._samples(projection)
        m, q = moved.shape[1], samples.shape[1]
        form = np.zeros((m, q, m, q))
        for term in self._terms:

            def weighted(columns: FloatArray, term: Term = term) -> FloatArray:
                return _combined(Pairing.DOT, self._summed(term, samples, {2: columns}).products[2], columns)

            form += curvature_form(term.kernel.pairing, weighted, moved, samples)
        return form

    def _surrogate(self, projection: FloatArray) -> FloatArray:
        samples = self._features @ projection.astype(self._features.dtype, copy=False)
        return sum((self._form(self._as_given, term, samples, self._features) for term in self._terms), np.zeros(()))

    def _initial_surrogate(self) -> FloatArray:
        result: FloatArray = np.zeros((self.n_features, self.n_features))
        for term in self._terms:
            if isinstance(term.kernel, RelativeGaussian):
                # Its slopes at beta = 0 differ from pair to pair: those of samples that coincide.
                result += self._form(self._as_given, term, np.zeros((len(self._features), 1)), self._features)
            else:
                objective = replace(self._objective, kernel=Combination((term,)))
                result += initial_surrogate(objective, self._threads, self.report)
        return result

    def _quadratic(self, projection: FloatArray, columns: FloatArray) -> FloatArray:
        samples = self._samples(projection)
        return sum((self._form(self._by_class, term, samples, columns) for term in self._terms), np.zeros(()))

    def _summed(
        self,
        term: Term,
        samples: FloatArray,
        targets: dict[int, FloatArray | None],
        changes: Sequence[tuple[FloatArray, FloatArray]] = (),
    ) -> _Sums:
        """Return ((Gamma * f) (V, 1))' for derivatives f of these orders with columns V, the sum of Gamma * f without.

        ``changes`` are pairs L, R with whose product f'' is multiplied; their sums are numbered 2, 3 and so on.
        """
        cast, orders = self._by_class.cast, tuple(targets)
        columns = {order: cast(with_ones(given)) for order, given in targets.items() if given is not None}
        sweep = self._by_class.over(term.kernel, samples, max((part.shape[1] for part in columns.values()), default=1))
        columns = {order: sweep.scaled(held, order=order) for order, held in columns.items()}
        factors = [(cast(left), cast(right)) for left, right in changes]
        columns |= {2 + place: columns[2] for place in range(len(factors))}

        def visit(total: _Sums, number: int) -> None:
            rows, blocks = sweep.row(number, total.memory)
            products = {order: RowProducts(rows, held) for order, held in columns.items()}
            for block in blocks:
                for order, (factor, array) in zip(orders, block.derivatives(orders), strict=True):
                    if order not in products:
                        total.value += factor * block.counted(array)
                        continue
                    if order < 2 or not factors:
                        products[order].add(block, factor, array, total.products[order])
                        continue
                    for place, (left, right) in enumerate(factors, order):
                        change = np.matmul(left[block.rows], right[:, block.columns], out=block.spare(1))
                        change *= array
                        products[place].add(block, factor, change, total.products[place])
            for order, found in products.items():
                found.add_to(total.products[order])

        shapes = {order: held.T.shape for order, held in columns.items()}
        parts = run_pass(range(len(sweep)), self._threads, lambda: _Sums(sweep.memory(), shapes), visit, self.report)
        total = _all_of(parts, term.weight)
        for order, products in total.products.items():
            total.products[order] = sweep.scaled(products.T, order=min(order, 2)).T
        return total

    def _form(self, pairs: PairBlocks, term: Term, samples: FloatArray, columns: FloatArray) -> FloatArray:
        """Return V' G V (dot) or 2 V' (diag(G 1) - G) V (difference), G = Gamma * f'(beta)."""
        held, size = pairs.cast(columns), columns.shape[1]
        sweep = pairs.over(term.kernel, samples)
        ones = sweep.scaled(np.ones((len(held), 1), dtype=held.dtype))

        def visit(total: _Sums, number: int) -> None:
            rows, blocks = sweep.row(number, total.memory)
            degrees = RowProducts(rows, ones)
            through: FloatArray = np.zeros((rows.stop - rows.start, size), held.dtype)
            for block in blocks:
                factor, array = next(block.derivatives((1,)))
                degrees.add(block, factor, array, total.products[1])
                weights = np.multiply(array, block.gamma, out=array)
                others = sweep.scaled(held[block.columns], block.columns)
                through += (0.5 * factor if block.on_diagonal else factor) * (weights @ others)
            degrees.add_to(total.products[1])
            total.form += sweep.scaled(held[rows], rows).T @ through

        parts = run_pass(
            range(len(sweep)),
            self._threads,
            lambda: _Sums(sweep.memory(), {1: (1, len(held))}, size),
            visit,
            self.report,
        )
        total = _all_of(parts, term.weight)
        form: FloatArray = total.form + total.form.T
        if term.kernel.pairing is Pairing.DOT:
            return form
        degrees = sweep.scaled(total.products[1].T)[:, 0]
        return 2.0 * (weighted_gram(held, degrees, self._threads) - form)


class _Sums:
    """What one thread adds up: a value, ((Gamma * f) (V, 1))' by the order of the derivative f, a quadratic form."""

    def __init__(self, memory: list[FloatArray], shapes: dict[int, tuple[int, ...]], form_size: int = 0) -> None:
        self.memory, self.value = memory, 0.0
        self.products: dict[int, FloatArray] = {order: np.zeros(shape) for order, shape in shapes.items()}
        self.form: FloatArray = np.zeros((form_size, form_size))


def _all_of(parts: list[_Sums], weight: float) -> _Sums:
    """Return what all threads have added up, times the weight of the kernel."""
    total = parts[0]
    for part in parts[1:]:
        total.value += part.value
        total.form += part.form
        for order, products in part.products.items():
            total.products[order] += products
    total.value *= weight
    total.form *= weight
    for products in total.products.values():
        products *= weight
    return total


def _changes(pairing: Pairing, samples: FloatArray, moved: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return L and R with LR = dbeta[Z], for P = XW and R = XZ."""
    if pairing is Pairing.DOT:
        return np.hstack([samples, moved]), np.hstack([moved, samples]).T
    samples, moved = samples - samples.mean(axis=0), moved - moved.mean(axis=0)
    own = 2.0 * np.einsum("ij,ij->i", samples, moved)[:, None]
    ones = np.ones_like(own)
    left = np.hstack([-2.0 * samples, -2.0 * moved, own, ones])
    return left, np.hstack([moved, samples, ones, own]).T


def _combined(pairing: Pairing, products: FloatArray, columns: FloatArray) -> FloatArray:
    """Return G V, or 2 (diag(G 1) - G) V for the difference pairing."""
    n_columns = columns.shape[1]
    through: FloatArray = products[:n_columns].T
    if pairing is Pairing.DOT:
        return through
    return 2.0 * (products[n_columns][:, None] * columns - through)
