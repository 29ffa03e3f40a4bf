"""Exact evaluation in panels of rows and columns: no n x n array is ever made.

The sums are those of :mod:`kdrbench.evaluation.dense`, for any kernel, taken block by block over the upper triangle of
pairs. Value, gradient and products take O(n^2 q) time and O(n q) memory; they go through the samples class by class
(:mod:`.pairs`). The surrogate is a quadratic form, which half the pairs determine: S + S' with S = sum_I X_I' (G_II
X_I/2 + sum_{J > I} G_IJ X_J), in O(n^2 d/2) time and O(b d + d^2) memory for panels of b samples. It takes the samples
as they are given: X would have to be copied, and Gamma for each pair costs little beside d columns.

With ``single_precision`` blocks are made and multiplied in float32, and rows of them summed in float64. Relative errors
are then some 1e-7 of the sums of magnitudes; where the surrogate of a difference kernel cancels, so much more of what
is left. Features on a device have their blocks there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

from kdrbench.arrays import inner, is_device_array, matmul, multiply, namespace_of, row_products
from kdrbench.evaluation.base import PairSums, curvature_form
from kdrbench.evaluation.pairs import PairBlocks, RowProducts, single_precision_features, with_ones
from kdrbench.evaluation.weights import initial_surrogate, weighted_gram
from kdrbench.kernels import Combination, Pairing, RelativeGaussian, Term, terms_of
from kdrbench.kernels.family import FloatArray, form_of
from kdrbench.problems import TraceObjective
from kdrbench.samples.passes import run_pass


class PanelProblem(PairSums[None]):
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
        compiled: bool = False,
    ) -> None:
        gamma, order = objective.gamma, objective.gamma.class_order
        on_device = is_device_array(objective.array)
        single = single_precision and not on_device
        super().__init__(single_precision_features(objective) if single else objective.array, order)
        options: dict[str, Any] = {"single_precision": single_precision, "compiled": compiled, "device": self._device}
        self._by_class, self._unsorted = (
            PairBlocks(gamma, panel, order=of_blocks, **options) for of_blocks in (order, None)
        )
        self._threads, self._objective = 1 if on_device else threads, objective
        self._terms = terms_of(objective.kernel)

    def _value(self, projection: FloatArray) -> float:
        samples = self._samples(projection)
        return sum(self._summed(term, samples, {0: None}).value for term in self._terms)

    def _value_and_gradient(self, projection: FloatArray) -> tuple[float, FloatArray]:
        given = self._samples(projection)
        value, through, xp = 0.0, self._device.zeros(*given.shape), namespace_of(given)
        for term in self._terms:
            pairing, form = term.kernel.pairing, form_of(term.kernel)
            ratio = form and form.ratio
            # Sums of squared distances cancel.
            samples = given - xp.mean(given, axis=0) if pairing is Pairing.DIFFERENCE else given
            sums = self._summed(term, samples, {1: samples} if ratio else {0: None, 1: samples})
            part = _combined(pairing, sums.products[1], samples)
            if ratio:
                degrees = float(xp.sum(sums.products[1][samples.shape[1], :]))
                value += ratio[0] * degrees + ratio[1] * inner(samples, part)
            else:
                value += sums.value
            through += part
        return value, self._back(through)

    def _sloped(self, projection: FloatArray, columns: FloatArray) -> FloatArray:
        samples = self._samples(projection)
        total: FloatArray = self._device.zeros(*columns.shape)
        for term in self._terms:
            total += _combined(term.kernel.pairing, self._summed(term, samples, {1: columns}).products[1], columns)
        return total

    def _turned(self, projection: FloatArray, moved: list[FloatArray]) -> list[FloatArray]:
        """Return the derivative of sloped(P) along each tangent: the kernel is evaluated once for all of them."""
        samples, xp = self._samples(projection), namespace_of(moved[0])
        columns, q = xp.concat(moved, axis=1), samples.shape[1]
        total = self._device.zeros(*columns.shape)
        for term in self._terms:
            pairing = term.kernel.pairing
            changes = [_changes(pairing, samples, tangent) for tangent in moved]
            found = self._summed(term, samples, {1: columns, 2: samples}, changes).products
            total += _combined(pairing, found[1], columns)
            for place in range(len(moved)):
                total[:, place * q : (place + 1) * q] += _combined(pairing, found[2 + place], samples)
        return [total[:, place * q : (place + 1) * q] for place in range(len(moved))]

    def _curvature_form(self, projection: FloatArray, moved: FloatArray) -> FloatArray:
        samples = self._samples(projection)
        m, q = moved.shape[1], samples.shape[1]
        form = self._device.zeros(m, q, m, q)
        for term in self._terms:

            def weighted(columns: FloatArray, term: Term = term) -> FloatArray:
                return _combined(Pairing.DOT, self._summed(term, samples, {2: columns}).products[2], columns)

            form += curvature_form(term.kernel.pairing, weighted, moved, samples)
        return self._device.down(form)

    def _surrogate(self, projection: FloatArray) -> FloatArray:
        return self._forms(self._unsorted, self._as_given(projection), self._features)

    def _initial_surrogate(self) -> FloatArray:
        return reduce(add, map(self._initial_form, self._terms))

    def _initial_form(self, term: Term) -> FloatArray:
        if isinstance(term.kernel, RelativeGaussian):
            # Its slopes at beta = 0 differ from pair to pair: those of samples that coincide.
            return self._form(self._unsorted, term, self._device.zeros(self._features.shape[0], 1), self._features)
        objective = replace(self._objective, kernel=Combination((term,)))
        return initial_surrogate(objective, self._threads, self.report)

    def _quadratic(self, projection: FloatArray, columns: FloatArray) -> FloatArray:
        return self._forms(self._by_class, self._samples(projection), columns)

    def _forms(self, pairs: PairBlocks, samples: FloatArray, columns: FloatArray) -> FloatArray:
        return reduce(add, (self._form(pairs, term, samples, columns) for term in self._terms))

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
            sums = {order: RowProducts(rows, held) for order, held in columns.items()}
            for block in blocks:
                for order, (factor, array) in zip(orders, block.derivatives(orders), strict=True):
                    if order not in sums:
                        total.value += factor * block.counted(array)
                        continue
                    if order < 2 or not factors:
                        sums[order].add(block, factor, array, total.products[order])
                        continue
                    for place, (left, right) in enumerate(factors, order):
                        change = matmul(left[block.rows, :], right[:, block.columns], block.spare(1))
                        change *= array
                        sums[place].add(block, factor, change, total.products[place])
            for order, found in sums.items():
                found.add_to(total.products[order])

        def zero() -> _Sums:
            sums = {order: self._device.zeros(*held.T.shape) for order, held in columns.items()}
            return _Sums(sweep.memory(), sums, self._device.zeros(0, 0))

        total = _all_of(run_pass(range(len(sweep)), self._threads, zero, visit, self.report), term.weight)
        for order, found in total.products.items():
            total.products[order] = sweep.scaled(found.T, order=min(order, 2)).T
        return total

    def _form(self, pairs: PairBlocks, term: Term, samples: FloatArray, columns: FloatArray) -> FloatArray:
        """Return V' G V (dot) or 2 V' (diag(G 1) - G) V (difference), G = Gamma * f'(beta)."""
        xp, (n_samples, size) = namespace_of(columns), columns.shape
        sweep = pairs.over(term.kernel, samples, n_features=size)
        ones = sweep.scaled(pairs.cast(xp.ones_like(columns[:, :1])))

        def visit(total: _Sums, number: int) -> None:
            rows, blocks = sweep.row(number, total.memory)
            degrees, through = RowProducts(rows, ones), xp.zeros_like(pairs.cast(columns[rows, :]))
            for block in blocks:
                factor, array = next(block.derivatives((1,)))
                degrees.add(block, factor, array, total.products[1])
                weights = multiply(array, block.gamma, None if block.spare(1) is None else array)
                others = sweep.scaled(pairs.cast(columns[block.columns, :]), block.columns)
                through += (0.5 * factor if block.on_diagonal else factor) * (weights @ others)
            degrees.add_to(total.products[1])
            total.form += sweep.scaled(pairs.cast(columns[rows, :]), rows).T @ through

        def zero() -> _Sums:
            return _Sums(sweep.memory(), {1: self._device.zeros(1, n_samples)}, self._device.zeros(size, size))

        total = _all_of(run_pass(range(len(sweep)), self._threads, zero, visit, self.report), term.weight)
        form: FloatArray = self._device.down(total.form + total.form.T)
        if term.kernel.pairing is Pairing.DOT:
            return form
        degrees = sweep.scaled(total.products[1].T)[:, 0]
        return 2.0 * (weighted_gram(columns, degrees, self._threads) - form)


