"""What a run may use, the time that does not count against it, and what all runs of a grid may take together."""

from __future__ import annotations

import fcntl
import math
import mmap
import os
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kdrbench.errors import InputError, counted
from kdrbench.files import set_aside

_LAYOUT = struct.Struct("dd")
# A time of thirty years, and the bytes that a signed number of 64 bits can hold beside those of the process.
_MOST = {"time": (1e9, "s"), "memory": (2.0**42, "MiB")}


@dataclass(frozen=True)
class Limits:
    """Seconds of one run on its solver's clock, and MiB of memory beyond what it starts with.

    Raises ``InputError`` unless both are finite, above 0 and such as the kernel can hold.
    """

    time_s: float
    memory_mib: float

    def __post_init__(self) -> None:
        for name, value in (("time", self.time_s), ("memory", self.memory_mib)):
            if not (math.isfinite(value) and value > 0):
                raise InputError(f"the {name} limit must be a finite number > 0, got {value!r}")
            most, unit = _MOST[name]
            if value > most:
                raise InputError(f"the {name} limit must be at most {most:.4g} {unit}, got {value!r}")


class Pauses:
    """Seconds paused so far, and since when the present pause lasts; readable across a fork.

    A run begins paused: until its solver starts, and whenever the referee works, no time is charged.
    """

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _LAYOUT.size)
        self._store(0.0, time.monotonic())

    def begin(self) -> None:
        """Pause; nothing changes if paused already."""
        total, since = self._load()
        if not since:
            self._store(total, time.monotonic())

    def end(self) -> None:
        """Charge time again."""
        total, since = self._load()
        if since:
            self._store(total + time.monotonic() - since, 0.0)

    def total_s(self) -> float:
        """Return the seconds paused up to now."""
        total, since = self._load()
        return total + (time.monotonic() - since if since else 0.0)

    def close(self) -> None:
        """Take the seconds out of this process, which can then neither read nor change them."""
        self._memory.close()

    def _load(self) -> tuple[float, float]:
        total, since = _LAYOUT.unpack_from(self._memory)
        return total, since

    def _store(self, total: float, since: float) -> None:
        _LAYOUT.pack_into(self._memory, 0, total, since)


@dataclass(frozen=True)
class SpentLog:
    """``budget_s`` is ``None`` for a grid without a budget, whose seconds are logged all the same.

    Lines that are no seconds are set aside; the others count.
    """

    path: Path
    budget_s: float | None = None

    def spent_s(self) -> float:
        """Return the seconds of all runs so far."""
        self._set_aside_unless_file()
        if not self.path.exists():
            return 0.0
        seconds = [_seconds(line) for line in self.path.read_bytes().split()]
        if None in seconds:
            seconds = self._kept_seconds()
        return sum(one for one in seconds if one is not None)

    def used_up(self) -> bool:
        """Return whether no further run may begin."""
        return self.budget_s is not None and self.spent_s() >= self.budget_s

    @contextmanager
    def charged(self, waited_s: Callable[[], float] = lambda: 0.0) -> Iterator[None]:
        """Charge the time that passes inside, less what ``waited_s`` counts, also when an exception ends it."""
        began = time.monotonic() - waited_s()
        try:
            yield
        finally:
            self._charge(max(0.0, time.monotonic() - waited_s() - began))

    def _charge(self, seconds: float) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._set_aside_unless_file()
        with self.path.open("ab", buffering=0) as stream:
            # Appending is one step on a local disk; on a network file system it needs the lock.
            fcntl.flock(stream, fcntl.LOCK_EX)
            stream.write(f"{seconds:.6f}\n".encode())
            os.fsync(stream.fileno())

    def _kept_seconds(self) -> list[float | None]:
        """Set a copy of the file aside, leave in it the lines that can be read, and return their seconds."""
        # The file stays the same one: other jobs append to it and wait for its lock.
        with self.path.open("r+b") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            lines = stream.read().split()
            good = [line for line in lines if _seconds(line) is not None]
            if len(good) < len(lines):
                why = f"holds what is no seconds, in {counted(len(lines) - len(good), 'line')}"
                set_aside(self.path, why, copy=True)
                stream.seek(0)
                stream.write(b"".join(line + b"\n" for line in good))
                stream.truncate()
            return [_seconds(line) for line in good]

    def _set_aside_unless_file(self) -> None:
        if os.path.lexists(self.path) and not self.path.is_file():
            set_aside(self.path, "is no file")


def _seconds(line: bytes) -> float | None:
    """Return what a line says, ``None`` unless it is a finite number that is not negative."""
    try:
        value = float(line)
    except ValueError:
        return None
    return value if 0.0 <= value < math.inf else None
