"""Riemannian trust-region Newton for -F, preconditioned by ISM's own operator.

Each step minimises the quadratic model of E = -F over tangent directions in a trust region by truncated
conjugate gradients (Steihaug, Toint) and retracts by QR. Near a fixed point of ISM the Hessian is

    Hess E[Z] = 2 (Z Lambda - (I - WW') Phi Z) - (terms of dPhi[Z]),   Lambda = W' Phi W,

and the first part alone is what an ISM step inverts. It is diagonal in the eigenvectors of Lambda and of Phi on
the complement of W, so it preconditions the conjugate gradients at the price of one surrogate and one
eigendecomposition a step: where ISM converges slowly, this converges superlinearly, with the same fixed points.

Source: Absil, Baker, Gallivan, "Trust-region methods on Riemannian manifolds", Foundations of Computational
Mathematics 7, 2007, algorithms 1 and 2; the preconditioner is ours.
"""

from __future__ import annotations

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem
from kdrbench.solvers.certificate import riemannian_hessian_vector
from kdrbench.solvers.preconditioner import IsmPreconditioner
from kdrbench.solvers.stiefel import orthonormalised, outside, relative_stationarity

_ACCEPT = 0.1
_MOST_INNER = 200


def rounding_of(value: float) -> float:
    """Return a generous bound on the rounding of F where it has about this value."""
    return 1e3 * float(np.finfo(float).eps) * abs(value)


class NewtonSearch:
    """The iterate W, F and its gradient there, and the trust region; no step decreases F beyond rounding."""

    def __init__(self, problem: Problem, start: FloatArray) -> None:
        self._problem = problem
        self.point = start
        self.value = problem.value(start)
        self._gradient = problem.gradient(start)
        self._radius: float | None = None

    @property
    def gradient(self) -> FloatArray:
        """The Euclidean gradient of F at the iterate."""
        return self._gradient

    @property
    def stationarity(self) -> float:
        """Return |(I - WW')G| / |G|."""
        return relative_stationarity(self.point, self._gradient)

    def move_to(self, point: FloatArray, value: float) -> None:
        """Take a better point, found elsewhere, as the iterate."""
        self.point, self.value = point, value
        self._gradient = self._problem.gradient(point)
        self._radius = None

    def step(self, most_tries: int = 30) -> bool:
        """Take one step; return false when no step in any trust region increases F."""
        precondition = IsmPreconditioner(self._problem.surrogate(self.point), self.point)
        slope = -outside(self.point, self._gradient)
        for _ in range(most_tries):
            radius = self._radius if self._radius is not None else np.inf
            direction, image, length, at_edge = self._minimise_model(slope, precondition, radius)
            candidate = orthonormalised(self.point + direction)
            value = self._problem.value(candidate)
            predicted = -float(np.vdot(slope, direction)) - 0.5 * float(np.vdot(direction, image))
            gained = value - self.value
            # Both sides are rounded at the level of F itself; near a solution that hides the true ratio.
            noise = rounding_of(max(abs(value), abs(self.value)))
            ratio = (gained + noise) / (predicted + noise)
            if ratio < 0.25:
                self._radius = 0.25 * length
            elif ratio > 0.75 and at_edge:
                self._radius = 2.0 * length
            if ratio > _ACCEPT and gained >= -noise:
                self.point, self.value = candidate, value
                self._gradient = self._problem.gradient(candidate)
                return True
            if length <= np.finfo(float).eps:
                return False
        return False

    def _minimise_model(
        self, slope: FloatArray, precondition: IsmPreconditioner, radius: float
    ) -> tuple[FloatArray, FloatArray, float, bool]:
        """Return direction, its Hessian image, its length in the preconditioner's norm, and if the edge was met."""
        direction, image = np.zeros_like(slope), np.zeros_like(slope)
        residual = slope
        scaled = precondition.solve(residual)
        search = -scaled
        inner = float(np.vdot(residual, scaled))
        first = float(np.linalg.norm(residual))
        # Lengths in the preconditioner's norm, by the recurrences of Conn, Gould and Toint, section 7.5.1.
        squared, cross, search_squared = 0.0, 0.0, inner
        for _ in range(min(_MOST_INNER, slope.size)):
            curved = riemannian_hessian_vector(self._problem, self.point, self._gradient, search)
            curvature = float(np.vdot(search, curved))
            alpha = inner / curvature if curvature > 0 else np.inf
            ahead = squared + 2 * alpha * cross + alpha**2 * search_squared
            if curvature <= 0 or ahead >= radius**2:
                if not np.isfinite(radius):
                    # The first step of all has no region yet: negative curvature is followed for one unit.
                    radius = np.sqrt(squared) + np.sqrt(search_squared)
                tau = (-cross + np.sqrt(cross**2 + search_squared * (radius**2 - squared))) / search_squared
                return direction + tau * search, image + tau * curved, float(radius), True
            direction, image = direction + alpha * search, image + alpha * curved
            squared = ahead
            residual = residual + alpha * curved
            norm = float(np.linalg.norm(residual))
            # Superlinear: the residual shrinks as the square of the slope, but at least tenfold.
            if norm <= first * min(0.1, first / max(1e-300, float(np.linalg.norm(self._gradient)))):
                break
            scaled = precondition.solve(residual)
            previous, inner = inner, float(np.vdot(residual, scaled))
            beta = inner / previous
            cross = beta * (cross + alpha * search_squared)
            search_squared = inner + beta**2 * search_squared
            search = outside(self.point, -scaled + beta * search)
        return direction, image, float(np.sqrt(squared)), False
