"""Limited-memory BFGS on the Grassmann manifold as a rival: steps of :mod:`.limited_memory` and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import COUNT
from kdrbench.problems import Problem, value_and_gradient_of
from kdrbench.solvers.base import SolverOutcome, Status
from kdrbench.solvers.first_order import FirstOrderRival
from kdrbench.solvers.limited_memory import QuasiNewtonSearch
from kdrbench.solvers.monitor import Monitor


@dataclass(frozen=True)
class RiemannianLBFGS(FirstOrderRival):
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
