"""From how a run's process ended and what it left behind to the status of the run."""

from __future__ import annotations

import dataclasses
import json
import signal
from dataclasses import dataclass
from typing import Any

from kdrbench.bench.execute import BENCH_FAULT, RunFiles
from kdrbench.bench.limits import Limits
from kdrbench.bench.monitor import read_trace
from kdrbench.bench.supervisor import End, Ending, SupervisionError
from kdrbench.solvers import Status

_INTERRUPTIONS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_COUNTED = ("value", "gradient", "hessian_vector", "hessian", "surrogate")


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
    evaluation: str | None = None
    rounds: int | None = None
    uses_degrees: bool | None = None

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
            "evaluation": self.evaluation,
            "rounds": self.rounds,
            "uses_degrees": self.uses_degrees,
            **{f"{name}_calls": counters.get(name) for name in _COUNTED},
        }


def judge(ending: Ending, files: RunFiles, limits: Limits) -> RunOutcome:
    """Return the run's outcome; a result handed over counts, whatever became of the process afterwards.

    A run without a result is known up to its last trace line; one killed at the time limit has used it up.

    Raises ``SupervisionError`` when the run was ended by INT, TERM or HUP (somebody stops the work) or by a
    fault of the bench.
    """
    if files.result.exists():
        values = json.loads(files.result.read_text(encoding="utf-8"))
        outcome = RunOutcome(**{**values, "status": Status(values["status"])})
    else:
        outcome = RunOutcome(*_without_result(ending, limits))
    if outcome.time_s is not None:
        return outcome
    time_s = limits.time_s if outcome.status is Status.TIME_LIMIT else _last_seen(files)
    return dataclasses.replace(outcome, time_s=time_s)


def _without_result(ending: Ending, limits: Limits) -> tuple[Status, str]:
    if ending.end is End.TIME_LIMIT:
        return Status.TIME_LIMIT, f"killed at the time limit of {limits.time_s:g} s"
    if ending.end is End.MEMORY_LIMIT:
        return Status.MEMORY_LIMIT, f"killed beyond the memory limit of {limits.memory_mib:g} MiB"
    if ending.end is End.SIGNALLED:
        name = _signal_name(ending.code)
        if ending.code in _INTERRUPTIONS:
            raise SupervisionError(f"the run was ended by {name}; start the workflow again")
        return Status.FAILED, f"ended by {name}"
    if ending.code == BENCH_FAULT:
        raise SupervisionError("the bench failed within the run, see the lines above; mend that and start again")
    return Status.FAILED, f"ended with exit code {ending.code} and no result"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # real-time signals have no names
        return f"signal {number}"


def _last_seen(files: RunFiles) -> float | None:
    """Return the solver's clock at the last trace line: how far the run is known to have come."""
    trace = read_trace(files.trace)
    return trace[-1].time_s if trace else None
