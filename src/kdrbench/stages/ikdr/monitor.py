"""The referee: stops the clock, looks at the iterate, starts the clock again."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from kdrbench.bench.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from kdrbench.bench.pauses import Pauses
from kdrbench.bench.traces import TraceLine, read_trace, save_array
from kdrbench.errors import InputError, KdrbenchError
from kdrbench.files import write_text
from kdrbench.kernels.family import FloatArray
from kdrbench.solvers import Status
from kdrbench.solvers.base import check_projection
from kdrbench.solvers.geometry.stiefel import relative_stationarity
from kdrbench.solvers.monitor import Iterate, State

# The first iterates are always looked at; later ones so rarely that the referee takes a tenth of the time.
_ALWAYS = 10
REFEREE_SHARE = 0.1
# Solver seconds between checkpoints: what an interruption loses at most.
CHECKPOINT_EVERY_S = 60.0


class BenchFaultError(KdrbenchError):
    """The referee could not do its work: no fault of the solver's."""


class Clock:
    """Wall and CPU seconds of the solver alone; the run's limit stands still with it."""

    def __init__(self, pauses: Pauses | None = None) -> None:
        self.wall_s = self.cpu_s = 0.0
        self._pauses = pauses
        self._wall = self._cpu = 0.0

    def start(self) -> None:
        """Begin or go on counting."""
        if self._pauses:
            self._pauses.end()
        self._cpu, self._wall = time.process_time(), time.perf_counter()

    def stop(self) -> None:
        """Count what has passed since the last start."""
        self.wall_s += time.perf_counter() - self._wall
        self.cpu_s += time.process_time() - self._cpu
        if self._pauses:
            self._pauses.begin()

    def running_s(self) -> float:
        """Return the wall seconds up to now, the clock running."""
        return self.wall_s + time.perf_counter() - self._wall


class TimedMonitor:
    """Counts iterations and solver seconds and stops when the clock shows ``time_limit_s``."""

    stop_status = Status.TIME_LIMIT
    resumed: State | None = None

    def __init__(self, time_limit_s: float, pauses: Pauses | None = None) -> None:
        self.iterations = 0
        self.trace: list[tuple[float, float, float]] = []
        self.clock = Clock(pauses)
        self._limit_s = time_limit_s

    @property
    def stop_message(self) -> str:
        """The limit that was reached."""
        return f"stopped at the time limit of {self._limit_s:g} s"

    def begin(self) -> None:
        """Start the clock."""
        self.clock.start()

    def keep_going(self, iterate: Iterate) -> bool:
        """Return whether time is left, and count the iterate if so."""
        self.clock.stop()
        try:
            going = self.clock.wall_s < self._limit_s
            if going:
                self.look(iterate)
                self.iterations += 1
        finally:
            # Also when the look has raised: a solver that catches it goes on at its own expense.
            self.clock.start()
        return going

    def progress(self, share: float) -> bool:
        """Return whether time is left, while the clock runs."""
        return self.clock.running_s() < self._limit_s

    def checkpoint(self, state: Callable[[], State]) -> None:
        """Keep the state; this monitor keeps nothing."""

    def look(self, iterate: Iterate) -> None:
        """Look at an iterate while the clock stands; this monitor does not."""

    def end(self) -> None:
        """Stop the clock."""
        self.clock.stop()

    def accept(self, projection: FloatArray) -> None:
        """Note the checked result; nothing to note here."""


class Judge(Protocol):
    """What the referee asks: cost and gradient of an iterate. Every problem is one."""

    @property
    def n_features(self) -> int:
        """Number of rows of a projection."""
        ...

    def fresh(self) -> Judge:
        """Return one whose calls are not counted as the solver's."""
        ...

    def value(self, projection: FloatArray) -> float:
        """Return F(W)."""
        ...

    def gradient(self, projection: FloatArray) -> FloatArray:
        """Return its gradient at W."""
        ...


