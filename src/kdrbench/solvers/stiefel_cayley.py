"""SM: curvilinear search on the Stiefel manifold along the Cayley transform.

With E = -F, G = dE/dW and the skew matrix A = G W' - W G', the curve

    Y(tau) = (I + tau/2 A)^-1 (I - tau/2 A) W

stays feasible and descends. A has rank 2q: A = U V' with U = [G, W], V = [W, -G], so that

    Y(tau) = W - tau U (I + tau/2 V'U)^-1 V'W

needs a 2q x 2q solve only (Sherman, Morrison, Woodbury). Step lengths alternate between the two Barzilai and
Borwein formulas and are accepted by Zhang and Hager's nonmonotone rule. W is orthonormalised again when
rounding has moved it off the manifold.

Source: Wen and Yin, "A feasible method for optimization with orthogonality constraints", Mathematical
Programming 142, 2013: Lemma 4 (low-rank form), Algorithm 2. The first step length is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem
from kdrbench.solvers.base import Outcome, Status
from kdrbench.solvers.monitor import Monitor
from kdrbench.solvers.options import require_positive
from kdrbench.solvers.stiefel import feasibility_error, orthonormalised, relative_stationarity

_SUFFICIENT_DECREASE = 1e-4
_BACKTRACK = 0.1
_AVERAGING = 0.85
_STEP_BOUNDS = (1e-20, 1e20)
_MOST_BACKTRACKS = 60
_ROUNDING = 1e-13


@dataclass(frozen=True)
class StiefelCayley:
    """Curvilinear search, ended at relative stationarity ``tolerance`` or ``max_iterations`` steps."""

    tolerance: float = 1e-6
    max_iterations: int = 10_000
    requires: ClassVar[frozenset[str]] = frozenset({"value", "gradient"})
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        require_positive(tolerance=self.tolerance, max_iterations=self.max_iterations)

    def run(self, problem: Problem, start: FloatArray, monitor: Monitor) -> Outcome:
        """Search from ``start``."""
        search = _Search(problem, start)
        steps = 0
        while not search.stationarity <= self.tolerance:
            if steps == self.max_iterations:
                message = f"stationarity was {search.stationarity:.1e} after {steps} steps"
                return Outcome(search.point, Status.MAX_ITERATIONS, message)
            if not monitor.keep_going(search.point):
                return Outcome(search.point, monitor.stop_status, monitor.stop_message)
            if not search.step():
                message = f"no step length decreases the cost; stationarity is {search.stationarity:.1e}"
                return Outcome(search.point, Status.STALLED, message)
            steps += 1
        return Outcome(search.point, Status.CONVERGED, f"relative stationarity at most {self.tolerance:g}")


class _Search:
    """The iterate W, the gradient of E there, and the memory of step lengths and costs."""

    def __init__(self, problem: Problem, start: FloatArray) -> None:
        self._problem = problem
        self.point = start
        self._gradient = -problem.gradient(start)
        self._tangent = _tangent(start, self._gradient)
        # The first trial moves W by about a tenth of a radian whatever the scale of E.
        self._tau = 0.1 / max(float(np.linalg.norm(self._tangent)), np.finfo(float).tiny)
        self._reference, self._memory = -problem.value(start), 1.0
        self._steps = 0

    @property
    def stationarity(self) -> float:
        """Return |(I - WW')G| / |G|."""
        return relative_stationarity(self.point, self._gradient)

    def step(self) -> bool:
        """Move along the curve by the first acceptable step length; return whether one was found."""
        curve = _CayleyCurve(self.point, self._gradient)
        # E'(0) = -|A|^2 / 2 along the curve. |A|^2 = 2 |AW|^2 - |W'AW|^2, since A maps the complement of W to W;
        # as a trace of products of U and V it would be lost to cancellation near a solution.
        tangent = self._tangent
        decrease = float(np.sum(tangent**2) - 0.5 * np.sum((self.point.T @ tangent) ** 2))
        tau = self._tau
        for _ in range(_MOST_BACKTRACKS):
            candidate = curve.at(tau)
            cost = -self._problem.value(candidate)
            if cost <= self._reference - _SUFFICIENT_DECREASE * tau * decrease:
                self._accept(candidate, cost)
                return True
            tau *= _BACKTRACK
        return False

    def _accept(self, candidate: FloatArray, cost: float) -> None:
        gradient = -self._problem.gradient(candidate)
        tangent = _tangent(candidate, gradient)
        self._tau = self._barzilai_borwein(candidate - self.point, tangent - self._tangent)
        self.point, self._gradient, self._tangent = candidate, gradient, tangent
        self._steps += 1
        memory = _AVERAGING * self._memory + 1.0
        self._reference = (_AVERAGING * self._memory * self._reference + cost) / memory
        self._memory = memory

    def _barzilai_borwein(self, moved: FloatArray, turned: FloatArray) -> float:
        inner = abs(float(np.vdot(moved, turned)))
        if inner == 0.0:
            return self._tau
        even = self._steps % 2 == 0
        tau = float(np.vdot(moved, moved)) / inner if even else inner / float(np.vdot(turned, turned))
        return min(max(tau, _STEP_BOUNDS[0]), _STEP_BOUNDS[1])


class _CayleyCurve:
    """Y(tau) through W with Y'(0) = -A W."""

    def __init__(self, point: FloatArray, gradient: FloatArray) -> None:
        self._point = point
        self._left = np.hstack([gradient, point])
        right = np.hstack([point, -gradient])
        self._inner = right.T @ self._left
        self._image = right.T @ point

    def at(self, tau: float) -> FloatArray:
        """Return the feasible point Y(tau)."""
        system = np.eye(self._inner.shape[0]) + 0.5 * tau * self._inner
        point = self._point - tau * (self._left @ np.linalg.solve(system, self._image))
        return orthonormalised(point) if feasibility_error(point) > _ROUNDING else point


def _tangent(point: FloatArray, gradient: FloatArray) -> FloatArray:
    """Return the gradient in the canonical metric, G - W G'W = A W."""
    result: FloatArray = gradient - point @ (gradient.T @ point)
    return result
