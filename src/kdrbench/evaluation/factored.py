"""Exact evaluation linear in n, for kernels whose slopes have explicit features.

For the polynomial (s beta + c)^p of dot products, beta = P P' with P = XW, the slope f' and the curvature f'' are
polynomials of lower degree, so with the monomial features B_1 and B_2 of :func:`monomial_features`

    G = Gamma * f'  = p s Gamma * B_1 B_1',           B_1 of degree p - 1
    C = Gamma * f'' = p (p - 1) s^2 Gamma * B_2 B_2', B_2 of degree p - 2

and products with them are sums over classes (:mod:`.weights`). For -|p_i - p_j|^2 = 2 p_i'p_j - |p_i|^2 - |p_j|^2,
G is 2 (Gamma - diag(Gamma 1)) whatever W. What a zero diagonal of Gamma takes away is a diagonal matrix in each.

    F(W) = Tr(P' G P)/p and a term of the offset,   grad F = 2 X' G P,   Phi = X' G X,
    Hess F[Z] = 2 X' (G R + (C * (P R' + R P')) P),  R = XZ,
    (C * (P R' + R P')) P = p s (Gamma * (dB_1 B_1' + B_1 dB_1')) P,  dB_1 the derivative of B_1 along R,

in O(n m d) time and O(n q + k m d) memory for m = C(q + p - 1, p - 1) monomials and k classes; nothing is approximated.
The Hessian on all directions is made of such sums, too (:func:`.hessian_by_chunks`).
With ``single_precision`` features and monomials are multiplied in float32 and summed in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from kdrbench.errors import InputError
from kdrbench.evaluation.base import PairSums
from kdrbench.evaluation.curvature_form import FactoredWeights, hessian_by_chunks
from kdrbench.evaluation.monomials import monomial_changes, monomial_features, n_monomials
from kdrbench.evaluation.skyline import WeightedGrams
from kdrbench.evaluation.weights import GammaSums, Rows, cleaned_degrees, initial_surrogate
from kdrbench.kernels import Linear, Polynomial, Squared
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import TraceObjective

# Monomials up to this number of entries are held between calls at one W; larger ones are made chunk by chunk.
_HELD_ENTRIES = 4_000_000


def as_polynomial(kernel: object) -> Polynomial | None:
    """Return the polynomial that a kernel is, a linear one being of degree 1; ``None`` for others."""
    if isinstance(kernel, Linear):
        return Polynomial(degree=1, offset=0.0, scale=1.0)
    return kernel if isinstance(kernel, Polynomial) else None


class FactoredProblem(PairSums):
    """Oracles of a :class:`TraceObjective` with a linear, squared or polynomial kernel.

    Raises ``InputError`` for another kernel.
    """

    def __init__(self, objective: TraceObjective, *, threads: int = 1, single_precision: bool = False) -> None:
        polynomial = as_polynomial(objective.kernel)
        if polynomial is None and not isinstance(objective.kernel, Squared):
            raise InputError(
                f"exact factors exist for linear, squared and polynomial kernels, not for {objective.kernel!r}"
            )
        gamma, features = objective.gamma, objective.array
        super().__init__(features.astype(np.float32) if single_precision else features, gamma.class_order)
        # Class by class: a chunk is then of one class mostly.
        self._sums, self._threads = GammaSums(gamma if self._order is None else gamma.of(self._order), threads), threads
        self._objective, self._polynomial = objective, polynomial
        self._diagonal = self._sums.diagonal if gamma.zero_diagonal else np.zeros(len(self._features))
        if polynomial is None:
            # Differences vanish on the diagonal: what Gamma has there cancels.
            self._diagonal = 2.0 * cleaned_degrees(self._sums, len(features))
        self._grams = WeightedGrams(self._features, threads)
        self._forget()

    def _forget(self) -> None:
        self._point: _Point | None = None
        self._constant_surrogate: FloatArray | None = None

    def _samples(self, projection: FloatArray) -> FloatArray:
        return self._at(projection).samples

    def _value(self, projection: FloatArray) -> float:
        point = self._at(projection)
        samples, through = point.samples, point.through
        if self._polynomial is None:
            return float(np.vdot(samples, through[:, :-1] - self._diagonal[:, None] * samples))
        # f = (s p_i'p_j + c) times the features' product, whose factor of the slope is p s.
        scale, offset = self._polynomial.scale, self._polynomial.offset
        total = scale * np.vdot(samples, through[:, :-1]) + offset * through[:, -1].sum()
        diagonal_part = self._diagonal @ self._polynomial.value(point.squares)
        return float(total / point.factor - diagonal_part)

    def _gradient(self, projection: FloatArray) -> FloatArray:
        # From what F is made of, whichever is asked for first.
        point = self._at(projection)
        return self._back(point.through[:, :-1] - point.own_slopes[:, None] * point.samples)

    def _sloped(self, projection: FloatArray, columns: FloatArray) -> FloatArray:
        point = self._at(projection)
        applied = point.factor * self._sums.applied(point.slope_features, columns)
        return applied - point.own_slopes[:, None] * columns

    def _turned(self, projection: FloatArray, moved: FloatArray) -> FloatArray:
        if not self._has_curvature():
            return self._sloped(projection, moved)
        point = self._at(projection)
        samples, features, changes = point.samples, point.slope_features, point.changes_along(moved)
        # The derivative of (Gamma * BB') P: of B on the left, and of B'P.
        collected = self._sums.collected(features, moved) + self._sums.collected(changes, samples)
        total = self._sums.spread(features, collected) + self._sums.spread(changes, point.collected)
        total *= point.factor
        # And of the diagonal that is taken away.
        turned = 2.0 * point.own_curvatures * np.einsum("ij,ij->i", samples, moved)
        total -= point.own_slopes[:, None] * moved + turned[:, None] * samples
        return total

    def _hessian(self, projection: FloatArray, basis: FloatArray) -> FloatArray:
        point, cast = self._at(projection), basis.astype(self._features.dtype, copy=False)
        features, order = self._features, self._order

        def moved(rows: slice) -> FloatArray:
            return (features[rows] if order is None else features[order[rows]]) @ cast

        slopes, curvatures = FactoredWeights(point.factor, point.slope_features, point.own_slopes), None
        if self._has_curvature():
            curvatures = FactoredWeights(point.bend, point.curvature_features, point.own_curvatures)
        return hessian_by_chunks(self._sums, slopes, curvatures, moved, point.samples, self._threads, self.report)

    def _surrogate(self, projection: FloatArray) -> FloatArray:
        if not self._has_curvature():
            # The slope is the same everywhere.
            return self._initial_surrogate()
        point = self._at(projection)
        features, own_slopes = self._features, point.own_slopes
        if self._order is None:
            columns: Rows = features
        else:
            order, own_slopes = self._order, np.empty_like(own_slopes)
            own_slopes[order] = point.own_slopes

            def columns(rows: slice) -> FloatArray:
                return features[order[rows]]

        result = point.factor * self._sums.quadratic(point.slope_features, columns, self.report)
        return result - self._grams.of(own_slopes, self.report)

    def _initial_surrogate(self) -> FloatArray:
        if self._constant_surrogate is None:
            self._constant_surrogate = initial_surrogate(self._objective, self._threads, self.report)
        return self._constant_surrogate.copy()

    def _has_curvature(self) -> bool:
        return self._polynomial is not None and self._polynomial.degree > 1

    def _at(self, projection: FloatArray) -> _Point:
        """Return the quantities at W, held until the next W."""
        if self._point is None or not np.array_equal(self._point.projection, projection):
            self._point = _Point(
                projection.copy(),
                self._moved(projection),
                self._polynomial,
                self._sums,
                self._diagonal,
            )
        return self._point


class _Point:
    """One W with what value, gradient and surrogate share there, each computed when first used."""

    def __init__(
        self,
        projection: FloatArray,
        samples: FloatArray,
        polynomial: Polynomial | None,
        sums: GammaSums,
        diagonal: FloatArray,
    ) -> None:
        self.projection, self.samples = projection, samples
        # -|p_i - p_j|^2 has the slopes of twice the linear kernel, but for the diagonal.
        self.polynomial = polynomial or Polynomial(degree=1, offset=0.0, scale=2.0)
        self.factor = self.polynomial.degree * self.polynomial.scale
        self.bend = self.factor * (self.polynomial.degree - 1) * self.polynomial.scale
        self._sums, self._diagonal, self._is_squared = sums, diagonal, polynomial is None

    @cached_property
    def squares(self) -> FloatArray:
        """beta_ii = |p_i|^2."""
        return np.asarray(np.einsum("ij,ij->i", self.samples, self.samples))

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
        polynomial = self.polynomial

        def made(rows: slice) -> FloatArray:
            degree, offset, scale = polynomial.degree - 1, polynomial.offset, polynomial.scale
            return monomial_changes(self.samples[rows], moved[rows], degree, offset, scale)

        return self._held(made, polynomial.degree - 1)

    def _monomials(self, degree: int) -> Rows:
        def made(rows: slice) -> FloatArray:
            return monomial_features(self.samples[rows], degree, self.polynomial.offset, self.polynomial.scale)

        return self._held(made, degree)

    def _held(self, made: Callable[[slice], FloatArray], degree: int) -> Rows:
        """Return all rows at once if they are few, or what makes them."""
        n_samples, n_components = self.samples.shape
        return made(slice(None)) if n_samples * n_monomials(n_components, degree) <= _HELD_ENTRIES else made

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
        columns = np.hstack([self.samples, np.ones_like(self.samples[:, :1])])
        return self.factor * self._sums.applied(self.slope_features, columns)