class _Sums:
    """What one thread adds up: a value, ((Gamma * f) (V, 1))' by the order of the derivative f, a quadratic form."""

    def __init__(self, memory: list[FloatArray | None], products: dict[int, FloatArray], form: FloatArray) -> None:
        self.memory, self.value, self.products, self.form = memory, 0.0, products, form


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
    for order in total.products:
        total.products[order] *= weight
    return total


def _changes(pairing: Pairing, samples: FloatArray, moved: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return L and R with LR = dbeta[Z], for P = XW and R = XZ."""
    xp = namespace_of(samples)
    if pairing is Pairing.DOT:
        return xp.concat([samples, moved], axis=1), xp.concat([moved, samples], axis=1).T
    samples, moved = samples - xp.mean(samples, axis=0), moved - xp.mean(moved, axis=0)
    own = 2.0 * row_products(samples, moved)[:, None]
    ones = xp.ones_like(own)
    left = xp.concat([-2.0 * samples, -2.0 * moved, own, ones], axis=1)
    return left, xp.concat([moved, samples, ones, own], axis=1).T


def _combined(pairing: Pairing, products: FloatArray, columns: FloatArray) -> FloatArray:
    """Return G V, or 2 (diag(G 1) - G) V for the difference pairing."""
    n_columns = columns.shape[1]
    through: FloatArray = products[:n_columns, :].T
    if pairing is Pairing.DOT:
        return through
    return 2.0 * (products[n_columns, :][:, None] * columns - through)
