"""Riemannian trust-region Newton for E = -F, with an escape from saddles.

Each step minimises the quadratic model of E over tangents in a trust region (see :mod:`kdrbench.solvers.safeguarded.quadratic_model`)
and retracts by QR. Where ISM converges slowly this converges superlinearly, with the same fixed points.

Source: Absil, Baker, Gallivan, "Trust-region methods on Riemannian manifolds", Foundations of Computational
Mathematics 7, 2007, algorithm 1.
"""

from __future__ import annotations

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem
from kdrbench.solvers.geometry.curvature import Tangents
from kdrbench.solvers.geometry.stiefel import orthonormalised, relative_stationarity, require_finite
from kdrbench.solvers.safeguarded.quadratic_model import Model, build_model

_ACCEPT = 0.1
_MOST_TRIES = 30


def rounding_of(value: float) -> float:
    """Return a generous bound on the rounding of F where it has about this value."""
    return 1e3 * float(np.finfo(float).eps) * abs(value)


class NewtonSearch:
    """The iterate W, F and its gradient there, and the trust region; no step decreases F beyond rounding.

    ``gradient`` may be given where it is known.
    """

    def __init__(self, problem: Problem, point: FloatArray, value: float, gradient: FloatArray | None = None) -> None:
        self._problem = problem
        self._radius = np.inf
        self._move_to(point, value, gradient)

    @property
    def stationarity(self) -> float:
        """Return |(I - WW')G| / |G|."""
        return relative_stationarity(self.point, self.gradient)

    def curvature(self) -> float:
        """Return the smallest eigenvalue of the Riemannian Hessian of -F, over |W'G|."""
        scale = float(np.linalg.norm(self.point.T @ self.gradient, 2)) or 1.0
        return self._model().smallest_curvature()[0] / scale

    def step(self) -> bool:
        """Take one step; return false when no step in any trust region improves on the iterate beyond rounding."""
        for _ in range(_MOST_TRIES):
            direction, predicted, length, at_edge = self._model().minimise(self._radius)
            candidate = orthonormalised(self.point + direction)
            value = self._problem.value(candidate)
            gained = value - self.value
            # Both sides are rounded at the level of F itself; near a solution that hides the true ratio.
            noise = rounding_of(max(abs(value), abs(self.value)))
            ratio = (gained + noise) / (predicted + noise)
            if ratio < 0.25:
                self._radius = 0.25 * length
            elif ratio > 0.75 and at_edge:
                self._radius = 2.0 * length
            if ratio > _ACCEPT and gained >= -noise:
                before = self.stationarity
                self._move_to(candidate, value)
                return gained > noise or self.stationarity < before
            if length <= np.finfo(float).eps:
                return False
        return False

    def escape(self) -> bool:
        """Leave a saddle along its lowest curvature; return false where rounding hides every gain."""
        curvature, direction = self._model().smallest_curvature()
        for length in 0.5 ** np.arange(0, 30):
            # A quarter of what the curvature promises is enough; below rounding nothing can be told.
            enough = self.value - 0.125 * curvature * length**2
            if enough - self.value <= rounding_of(self.value):
                return False
            for sign in (1.0, -1.0):
                candidate = orthonormalised(self.point + sign * length * direction)
                value = self._problem.value(candidate)
                if value > enough:
                    self._radius = np.inf
                    self._move_to(candidate, value)
                    return True
        return False

    def _move_to(self, point: FloatArray, value: float, gradient: FloatArray | None = None) -> None:
        self.point, self.value = point, value
        self.gradient = self._problem.gradient(point) if gradient is None else gradient
        require_finite(value, self.gradient, self.stationarity)
        self._held_model: Model | None = None

    def _model(self) -> Model:
        if self._held_model is None:
            self._held_model = build_model(Tangents(self._problem, self.point, self.gradient))
        return self._held_model
