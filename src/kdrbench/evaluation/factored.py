"""Exact evaluation linear in n, for kernels whose slopes have explicit features.

For the polynomial (s beta + c)^p of dot products, beta = P P' with P = XW, the slope f' and the curvature f'' are
polynomials of lower degree, so with explicit features B_1 and B_2

    G = Gamma * f'  = p s Gamma * B_1 B_1',           B_1 of degree p - 1
    C = Gamma * f'' = p (p - 1) s^2 Gamma * B_2 B_2', B_2 of degree p - 2

and products with them are sums over classes (:mod:`.weights`). For -|p_i - p_j|^2 = 2 p_i'p_j - |p_i|^2 - |p_j|^2,
G is 2 (Gamma - diag(Gamma 1)) whatever W. What a zero diagonal of Gamma takes away is a diagonal matrix in each.

    F(W) = Tr(P' G P)/p and a term of the offset,   grad F = 2 X' G P,   Phi = X' G X,
    Hess F[Z] = 2 X' (G R + (C * (P R' + R P')) P),  R = XZ,
    (C * (P R' + R P')) P = p s (Gamma * (dB_1 B_1' + B_1 dB_1')) P,  dB_1 the derivative of B_1 along R,

in O(n m d) time and O(n q + k m d) memory for m = C(q + p - 1, p - 1) monomials and k classes; nothing is approximated.
The Hessian on all directions is made of such sums, too.
The features are explicit by the multinomial theorem: (scale p_i'p_j + offset)^k = (BB')_ij for the array B, n x
C(q + k, k), of monomials of p up to degree k (:class:`.bases.Powers`).

Features on a device have their sums there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from kdrbench.arrays import contiguous, inner, namespace_of, row_products
from kdrbench.errors import InputError
from kdrbench.evaluation.base import PairSums
from kdrbench.evaluation.bases import Powers, powers
from kdrbench.evaluation.cost_model import as_polynomial
from kdrbench.evaluation.skyline import WeightedGrams
from kdrbench.evaluation.weights import (
    GammaSums,
    Rows,
    cleaned_degrees,
    initial_surrogate,
    own_weights,
    rows_of,
    weighted_gram,
)
from kdrbench.kernels import Polynomial, Squared
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import TraceObjective
from kdrbench.samples.passes import run_pass

# Monomials up to this number of entries are held between calls at one W; larger ones are made chunk by chunk.
_HELD_ENTRIES = 4_000_000


class FactoredProblem(PairSums["_Point"]):
    """Oracles of a :class:`TraceObjective` with a linear, squared or polynomial kernel.

    Raises ``InputError`` for another kernel.
    """

    def __init__(self, objective: TraceObjective, *, threads: int = 1) -> None:
        polynomial = as_polynomial(objective.kernel)
        if polynomial is None and not isinstance(objective.kernel, Squared):
            raise InputError(
                f"exact factors exist for linear, squared and polynomial kernels, not for {objective.kernel!r}"
            )
        gamma, features = objective.gamma, objective.array
        super().__init__(features, gamma.class_order)
        # Class by class: a chunk is then of one class mostly.
        gamma = gamma if gamma.class_order is None else gamma.of(gamma.class_order)
        self._threads = threads if self._device.is_host else 1
        self._objective, self._polynomial = objective, polynomial
        diagonal = own_weights(gamma) if gamma.zero_diagonal else np.zeros(gamma.n_samples)
        if polynomial is None:
            # Differences vanish on the diagonal: what Gamma has there cancels.
            diagonal = 2.0 * cleaned_degrees(gamma)
        self._diagonal = self._device.up(diagonal)
        self._sums = GammaSums(gamma, threads, self._device)
        self._grams = WeightedGrams(self._features, threads) if self._device.is_host else None

    def _forget(self) -> None:
        super()._forget()
        self._constant_surrogate: FloatArray | None = None

    def _samples(self, projection: FloatArray) -> FloatArray:
        return self._at(projection).samples

    def _value(self, projection: FloatArray) -> float:
        point = self._at(projection)
        samples, through = point.samples, point.through
        if self._polynomial is None:
            return inner(samples, through[:, :-1] - self._diagonal[:, None] * samples)
        # f = (s p_i'p_j + c) times the features' product, whose factor of the slope is p s.
        scale, offset = self._polynomial.scale, self._polynomial.offset
        ones = float(namespace_of(through).sum(through[:, -1]))
        total = scale * inner(samples, through[:, :-1]) + offset * ones
        return total / point.factor - float(self._diagonal @ self._polynomial.value(point.squares))

    def _gradient(self, projection: FloatArray) -> FloatArray:
        # From what F is made of, whichever is asked for first.
        point = self._at(projection)
        return self._back(point.through[:, :-1] - point.own_slopes[:, None] * point.samples)

    def _sloped(self, projection: FloatArray, columns: FloatArray) -> FloatArray:
        point = self._at(projection)
        applied = point.factor * self._sums.applied(point.slope_features, columns)
        return applied - point.own_slopes[:, None] * columns

    def _turned(self, projection: FloatArray, moved: list[FloatArray]) -> list[FloatArray]:
        if not self._has_curvature():
            return [self._sloped(projection, part) for part in moved]
        return [self._turned_along(self._at(projection), part) for part in moved]

    def _turned_along(self, point: _Point, moved: FloatArray) -> FloatArray:
        samples, features, changes = point.samples, point.slope_features, point.changes_along(moved)
        # The derivative of (Gamma * BB') P: of B on the left, and of B'P.
        collected = self._sums.collected(features, moved) + self._sums.collected(changes, samples)
        total = self._sums.spread(features, collected) + self._sums.spread(changes, point.collected)
        total *= point.factor
        # And of the diagonal that is taken away.
        turned = 2.0 * point.own_curvatures * row_products(samples, moved)
        total -= point.own_slopes[:, None] * moved + turned[:, None] * samples
        return total

    def _hessian(self, projection: FloatArray, basis: FloatArray) -> FloatArray:
        """Return H[ua, vb] = 2 [a = b] V_u' G V_v + T[ua, vb] from chunks of samples, without an array of n rows.

            T[ua, vb] = 2 (V_u P_b)' C (V_v P_a) + 2 sum_i V_iu V_iv (C P_a P_b)_i,   V = XB.

        What the diagonals take away is the same in both terms of T.
        """
        point, sums, device, xp = self._at(projection), self._sums, self._device, self._device.xp
        samples, curved, (m, q) = point.samples, self._has_curvature(), (basis.shape[1], projection.shape[1])
        (first, second), cast = np.triu_indices(q), contiguous(device.up(basis), samples.dtype)
        is_square = device.up((first == second).astype(float))

        def moved(rows: slice) -> FloatArray:
            here: FloatArray = self._rows_in_order(rows) @ cast
            return here

        def crossed(rows: slice) -> FloatArray:
            both: FloatArray = xp.reshape(moved(rows)[:, :, None] * samples[rows, :][:, None, :], (-1, m * q))
            return both

        def products(rows: slice) -> FloatArray:
            here = samples[rows, :].T
            both: FloatArray = xp.take(here, device.up(first), axis=0) * xp.take(here, device.up(second), axis=0)
            return both.T

        form = np.zeros((m, q, m, q))
        if curved:
            mixed = sums.quadratic(point.curvature_features, crossed, self.report).reshape(m, q, m, q)
            form = 2.0 * point.bend * mixed.transpose(0, 3, 2, 1)
            collected = point.bend * sums.collected(point.curvature_features, products, self.report)

        def visit(total: FloatArray, rows: slice) -> None:
            here, entries = moved(rows), -2.0 * point.own_slopes[rows, None] * is_square
            if curved:
                entries += 2.0 * sums.spread_over(rows_of(point.curvature_features, rows), collected, rows)
                entries -= 4.0 * point.own_curvatures[rows, None] * products(rows)
            for number in range(len(first)):
                total[number, :, :] += (here.T * entries[:, number]) @ here

        parts = run_pass(sums.chunks_of(m), self._threads, lambda: device.zeros(len(first), m, m), visit, self.report)
        sloped = 2.0 * point.factor * sums.quadratic(point.slope_features, moved, self.report)
        totals = device.down(sum(parts[1:], parts[0]))
        totals[first == second] += sloped
        upper = np.zeros_like(form)
        upper[:, first, :, second] = totals
        form += upper + np.where(np.eye(q, dtype=bool)[:, None, :], 0.0, upper.transpose(0, 3, 2, 1))
        flat = form.reshape(m * q, -1)
        return np.asarray(0.5 * (flat + flat.T))

    def _surrogate(self, projection: FloatArray) -> FloatArray:
        if not self._has_curvature():
            # The slope is the same everywhere.
            return self._initial_surrogate()
        point = self._at(projection)
        ordered = self._features if self._device.is_host and self._order is None else self._rows_in_order
        result = point.factor * self._sums.quadratic(point.slope_features, ordered, self.report)
        own_slopes = point.own_slopes
        if self._grams is None:
            return result - weighted_gram(ordered, own_slopes)
        if self._order is not None:
            own_slopes = own_slopes[self._inverse]
        return result - self._grams.of(own_slopes, self.report)

    def _initial_surrogate(self) -> FloatArray:
        if self._constant_surrogate is None:
            self._constant_surrogate = initial_surrogate(self._objective, self._threads, self.report)
        return self._constant_surrogate.copy()

    def _has_curvature(self) -> bool:
        return self._polynomial is not None and self._polynomial.degree > 1

    def _made_at(self, projection: FloatArray) -> _Point:
        return _Point(self._moved(projection), self._polynomial, self._sums, self._diagonal)


class _Point:
    """P = XW with what value, gradient and surrogate share there, each computed when first used."""

    def __init__(
        self, samples: FloatArray, polynomial: Polynomial | None, sums: GammaSums, diagonal: FloatArray
    ) -> None:
        self.samples = samples
        # -|p_i - p_j|^2 has the slopes of twice the linear kernel, but for the diagonal.
        self.polynomial = polynomial or Polynomial(degree=1, offset=0.0, scale=2.0)
        self.factor = self.polynomial.degree * self.polynomial.scale
        self.bend = self.factor * (self.polynomial.degree - 1) * self.polynomial.scale
        self._sums, self._diagonal, self._is_squared = sums, diagonal, polynomial is None

    @cached_property
    def squares(self) -> FloatArray:
        """beta_ii = |p_i|^2."""
        squares: FloatArray = row_products(self.samples, self.samples)
        return squares

    @cached_property
    def slope_features(self) -> Rows:
        """B_1."""
        return self._monomials(self.polynomial.degree - 1)

    @cached_property
    def curvature_features(self) -> Rows:
        """B_2."""
        return self._monomials(self.polynomial.degree - 2)

    @cached_property
    def collected(self) -> FloatArray:
        """What (Gamma * AB_1') P is spread from, whatever A."""
        return self._sums.collected(self.slope_features, self.samples)

    def changes_along(self, moved: FloatArray) -> Rows:
        """Return the derivative of B_1 along R = ``moved``."""
        basis = self._powers(self.polynomial.degree - 1)
        return self._held(lambda rows: basis.factor_change(self.samples[rows, :], moved[rows, :]), basis.size)

    def _monomials(self, degree: int) -> Rows:
        basis = self._powers(degree)
        return self._held(lambda rows: basis.factor(self.samples[rows, :]), basis.size)

    def _powers(self, degree: int) -> Powers:
        return powers(self.samples.shape[1], self.polynomial, degree)

    def _held(self, made: Callable[[slice], FloatArray], size: int) -> Rows:
        """Return all rows at once if they are few, or what makes them."""
        return made(slice(None)) if self.samples.shape[0] * size <= _HELD_ENTRIES else made

    @cached_property
    def own_slopes(self) -> FloatArray:
        """The diagonal matrix that is taken away from G."""
        if self._is_squared:
            return self._diagonal
        return self._diagonal * self.polynomial.derivative(self.squares)

    @cached_property
    def own_curvatures(self) -> FloatArray:
        """The diagonal matrix that is taken away from C."""
        return self._diagonal * self.polynomial.second_derivative(self.squares)

    @cached_property
    def through(self) -> FloatArray:
        """G with its diagonal kept, times the columns of P and of ones."""
        xp = namespace_of(self.samples)
        columns = xp.concat([self.samples, xp.ones_like(self.samples[:, :1])], axis=1)
        return self.factor * self._sums.applied(self.slope_features, columns)
