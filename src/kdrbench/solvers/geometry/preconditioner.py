"""ISM's own operator, which preconditions Newton steps and the search for negative curvature."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from kdrbench.kernels.family import FloatArray
from kdrbench.solvers.geometry.stiefel import outside

# Eigenvalue differences below this share of the largest are lifted to it: the operator stays positive.
_SMALLEST_GAP = 1e-3


class IsmPreconditioner:
    """Z -> 2 (Z Lambda - Phi Z) on the complement of W, made positive, and its inverse."""

    def __init__(self, surrogate: FloatArray, point: FloatArray) -> None:
        self._point = point
        inner, self._rotation = scipy.linalg.eigh(point.T @ surrogate @ point)
        reduced = outside(point, outside(point, surrogate).T)
        outer, self._basis = scipy.linalg.eigh(0.5 * (reduced + reduced.T))
        gaps = 2.0 * (inner[None, :] - outer[:, None])
        largest = float(np.abs(gaps).max()) or 1.0
        self._gaps = np.maximum(np.abs(gaps), _SMALLEST_GAP * largest)

    def solve(self, direction: FloatArray) -> FloatArray:
        """Return the tangent Z whose image is ``direction``."""
        turned = self._basis.T @ direction @ self._rotation
        return outside(self._point, self._basis @ (turned / self._gaps) @ self._rotation.T)
