"""From how a child ended and what it left behind to the status of its run."""

from __future__ import annotations

import json
import signal
from dataclasses import dataclass
from typing import Any

from kdrbench.bench.execute import RunFiles
from kdrbench.bench.limits import Limits
from kdrbench.bench.monitor import read_trace
from kdrbench.bench.supervisor import End, Ending
from kdrbench.errors import KdrbenchError
from kdrbench.solvers import Status

_INTERRUPTIONS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(KdrbenchError):  # noqa: N818 - an interruption, not a fault
    """The run was asked to stop from outside: it has no result and is to be run again."""


@dataclass(frozen=True)
class RunOutcome:
    """Status, message and the solver's own numbers, as far as the run came to hand them over."""

    status: Status
    message: str
    time_s: float | None = None
    time_iqr_s: float | None = None
    repeats: int = 0
    cpu_s: float | None = None
    iterations: int | None = None
    counters: dict[str, int] | None = None

    def columns(self) -> dict[str, Any]:
        """Return the record columns of this outcome."""
        counters = self.counters or {}
        return {
            "status": str(self.status),
            "message": self.message,
            "time_s": self.time_s,
            "time_iqr_s": self.time_iqr_s,
            "repeats": self.repeats,
            "cpu_s": self.cpu_s,
            "iterations": self.iterations,
            **{f"{name}_calls": counters.get(name) for name in _COUNTED},
        }


_COUNTED = ("value", "gradient", "hessian_vector", "surrogate")


def judge(ending: Ending, files: RunFiles, limits: Limits) -> RunOutcome:
    """Return the run's outcome; a result handed over counts, whatever became of the process afterwards.

    Raises ``Interrupted`` when the child was ended by INT, TERM or HUP: somebody stops the work.
    """
    if files.result.exists():
        return _from_result(json.loads(files.result.read_text(encoding="utf-8")))
    if ending.end is End.TIME_LIMIT:
        message = f"killed at the time limit of {limits.time_s:g} s"
        return RunOutcome(Status.TIME_LIMIT, message, time_s=limits.time_s)
    if ending.end is End.MEMORY_LIMIT:
        message = f"killed beyond the memory limit of {limits.memory_mib:g} MiB"
        return RunOutcome(Status.MEMORY_LIMIT, message, time_s=_last_seen(files))
    if ending.end is End.SIGNALLED:
        if ending.code in _INTERRUPTIONS:
            raise Interrupted(f"the run was ended by {signal.Signals(ending.code).name}; start the workflow again")
        message = f"ended by {signal.Signals(ending.code).name}"
        return RunOutcome(Status.FAILED, message, time_s=_last_seen(files))
    message = f"ended with exit code {ending.code} and no result"
    return RunOutcome(Status.FAILED, message, time_s=_last_seen(files))


def _from_result(values: dict[str, Any]) -> RunOutcome:
    values["status"] = Status(values["status"])
    return RunOutcome(**values)


def _last_seen(files: RunFiles) -> float | None:
    """Return the solver's clock at the last trace line: how far the run is known to have come."""
    trace = read_trace(files.trace)
    return trace[-1][0] if trace else None
