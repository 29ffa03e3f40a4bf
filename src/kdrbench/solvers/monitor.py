"""Who watches a solver: counts its iterations, decides when to stop, and may keep a trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Counters
from kdrbench.solvers.status import Status

# An orthonormal W, or a function that makes it for a monitor that wants to look: its cost is then not the solver's.
Iterate = FloatArray | Callable[[], FloatArray]
# Arrays by name (of numbers or of text), from which a solver can go on as if it had never stopped.
State = Mapping[str, NDArray[Any]]


class Monitor(Protocol):
    """Called by :func:`kdrbench.solvers.solve` at both ends and by the solver once an iterate.

    ``iterations`` counts the iterates from which the solver was allowed to go on.
    """

    iterations: int

    @property
    def trace(self) -> Sequence[tuple[float, float, float]]:
        """Seconds, cost and relative stationarity of the iterates looked at; empty without a referee."""
        ...

    @property
    def stop_status(self) -> Status:
        """The status to report after ``keep_going`` returned false."""
        ...

    @property
    def stop_message(self) -> str:
        """The limit that was reached, in words."""
        ...

    def begin(self) -> None:
        """Note the start of the run."""
        ...

    def keep_going(self, iterate: Iterate) -> bool:
        """Note the iterate and return whether the solver may go on from it."""
        ...

    def progress(self, share: float) -> bool:
        """Note how much of a long pass over the data is done, and return whether it may go on."""
        ...

    @property
    def resumed(self) -> State | None:
        """The state to go on from, kept by a run that was interrupted; ``None`` to begin with the start."""
        ...

    def checkpoint(self, state: Callable[[], State]) -> None:
        """Keep the state, which is made only then, if it is time to; for solvers that can go on from it."""
        ...

    def end(self) -> None:
        """Note that the solver has returned."""
        ...

    def accept(self, projection: FloatArray) -> None:
        """Note the result, after it was checked."""
        ...


class IterationMonitor:
    """Stops after ``max_iterations`` iterations, without a clock or a trace: for use as a library."""

    stop_status = Status.MAX_ITERATIONS
    resumed: State | None = None

    def __init__(self, max_iterations: int = 10_000) -> None:
        self.max_iterations = max_iterations
        self.iterations = 0
        self.trace: list[tuple[float, float, float]] = []

    @property
    def stop_message(self) -> str:
        """The limit that was reached."""
        return f"stopped after {self.max_iterations} iterations"

    def begin(self) -> None:
        """Count from zero."""
        self.iterations = 0

    def keep_going(self, iterate: Iterate) -> bool:
        """Count one iteration unless the limit is reached."""
        if self.iterations >= self.max_iterations:
            return False
        self.iterations += 1
        return True

    def progress(self, share: float) -> bool:
        """Go on: iterations are counted, not time."""
        return True

    def checkpoint(self, state: Callable[[], State]) -> None:
        """Keep nothing."""

    def end(self) -> None:
        """Nothing to note."""

    def accept(self, projection: FloatArray) -> None:
        """Nothing to note."""


class MonitorProxy:
    """Hands everything on to another monitor; subclasses change or note what passes."""

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor
        self.iterations = monitor.iterations

    @property
    def trace(self) -> Sequence[tuple[float, float, float]]:
        """The monitor's trace."""
        return self._monitor.trace

    @property
    def stop_status(self) -> Status:
        """The monitor's status."""
        return self._monitor.stop_status

    @property
    def stop_message(self) -> str:
        """The monitor's message."""
        return self._monitor.stop_message

    def begin(self) -> None:
        """Hand on."""
        self._monitor.begin()

    def keep_going(self, iterate: Iterate) -> bool:
        """Hand on."""
        going = self._monitor.keep_going(iterate)
        self.iterations = self._monitor.iterations
        return going

    def progress(self, share: float) -> bool:
        """Hand on."""
        return self._monitor.progress(share)

    @property
    def resumed(self) -> State | None:
        """The monitor's state."""
        return self._monitor.resumed

    def checkpoint(self, state: Callable[[], State]) -> None:
        """Hand on."""
        self._monitor.checkpoint(state)

    def end(self) -> None:
        """Hand on."""
        self._monitor.end()

    def accept(self, projection: FloatArray) -> None:
        """Hand on."""
        self._monitor.accept(projection)


class LatestIterate(MonitorProxy):
    """Remembers the last iterate from which the solver was allowed to go on."""

    def __init__(self, monitor: Monitor) -> None:
        super().__init__(monitor)
        self._latest: Iterate | None = None

    def keep_going(self, iterate: Iterate) -> bool:
        """Remember the iterate, and hand on."""
        going = super().keep_going(iterate)
        if going:
            self._latest = iterate
        return going

    def latest(self, otherwise: FloatArray) -> FloatArray:
        """Return that iterate, if there is one."""
        if self._latest is None:
            return otherwise
        return self._latest() if callable(self._latest) else self._latest


class KeepsCounters(MonitorProxy):
    """Lets the numbers of oracle calls go with a solver's state."""

    _NAME = "oracle_calls"

    def __init__(self, monitor: Monitor, counters: Counters) -> None:
        super().__init__(monitor)
        self._counters = counters

    def checkpoint(self, state: Callable[[], State]) -> None:
        """Add the calls so far to the state."""
        calls = np.array([getattr(self._counters, field.name) for field in fields(self._counters)])
        super().checkpoint(lambda: {**state(), self._NAME: calls})

    def restore(self) -> None:
        """Count on from the state that the solver goes on from, if there is one."""
        if (kept := self.resumed) is not None:
            for field, calls in zip(fields(self._counters), kept[self._NAME], strict=True):
                setattr(self._counters, field.name, int(calls))
