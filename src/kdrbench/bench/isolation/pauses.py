"""The time that does not count against a run's limit, shared between the run and its guardian."""

from __future__ import annotations

import mmap
import struct
import time

_LAYOUT = struct.Struct("dd")


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
