"""The monitors of a solver under the bench: they pause the clock, evaluate the iterate, and start the clock again."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kdrbench.errors import InputError, KdrbenchError
from kdrbench.files import write_text
from kdrbench.kernels.family import FloatArray
from kdrbench.solvers.base import check_projection
from kdrbench.solvers.geometry.stiefel import relative_stationarity
from kdrbench.solvers.monitor import Iterate, Monitor, MonitorProxy, State
from kdrbench.status import Status
from kdrbench.suite.engine.isolation import processes
from kdrbench.suite.engine.referee import BenchFaultError, Referee
from kdrbench.suite.engine.run_files import Checkpoint, TraceLine, read_checkpoint, read_trace, write_checkpoint

if TYPE_CHECKING:
    from kdrbench.paradigms import ReducedObjective
    from kdrbench.problems import Problem

    # What the monitor evaluates: cost and gradient at an iterate.
    Objective = Problem | ReducedObjective

# The first iterates are always evaluated; later ones so rarely that evaluating takes a tenth of the time.
_ALWAYS = 10
REFEREE_SHARE = 0.1
# Solver seconds between checkpoints: what an interruption loses at most.
CHECKPOINT_EVERY_S = 60.0
PROJECTION = "projection"


@dataclass(frozen=True)
class Ended:
    """Where a solver, or an alternation around it, ended from one start; ``None`` where time was up before any end.

    ``uses_degrees`` is that of a clustering; the objective of any other problem does not depend on it.
    """

    projection: FloatArray | None
    status: Status
    message: str
    uses_degrees: bool = True


class TimedMonitor(Monitor):
    """Counts iterations and solver seconds, and stops when its clock shows the run's time limit."""

    stop_status = Status.TIME_LIMIT

    def __init__(self, referee: Referee) -> None:
        super().__init__()
        self._referee, self._limit_s, self.clock = referee, referee.limits.time_s, referee.clock()

    @property
    def stop_message(self) -> str:
        """The limit that was reached."""
        return self._referee.limit_message

    def begin(self) -> None:
        """Start the clock."""
        self._process = os.getpid()
        self.clock.start()

    def keep_going(self, iterate: Iterate) -> bool:
        """Return whether time is left, and count the iterate if so."""
        self.clock.stop()
        try:
            going = self.clock.wall_s < self._limit_s
            if going:
                self.evaluate(iterate)
                self.iterations += 1
        finally:
            # Also after an error: a solver that catches it goes on at its own expense.
            self.clock.start()
        return going

    def progress(self, share: float) -> bool:
        """Return whether time is left, while the clock runs."""
        return self.clock.running_s() < self._limit_s

    def evaluate(self, iterate: Iterate) -> None:
        """Evaluate an iterate while the clock is paused; this monitor does not."""

    def end(self) -> None:
        """Stop the clock."""
        self.clock.stop()
        processes.end_unless(self._process)


class _Seen(NamedTuple):
    """What was evaluated of a projection, and a copy of it."""

    cost: float
    stationarity: float
    projection: FloatArray


