"""Limited-memory BFGS steps on the Grassmann manifold, from F and its gradient alone.

E = -F is minimised over subspaces. At W with Riemannian gradient g (a tangent: W'g = 0) the step is along D = -H g. H
is the BFGS approximation of the inverse Hessian that the last pairs of steps s and changes y of the gradient define
(two loops, no matrix). Its first matrix H_0 is a multiple of the identity, or of a preconditioner M^-1 that is given:
H_0 = gamma M^-1 with gamma = <s, y> / <y, M^-1 y> of the last pair.

- Retraction: the orthonormal polar factor of W + tD. W'W_new is symmetric and positive definite, so the bases of both
  subspaces are aligned, and tangents are carried over by projection, Z -> (I - WW')Z.
- Line search: t = 1, or what turns W by at most one; halved or less by quadratic interpolation until
  F(t) >= F + 1e-4 t <-g, D> (Armijo). Where rounding of F hides what the step promises, it may fall by as much.
- Cautious update: a pair is kept only where <s, y> > 1e-8 |s| |y|. Then H is positive definite, and F always ascends
  along D, whatever the curvature is.

Sources: Nocedal, "Updating quasi-Newton matrices with limited storage", Mathematics of Computation 35, 1980 (the two
loops); Huang, Absil, Gallivan, "A Riemannian BFGS method without differentiated retraction for nonconvex optimization
problems", SIAM Journal on Optimization 28, 2018 (cautious updates with Armijo's rule; their transports are isometric).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem
from kdrbench.solvers.base import Rival, SolverOutcome, Status
from kdrbench.solvers.geometry.stiefel import outside, relative_stationarity, require_finite, rounding_of
from kdrbench.solvers.monitor import Monitor

# Given W and a tangent g at W, returns M^-1 g; symmetric and positive definite on tangents.
Preconditioner = Callable[[FloatArray, FloatArray], FloatArray]

_SUFFICIENT, MOST_TRIALS = 1e-4, 30
# Bounds of the factor by which a trial is shortened.
_SHORTEST, _LONGEST = 0.1, 0.5
_CAUTION = 1e-8
# Steps that are remembered.
_PAIRS = 10
# The first step, as a turn of W in radians, where nothing is known of second order.
_FIRST_TURN = 0.1
# After this many steps in a row without a lower stationarity or a gain beyond rounding there is nothing left to find.
_PATIENCE = 10


class QuasiNewtonSearch:
    """The iterate W, F and its Euclidean gradient there, and the memory; F never falls beyond rounding.

    A line search tries ``most_trials`` lengths.
    """

    def __init__(
        self,
        problem: Problem,
        point: FloatArray,
        value: float,
        gradient: FloatArray,
        *,
        preconditioner: Preconditioner | None = None,
        most_trials: int = MOST_TRIALS,
    ) -> None:
        self.problem, self._preconditioner, self._most_trials = problem, preconditioner, most_trials
        self._memory = _Memory(_PAIRS)
        self._waited, self._best, self._highest = 0, np.inf, value
        self._move_to(point, value, gradient)

    @property
    def slope(self) -> FloatArray:
        """The Riemannian gradient g of E = -F."""
        return -outside(self.point, self.gradient)

    def step(self) -> bool:
        """Take one step; return false when no step improves on the iterate beyond rounding."""
        taken = self._taken(-self._memory.applied(self.slope, self._scaled))
        if not taken and self._memory.pairs:
            # What was learned elsewhere may mislead here.
            self._memory.pairs.clear()
            taken = self._taken(-self._scaled(self.slope))
        return taken and self._waited < _PATIENCE

    def _scaled(self, tangent: FloatArray) -> FloatArray:
        """Return H_0 times a tangent."""
        image = tangent if self._preconditioner is None else self._preconditioner(self.point, tangent)
        if self._memory.pairs:
            _, change, product = self._memory.pairs[-1]
            weighed = change if self._preconditioner is None else self._preconditioner(self.point, change)
            return image * (product / float(np.vdot(change, weighed)))
        return image if self._preconditioner is not None else image * (_FIRST_TURN / float(np.linalg.norm(image)))

    def _taken(self, direction: FloatArray) -> bool:
        """Move along the direction as far as the line search says; return whether it found a step."""
        before, slope = self.slope, float(np.vdot(self.slope, direction))
        noise = rounding_of(self.value)
        # What a step of length one promises may be hidden by the rounding of F; it is taken all the same.
        slack = noise if -slope <= noise else 0.0
        length = min(1.0, 1.0 / max(float(np.linalg.norm(direction, 2)), 1e-300))
        for _ in range(self._most_trials if slope < 0.0 else 0):
            candidate = retracted(self.point, length * direction)
            # Together: more than nine of ten first trials are accepted.
            value, gradient = self.problem.value_and_gradient(candidate)
            if value >= max(self.value - _SUFFICIENT * length * slope, self._highest) - slack:
                moved = outside(candidate, length * direction)
                self._memory.carry_to(candidate)
                self._move_to(candidate, value, gradient)
                self._memory.add(moved, self.slope - outside(candidate, before))
                return True
            # Where the parabola through F, its slope and the trial has its top.
            share = 0.5 * length * slope / (value - self.value + length * slope)
            length *= min(max(share, _SHORTEST), _LONGEST)
        return False

    def _move_to(self, point: FloatArray, value: float, gradient: FloatArray) -> None:
        self.point, self.value, self.gradient = point, value, gradient
        self.stationarity = relative_stationarity(point, gradient)
        require_finite(value, gradient, self.stationarity)
        gained = value > self._highest + rounding_of(value)
        self._waited = 0 if gained or self.stationarity < self._best else self._waited + 1
        self._best, self._highest = min(self._best, self.stationarity), max(self._highest, value)


def retracted(point: FloatArray, tangent: FloatArray) -> FloatArray:
    """Return the orthonormal polar factor of W + Z."""
    moved = point + tangent
    squares, rotation = np.linalg.eigh(moved.T @ moved)
    return np.asarray(moved @ ((rotation / np.sqrt(squares)) @ rotation.T))


class _Pair(NamedTuple):
    """A step, the change of the gradient along it, and their product where they were made."""

    step: FloatArray
    change: FloatArray
    product: float


class _Memory:
    """The last pairs as tangents at the current W, and the inverse Hessian that they define."""

    def __init__(self, most: int) -> None:
        self.pairs: deque[_Pair] = deque(maxlen=most)

    def add(self, step: FloatArray, change: FloatArray) -> None:
        """Keep a pair, unless the curvature along it is not safely positive."""
        product = float(np.vdot(step, change))
        if product > _CAUTION * float(np.linalg.norm(step)) * float(np.linalg.norm(change)):
            self.pairs.append(_Pair(step, change, product))

    def carry_to(self, point: FloatArray) -> None:
        """Project all pairs to the tangents at W; their products stay, so that H stays positive definite."""
        if not self.pairs:
            return
        tangents = np.array([pair[:2] for pair in self.pairs])
        carried = tangents - point @ (point.T @ tangents)
        kept = [_Pair(step, change, pair.product) for (step, change), pair in zip(carried, self.pairs, strict=True)]
        self.pairs = deque(kept, self.pairs.maxlen)

    def applied(self, tangent: FloatArray, scaled: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Return H times a tangent, given H_0 times one."""
        weights = []
        for step, change, product in reversed(self.pairs):
            weights.append(float(np.vdot(step, tangent)) / product)
            tangent = tangent - weights[-1] * change
        image = scaled(tangent)
        for step, change, product in self.pairs:
            image = image + (weights.pop() - float(np.vdot(change, image)) / product) * step
        return image


@dataclass(frozen=True)
class RiemannianLBFGS(Rival):
    """Steps until relative stationarity ``tolerance``, at most ``max_iterations``, with the last ten pairs."""

    monotone: ClassVar[bool] = True

    def _search(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        search = QuasiNewtonSearch(problem, start, *problem.value_and_gradient(start))
        steps = 0
        while search.stationarity > self.tolerance:
            if not monitor.keep_going(search.point):
                return SolverOutcome(search.point, monitor.stop_status, monitor.stop_message)
            if steps == self.max_iterations:
                message = f"stationarity was {search.stationarity:.1e} after {steps} iterations"
                return SolverOutcome(search.point, Status.MAX_ITERATIONS, message)
            if not search.step():
                message = f"no step increases F beyond rounding; stationarity is {search.stationarity:.1e}"
                return SolverOutcome(search.point, Status.STALLED, message)
            steps += 1
        message = f"relative stationarity at most {self.tolerance:g}"
        return SolverOutcome(search.point, Status.CONVERGED, message)
