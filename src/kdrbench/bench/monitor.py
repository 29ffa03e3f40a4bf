"""The referee: stops the clock, looks at the iterate, starts the clock again."""

from __future__ import annotations

import io
import json
import os
import time
from pathlib import Path

import numpy as np

from kdrbench.files import write_bytes
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem
from kdrbench.solvers.status import Status
from kdrbench.solvers.stiefel import relative_stationarity

# The first iterates are always looked at; later ones so rarely that the referee takes a tenth of the time.
_ALWAYS = 10
_REFEREE_SHARE = 0.1


class Clock:
    """Wall and CPU seconds of the solver alone."""

    def __init__(self) -> None:
        self.wall_s = self.cpu_s = 0.0
        self._wall = self._cpu = 0.0

    def start(self) -> None:
        """Begin or go on counting."""
        self._cpu, self._wall = time.process_time(), time.perf_counter()

    def stop(self) -> None:
        """Count what has passed since the last start."""
        self.wall_s += time.perf_counter() - self._wall
        self.cpu_s += time.process_time() - self._cpu


class TimedMonitor:
    """Counts iterations and solver seconds and stops at ``time_limit_s`` of wall clock, referee included."""

    stop_status = Status.TIME_LIMIT

    def __init__(self, time_limit_s: float) -> None:
        self.iterations = 0
        self.trace: list[tuple[float, float, float]] = []
        self.clock = Clock()
        self._limit_s = time_limit_s
        self._deadline = float("inf")

    @property
    def stop_message(self) -> str:
        """The limit that was reached."""
        return f"stopped at the time limit of {self._limit_s:g} s"

    def begin(self) -> None:
        """Start the clock."""
        self._deadline = time.perf_counter() + self._limit_s
        self.clock.start()

    def keep_going(self, projection: FloatArray) -> bool:
        """Count the iterate and return whether time is left."""
        self.iterations += 1
        return time.perf_counter() < self._deadline

    def end(self, projection: FloatArray) -> None:
        """Stop the clock."""
        self.clock.stop()


class Referee(TimedMonitor):
    """A timed monitor that also writes a trace and keeps the last iterate on disk, off the solver's clock.

    Each trace line is one write of a whole line, so that a killed run leaves a readable trace.
    """

    def __init__(self, problem: Problem, time_limit_s: float, trace: Path, iterate: Path) -> None:
        super().__init__(time_limit_s)
        self._problem = problem.fresh()
        self._trace_file = os.open(trace, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._iterate = iterate
        self._next_look_s = 0.0

    def keep_going(self, projection: FloatArray) -> bool:
        """Look at the iterate if its turn has come and return whether time is left."""
        self.clock.stop()
        if self.iterations < _ALWAYS or self.clock.wall_s >= self._next_look_s:
            self._look(projection)
        going = super().keep_going(projection)
        self.clock.start()
        return going

    def end(self, projection: FloatArray) -> None:
        """Stop the clock and look at the final iterate."""
        self.clock.stop()
        self._look(projection)
        os.close(self._trace_file)

    def _look(self, projection: FloatArray) -> None:
        began = time.perf_counter()
        cost = -self._problem.value(projection)
        stationarity = relative_stationarity(projection, self._problem.gradient(projection))
        point = (self.clock.wall_s, cost, stationarity)
        self.trace.append(point)
        os.write(self._trace_file, (json.dumps(point) + "\n").encode())
        save_projection(self._iterate, projection)
        self._next_look_s = self.clock.wall_s + (time.perf_counter() - began) / _REFEREE_SHARE


def save_projection(path: Path, projection: FloatArray) -> None:
    """Write W; a killed process leaves the old or the new one, whole."""
    buffer = io.BytesIO()
    np.save(buffer, projection, allow_pickle=False)
    write_bytes(path, buffer.getvalue(), durable=False)


def read_projection(path: Path) -> FloatArray | None:
    """Read what :func:`save_projection` wrote, or ``None`` if nothing was."""
    if not path.exists():
        return None
    projection: FloatArray = np.load(path, allow_pickle=False)
    return projection


def read_trace(path: Path) -> list[tuple[float, float, float]]:
    """Read the whole lines of a trace: seconds, cost, relative stationarity."""
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")[:-1]
    return [tuple(json.loads(line)) for line in lines]
