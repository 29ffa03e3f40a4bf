"""A solver that goes wrong in the way its option names: odd messages, endings it may not report, damaged files.

It needs nothing of the tests, so that it also is a file of a user's own.
"""

import os
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kdrbench.solvers import SolverOutcome, Status


class SilentError(Exception):
    def __str__(self):
        raise ValueError("no text")


ERRORS = {
    "controls": ValueError("\x00\t\n\x1b[31m\x9b\u2028\u202e"),
    "long": ValueError("x" * 30_000_000),
    "silent": SilentError(),
}
STATUSES = ("skipped", "time_limit", "memory_limit", "failed")


@dataclass(frozen=True)
class Hostile:
    attack: str = ""
    requires: ClassVar[frozenset[str]] = frozenset({"value"})

    def run(self, problem, start, monitor):
        monitor.keep_going(start)
        if self.attack in ERRORS:
            raise ERRORS[self.attack]
        if self.attack in STATUSES:
            return SolverOutcome(start, Status(self.attack), "ended")
        if self.attack == "bytes":
            return SolverOutcome(start, Status.CONVERGED, b"\x00 is no text\r")
        if self.attack == "nan":
            return SolverOutcome(np.full_like(start, np.nan), Status.CONVERGED, "converged")
        if self.attack == "leaves":
            os._exit(70)
        folder = folder_of(monitor)
        if self.attack == "trace":
            (folder / "trace.jsonl").write_text("garbage\n")
        return SolverOutcome(start, Status.CONVERGED, "converged")


def folder_of(monitor):
    while not hasattr(monitor, "_referee"):
        monitor = monitor._monitor
    return monitor._referee.files.folder
