"""Solving in coordinates of the row space, where there are more features than samples."""

from __future__ import annotations

from collections.abc import Callable

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem
from kdrbench.solvers.base import Outcome
from kdrbench.solvers.monitor import Iterate, Monitor, MonitorProxy

Run = Callable[[Problem, FloatArray, Monitor], Outcome]


def run_in_row_space(run: Run, problem: Problem, start: FloatArray, monitor: Monitor) -> Outcome:
    """Return what ``run`` finds, in fewer coordinates where that is worth it; the monitor sees W all the same."""
    found = problem.in_row_space(start)
    if found is None:
        return run(problem, start, monitor)
    smaller, space = found
    outcome = run(smaller, space.lower(start), _LiftingMonitor(monitor, space.lift))
    return outcome._replace(projection=space.lift(outcome.projection))


class _LiftingMonitor(MonitorProxy):
    """Hands on iterates in the original coordinates; they are lifted when somebody looks."""

    def __init__(self, monitor: Monitor, lift: Callable[[FloatArray], FloatArray]) -> None:
        super().__init__(monitor)
        self._lift = lift

    def keep_going(self, iterate: Iterate) -> bool:
        return super().keep_going(lambda: self._lift(iterate() if callable(iterate) else iterate))

    def accept(self, projection: FloatArray) -> None:
        super().accept(self._lift(projection))
