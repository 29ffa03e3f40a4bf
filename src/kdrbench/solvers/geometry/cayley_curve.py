"""The Cayley transform as a curve on the Stiefel manifold, by its low-rank form."""

from __future__ import annotations

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.solvers.geometry.stiefel import feasibility_error, orthonormalised

_ROUNDING = 1e-13


class CayleyCurve:
    """Y(tau) = W - tau U (I + tau/2 V'U)^-1 V'W through W with Y'(0) = -A W; U = [G, W], V = [W, -G], A = UV'.

    A point further than 1e-13 off the manifold is orthonormalised.

    Source: Wen and Yin, Mathematical Programming 142, 2013, Lemma 4.
    """

    def __init__(self, point: FloatArray, gradient: FloatArray) -> None:
        self._point, self._identity = point, np.eye(2 * point.shape[1])
        self._left = np.hstack([gradient, point])
        right = np.hstack([point, -gradient])
        self._inner = right.T @ self._left
        self._image = right.T @ point

    def at(self, tau: float) -> FloatArray:
        """Return the feasible point Y(tau)."""
        system = self._identity + 0.5 * tau * self._inner
        point = self._point - tau * (self._left @ np.linalg.solve(system, self._image))
        return orthonormalised(point) if feasibility_error(point) > _ROUNDING else point
