"""What a run is given: a clock for its method, its limits, and the files by which its result is judged."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import KdrbenchError
from kdrbench.suite.engine.isolation.limits import Limits, Pauses, Turn
from kdrbench.suite.engine.run_files import MOST_TRACE, RunFiles, TraceLine, save_array

_Value = TypeVar("_Value")


class BenchFaultError(KdrbenchError):
    """The bench could not do its part: no fault of the method's."""


class Seconds(NamedTuple):
    """Wall and CPU seconds of a piece of work."""

    wall_s: float = 0.0
    cpu_s: float = 0.0

    def plus(self, other: Seconds) -> Seconds:
        """Return the sum of both clocks."""
        return Seconds(self.wall_s + other.wall_s, self.cpu_s + other.cpu_s)


class Clock:
    """Wall and CPU seconds of the method alone; the run's limit is paused whenever the clock is."""

    def __init__(self, pauses: Pauses) -> None:
        self.wall_s = self.cpu_s = 0.0
        self._pauses = pauses
        self._wall = self._cpu = 0.0

    def start(self) -> None:
        """Begin or go on counting."""
        self._pauses.end()
        self._cpu, self._wall = time.process_time(), time.perf_counter()

    def stop(self) -> None:
        """Count what has passed since the last start."""
        self.wall_s += time.perf_counter() - self._wall
        self.cpu_s += time.process_time() - self._cpu
        self._pauses.begin()

    def running_s(self) -> float:
        """Return the wall seconds up to now, while the clock runs."""
        return self.wall_s + time.perf_counter() - self._wall

    @property
    def seconds(self) -> Seconds:
        """What has been counted so far."""
        return Seconds(self.wall_s, self.cpu_s)


@dataclass
class Referee:
    """Times the methods of one run and writes what they leave; one is made for each run, inside its process.

    The time limit counts the seconds of all its clocks together. ``repeat_for_s`` is how long a short method is
    repeated to time it; where the batch hands out turns, each repeat is a ``turn``. What cannot be written raises
    ``BenchFaultError``.
    """

    limits: Limits
    repeat_for_s: float
    pauses: Pauses
    files: RunFiles
    turn: Turn | None = None
    _clocks: list[Clock] = field(default_factory=list)

    def clock(self) -> Clock:
        """Return a clock that counts against the run's limit."""
        clock = Clock(self.pauses)
        self._clocks.append(clock)
        return clock

    def timed(self, work: Callable[[], _Value]) -> tuple[_Value, Seconds]:
        """Do the work on a clock; return its value and its seconds."""
        clock = self.clock()
        clock.start()
        try:
            value = work()
        finally:
            clock.stop()
        return value, clock.seconds

    @contextmanager
    def writing(self, what: str = "checkpoint") -> Iterator[None]:
        """Make a file that cannot be written the bench's fault."""
        try:
            yield
        except OSError as error:
            raise BenchFaultError(f"the {what} cannot be written: {error}") from error

    @property
    def clocked(self) -> Seconds:
        """The seconds of all clocks of the run so far."""
        return Seconds(sum(clock.wall_s for clock in self._clocks), sum(clock.cpu_s for clock in self._clocks))

    @property
    def limit_message(self) -> str:
        """The time limit in words."""
        return f"stopped at the time limit of {self.limits.time_s:g} s"

    def save(self, name: str, array: NDArray[Any]) -> None:
        """Keep an array under a name; the last one written counts."""
        with self.writing(name):
            save_array(self.files.array(name), np.asarray(array))

    def note(self, line: TraceLine) -> None:
        """Append a line to the trace in one write, so that a killed run leaves whole lines; while there is room."""
        with self.writing("trace"), self.files.trace.open("ab", buffering=0) as stream:
            if stream.tell() + len(text := f"{json.dumps(line)}\n".encode()) <= MOST_TRACE:
                stream.write(text)

    def append_result(self, values: Mapping[str, Any]) -> None:
        """Append a result to the list of results in one write."""
        line = f"{json.dumps(values, allow_nan=False)}\n".encode()
        with self.writing("result"), self.files.results.open("ab", buffering=0) as stream:
            if stream.write(line) != len(line):
                raise OSError("only a part was written")


def finite(number: float | None) -> float | None:
    """Return the number as a float, or ``None`` where it is none, NaN or infinite."""
    return float(number) if number is not None and math.isfinite(number) else None
