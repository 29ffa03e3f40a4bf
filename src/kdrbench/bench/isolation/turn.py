"""A run's turn: it asks its batch before each repeat and waits, so that the runs of several methods alternate."""

from __future__ import annotations

import os
import socket
from contextlib import suppress

from kdrbench.bench.isolation.limits import Pauses

_ASK, _GRANT = b"?", b"!"
_MOST_BYTES = 2**20


class Turn:
    """The line between one run and its batch; made before the fork, and used by both.

    ``run_end`` is the number of the run's descriptor, the only one of the batch that stays open in the run.
    """

    def __init__(self) -> None:
        self._batch, self._run = socket.socketpair()
        self._waits = Pauses()
        self._waits.end()
        self.run_end = self._run.fileno()

    def wait(self) -> None:
        """Ask, and sleep until the batch grants the turn; called by the run."""
        self._waits.begin()
        self._run.send(_ASK)
        self._run.recv(1)
        # The batch comes to rest before the clock starts.
        os.sched_yield()

    def waited_s(self) -> float:
        """Return the seconds that the run has waited up to now."""
        return self._waits.total_s()

    def fileno(self) -> int:
        """Return the number of the batch's descriptor, which is readable when the run has asked."""
        return self._batch.fileno()

    def asked(self) -> None:
        """Take note of the run's question; called by the batch."""
        # Where the other end has gone, the guardian's report says so next. All that is there is read, so that a method
        # that writes here cannot fill the line.
        with suppress(ConnectionError, BlockingIOError):
            self._batch.recv(_MOST_BYTES, socket.MSG_DONTWAIT)

    def grant(self) -> None:
        """Let the run go on, if it still waits; called by the batch, which never waits itself.

        From here on the guardian counts no more waiting: a run whose grant is lost hangs, and is ended as one.
        """
        self._waits.end()
        with suppress(ConnectionError, BlockingIOError):
            self._batch.send(_GRANT, socket.MSG_DONTWAIT)

    def close_run_end(self) -> None:
        """Leave the run's end to the run."""
        self._run.close()

    def close(self) -> None:
        """Close what is open."""
        self._run.close()
        self._batch.close()