class ProjectionMonitor(TimedMonitor):
    """A timed monitor that also writes a trace and keeps the last iterate on disk, off the solver's clock.

    Of several starts one after the other (see :meth:`start_ended`) the best result so far is what is kept and traced,
    and so is the iterate of the present one once that is better. ``costs`` holds the costs of those that have ended.

    ``calls`` returns how often the solver has called its oracles. With ``checkpoints`` a state is kept from time to
    time; a run that finds one goes on from it: clock, iterations, calls and trace continue from that point.

    Raises ``InputError`` for an iterate that is not an orthonormal d x q array or has no finite cost, and
    ``BenchFaultError`` when the files cannot be written.
    """

    def __init__(
        self,
        referee: Referee,
        objective: Objective,
        n_components: int,
        *,
        checkpoints: bool = False,
        calls: Callable[[], int] | None = None,
    ) -> None:
        super().__init__(referee)
        self._objective, self._n_components = objective.fresh(), n_components
        self._calls = calls
        self.costs: list[float] = []
        self._last: _Seen | None = None
        self._best: _Seen | None = None
        self._fault: InputError | BenchFaultError | None = None
        self._next_evaluation_s = 0.0
        self._checkpoint_path: Path | None = referee.files.checkpoint if checkpoints else None
        self._next_checkpoint_s = CHECKPOINT_EVERY_S
        if self._checkpoint_path is not None and (kept := read_checkpoint(self._checkpoint_path)) is not None:
            self._resume(kept)

    def _resume(self, kept: Checkpoint) -> None:
        self.resumed, self.iterations = kept.state, kept.iterations
        self.clock.wall_s, self.clock.cpu_s = kept.wall_s, kept.cpu_s
        self._next_checkpoint_s = kept.wall_s + CHECKPOINT_EVERY_S
        path = self._referee.files.trace
        lines = [line for line in read_trace(path) if line.time_s <= kept.wall_s]
        write_text(path, "".join(json.dumps(line) + "\n" for line in lines))

    def checkpoint(self, state: Callable[[], State]) -> None:
        """Keep the state off the clock, if the last one is old."""
        if self._checkpoint_path is None or self.clock.running_s() < self._next_checkpoint_s:
            return
        self.clock.stop()
        try:
            kept = Checkpoint(self.clock.wall_s, self.clock.cpu_s, self.iterations, state())
            with self._referee.writing():
                write_checkpoint(self._checkpoint_path, kept)
        finally:
            self._next_checkpoint_s = self.clock.wall_s + CHECKPOINT_EVERY_S
            self.clock.start()

    def evaluate(self, iterate: Iterate) -> None:
        """Evaluate the iterate if its turn has come."""
        if self.iterations < _ALWAYS or self.clock.wall_s >= self._next_evaluation_s:
            self.accept(iterate() if callable(iterate) else iterate)

    def start_ended(self) -> bool:
        """Note that the last projection accepted is the result of a start; return whether it is the best so far."""
        if (last := self._last) is None:
            return False
        self.costs.append(last.cost)
        self._best = self._better(last)
        return self._best is last

    def _better(self, seen: _Seen) -> _Seen:
        return seen if self._best is None or seen.cost < self._best.cost else self._best

    def accept(self, projection: FloatArray) -> None:
        """Evaluate an iterate or the result, and write both down; a fault, once raised, is raised every time."""
        if self._fault is None:
            try:
                self._evaluate(projection)
            except (InputError, BenchFaultError) as fault:
                self._fault = fault
        if self._fault is not None:
            raise self._fault

    def _evaluate(self, projection: FloatArray) -> None:
        began = time.perf_counter()
        projection = np.asarray(projection, dtype=float)
        check_projection("iterate", projection, self._objective.n_features, self._n_components)
        cost = -self._objective.value(projection)
        stationarity = relative_stationarity(projection, self._objective.gradient(projection))
        if not (math.isfinite(cost) and math.isfinite(stationarity)):
            raise InputError(f"an iterate has cost {cost} and relative stationarity {stationarity}")
        self._last = _Seen(cost, stationarity, projection.copy())
        shown = self._better(self._last)
        line = TraceLine(self.clock.wall_s, shown.cost, shown.stationarity, self._calls() if self._calls else None)
        # A kill in between leaves a line too many, which can be dropped, rather than a projection without one.
        self._referee.note(line)
        self._referee.save(PROJECTION, shown.projection)
        self._next_evaluation_s = self.clock.wall_s + (time.perf_counter() - began) / REFEREE_SHARE


class OutOfTimeError(KdrbenchError):
    """The time of all rounds together is used up: there is no next step."""


Noted = Callable[[FloatArray], None] | None


@contextmanager
def paused(monitor: TimedMonitor) -> Iterator[None]:
    """Pause a clock that is running."""
    monitor.end()
    try:
        yield
    finally:
        monitor.begin()


class Round(MonitorProxy):
    """Hands on what a solver says, but for the clock, and counts the iterations of this round alone.

    The clock of ``monitor`` runs on between rounds, where U is found. ``noted`` is called with the round's result while
    it is paused.
    """

    def __init__(self, monitor: TimedMonitor, noted: Noted = None) -> None:
        super().__init__(monitor)
        self._before, self._noted, self._timed = monitor.iterations, noted, monitor
        self.iterations = 0

    def begin(self) -> None:
        """Nothing: the clock is running."""

    def end(self) -> None:
        """Nothing: the alternation goes on."""

    def keep_going(self, iterate: Iterate) -> bool:
        """Hand on."""
        going = self._monitor.keep_going(iterate)
        self.iterations = self._timed.iterations - self._before
        return going

    @property
    def resumed(self) -> None:
        """Nothing: a solver's state says nothing of the rounds before."""
        return None

    def checkpoint(self, state: Callable[[], State]) -> None:
        """Keep nothing: see above."""

    def accept(self, projection: FloatArray) -> None:
        """Note the result of the round, off the clock.

        Raises ``OutOfTimeError`` when the limit has been reached.
        """
        with paused(self._timed):
            if self._noted:
                self._noted(projection)
            self._timed.accept(projection)
        if not self._timed.progress(1.0):
            raise OutOfTimeError(self._timed.stop_message)
