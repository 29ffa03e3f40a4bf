"""Safeguarded ISM: what plain ISM finds, made monotone, certified to first and second order.

1. Explore: plain ISM from the start by its own rule, at most ``max_exploration`` steps; its iterates may be
   worse than their predecessors, or cycle, so the best one seen is kept and handed on.
2. Approach, where the tangent space is large: exact gradients with a corrected Phi (see
   :mod:`kdrbench.solvers.safeguarded.approach`), a new Phi only when it pays.
3. Finish: trust-region Newton steps (see :mod:`kdrbench.solvers.safeguarded.finish`) from the best iterate until the relative
   stationarity |(I - WW') Phi W| / |Phi W| is at most ``tolerance``.
4. Escape: where the smallest eigenvalue of the Riemannian Hessian of -F is below -``curvature_tolerance``
   relative to 2 |W' Phi W|, W is a saddle; a step along its eigenvector increases F, and 3. goes on from there.

A problem that is costly to evaluate offers a rough one nearby (single precision, or a low-rank kernel matrix): then 1.
and the beginning of 2. are done on it, and second order is taken from it. What ends the search is exact; that F is
never below plain ISM's then holds to the accuracy of the rough problem.

The best iterate's F never decreases beyond rounding, is never below the start's, and never below that of plain
ISM from the same start with the same exploration. The fixed points are ISM's.

Source: exploration is Algorithm 1 of NeurIPS 2019; the rest is ours.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem
from kdrbench.solvers.base import Outcome, Status
from kdrbench.solvers.geometry.curvature import DENSE_DIMENSION
from kdrbench.solvers.geometry.row_space import run_in_row_space
from kdrbench.solvers.geometry.stiefel import eigenvalues_settled, leading_eigenvectors, subspace_turn
from kdrbench.solvers.monitor import Monitor
from kdrbench.solvers.options import require_positive
from kdrbench.solvers.safeguarded.approach import Approach, approach
from kdrbench.solvers.safeguarded.blended import BlendedProblem
from kdrbench.solvers.safeguarded.correction import approach_through
from kdrbench.solvers.safeguarded.finish import NewtonSearch

# A turn of the subspace by less than this against the iterate before the last is a cycle of two.
_CYCLE = 1e-6
# Newton steps with a rough Hessian, before the exact one is taken.
_BLENDED_STEPS = 20


@dataclass(frozen=True)
class SafeguardedISM:
    """ISM with a second-order finish.

    ``tolerance`` bounds the relative stationarity, ``curvature_tolerance`` how negative the smallest curvature may be;
    ``exploration_tolerance`` is the papers' delta, ``max_exploration`` and ``max_iterations`` cap steps 1 and 3.
    """

    tolerance: float = 1e-6
    curvature_tolerance: float = 1e-6
    exploration_tolerance: float = 0.01
    max_exploration: int = 200
    max_iterations: int = 1000
    requires: ClassVar[frozenset[str]] = frozenset({"value", "gradient", "hessian_vector", "hessian", "surrogate"})
    version: ClassVar[int] = 3
    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_positive(**asdict(self))

    def run(self, problem: Problem, start: FloatArray, monitor: Monitor) -> Outcome:
        """Explore, approach, finish and escape from ``start``."""
        return run_in_row_space(self._solve, problem, start, monitor)

    def _solve(self, problem: Problem, start: FloatArray, monitor: Monitor) -> Outcome:
        n_features, n_components = start.shape
        if n_features == n_components:
            return Outcome(start, Status.CONVERGED, "a square projection spans everything: any W is optimal")
        rough = problem.rough(n_components)
        if rough is not None:
            try:
                return self._solve_from(problem, rough, start, monitor)
            except (InputError, np.linalg.LinAlgError):
                # Out of the range of single precision; what is wrong with the exact problem will be said by it.
                pass
        return self._solve_from(problem, None, start, monitor)

    def _solve_from(self, problem: Problem, rough: Problem | None, start: FloatArray, monitor: Monitor) -> Outcome:
        n_features, n_components = start.shape
        explored = self._explore(rough or problem, start, monitor)
        if explored is None:
            return Outcome(start, monitor.stop_status, monitor.stop_message)
        point, value, surrogate = explored
        # Nothing can be told of an approximate problem beyond its accuracy.
        tolerance = max(self.tolerance, problem.accuracy(n_components))
        gradient: FloatArray | None = None
        if (n_features - n_components) * n_components > DENSE_DIMENSION:
            point, value, gradient, _ = self._approach(problem, rough, point, surrogate, tolerance, monitor)
        elif rough is not None:
            value = problem.value(point)
        if rough is not None:
            search = NewtonSearch(BlendedProblem(problem, rough), point, value, gradient)
            outcome = self._finish(search, tolerance, monitor, _BLENDED_STEPS)
            if outcome.status not in (Status.STALLED, Status.MAX_ITERATIONS):
                return outcome
            # The rough Hessian is not near enough here.
            point, value, gradient = search.point, search.value, search.gradient
        return self._finish(NewtonSearch(problem, point, value, gradient), tolerance, monitor, self.max_iterations)

    def _approach(
        self,
        problem: Problem,
        rough: Problem | None,
        point: FloatArray,
        surrogate: FloatArray,
        tolerance: float,
        monitor: Monitor,
    ) -> Approach:
        """Return where gradient passes get from the best iterate."""
        n_components, keep_going = point.shape[1], monitor.keep_going
        if rough is not None:
            nearly = rough.accuracy(n_components)
            point = approach(rough, point, surrogate, nearly, keep_going, slack=nearly).point
            found = approach_through(rough, problem, point, surrogate, tolerance, keep_going)
            if found.stationarity <= tolerance:
                return found
            point = found.point
        slack = problem.accuracy(n_components)
        return approach(problem, point, surrogate, tolerance, keep_going, slack=slack)

    def _finish(self, search: NewtonSearch, tolerance: float, monitor: Monitor, most_steps: int) -> Outcome:
        """Take Newton steps and leave saddles."""
        for _ in range(most_steps):
            if not monitor.keep_going(search.point):
                return Outcome(search.point, monitor.stop_status, monitor.stop_message)
            if search.stationarity > tolerance:
                if not search.step() and search.stationarity > tolerance:
                    message = f"no step increases F beyond rounding; stationarity is {search.stationarity:.1e}"
                    return Outcome(search.point, Status.STALLED, message)
            elif search.curvature() >= -self.curvature_tolerance or not search.escape():
                message = f"relative stationarity at most {tolerance:g}, no direction of ascent found"
                return Outcome(search.point, Status.CONVERGED, message)
        message = f"stationarity was {search.stationarity:.1e} after {most_steps} steps"
        return Outcome(search.point, Status.MAX_ITERATIONS, message)

    def _explore(
        self, problem: Problem, start: FloatArray, monitor: Monitor
    ) -> tuple[FloatArray, float, FloatArray] | None:
        """Return the best iterate of plain ISM, F there, and the last surrogate; ``None`` if stopped at once."""
        best, best_value = start, problem.value(start)
        before_last, projection = start, start
        previous: FloatArray | None = None
        surrogate: FloatArray | None = None
        for _ in range(self.max_exploration):
            if not monitor.keep_going(best):
                break
            surrogate = problem.surrogate(projection)
            eigenvalues, following = leading_eigenvectors(surrogate, start.shape[1])
            if (value := problem.value(following)) > best_value:
                best, best_value = following, value
            settled = previous is not None and eigenvalues_settled(eigenvalues, previous, self.exploration_tolerance)
            if settled or subspace_turn(before_last, following) <= _CYCLE:
                break
            before_last, projection, previous = projection, following, eigenvalues
        return None if surrogate is None else (best, best_value, surrogate)
