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

from kdrbench.errors import InputError

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
    """``budget_s`` is ``None`` for a grid without a budget, whose seconds are logged all the same."""

    path: Path
    budget_s: float | None = None

    def spent_s(self) -> float:
        """Return the seconds of all runs so far."""
        if not self.path.exists():
            return 0.0
        return sum(float(line) for line in self.path.read_text(encoding="ascii").split())

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
        with self.path.open("ab", buffering=0) as stream:
            # Appending is one step on a local disk; on a network file system it needs the lock.
            fcntl.flock(stream, fcntl.LOCK_EX)
            stream.write(f"{seconds:.6f}\n".encode())
            os.fsync(stream.fileno())
