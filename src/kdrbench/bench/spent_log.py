"""The seconds that all runs of a grid take together, and the budget that limits them.

Counted is the wall clock of each run's process, however it ends and however many run at a time. The log lies with the
results and has a line for each run, so it survives interruptions. A run that has begun is not stopped by the budget.
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
    def charged(self) -> Iterator[None]:
        """Charge the time that passes inside, also when an exception ends it."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._charge(time.monotonic() - began)

    def _charge(self, seconds: float) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab", buffering=0) as stream:
            # Appending is one step on a local disk; on a network file system it needs the lock.
            fcntl.flock(stream, fcntl.LOCK_EX)
            stream.write(f"{seconds:.6f}\n".encode())
            os.fsync(stream.fileno())
