"""Solving in coordinates of the row space, where there are more features than samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem, in_row_space
from kdrbench.solvers.base import SolverOutcome
from kdrbench.solvers.monitor import Iterate, Monitor, MonitorProxy

Run = Callable[[Problem, FloatArray, Monitor], SolverOutcome]


def run_in_row_space(run: Run, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
    """Return what ``run`` finds, in fewer coordinates where that is worth it; the monitor sees W all the same."""
    reduced = in_row_space(problem, start)
    if reduced is None:
        return run(problem, start, monitor)
    smaller, space = reduced
    lifting = cast(Monitor, _LiftingMonitor(monitor, space.lift))
    outcome = run(smaller, space.lower(start), lifting)
    return outcome._replace(projection=space.lift(outcome.projection))


class _LiftingMonitor(MonitorProxy):
    """Shows iterates in the original coordinates; they are lifted only when the monitor evaluates them."""

    def __init__(self, monitor: Monitor, lift: Callable[[FloatArray], FloatArray]) -> None:
        super().__init__(monitor)
        self._lift = lift

    def keep_going(self, iterate: Iterate) -> bool:
        return self._monitor.keep_going(lambda: self._lift(iterate() if callable(iterate) else iterate))

    def accept(self, projection: FloatArray) -> None:
        self._monitor.accept(self._lift(projection))
