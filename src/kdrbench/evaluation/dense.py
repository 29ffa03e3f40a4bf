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

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from kdrbench.evaluation.base import PairSums, curvature_form
from kdrbench.evaluation.weights import initial_slope
from kdrbench.kernels import Pairing, RelativeGaussian, Term, terms_of
from kdrbench.kernels.family import FloatArray, derivatives_at, pairing_values
from kdrbench.problems import TraceObjective


class DenseProblem(PairSums["_Point"]):
    """Oracles of a :class:`TraceObjective` in O(n^2) memory, O(n^2 q) time (O(n^2 d) for the surrogate)."""

    def __init__(self, objective: TraceObjective) -> None:
        super().__init__(objective.array)
        self._gamma = objective.gamma.dense()
        self._terms = terms_of(objective.kernel)

    def _value(self, projection: FloatArray) -> float:
        return self._weighed(self._at(projection).summed((0,)))

    def _value_and_gradient(self, projection: FloatArray) -> tuple[float, FloatArray]:
        point = self._at(projection)
        if "slopes" in vars(point):
            return self._value(projection), self._gradient(projection)
        both = point.summed((0, 1))
        point.slopes = {pairing: self._gamma * slopes for pairing, (_, slopes) in both.items()}
        return self._weighed(both), self._gradient(projection)

    def _sloped(self, projection: FloatArray, columns: FloatArray) -> FloatArray:
        return _weighted(self._at(projection).slopes, columns)

    def _turned(self, projection: FloatArray, moved: list[FloatArray]) -> list[FloatArray]:
        point = self._at(projection)
        results = []
        for part in moved:
            turned = {
                pairing: curvature * _beta_derivative(pairing, point.samples, part)
                for pairing, curvature in point.curvatures.items()
            }
            results.append(_weighted(point.slopes, part) + _weighted(turned, point.samples))
        return results

    def _curvature_form(self, projection: FloatArray, moved: FloatArray) -> FloatArray:
        point = self._at(projection)
        m, q = moved.shape[1], projection.shape[1]
        form = np.zeros((m, q, m, q))
        for pairing, curvature in point.curvatures.items():
            form += curvature_form(pairing, curvature.__matmul__, moved, point.samples)
        return form

    def _surrogate(self, projection: FloatArray) -> FloatArray:
        return self._surrogate_from(self._at(projection).slopes)

    def _initial_surrogate(self) -> FloatArray:
        slopes: dict[Pairing, FloatArray] = {}
        for term in self._terms:
            # One value serves all pairs, unless samples have bandwidths of their own.
            n_rows = len(self._gamma) if isinstance(term.kernel, RelativeGaussian) else 1
            slope = term.weight * initial_slope(term.kernel, np.zeros((n_rows, n_rows)))
            slopes[term.kernel.pairing] = slopes.get(term.kernel.pairing, 0.0) + slope
        return self._surrogate_from({pairing: slope * self._gamma for pairing, slope in slopes.items()})

    def _made_at(self, projection: FloatArray) -> _Point:
        return _Point(self._features @ projection, self._terms, self._gamma)

    def _weighed(self, sums: dict[Pairing, Sequence[FloatArray]]) -> float:
        """Return sum_ij Gamma_ij v_ij of the first array v of each pairing."""
        return sum(float(np.vdot(self._gamma, parts[0])) for parts in sums.values())

    def _surrogate_from(self, slopes: dict[Pairing, FloatArray]) -> FloatArray:
        surrogate: FloatArray = self._features.T @ _weighted(slopes, self._features)
        return 0.5 * (surrogate + surrogate.T)


class _Point:
    """P = XW and beta, with the weights of pairs there, which are made once."""

    def __init__(self, samples: FloatArray, terms: Sequence[Term], gamma: FloatArray) -> None:
        pairings = dict.fromkeys(term.kernel.pairing for term in terms)
        self.samples, self._terms, self._gamma = samples, terms, gamma
        self._beta = {pairing: pairing_values(pairing, samples) for pairing in pairings}

    @cached_property
    def slopes(self) -> dict[Pairing, FloatArray]:
        """G = Gamma * f'(beta)."""
        return self._weights(1)

    @cached_property
    def curvatures(self) -> dict[Pairing, FloatArray]:
        """Gamma * f''(beta)."""
        return self._weights(2)

    def summed(self, orders: tuple[int, ...]) -> dict[Pairing, Sequence[FloatArray]]:
        """Return sum_i mu_i g_i(beta) for each pairing, and each derivative g of f of these orders."""
        totals: dict[Pairing, Sequence[FloatArray]] = {}
        for term in self._terms:
            pairing = term.kernel.pairing
            parts = derivatives_at(term.kernel, self._beta[pairing], orders)
            for number, part in enumerate(parts):
                if term.weight != 1.0:
                    part *= float(term.weight)
                if pairing in totals:
                    totals[pairing][number][:] += part
            totals.setdefault(pairing, parts)
        return totals

    def _weights(self, order: int) -> dict[Pairing, FloatArray]:
        weights = {pairing: parts[0] for pairing, parts in self.summed((order,)).items()}
        for array in weights.values():
            array *= self._gamma
        return weights


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
