"""A run's turn: it asks its batch before each repeat and is stopped until then, so that methods alternate.

The batch stops all processes of a run that has asked (SIGSTOP), and lets them go on when its turn has come (SIGCONT).
A thread or child that the method left at work does not slow the others. There is no answer that could be lost or read
by somebody else: the run goes on when a number in shared memory has changed.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from contextlib import suppress

from kdrbench.errors import KdrbenchError
from kdrbench.suite.engine.isolation.limits import Pauses

_ASK = b"?"
_MOST_BYTES = 2**20
_COUNT = struct.Struct("q")
_LOOK_EVERY_S = 0.001
# A run that waits is stopped at once. One that looks so often has not been heard: it does not wait for ever.
MOST_LOOKS = 10_000


class LostTurnError(KdrbenchError):
    """The batch has not heard the run's question."""


class Turn:
    """The line between one run and its batch; made before the fork, and used by both.

    ``run_end`` is the number of the run's descriptor, one of two of the batch that stay open in the run.
    """

    def __init__(self) -> None:
        self._batch, self.run_end = os.pipe()
        os.set_blocking(self._batch, False)
        self._granted = mmap.mmap(-1, _COUNT.size)
        self._waits = Pauses()
        self._waits.end()

    def begin_run(self) -> None:
        """Keep the run from the seconds that it has waited; called in its process."""
        self._waits.close()

    def wait(self) -> None:
        """Ask, and go on when the batch has granted the turn; called by the run.

        Raises ``LostTurnError`` where the batch does not hear, and ``OSError`` where the line was closed.
        """
        before = self._count()
        os.write(self.run_end, _ASK)
        for _ in range(MOST_LOOKS):
            time.sleep(_LOOK_EVERY_S)
            if self._count() != before:
                # The batch comes to rest before the clock starts.
                os.sched_yield()
                return
        raise LostTurnError("the run asked for its turn and was not heard")

    def waited_s(self) -> float:
        """Return the seconds that the run has waited up to now; unknown to the run itself."""
        return self._waits.total_s()

    def fileno(self) -> int:
        """Return the number of the batch's descriptor, which is readable when the run has asked."""
        return self._batch

    def asked(self) -> None:
        """Take note of the run's question; called by the batch when it has stopped the run."""
        # All that is there is read, so that a method that writes here cannot fill the line.
        with suppress(BlockingIOError):
            os.read(self._batch, _MOST_BYTES)
        self._waits.begin()

    def grant(self) -> None:
        """Let the run go on, if it still waits; called by the batch before it lets the run's processes go on."""
        self._waits.end()
        _COUNT.pack_into(self._granted, 0, self._count() + 1)

    def close_run_end(self) -> None:
        """Leave the run's end to the run."""
        if self.run_end >= 0:
            os.close(self.run_end)
            self.run_end = -1

    def close(self) -> None:
        """Close what is open."""
        self.close_run_end()
        os.close(self._batch)

    def _count(self) -> int:
        return int(_COUNT.unpack_from(self._granted)[0])