class Referee(TimedMonitor):
    """A timed monitor that also writes a trace and keeps the last iterate on disk, off the solver's clock.

    ``calls`` returns how often the solver has called its oracles. Each trace line is one write of a whole line, so that
    a killed run leaves a readable trace. Where ``checkpoint`` names a file, a state is kept there from time to time;
    one that lies there is gone on from: clock, iterations, calls and trace continue from that point.

    Raises ``InputError`` for an iterate that is not an orthonormal d x q array or has no finite cost, and
    ``BenchFaultError`` when the files cannot be written.
    """

    def __init__(
        self,
        problem: Judge,
        n_components: int,
        time_limit_s: float,
        trace: Path,
        iterate: Path,
        pauses: Pauses | None = None,
        checkpoint: Path | None = None,
        calls: Callable[[], int] | None = None,
    ) -> None:
        super().__init__(time_limit_s, pauses)
        self._calls = calls
        self._n_components = n_components
        self._fault: InputError | BenchFaultError | None = None
        self._problem = problem.fresh()
        self._trace_path, self._iterate_path = trace, iterate
        self._next_look_s = 0.0
        self._checkpoint_path, self._next_checkpoint_s = checkpoint, CHECKPOINT_EVERY_S
        if checkpoint is not None and (kept := read_checkpoint(checkpoint)) is not None:
            self._resume(kept)

    def _resume(self, kept: Checkpoint) -> None:
        self.resumed, self.iterations = kept.state, kept.iterations
        self.clock.wall_s, self.clock.cpu_s = kept.wall_s, kept.cpu_s
        self._next_checkpoint_s = kept.wall_s + CHECKPOINT_EVERY_S
        lines = [line for line in read_trace(self._trace_path) if line.time_s <= kept.wall_s]
        self.trace = [line[:3] for line in lines]
        write_text(self._trace_path, "".join(json.dumps(line) + "\n" for line in lines))

    def checkpoint(self, state: Callable[[], State]) -> None:
        """Keep the state off the clock, if the last one is old."""
        if self._checkpoint_path is None or self.clock.running_s() < self._next_checkpoint_s:
            return
        self.clock.stop()
        try:
            kept = Checkpoint(self.clock.wall_s, self.clock.cpu_s, self.iterations, state())
            write_checkpoint(self._checkpoint_path, kept)
        except OSError as error:
            raise BenchFaultError(f"the checkpoint cannot be written: {error}") from error
        finally:
            self._next_checkpoint_s = self.clock.wall_s + CHECKPOINT_EVERY_S
            self.clock.start()

    def look(self, iterate: Iterate) -> None:
        """Evaluate the iterate if its turn has come."""
        if self.iterations < _ALWAYS or self.clock.wall_s >= self._next_look_s:
            self.accept(iterate() if callable(iterate) else iterate)

    def accept(self, projection: FloatArray) -> None:
        """Evaluate an iterate or the result, and write both down; a fault once found is raised every time."""
        if self._fault is None:
            try:
                self._evaluate(projection)
            except (InputError, BenchFaultError) as fault:
                self._fault = fault
        if self._fault is not None:
            raise self._fault

    def _evaluate(self, projection: FloatArray) -> None:
        began = time.perf_counter()
        check_projection("iterate", projection, self._problem.n_features, self._n_components)
        cost = -self._problem.value(projection)
        stationarity = relative_stationarity(projection, self._problem.gradient(projection))
        if not (math.isfinite(cost) and math.isfinite(stationarity)):
            raise InputError(f"an iterate has cost {cost} and relative stationarity {stationarity}")
        line = TraceLine(self.clock.wall_s, cost, stationarity, self._calls() if self._calls else None)
        try:
            save_array(self._iterate_path, projection)
            with self._trace_path.open("ab", buffering=0) as stream:
                stream.write((json.dumps(line) + "\n").encode())
        except OSError as error:
            raise BenchFaultError(f"the trace cannot be written: {error}") from error
        self.trace.append(line[:3])
        self._next_look_s = self.clock.wall_s + (time.perf_counter() - began) / REFEREE_SHARE
