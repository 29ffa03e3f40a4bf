"""scipy's L-BFGS-B, without knowledge of the manifold: the method that is at hand everywhere.

W is the orthonormal factor of a matrix V of d x q free variables, V = W R. F depends on the span of W alone, so the
gradient in V is that of F on the Grassmann manifold, (I - WW') G R^-T. scipy's own tests of F and of the gradient are
off: the solver ends at a relative stationarity. Where scipy's line search finds no lower cost, which happens when R has
become ill-conditioned, scipy is started again from V = W for as long as that helps.

Source: Zhu, Byrd, Lu, Nocedal, "Algorithm 778: L-BFGS-B", ACM Transactions on Mathematical Software 23, 1997.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import COUNT
from kdrbench.problems import PassStoppedError, Problem, value_and_gradient_of
from kdrbench.solvers.base import SolverOutcome, Status
from kdrbench.solvers.first_order import FirstOrderRival
from kdrbench.solvers.geometry.stiefel import orthonormalised, outside, relative_stationarity, require_finite
from kdrbench.solvers.monitor import Monitor


@dataclass(frozen=True)
class ScipyLBFGS(FirstOrderRival):
    """L-BFGS-B that ends at relative stationarity ``tolerance``, with the last ``memory`` pairs."""

    memory: Annotated[int, COUNT] = 10
    imports: ClassVar[tuple[str, ...]] = ("scipy.optimize",)

    def _search(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        from scipy.optimize import minimize

        search = _Search(problem, start, monitor, self.tolerance)
        options = {"maxfun": sys.maxsize, "maxcor": self.memory, "ftol": 0.0, "gtol": 0.0}
        left, reached = self.max_iterations, -np.inf
        try:
            search.accept(start.ravel())
            while left > 0 and search.value > reached:
                reached = search.value
                options["maxiter"] = left
                begin = search.point.ravel()
                left -= minimize(
                    search.cost, begin, jac=True, method="L-BFGS-B", callback=search.accept, options=options
                ).nit
        except _Ended as ended:
            return ended.outcome
        if left <= 0:
            message = f"stationarity was {search.stationarity:.1e} after {self.max_iterations} iterations"
            return SolverOutcome(search.point, Status.MAX_ITERATIONS, message)
        message = f"no step decreases the cost; stationarity is {search.stationarity:.1e}"
        return SolverOutcome(search.point, Status.STALLED, message)


class _Ended(Exception):  # noqa: N818 - not an error: the only way out of scipy's loop
    def __init__(self, outcome: SolverOutcome) -> None:
        super().__init__(outcome.message)
        self.outcome = outcome


class _Search:
    """E = -F of V, the last V that scipy has accepted, and the tests made there."""

    def __init__(self, problem: Problem, start: FloatArray, monitor: Monitor, tolerance: float) -> None:
        self._problem, self._monitor, self._tolerance = problem, monitor, tolerance
        self.point, self.value, self.stationarity = start, -np.inf, np.inf
        self._variables = np.empty(0)
        self._evaluated: tuple[FloatArray, float, FloatArray] = (start, np.nan, start)

    def cost(self, variables: FloatArray) -> tuple[float, FloatArray]:
        """Return E and its gradient in V."""
        point, value, gradient = self._at(variables)
        # R is q x q and upper triangular; its diagonal never shrinks, for the gradient is orthogonal to the span of V.
        upper = point.T @ variables.reshape(point.shape)
        tangent = outside(point, gradient)
        return -value, np.asarray(-np.linalg.solve(upper, tangent.T).T, dtype=np.float64).ravel()

    def accept(self, variables: FloatArray, *_: Any) -> None:
        """Let the monitor see an iterate, and leave where it is stationary or a limit is reached."""
        point, value, gradient = self._at(variables)
        require_finite(value, gradient)
        self.point, self.value, self.stationarity = point, value, relative_stationarity(point, gradient)
        if self.stationarity <= self._tolerance:
            reason = f"relative stationarity at most {self._tolerance:g}"
            raise _Ended(SolverOutcome(point, Status.CONVERGED, reason))
        if not self._monitor.keep_going(point):
            raise _Ended(SolverOutcome(point, self._monitor.stop_status, self._monitor.stop_message))

    def _at(self, variables: FloatArray) -> tuple[FloatArray, float, FloatArray]:
        """Return W, F and its gradient; scipy asks again for what its line search has evaluated last."""
        if not np.array_equal(variables, self._variables):
            if not self._monitor.progress(0.0):
                raise PassStoppedError
            point = orthonormalised(variables.reshape(self.point.shape))
            value, gradient = value_and_gradient_of(self._problem, point)
            self._variables, self._evaluated = variables.copy(), (point, value, gradient)
        return self._evaluated
