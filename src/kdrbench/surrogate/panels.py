"""Exact evaluation in panels of rows and columns: no n x n array is ever made.

The sums are those of :mod:`kdrbench.surrogate.dense`, for any kernel, taken block by block over the upper triangle of
pairs; Gamma's blocks are made from its factors. Memory is O(n (d + q) + b^2) for panels of b samples and the time that
of the dense evaluation, O(n^2 q) for value, gradient and products and O(n^2 d) for the surrogate, without its traffic
through memory. Blocks are dealt to ``threads`` threads; their sums differ from one thread's by rounding only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from kdrbench.kernels import Pairing, Term, restricted, terms_of
from kdrbench.kernels.family import FloatArray, pairing_block
from kdrbench.problems import TraceObjective
from kdrbench.surrogate.evaluator import Evaluator
from kdrbench.surrogate.hessian import curvature_form

# Blocks of this many samples stay in the second-level cache; measured.
_PANEL = 256
_Elementwise = Callable[[Term, FloatArray], FloatArray]
# What a visit to one block of pairs adds to: sums of products, or of values.
_Visit = Callable[[slice, slice, FloatArray, "list[_Product]"], None]


class PanelProblem(Evaluator):
    """Oracles of a :class:`TraceObjective` in memory linear in n."""

    def __init__(self, objective: TraceObjective, *, panel: int = _PANEL, threads: int = 1) -> None:
        super().__init__(objective.features)
        self._gamma = objective.gamma
        self._panel, self._threads = panel, threads
        self._terms: dict[Pairing, list[Term]] = {}
        for term in terms_of(objective.kernel):
            self._terms.setdefault(term.kernel.pairing, []).append(term)

    def _forget(self) -> None:
        """No point is ever held."""

    def _value(self, projection: FloatArray) -> float:
        samples = self._features @ projection
        ones = np.ones((len(samples), 1))

        def visit(rows: slice, columns: slice, gamma: FloatArray, products: list[_Product]) -> None:
            for pairing in self._terms:
                beta = pairing_block(pairing, samples[rows], samples[columns])
                products[0].add(rows, columns, gamma * self._summed(_value, pairing, beta, rows, columns))

        return float(self._swept(visit, [(Pairing.DOT, ones)]).sum())

    def _sloped(self, projection: FloatArray, columns: FloatArray) -> FloatArray:
        return self._weighted(_slope, self._features @ projection, columns)

    def _turned(self, projection: FloatArray, moved: FloatArray) -> FloatArray:
        samples = self._features @ projection
        own = 2.0 * np.einsum("ij,ij->i", samples, moved)

        def visit(rows: slice, columns: slice, gamma: FloatArray, products: list[_Product]) -> None:
            for place, pairing in enumerate(self._terms):
                beta = pairing_block(pairing, samples[rows], samples[columns])
                turned = samples[rows] @ moved[columns].T + moved[rows] @ samples[columns].T
                if pairing is Pairing.DIFFERENCE:
                    turned = own[rows, None] + own[columns] - 2.0 * turned
                turned *= gamma
                turned *= self._summed(_curvature, pairing, beta, rows, columns)
                sloped = gamma * self._summed(_slope, pairing, beta, rows, columns)
                products[2 * place].add(rows, columns, sloped)
                products[2 * place + 1].add(rows, columns, turned)

        wanted = [(pairing, target) for pairing in self._terms for target in (moved, samples)]
        return self._swept(visit, wanted)

    def _curvature_form(self, projection: FloatArray, moved: FloatArray) -> FloatArray:
        samples = self._features @ projection
        m, q = moved.shape[1], samples.shape[1]
        form = np.zeros((m, q, m, q))
        for pairing in self._terms:

            def weighted(columns: FloatArray, pairing: Pairing = pairing) -> FloatArray:
                return self._weighted(_curvature, samples, columns, only=pairing)

            form += curvature_form(pairing, weighted, moved, samples)
        return form

    def _surrogate(self, projection: FloatArray) -> FloatArray:
        return self._surrogate_from(_slope, self._features @ projection)

    def _initial_surrogate(self) -> FloatArray:
        return self._surrogate_from(_initial_slope, self._features[:, :1])

    def _surrogate_from(self, function: _Elementwise, samples: FloatArray) -> FloatArray:
        surrogate = self._features.T @ self._weighted(function, samples, self._features)
        return 0.5 * (surrogate + surrogate.T)

    def _weighted(
        self, function: _Elementwise, samples: FloatArray, targets: FloatArray, only: Pairing | None = None
    ) -> FloatArray:
        """Return G V (dot) or 2 (diag(G 1) - G) V (difference), summed over pairings; G V alone for ``only`` one."""
        pairings = list(self._terms) if only is None else [only]

        def visit(rows: slice, columns: slice, gamma: FloatArray, products: list[_Product]) -> None:
            for product, pairing in zip(products, pairings, strict=True):
                beta = pairing_block(pairing, samples[rows], samples[columns])
                product.add(rows, columns, gamma * self._summed(function, pairing, beta, rows, columns))

        wanted = [(pairing if only is None else Pairing.DOT, targets) for pairing in pairings]
        return self._swept(visit, wanted)

    def _swept(self, visit: _Visit, wanted: list[tuple[Pairing, FloatArray]]) -> FloatArray:
        """Visit all blocks and return the sum of the products wanted."""

        def share(worker: int) -> list[_Product]:
            products = [_Product(pairing, targets) for pairing, targets in wanted]
            for number, (rows, columns) in enumerate(self._blocks()):
                if number % self._threads == worker:
                    visit(rows, columns, self._gamma_block(rows, columns), products)
            return products

        if self._threads == 1:
            shares = [share(0)]
        else:
            with ThreadPoolExecutor(self._threads) as pool:
                shares = list(pool.map(share, range(self._threads)))
        total: FloatArray = sum(product.result() for products in shares for product in products)  # type: ignore[assignment]
        return total

    def _blocks(self) -> Iterator[tuple[slice, slice]]:
        starts = range(0, len(self._features), self._panel)
        for row in starts:
            for column in range(row, len(self._features), self._panel):
                yield slice(row, row + self._panel), slice(column, column + self._panel)

    def _gamma_block(self, rows: slice, columns: slice) -> FloatArray:
        gamma = self._gamma
        block: FloatArray = (gamma.factor[rows] * gamma.weights) @ gamma.factor[columns].T
        if gamma.zero_diagonal and rows == columns:
            np.fill_diagonal(block, 0.0)
        return block

    def _summed(
        self, function: _Elementwise, pairing: Pairing, beta: FloatArray, rows: slice, columns: slice
    ) -> FloatArray:
        """Return sum_i mu_i function_i(beta) over the members of a pairing."""
        total: FloatArray | None = None
        for term in self._terms[pairing]:
            part = term.weight * function(Term(term.weight, restricted(term.kernel, rows, columns)), beta)
            total = part if total is None else total + part
        return np.zeros_like(beta) if total is None else total


class _Product:
    """The product of a symmetric matrix, given by blocks of its upper triangle, with fixed columns."""

    def __init__(self, pairing: Pairing, targets: FloatArray) -> None:
        self._targets, self._is_difference = targets, pairing is Pairing.DIFFERENCE
        self._total: FloatArray = np.zeros_like(targets)
        self._degrees: FloatArray = np.zeros(len(targets))

    def add(self, rows: slice, columns: slice, block: FloatArray) -> None:
        """Add one block and, off the diagonal, its transpose."""
        self._total[rows] += block @ self._targets[columns]
        if self._is_difference:
            self._degrees[rows] += block.sum(axis=1)
        if rows != columns:
            self._total[columns] += block.T @ self._targets[rows]
            if self._is_difference:
                self._degrees[columns] += block.sum(axis=0)

    def result(self) -> FloatArray:
        """Return G V, or 2 (diag(G 1) - G) V for the difference pairing."""
        if not self._is_difference:
            return self._total
        return 2.0 * (self._degrees[:, None] * self._targets - self._total)


def _value(term: Term, beta: FloatArray) -> FloatArray:
    return term.kernel.value(beta)


def _slope(term: Term, beta: FloatArray) -> FloatArray:
    return term.kernel.derivative(beta)


def _curvature(term: Term, beta: FloatArray) -> FloatArray:
    return term.kernel.second_derivative(beta)


def _initial_slope(term: Term, beta: FloatArray) -> FloatArray:
    zeros = np.zeros_like(beta)
    slope = term.kernel.derivative(zeros)
    return slope if slope.any() else np.sign(term.kernel.derivative(zeros + 1.0))
