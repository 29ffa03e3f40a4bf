"""Solving in coordinates of the row space, where there are more features than samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem
from kdrbench.solvers.base import Outcome
from kdrbench.solvers.monitor import Iterate, Monitor
from kdrbench.solvers.status import Status

Run = Callable[[Problem, FloatArray, Monitor], Outcome]


def run_in_row_space(run: Run, problem: Problem, start: FloatArray, monitor: Monitor) -> Outcome:
    """Return what ``run`` finds, in fewer coordinates where that is worth it; the monitor sees W all the same."""
    found = problem.in_row_space(start)
    if found is None:
        return run(problem, start, monitor)
    smaller, space = found
    outcome = run(smaller, space.lower(start), _LiftingMonitor(monitor, space.lift))
    return outcome._replace(projection=space.lift(outcome.projection))


class _LiftingMonitor:
    """Hands on iterates in the original coordinates; they are lifted when somebody looks."""

    def __init__(self, monitor: Monitor, lift: Callable[[FloatArray], FloatArray]) -> None:
        self._monitor, self._lift = monitor, lift
        self.iterations = monitor.iterations

    @property
    def trace(self) -> Sequence[tuple[float, float, float]]:
        return self._monitor.trace

    @property
    def stop_status(self) -> Status:
        return self._monitor.stop_status

    @property
    def stop_message(self) -> str:
        return self._monitor.stop_message

    def begin(self) -> None:
        self._monitor.begin()

    def keep_going(self, iterate: Iterate) -> bool:
        going = self._monitor.keep_going(lambda: self._lift(iterate() if callable(iterate) else iterate))
        self.iterations = self._monitor.iterations
        return going

    def end(self) -> None:
        self._monitor.end()

    def accept(self, projection: FloatArray) -> None:
        self._monitor.accept(self._lift(projection))
