"""Exact evaluation with n x n arrays: the reference, and quick for a few thousand samples.

With P = XW, beta = P P' (dot) or the squared distances of the rows of P (difference), and
G = Gamma * f'(beta) elementwise:

    F(W)      = sum_ij Gamma_ij f(beta_ij)
    Phi(W)    = X' G X                       (dot)
              = 2 X' (diag(G 1) - G) X       (difference)
    grad F    = 2 Phi(W) W
    Hess F[Z] = 2 Phi(W) Z + 2 dPhi[Z] W,  dPhi[Z] being Phi with Gamma * f''(beta) * dbeta[Z] in place of G

Source: NeurIPS 2019, Theorem 3 and Table 2 (there with constant factors dropped; here with them).
"""

from __future__ import annotations

import copy

import numpy as np

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray, Kernel, Pairing
from kdrbench.problems import Counters, TraceObjective


class DenseProblem:
    """Oracles of a :class:`TraceObjective` in O(n^2) memory, O(n^2 q) time (O(n^2 d) for the surrogate)."""

    def __init__(self, objective: TraceObjective) -> None:
        self.counters = Counters()
        self._features = np.ascontiguousarray(objective.features)
        self._kernel: Kernel = objective.kernel
        self._gamma = objective.gamma.dense()
        self._point: FloatArray | None = None
        self._beta = self._weights = np.empty((0, 0))

    def fresh(self) -> DenseProblem:
        """Return a problem that shares features and Gamma, with counters at zero and no point held."""
        twin = copy.copy(self)
        twin.counters = Counters()
        twin._point = None
        twin._beta = twin._weights = np.empty((0, 0))
        return twin

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return int(self._features.shape[1])

    def value(self, projection: FloatArray) -> float:
        """Return F(W)."""
        self.counters.value += 1
        self._move_to(projection)
        return float(np.vdot(self._gamma, self._kernel.value(self._beta)))

    def gradient(self, projection: FloatArray) -> FloatArray:
        """Return 2 Phi(W) W, d x q."""
        self.counters.gradient += 1
        weights = self._derivative_weights(projection)
        return 2.0 * self._surrogate_times(weights, self._features @ projection)

    def hessian_vector(self, projection: FloatArray, direction: FloatArray) -> FloatArray:
        """Return the Euclidean Hessian at W applied to Z, d x q."""
        self.counters.hessian_vector += 1
        weights = self._derivative_weights(projection)
        samples, moved = self._features @ projection, self._features @ direction
        curvature = self._kernel.second_derivative(self._beta)
        curvature *= self._gamma
        curvature *= self._beta_derivative(samples, moved)
        return 2.0 * (self._surrogate_times(weights, moved) + self._surrogate_times(curvature, samples))

    def surrogate(self, projection: FloatArray) -> FloatArray:
        """Return Phi(W), d x d."""
        self.counters.surrogate += 1
        return self._surrogate_from(self._derivative_weights(projection))

    def initial_surrogate(self) -> FloatArray:
        """Return Phi_0: f' replaced by its sign at beta = 0."""
        self.counters.surrogate += 1
        sign = float(np.sign(self._kernel.derivative(np.zeros(1))[0]))
        return self._surrogate_from(sign * self._gamma)

    def _move_to(self, projection: FloatArray) -> None:
        """Hold beta of the projection, so that value, gradient and products at one W share it."""
        if self._point is not None and np.array_equal(self._point, projection):
            return
        if projection.ndim != 2 or projection.shape[0] != self.n_features:
            raise InputError(f"a projection must have {self.n_features} rows, got shape {projection.shape}")
        samples = self._features @ projection
        beta = samples @ samples.T
        if self._kernel.pairing is Pairing.DIFFERENCE:
            squared = np.diagonal(beta).copy()
            beta *= -2.0
            beta += squared[:, None]
            beta += squared
            # Rounding may leave distances of coinciding samples a little below zero.
            np.maximum(beta, 0.0, out=beta)
        self._beta, self._point = beta, projection.copy()
        self._weights = np.empty((0, 0))

    def _derivative_weights(self, projection: FloatArray) -> FloatArray:
        """Return G = Gamma * f'(beta), made once a point."""
        self._move_to(projection)
        if not self._weights.size:
            self._weights = self._kernel.derivative(self._beta)
            self._weights *= self._gamma
        return self._weights

    def _beta_derivative(self, samples: FloatArray, moved: FloatArray) -> FloatArray:
        """Return d beta[Z] for P = XW and R = XZ."""
        cross = samples @ moved.T
        cross += cross.T.copy()
        if self._kernel.pairing is Pairing.DOT:
            return cross
        own = np.diagonal(cross).copy()
        cross *= -2.0
        cross += own[:, None]
        cross += own
        return cross

    def _surrogate_times(self, weights: FloatArray, samples: FloatArray) -> FloatArray:
        """Return the surrogate with the given n x n weights, times V, for samples = X V."""
        product: FloatArray = self._features.T @ self._weighted(weights, samples)
        return product

    def _surrogate_from(self, weights: FloatArray) -> FloatArray:
        surrogate: FloatArray = self._features.T @ self._weighted(weights, self._features)
        return 0.5 * (surrogate + surrogate.T)

    def _weighted(self, weights: FloatArray, samples: FloatArray) -> FloatArray:
        weighted: FloatArray = weights @ samples
        if self._kernel.pairing is Pairing.DOT:
            return weighted
        degrees: FloatArray = weights.sum(axis=1)
        difference: FloatArray = degrees[:, None] * samples - weighted
        return 2.0 * difference
