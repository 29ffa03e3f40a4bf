"""Rivals that ask for F and its gradient alone: L-BFGS on the Grassmann manifold, and scipy's, without knowledge of it.

``RiemannianLBFGS`` takes the steps of :mod:`.limited_memory` and nothing else. ``ScipyLBFGS``, the method that is at
hand everywhere, minimises over free variables (:mod:`.callbacks`); scipy's own tests of F and of the gradient are off.
Where its line search finds no lower cost, which happens when R has become ill-conditioned, scipy is started again from
V = W for as long as that helps.

Source: Zhu, Byrd, Lu, Nocedal, "Algorithm 778: L-BFGS-B", ACM Transactions on Mathematical Software 23, 1997.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import COUNT
from kdrbench.problems import Problem, value_and_gradient_of
from kdrbench.solvers.base import SolverOutcome, Status
from kdrbench.solvers.callbacks import Search, SearchEnded
from kdrbench.solvers.escape import Rival
from kdrbench.solvers.limited_memory import QuasiNewtonSearch
from kdrbench.solvers.monitor import Monitor


@dataclass(frozen=True)
class RiemannianLBFGS(Rival):
    """Steps until relative stationarity ``tolerance``, at most ``max_iterations``, with the last ``memory`` pairs."""

    memory: Annotated[int, COUNT] = 10
    monotone: ClassVar[bool] = True

    def _search(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        search = QuasiNewtonSearch(problem, start, *value_and_gradient_of(problem, start), memory=self.memory)
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


@dataclass(frozen=True)
class ScipyLBFGS(Rival):
    """L-BFGS-B that ends at relative stationarity ``tolerance``, with the last ``memory`` pairs."""

    memory: Annotated[int, COUNT] = 10
    imports: ClassVar[tuple[str, ...]] = ("scipy.optimize",)

    def _search(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        from scipy.optimize import minimize

        search = Search(problem, start, monitor, self.tolerance)
        options = {"maxfun": sys.maxsize, "maxcor": self.memory, "ftol": 0.0, "gtol": 0.0}
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
