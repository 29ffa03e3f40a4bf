"""Monitors: they count a solver's iterations and decide when to stop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Counters
from kdrbench.progress import FitProgress
from kdrbench.solvers.geometry.stiefel import relative_stationarity
from kdrbench.status import Status

# An orthonormal W, or a function that makes it for a monitor that evaluates it: its cost is then not the solver's.
Iterate = FloatArray | Callable[[], FloatArray]
# Arrays by name (of numbers or of text), from which a solver can continue as if it had never stopped.
State = Mapping[str, NDArray[Any]]


# Of a use as a library that names no number.
MOST_ITERATIONS = 10_000


class Monitor:
    """Called by :func:`kdrbench.solvers.solve` at both ends and by the solver once an iterate.

    This one stops after ``max_iterations`` iterations, without a clock: for use as a library. ``iterations`` counts the
    iterates from which the solver was allowed to continue. ``stop_status`` is to be reported after ``keep_going``
    returned false. ``resumed`` is the state to continue from, kept by a run that was interrupted; ``None`` to begin
    with the start.

    A monitor may also have ``observe(oracle, projection, answer)``, which sees what the problem's oracles answer at W.
    """

    stop_status = Status.MAX_ITERATIONS
    resumed: State | None = None

    def __init__(self, max_iterations: int = MOST_ITERATIONS) -> None:
        self.max_iterations = max_iterations
        self.iterations = 0

    @property
    def stop_message(self) -> str:
        """The limit that was reached, in words."""
        return f"stopped after {self.max_iterations} iterations"

    def begin(self) -> None:
        """Note the start of the run: count from zero."""
        self.iterations = 0

    def keep_going(self, iterate: Iterate) -> bool:
        """Note the iterate and return whether the solver may continue from it.

        A clock is paused while the monitor evaluates.
        """
        if self.iterations >= self.max_iterations:
            return False
        self.iterations += 1
        return True

    def progress(self, share: float) -> bool:
        """Note how much of a long pass over the data is done, and return whether it may continue."""
        return True

    def checkpoint(self, state: Callable[[], State]) -> None:
        """Keep the state, which is made only then, if it is time to; for solvers that can continue from it."""

    def end(self) -> None:
        """Note that the solver has returned."""

    def accept(self, projection: FloatArray) -> None:
        """Note the result, after it was checked."""


class WatchedMonitor(Monitor):
    """Shows where the solver is, from what the problem was asked anyway: nothing is evaluated for it.

    ``progress`` is what shows it. Value and gradient are those of the last W that was evaluated, on the approximation
    that the solver uses if it uses one; ISM asks for no value.
    """

    def __init__(self, max_iterations: int, progress: FitProgress) -> None:
        super().__init__(max_iterations)
        self._progress = progress
        self._value: float | None = None
        self._at: tuple[FloatArray, FloatArray] | None = None

    def begin(self) -> None:
        """Count from zero, with nothing seen."""
        super().begin()
        self._value, self._at = None, None
        self._progress.begin_solve()

    def observe(self, oracle: str, projection: FloatArray, answer: Any) -> None:
        """Remember a value, and a W with its gradient or what that is made of."""
        if oracle in ("value", "value_and_gradient"):
            self._value = float(answer if oracle == "value" else answer[0])
        if oracle == "value_and_gradient":
            self._at = projection, answer[1]
        elif oracle == "gradient":
            self._at = projection, answer
        elif oracle == "surrogate":
            self._at = projection, 2.0 * answer @ projection

    def keep_going(self, iterate: Iterate) -> bool:
        """Count one iteration unless the limit is reached, and show it."""
        going = super().keep_going(iterate)
        self._progress.show(self.iterations, self._value, self._stationarity)
        return going

    def progress(self, share: float) -> bool:
        """Show how far a pass is, and continue."""
        self._progress.show(self.iterations, self._value, self._stationarity, share)
        return True

    def _stationarity(self) -> float | None:
        return None if self._at is None else relative_stationarity(*self._at)


class MonitorProxy:
    """Passes every use on to another monitor, except what a subclass defines."""

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._monitor, name)


class SolveMonitor(MonitorProxy):
    """Remembers the last iterate from which the solver could continue, and keeps oracle calls in checkpoints."""

    _NAME = "oracle_calls"

    def __init__(self, monitor: Monitor, counters: Counters) -> None:
        super().__init__(monitor)
        self._counters = counters
        self._latest: Iterate | None = None
        # The counts of an interrupted run go on, if the monitor has its state.
        if (state := monitor.resumed) is not None:
            for field, calls in zip(fields(counters), state[self._NAME], strict=True):
                setattr(counters, field.name, int(calls))

    def keep_going(self, iterate: Iterate) -> bool:
        """Remember the iterate, if the solver may continue from it."""
        going = self._monitor.keep_going(iterate)
        if going:
            self._latest = iterate
        return going

    def latest(self, otherwise: FloatArray) -> FloatArray:
        """Return that iterate, if there is one."""
        if self._latest is None:
            return otherwise
        return self._latest() if callable(self._latest) else self._latest

    def checkpoint(self, state: Callable[[], State]) -> None:
        """Add the calls so far to the state."""
        calls = np.array([getattr(self._counters, field.name) for field in fields(self._counters)])
        self._monitor.checkpoint(lambda: {**state(), self._NAME: calls})
