"""SM: curvilinear search on the Stiefel manifold along the Cayley transform.

With E = -F, G = dE/dW and the skew matrix A = G W' - W G', the curve

    Y(tau) = (I + tau/2 A)^-1 (I - tau/2 A) W

stays feasible and descends. A has rank 2q: A = U V' with U = [G, W], V = [W, -G], so that

    Y(tau) = W - tau U (I + tau/2 V'U)^-1 V'W

needs a 2q x 2q solve only (Sherman, Morrison, Woodbury). Step lengths alternate between the two Barzilai and
Borwein formulas and are accepted by Zhang and Hager's nonmonotone rule. W is orthonormalised again, by QR with a
positive diagonal, when rounding has moved it off the manifold by |W'W - I| > 1e-13.

| | ``converged`` | ``published`` |
|---|---|---|
| first trial of tau | moves W by about a tenth of a radian | 1e-3 |
| decrease asked for, 1e-4 tau times | the slope along the curve, half of A's squared norm | that of G - W G'W |
| trials, each a tenth of the one before | 60, then the status is ``stalled`` | 5, and the last is taken in any case |
| step lengths begin with | the long formula <S, S> / <S, Y> | the short one <S, Y> / <Y, Y> |
| stop | relative stationarity at most ``tolerance`` | see below |
| steps | ``max_iterations`` | ``max_iterations``, at most 1000 |

S is the last step, Y the change of G - W G'W. The published variant stops when |G - W G'W| < 1e-6 (absolutely: it
depends on the units of F), or |S| / sqrt(d) < 1e-6 and |dE| / (|E| + 1) < 1e-12, or the means of these two over the
last five steps are both below ten times that. So it may stop where nothing is stationary.

Sources: Wen and Yin, "A feasible method for optimization with orthogonality constraints", Mathematical Programming 142,
2013: Lemma 4 (low-rank form), Algorithm 2; the published variant has the defaults of the authors' software OptM.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem
from kdrbench.solvers.base import VARIANTS, Rival, SolverOutcome, Status
from kdrbench.solvers.geometry.stiefel import CayleyCurve
from kdrbench.solvers.monitor import Monitor

_SUFFICIENT_DECREASE = 1e-4
_BACKTRACK = 0.1
_AVERAGING = 0.85
_STEP_BOUNDS = (1e-20, 1e20)
_MOST_TRIALS = 60
_PUBLISHED_STEP, _PUBLISHED_TRIALS, _PUBLISHED_STEPS = 1e-3, 5, 1000


@dataclass(frozen=True)
class StiefelCayley(Rival):
    """Curvilinear search of at most ``max_iterations`` steps; ``tolerance`` is that of the converged variant."""

    variant: Annotated[str, VARIANTS] = "converged"

    def _search(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        published = self.variant == "published"
        search = _Search(problem, start, published=published)
        most_steps = min(self.max_iterations, _PUBLISHED_STEPS) if published else self.max_iterations
        while not (reason := _settled_as_published(search) if published else self._stationary(search)):
            if search.steps == most_steps:
                message = f"stationarity was {search.stationarity:.1e} after {search.steps} steps"
                return SolverOutcome(search.point, Status.MAX_ITERATIONS, message)
            if not monitor.keep_going(search.point):
                return SolverOutcome(search.point, monitor.stop_status, monitor.stop_message)
            if not search.step():
                message = f"no step length decreases the cost; stationarity is {search.stationarity:.1e}"
                return SolverOutcome(search.point, Status.STALLED, message)
        if published:
            reason = f"{reason}; stationarity is {search.stationarity:.1e}"
        return SolverOutcome(search.point, Status.CONVERGED, reason)

    def _stationary(self, search: _Search) -> str:
        return f"relative stationarity at most {self.tolerance:g}" if search.stationarity <= self.tolerance else ""


class _Search:
    """The iterate W, the gradient of E there, and the memory of step lengths and costs."""

    def __init__(self, problem: Problem, start: FloatArray, *, published: bool) -> None:
        self._problem, self._published, self.point = problem, published, start
        self._cost, self._gradient = self._evaluated(start)
        self._tangent = _tangent(start, self._gradient)
        self._tau = _PUBLISHED_STEP if published else 0.1 / max(self.slope, np.finfo(float).tiny)
        self._reference, self._memory = self._cost, 1.0
        self.steps = 0
        # |S| / sqrt(d) and |dE| / (|E| + 1) of each step.
        self.changes: list[tuple[float, float]] = []

    @property
    def stationarity(self) -> float:
        """Return |(I - WW')G| / |G|; F depends on WW' only, so W'G is symmetric and G - W G'W will do."""
        norm = float(np.linalg.norm(self._gradient))
        return self.slope / norm if norm != 0.0 else 0.0

    @property
    def slope(self) -> float:
        """Return |G - W G'W|."""
        return float(np.linalg.norm(self._tangent))

    def step(self) -> bool:
        """Move along the curve by the first acceptable step length; return whether one was found."""
        curve = CayleyCurve(self.point, self._gradient)
        decrease = float(np.sum(self._tangent**2))
        if not self._published:
            # E'(0) = -|A|^2 / 2 along the curve. |A|^2 = 2 |AW|^2 - |W'AW|^2, since A maps the complement of W to W;
            # as a trace of products of U and V it would be lost to cancellation near a solution.
            decrease -= 0.5 * float(np.sum((self.point.T @ self._tangent) ** 2))
        tau = self._tau
        for trial in range(1, (_PUBLISHED_TRIALS if self._published else _MOST_TRIALS) + 1):
            candidate = curve.at(tau)
            cost, gradient = self._evaluated(candidate)
            taken = self._published and trial == _PUBLISHED_TRIALS
            if taken or cost <= self._reference - _SUFFICIENT_DECREASE * tau * decrease:
                self._accept(candidate, cost, gradient)
                return True
            tau *= _BACKTRACK
        return False

    def _evaluated(self, point: FloatArray) -> tuple[float, FloatArray]:
        """Return E and its gradient; together at every trial, for more than nine of ten are accepted."""
        value, gradient = self._problem.value_and_gradient(point)
        return -value, -gradient

    def _accept(self, candidate: FloatArray, cost: float, gradient: FloatArray) -> None:
        tangent = _tangent(candidate, gradient)
        moved, turned = candidate - self.point, tangent - self._tangent
        length = float(np.vdot(moved, moved))
        self._tau = self._barzilai_borwein(length, float(np.vdot(moved, turned)), turned)
        size = math.sqrt(length / len(moved))
        self.changes.append((size, abs(cost - self._cost) / (abs(self._cost) + 1.0)))
        self.point, self._gradient, self._tangent, self._cost = candidate, gradient, tangent, cost
        self.steps += 1
        memory = _AVERAGING * self._memory + 1.0
        self._reference = (_AVERAGING * self._memory * self._reference + cost) / memory
        self._memory = memory

    def _barzilai_borwein(self, length: float, product: float, turned: FloatArray) -> float:
        inner = abs(product)
        if inner == 0.0:
            return self._tau
        long = (self.steps % 2 == 0) != self._published
        tau = length / inner if long else inner / float(np.vdot(turned, turned))
        return min(max(tau, _STEP_BOUNDS[0]), _STEP_BOUNDS[1])


def _tangent(point: FloatArray, gradient: FloatArray) -> FloatArray:
    """Return the gradient in the canonical metric, G - W G'W = A W."""
    return np.asarray(gradient - point @ (gradient.T @ point))


# The thresholds of OptM: of |G - W G'W|, of the last changes of W and E; the factor and the length of their means.
_SLOPE, _CHANGES, _SLACK, _WINDOW = 1e-6, (1e-6, 1e-12), 10.0, 5


def _settled_as_published(search: _Search) -> str:
    if search.slope < _SLOPE:
        return f"the gradient's norm is below {_SLOPE:g}"
    last = search.changes[-_WINDOW:]
    if not last:
        return ""
    if _below(last[-1], 1.0):
        return "W and its cost settled"
    size, gain = (sum(column) / len(last) for column in zip(*last, strict=True))
    return f"W and its cost settled in the mean of {_WINDOW} steps" if _below((size, gain), _SLACK) else ""


def _below(change: tuple[float, float], factor: float) -> bool:
    return change[0] < factor * _CHANGES[0] and change[1] < factor * _CHANGES[1]
