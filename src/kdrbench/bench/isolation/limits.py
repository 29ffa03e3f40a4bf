"""What a run may use, and the time that does not count against it, shared between the run and its guardian."""

from __future__ import annotations

import math
import mmap
import struct
import time
from dataclasses import dataclass

from kdrbench.errors import InputError

_LAYOUT = struct.Struct("dd")


@dataclass(frozen=True)
class Limits:
    """Seconds of one run on its solver's clock, and MiB of memory beyond what it starts with; both finite and > 0."""

    time_s: float
    memory_mib: float

    def __post_init__(self) -> None:
        for name, value in (("time", self.time_s), ("memory", self.memory_mib)):
            if not (math.isfinite(value) and value > 0):
                raise InputError(f"the {name} limit must be a finite number > 0, got {value!r}")


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

    def _load(self) -> tuple[float, float]:
        total, since = _LAYOUT.unpack_from(self._memory)
        return total, since

    def _store(self, total: float, since: float) -> None:
        _LAYOUT.pack_into(self._memory, 0, total, since)
