"""What a run prints: read while it runs, of which the tail is written to the log of its batch at the end.

A run that prints without end fills no disk, and what it writes cannot look like a line of the bench.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress

from kdrbench.errors import visible

MOST_BYTES = 2**20
_PIPE_BYTES = 2**20
_SET_PIPE_SIZE = 1031
_PREFIX = "  | "


class Output:
    """The pipe that takes both streams of a run, and the last :data:`MOST_BYTES` that came through it."""

    def __init__(self) -> None:
        self._reading, self._writing = os.pipe()
        # A large pipe is read at leisure while the run goes on; a user may have used up what is lent.
        with suppress(OSError):
            fcntl.fcntl(self._writing, _SET_PIPE_SIZE, _PIPE_BYTES)
        os.set_blocking(self._reading, False)
        self._tail, self._total = bytearray(), 0

    def become(self) -> None:
        """Make the calling process, which is the run, write here."""
        for stream in (1, 2):
            os.dup2(self._writing, stream)

    def leave_to_run(self) -> None:
        """Close the run's end in the guardian."""
        os.close(self._writing)

    def fileno(self) -> int:
        """Return the descriptor that is readable when the run has printed."""
        return self._reading

    def read(self) -> bool:
        """Take what is there; return whether more may come."""
        try:
            chunk = os.read(self._reading, _PIPE_BYTES)
        except BlockingIOError:
            return True
        self._total += len(chunk)
        self._tail += chunk
        # Twice the size lets most chunks be added without moving the others.
        if len(self._tail) > 2 * MOST_BYTES:
            del self._tail[:-MOST_BYTES]
        return bool(chunk)

    def write_to(self, descriptor: int) -> None:
        """Write the tail to a log, when all processes of the run are gone."""
        before = -1
        while before != self._total:
            before = self._total
            self.read()
        text = self.text()
        with suppress(OSError):
            while text:
                text = text[os.write(descriptor, text) :]

    def text(self) -> bytes:
        """Return the tail as lines that are marked as a run's, without control characters."""
        if not self._tail:
            return b""
        tail = bytes(self._tail[-MOST_BYTES:])
        lines = tail.decode("utf-8", "backslashreplace").removesuffix("\n").split("\n")
        if self._total > len(tail):
            # The first line may be the end of one.
            lines[0] = f"({self._total - len(tail)} bytes of output left out) {lines[0]}"
        shown = (visible(line, also="\t") for line in lines)
        return "".join(f"{_PREFIX}{line}\n" for line in shown).encode()
