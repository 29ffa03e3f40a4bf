"""Exact evaluation with n x n arrays: the reference, and quick for a few thousand samples.

With P = XW, beta = P P' (dot) or the squared distances of the rows of P (difference), and
G = Gamma * f'(beta) elementwise:

    F(W)      = sum_ij Gamma_ij f(beta_ij)
    Phi(W)    = X' G X                       (dot)
              = 2 X' (diag(G 1) - G) X       (difference)
    grad F    = 2 Phi(W) W
    Hess F[Z] = 2 Phi(W) Z + 2 dPhi[Z] W,  dPhi[Z] being Phi with Gamma * f''(beta) * dbeta[Z] in place of G

A conic combination of kernels is the same combination of all of these; members that share a pairing share
beta, and G is summed over them.

Source: NeurIPS 2019, Theorem 3 and Table 2 (there with constant factors dropped; here with them).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from kdrbench.evaluation.base import PairSums, curvature_form
from kdrbench.kernels import Pairing, RelativeGaussian, Term, terms_of
from kdrbench.kernels.family import FloatArray, pairing_values, value_and_derivative
from kdrbench.problems import TraceObjective

Elementwise = Callable[[Term, FloatArray], FloatArray]


class DenseProblem(PairSums):
    """Oracles of a :class:`TraceObjective` in O(n^2) memory, O(n^2 q) time (O(n^2 d) for the surrogate)."""

    def __init__(self, objective: TraceObjective) -> None:
        super().__init__(objective.array)
        self._gamma = objective.gamma.dense()
        self._terms: dict[Pairing, list[Term]] = {}
        for term in terms_of(objective.kernel):
            self._terms.setdefault(term.kernel.pairing, []).append(term)
        self._forget()

    def _value(self, projection: FloatArray) -> float:
        self._move_to(projection)
        values = self._summed(lambda term, beta: term.kernel.value(beta))
        return sum(float(np.vdot(self._gamma, value)) for value in values.values())

    def _value_and_gradient(self, projection: FloatArray) -> tuple[float, FloatArray]:
        self._move_to(projection)
        if "slopes" in self._held:
            return self._value(projection), self._gradient(projection)
        value, slopes = 0.0, {}
        for pairing, terms in self._terms.items():
            values, slopes[pairing] = _summed(
                terms, self._beta[pairing], lambda term, beta: value_and_derivative(term.kernel, beta)
            )
            value += float(np.vdot(self._gamma, values))
            slopes[pairing] *= self._gamma
        self._held["slopes"] = slopes
        return value, self._gradient(projection)

    def _sloped(self, projection: FloatArray, columns: FloatArray) -> FloatArray:
        self._move_to(projection)
        return _weighted(self._slopes(), columns)

    def _turned(self, projection: FloatArray, moved: FloatArray) -> FloatArray:
        self._move_to(projection)
        samples = self._features @ projection
        turned = {
            pairing: curvature * _beta_derivative(pairing, samples, moved)
            for pairing, curvature in self._curvatures().items()
        }
        return _weighted(self._slopes(), moved) + _weighted(turned, samples)

    def _curvature_form(self, projection: FloatArray, moved: FloatArray) -> FloatArray:
        self._move_to(projection)
        samples = self._features @ projection
        m, q = moved.shape[1], samples.shape[1]
        form = np.zeros((m, q, m, q))
        for pairing, curvature in self._curvatures().items():
            form += curvature_form(pairing, curvature.__matmul__, moved, samples)
        return form

    def _surrogate(self, projection: FloatArray) -> FloatArray:
        self._move_to(projection)
        return self._surrogate_from(self._slopes())

    def _initial_surrogate(self) -> FloatArray:
        slopes = {
            pairing: sum(term.weight * _initial_slope(term, len(self._gamma)) for term in terms) * self._gamma
            for pairing, terms in self._terms.items()
        }
        return self._surrogate_from(slopes)

    def _forget(self) -> None:
        self._point: FloatArray | None = None
        self._beta: dict[Pairing, FloatArray] = {}
        self._held: dict[str, dict[Pairing, FloatArray]] = {}

    def _move_to(self, projection: FloatArray) -> None:
        """Hold beta of the projection, so that value, gradient and products at one W share it."""
        if self._point is not None and np.array_equal(self._point, projection):
            return
        self._forget()
        samples = self._features @ projection
        self._beta = {pairing: pairing_values(pairing, samples) for pairing in self._terms}
        self._point = projection.copy()

    def _summed(self, function: Elementwise) -> dict[Pairing, FloatArray]:
        """Return sum_i mu_i function_i(beta) for each pairing."""
        return {
            pairing: _summed(terms, self._beta[pairing], lambda term, beta: (function(term, beta),))[0]
            for pairing, terms in self._terms.items()
        }

    def _slopes(self) -> dict[Pairing, FloatArray]:
        """Return G = Gamma * f'(beta), made once a point."""
        return self._once("slopes", lambda term, beta: term.kernel.derivative(beta))

    def _curvatures(self) -> dict[Pairing, FloatArray]:
        """Return Gamma * f''(beta), made once a point."""
        return self._once("curvatures", lambda term, beta: term.kernel.second_derivative(beta))

    def _once(self, name: str, function: Elementwise) -> dict[Pairing, FloatArray]:
        if name not in self._held:
            self._held[name] = self._summed(function)
            for weights in self._held[name].values():
                weights *= self._gamma
        return self._held[name]

    def _surrogate_from(self, slopes: dict[Pairing, FloatArray]) -> FloatArray:
        surrogate: FloatArray = self._features.T @ _weighted(slopes, self._features)
        return 0.5 * (surrogate + surrogate.T)


def _summed(
    terms: Iterable[Term], beta: FloatArray, function: Callable[[Term, FloatArray], tuple[FloatArray, ...]]
) -> tuple[FloatArray, ...]:
    """Return sum_i mu_i g_i(beta) for each array g that ``function`` returns."""
    totals: list[FloatArray] = []
    for term in terms:
        for place, part in enumerate(function(term, beta)):
            if term.weight != 1.0:
                part *= float(term.weight)
            if place == len(totals):
                totals.append(part)
            else:
                totals[place] += part
    return tuple(totals)


def _beta_derivative(pairing: Pairing, samples: FloatArray, moved: FloatArray) -> FloatArray:
    """Return d beta[Z] for P = XW and R = XZ."""
    cross: FloatArray = samples @ moved.T
    cross += cross.T.copy()
    if pairing is Pairing.DOT:
        return cross
    diagonal = np.diagonal(cross).copy()
    cross *= -2.0
    cross += diagonal[:, None]
    cross += diagonal
    return cross


def _weighted(weights: dict[Pairing, FloatArray], samples: FloatArray) -> FloatArray:
    """Return G V (dot) or 2 (diag(G 1) - G) V (difference), summed over the pairings."""
    total: FloatArray = np.zeros_like(samples)
    for pairing, matrix in weights.items():
        product: FloatArray = matrix @ samples
        if pairing is Pairing.DIFFERENCE:
            degrees: FloatArray = matrix.sum(axis=1)
            product = 2.0 * (degrees[:, None] * samples - product)
        total += product
    return total


def _initial_slope(term: Term, n_samples: int) -> FloatArray:
    # One value serves all pairs, unless samples have bandwidths of their own.
    zeros = np.zeros((n_samples, n_samples) if isinstance(term.kernel, RelativeGaussian) else (1, 1))
    slope = term.kernel.derivative(zeros)
    return slope if slope.any() else np.sign(term.kernel.derivative(zeros + 1.0))
