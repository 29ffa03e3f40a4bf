"""F for optimisers that know neither manifolds nor monitors: a cost of free variables, its gradient, and a callback.

``ScipyLBFGS``, the method that is at hand everywhere, is one; scipy's own tests of F and of the gradient are off. Where
its line search finds no lower cost, which happens when R has become ill-conditioned, scipy is started again from V = W
for as long as that helps.

W is the orthonormal factor of a matrix V of d x q free variables, V = W R. F depends on the span of W alone, so the
gradient in V is (I - WW') G R^-T, with the gradient G of F at W. An optimiser minimises -F over the d q numbers of V.

Source: Zhu, Byrd, Lu, Nocedal, "Algorithm 778: L-BFGS-B", ACM Transactions on Mathematical Software 23, 1997.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import PassStoppedError, Problem
from kdrbench.solvers.base import Rival, SolverOutcome, Status
from kdrbench.solvers.geometry.stiefel import orthonormalised, outside, relative_stationarity, require_finite
from kdrbench.solvers.monitor import Monitor

# Given the first variables, returns the last ones and why the optimiser ended.
Minimise = Callable[[FloatArray], tuple[FloatArray, str]]


class Search:
    """One run of another library's optimiser: what it minimises, and what it calls at each iterate.

    ``run`` calls it; it calls ``cost_and_gradient`` as often as it likes, and ``callback`` once an iteration, where the
    monitor sees the iterate with the clock paused. The search ends there where it is stationary to ``tolerance`` or a
    limit is reached: by an exception, which the optimiser has to let pass. ``point``, ``value`` and ``stationarity``
    are the last iterate's.
    """

    def __init__(self, problem: Problem, start: FloatArray, monitor: Monitor, tolerance: float) -> None:
        self._problem, self._monitor, self._tolerance, self._start = problem, monitor, tolerance, start
        self.point, self.value, self.stationarity = start, -np.inf, np.inf
        self._variables: FloatArray = np.empty(0)
        self._evaluated: tuple[FloatArray, float, FloatArray] = (start, np.nan, start)

    def run(self, minimise: Minimise) -> SolverOutcome:
        """Return how ``minimise`` ended from the start, with its reason.

        It has converged only where the last iterate is stationary to the tolerance, whatever the optimiser says.
        """
        try:
            self.callback(self._start.ravel())
            variables, reason = minimise(self._start.ravel().copy())
        except SearchEnded as ended:
            return ended.outcome
        point, _, gradient = self._at(variables)
        reached = relative_stationarity(point, gradient)
        status = Status.CONVERGED if reached <= self._tolerance else Status.STALLED
        return SolverOutcome(point, status, f"{reason}; relative stationarity is {reached:.1e}")

    def cost_and_gradient(self, variables: FloatArray) -> tuple[float, FloatArray]:
        """Return -F and its gradient in V, as d q numbers."""
        point, value, gradient = self._at(variables)
        # R is q x q and upper triangular; its diagonal never shrinks, for the gradient is orthogonal to the span of V.
        upper = point.T @ np.reshape(variables, point.shape)
        return -value, np.asarray(-np.linalg.solve(upper, outside(point, gradient).T).T, dtype=np.float64).ravel()

    def callback(self, variables: FloatArray, *_others: Any) -> None:
        """Count an iterate and let the monitor see it; leave where it is stationary or a limit is reached."""
        point, value, gradient = self._at(variables)
        require_finite(value, gradient)
        self.point, self.value, self.stationarity = point, value, relative_stationarity(point, gradient)
        if self.stationarity <= self._tolerance:
            message = f"relative stationarity at most {self._tolerance:g}"
            raise SearchEnded(SolverOutcome(point, Status.CONVERGED, message))
        if not self._monitor.keep_going(point):
            raise SearchEnded(SolverOutcome(point, self._monitor.stop_status, self._monitor.stop_message))

    def _at(self, variables: FloatArray) -> tuple[FloatArray, float, FloatArray]:
        """Return W, F and its gradient; what was evaluated last is not evaluated again."""
        given = np.asarray(variables, dtype=np.float64).ravel()
        if not np.array_equal(given, self._variables):
            if given.size != self._start.size or not np.isfinite(given).all():
                raise InputError(
                    f"the optimiser asked for F at {given.size} numbers, {np.isfinite(given).sum()} of them finite; "
                    f"it must give the {self._start.size} of a d x q matrix, row by row"
                )
            if not self._monitor.progress(0.0):
                raise PassStoppedError
            point = orthonormalised(given.reshape(self._start.shape))
            value, gradient = self._problem.value_and_gradient(point)
            self._variables, self._evaluated = given.copy(), (point, value, gradient)
        return self._evaluated


class SearchEnded(Exception):  # noqa: N818 - not an error: the only way out of an optimiser's loop
    """Carries the outcome of a search that an optimiser's loop is left with."""

    def __init__(self, outcome: SolverOutcome) -> None:
        super().__init__(outcome.message)
        self.outcome = outcome


@dataclass(frozen=True)
class ScipyLBFGS(Rival):
    """L-BFGS-B that ends at relative stationarity ``tolerance``, with the last ten pairs, scipy's default."""

    imports: ClassVar[tuple[str, ...]] = ("scipy.optimize",)

    def _search(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        from scipy.optimize import minimize

        search = Search(problem, start, monitor, self.tolerance)
        options = {"maxfun": sys.maxsize, "ftol": 0.0, "gtol": 0.0}
        settings = {"jac": True, "method": "L-BFGS-B", "callback": search.callback}
        left, reached = self.max_iterations, -np.inf
        try:
            search.callback(start.ravel())
            while left > 0 and search.value > reached:
                reached = search.value
                options["maxiter"] = left
                left -= minimize(search.cost_and_gradient, search.point.ravel(), options=options, **settings).nit
        except SearchEnded as ended:
            return ended.outcome
        if left <= 0:
            message = f"stationarity was {search.stationarity:.1e} after {self.max_iterations} iterations"
            return SolverOutcome(search.point, Status.MAX_ITERATIONS, message)
        message = f"no step decreases the cost; stationarity is {search.stationarity:.1e}"
        return SolverOutcome(search.point, Status.STALLED, message)
