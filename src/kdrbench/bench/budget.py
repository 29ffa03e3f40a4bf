"""The seconds that all runs of a grid may take together.

Counted is the wall clock of each run's process, whatever became of it, however many run side by side, and through any
number of interruptions: the ledger lies with the results and has a line for each run. What has begun is let end.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Budget:
    """``seconds`` is ``None`` for a grid without a budget, whose ledger is kept all the same."""

    ledger: Path
    seconds: float | None = None

    def spent_s(self) -> float:
        """Return the seconds of all runs so far."""
        if not self.ledger.exists():
            return 0.0
        return sum(float(line) for line in self.ledger.read_text(encoding="ascii").split())

    def used_up(self) -> bool:
        """Return whether no further run may begin."""
        return self.seconds is not None and self.spent_s() >= self.seconds

    @contextmanager
    def charged(self) -> Iterator[None]:
        """Charge the time that passes inside, also when an exception ends it."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._charge(time.monotonic() - began)

    def _charge(self, seconds: float) -> None:
        self.ledger.parent.mkdir(parents=True, exist_ok=True)
        with self.ledger.open("ab", buffering=0) as stream:
            # Appending is one step on a local disk; on a network's it needs the lock.
            fcntl.flock(stream, fcntl.LOCK_EX)
            stream.write(f"{seconds:.6f}\n".encode())
            os.fsync(stream.fileno())
