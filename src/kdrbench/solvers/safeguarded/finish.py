"""The finish: limited-memory or trust-region Newton steps for E = -F, and the escape from saddles that they reach.

Where second order is costly, steps are those of limited-memory BFGS (:mod:`kdrbench.solvers.limited_memory`), which
need one gradient each. Their first matrix is ISM's operator Z -> 2 (Z Lambda - Phi Z), inverted: the main part of the
Hessian at a fixed point, diagonal in the eigenvectors of Phi with entries 2 (lambda_i - mu_j). So they are fewer than
those of the plain method, by a factor of two to thirty. Newton's steps follow where they end above the tolerance.

Each Newton step minimises the quadratic model of E over tangents in a trust region, and retracts by QR (see
:mod:`kdrbench.solvers.safeguarded.quadratic_model`). Where ISM converges slowly this converges superlinearly, with the
same fixed points.

Source: Absil, Baker, Gallivan, "Trust-region methods on Riemannian manifolds", Foundations of Computational
Mathematics 7, 2007, algorithm 1.
"""

from __future__ import annotations

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import ApproximableProblem, Problem, accuracy_of, value_and_gradient_of
from kdrbench.solvers.escape import rounding_of, step_along
from kdrbench.solvers.geometry.stiefel import orthonormalised, relative_stationarity, require_finite
from kdrbench.solvers.geometry.tangents import IsmPreconditioner, Tangents
from kdrbench.solvers.limited_memory import QuasiNewtonSearch
from kdrbench.solvers.safeguarded.quadratic_model import Model, build_model

# From this dimension of the tangent space on, some tens of gradients cost less than a few Hessians or their products.
# Measured with both kernels, 200 to 2400 samples, q of 2 to 5: they take .66 to 1.27 times as long at dimensions up to
# 56, .24 to .77 times from 125 on. Samples change that much less: both kinds of passes grow alike.
QUASI_NEWTON_DIMENSION = 100
_ACCEPT = 0.1
_MOST_TRIES = 30
# Of an F whose gradient is known to an accuracy a, differences below this many a^2 |F| may be its errors.
# There a step must bring the gradient down to this share.
_UNSURE, _SHARE = 10.0, 0.5


class NewtonSearch:
    """The iterate W, F and its gradient there, and the trust region; no step decreases F beyond rounding.

    ``gradient`` may be given where it is known. Second order is taken from ``approximation`` if there is one: Newton
    steps from an inexact Hessian converge to the same points, a little slower. With ``limited_memory`` steps are such
    that need no second order, for as long as these help.
    """

    def __init__(
        self,
        problem: Problem,
        point: FloatArray,
        value: float,
        gradient: FloatArray | None = None,
        approximation: ApproximableProblem | None = None,
        *,
        limited_memory: bool = False,
        surrogate: FloatArray | None = None,
    ) -> None:
        self.problem, self._approximation = problem, approximation
        self._limited_memory, self._radius = limited_memory, np.inf
        self._quasi_newton: QuasiNewtonSearch | None = None
        self._accuracy = accuracy_of(problem, point.shape[1])
        self._begin_at(point, value, gradient, surrogate)

    @property
    def stationarity(self) -> float:
        """Return |(I - WW')G| / |G|."""
        return relative_stationarity(self.point, self.gradient)

    def curvature(self) -> float:
        """Return the smallest eigenvalue of the Riemannian Hessian of -F, over |W'G|."""
        scale = float(np.linalg.norm(self.point.T @ self.gradient, 2)) or 1.0
        return self.model().smallest_curvature()[0] / scale

    def step(self) -> bool:
        """Take one step; return false when no step in any trust region improves on the iterate beyond rounding."""
        if self._quasi_newton is not None:
            helped = self._quasi_newton.step()
            self._move_to(self._quasi_newton.point, self._quasi_newton.value, self._quasi_newton.gradient)
            if helped:
                return True
            self._quasi_newton = None
        for _ in range(_MOST_TRIES):
            direction, predicted, length, at_edge = self.model().minimise(self._radius)
            candidate = orthonormalised(self.point + direction)
            # Together: hardly a step is rejected.
            value, gradient = value_and_gradient_of(self.problem, candidate)
            gained = value - self.value
            # Both sides are rounded at the level of F itself; near a solution that hides the true ratio.
            noise = self._noise(max(abs(value), abs(self.value)))
            ratio = (gained + noise) / (predicted + noise)
            if ratio < 0.25:
                self._radius = 0.25 * length
            elif ratio > 0.75 and at_edge:
                self._radius = 2.0 * length
            if ratio > _ACCEPT and gained >= -noise:
                before = self.stationarity
                if self._accuracy and gained <= noise and relative_stationarity(candidate, gradient) > _SHARE * before:
                    return False
                self._move_to(candidate, value, gradient)
                return gained > noise or self.stationarity < before
            if length <= np.finfo(float).eps:
                return False
        return False

    def _noise(self, size: float) -> float:
        """Return what F of this size may err by: rounding, or more where the problem is known to an accuracy only."""
        return max(rounding_of(size), _UNSURE * self._accuracy**2 * size)

    def restart_at(self, point: FloatArray, value: float) -> None:
        """Continue from another W, with an unbounded trust region and an empty memory."""
        self._begin_at(point, value, None, None)

    def _begin_at(
        self, point: FloatArray, value: float, gradient: FloatArray | None, surrogate: FloatArray | None
    ) -> None:
        self._radius = np.inf
        self._move_to(point, value, gradient)
        if self._limited_memory:
            phi = self.problem.surrogate(point) if surrogate is None else surrogate
            inverse = IsmPreconditioner(phi, point).solve_at
            self._quasi_newton = QuasiNewtonSearch(self.problem, point, value, self.gradient, preconditioner=inverse)

    def _move_to(self, point: FloatArray, value: float, gradient: FloatArray | None = None) -> None:
        self.point, self.value = point, value
        self.gradient = self.problem.gradient(point) if gradient is None else gradient
        require_finite(value, self.gradient, self.stationarity)
        self._held_model: Model | None = None

    def model(self) -> Model:
        """Return the quadratic model of E at W, built once."""
        if self._held_model is None:
            self._held_model = build_model(
                Tangents(self._approximation or self.problem, self.point, self.gradient, self._approximation)
            )
        return self._held_model


def escape(search: NewtonSearch) -> bool:
    """Leave a saddle, where the gradient says nothing, along its lowest curvature; false where rounding hides gains.

    The step is that of :func:`kdrbench.solvers.escape.step_along`.
    """
    curvature, direction = search.model().smallest_curvature()
    ascent = step_along(search.problem, search.point, search.value, curvature, direction)
    if ascent is None:
        return False
    search.restart_at(*ascent)
    return True
