"""Anderson's extrapolation on the Grassmann manifold.

Source: Anderson, "Iterative procedures for nonlinear integral equations", J. ACM 12, 1965.
"""

from __future__ import annotations

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.solvers.geometry.stiefel import orthonormalised

_MEMORY = 8
# Differences below this share of the largest are not told apart.
_SINGULAR = 1e-10


class History:
    """Pairs of W and ISM's step from it, in the chart around a reference W_r."""

    def __init__(self, reference: FloatArray) -> None:
        self._reference = reference
        self._places: list[FloatArray] = []
        self._moves: list[FloatArray] = []

    def extrapolated(self, point: FloatArray, step: FloatArray) -> FloatArray:
        """Return the W that the last pairs promise to be a fixed point; ``step`` itself for want of others."""
        place, ahead = self._chart(point), self._chart(step)
        if place is None or ahead is None:
            self._reference, self._places, self._moves = point, [], []
            return step
        move = ahead - place
        result = ahead
        if self._places:
            moved = np.column_stack([(move - other).ravel() for other in self._moves])
            placed = np.column_stack([(place - other).ravel() for other in self._places])
            weights = np.linalg.lstsq(moved, move.ravel(), rcond=_SINGULAR)[0]
            result = ahead - ((moved + placed) @ weights).reshape(ahead.shape)
        self._places = [*self._places, place][-_MEMORY:]
        self._moves = [*self._moves, move][-_MEMORY:]
        return orthonormalised(self._reference + result)

    def _chart(self, point: FloatArray) -> FloatArray | None:
        """Return W (W_r'W)^-1 - W_r; ``None`` far from W_r."""
        overlap = self._reference.T @ point
        if np.linalg.svd(overlap, compute_uv=False)[-1] < 0.1:
            return None
        chart: FloatArray = np.linalg.solve(overlap.T, point.T).T - self._reference
        return chart
