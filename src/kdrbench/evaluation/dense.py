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

import numpy as np

from kdrbench.evaluation.base import PairSums, curvature_form
from kdrbench.evaluation.weights import initial_slope
from kdrbench.kernels import Pairing, RelativeGaussian, terms_of
from kdrbench.kernels.family import FloatArray, derivatives_at, pairing_values
from kdrbench.problems import TraceObjective


class DenseProblem(PairSums):
    """Oracles of a :class:`TraceObjective` in O(n^2) memory, O(n^2 q) time (O(n^2 d) for the surrogate)."""

    def __init__(self, objective: TraceObjective) -> None:
        super().__init__(objective.array)
        self._gamma = objective.gamma.dense()
        self._terms = terms_of(objective.kernel)
        self._forget()

    def _value(self, projection: FloatArray) -> float:
        self._move_to(projection)
        return self._weighed(self._summed((0,)))

    def _value_and_gradient(self, projection: FloatArray) -> tuple[float, FloatArray]:
        self._move_to(projection)
        if "slopes" in self._held:
            return self._value(projection), self._gradient(projection)
        both = self._summed((0, 1))
        self._held["slopes"] = {pairing: self._gamma * slopes for pairing, (_, slopes) in both.items()}
        return self._weighed(both), self._gradient(projection)

    def _sloped(self, projection: FloatArray, columns: FloatArray) -> FloatArray:
        self._move_to(projection)
        return _weighted(self._slopes(), columns)

    def _turned(self, projection: FloatArray, moved: list[FloatArray]) -> list[FloatArray]:
        self._move_to(projection)
        samples, slopes, curvatures = self._features @ projection, self._slopes(), self._curvatures()
        results = []
        for part in moved:
            turned = {
                pairing: curvature * _beta_derivative(pairing, samples, part)
                for pairing, curvature in curvatures.items()
            }
            results.append(_weighted(slopes, part) + _weighted(turned, samples))
        return results

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
        slopes: dict[Pairing, FloatArray] = {}
        for term in self._terms:
            # One value serves all pairs, unless samples have bandwidths of their own.
            n_rows = len(self._gamma) if isinstance(term.kernel, RelativeGaussian) else 1
            slope = term.weight * initial_slope(term.kernel, np.zeros((n_rows, n_rows)))
            slopes[term.kernel.pairing] = slopes.get(term.kernel.pairing, 0.0) + slope
        return self._surrogate_from({pairing: slope * self._gamma for pairing, slope in slopes.items()})

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
        pairings = dict.fromkeys(term.kernel.pairing for term in self._terms)
        self._beta = {pairing: pairing_values(pairing, samples) for pairing in pairings}
        self._point = projection.copy()

    def _summed(self, orders: tuple[int, ...]) -> dict[Pairing, Sequence[FloatArray]]:
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

    def _weighed(self, sums: dict[Pairing, Sequence[FloatArray]]) -> float:
        """Return sum_ij Gamma_ij v_ij of the first array v of each pairing."""
        return sum(float(np.vdot(self._gamma, parts[0])) for parts in sums.values())

    def _slopes(self) -> dict[Pairing, FloatArray]:
        """Return G = Gamma * f'(beta), made once a point."""
        return self._once("slopes", 1)

    def _curvatures(self) -> dict[Pairing, FloatArray]:
        """Return Gamma * f''(beta), made once a point."""
        return self._once("curvatures", 2)

    def _once(self, name: str, order: int) -> dict[Pairing, FloatArray]:
        if name not in self._held:
            self._held[name] = {pairing: parts[0] for pairing, parts in self._summed((order,)).items()}
            for weights in self._held[name].values():
                weights *= self._gamma
        return self._held[name]

    def _surrogate_from(self, slopes: dict[Pairing, FloatArray]) -> FloatArray:
        surrogate: FloatArray = self._features.T @ _weighted(slopes, self._features)
        return 0.5 * (surrogate + surrogate.T)


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
