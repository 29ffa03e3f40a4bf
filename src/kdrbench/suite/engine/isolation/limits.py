"""Limits of a run, its pauses, and the turns in which methods alternate."""

from __future__ import annotations

import ctypes
import mmap
import os
import socket
import time
from contextlib import suppress
from dataclasses import dataclass

_ASK, _GRANT = b"?", b"!"


@dataclass(frozen=True)
class Limits:
    """Seconds of one run on its solver's clock, and MiB of memory beyond what it starts with."""

    time_s: float
    memory_mib: float


class Pauses:
    """Seconds paused so far, and since when the present pause lasts; readable across a fork.

    A run begins paused: until its solver starts, and whenever the referee works, no time is charged.
    """

    def __init__(self) -> None:
        # Seconds paused before, and when the present pause began, or 0.
        self._shared = (ctypes.c_double * 2).from_buffer(mmap.mmap(-1, 16))
        self._shared[:] = [0.0, time.monotonic()]

    def begin(self) -> None:
        """Pause; nothing changes if paused already."""
        if not self._shared[1]:
            self._shared[1] = time.monotonic()

    def end(self) -> None:
        """Charge time again."""
        self._shared[:] = [self.total_s(), 0.0]

    def total_s(self) -> float:
        """Return the seconds paused up to now."""
        total, since = self._shared
        return total + (time.monotonic() - since if since else 0.0)


class Turn:
    """The turns of one run: it asks before each repeat, and is stopped until its batch grants the turn.

    The batch stops all processes of a run that has asked (SIGSTOP), so that what the method left at work does not slow
    the others, and lets them go on when its turn has come (SIGCONT). Made before the fork; ``run_end`` is the number of
    the descriptor that stays open in the run.
    """

    def __init__(self) -> None:
        self._batch, self._run = socket.socketpair()
        self.run_end = self._run.fileno()
        self._waits = Pauses()
        self._waits.end()

    def wait(self) -> None:
        """Ask, and go on when the batch has granted the turn; called by the run."""
        self._run.send(_ASK)
        self._run.recv(len(_GRANT))
        # The batch comes to rest before the clock starts.
        os.sched_yield()

    def waited_s(self) -> float:
        """Return the seconds that the run has waited up to now."""
        return self._waits.total_s()

    def fileno(self) -> int:
        """Return the number of the batch's descriptor, which is readable when the run has asked."""
        return self._batch.fileno()

    def begin_wait(self) -> None:
        """Take the run's question; called by the batch when it has stopped the run."""
        self._batch.recv(len(_ASK))
        self._waits.begin()

    def grant(self) -> None:
        """Let the run go on, if it waits; called by the batch before it lets the run's processes go on."""
        self._waits.end()
        with suppress(OSError):
            self._batch.send(_GRANT)

    def close_run_end(self) -> None:
        """Leave the run's end to the run."""
        self._run.close()

    def close(self) -> None:
        """Close what is open."""
        self._run.close()
        self._batch.close()
