"""What happens inside the child process of one run: work, time, hand the result over in files."""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from kdrbench.bench.limits import Limits
from kdrbench.bench.monitor import BenchFaultError, TimedMonitor
from kdrbench.bench.pauses import Pauses
from kdrbench.bench.quality import Judgement
from kdrbench.files import write_text
from kdrbench.solvers import Status

MOST_REPEATS = 100
# The exit code by which a run says that the bench, not the solver, is at fault (EX_SOFTWARE of sysexits.h).
BENCH_FAULT = 70


@dataclass(frozen=True)
class RunFiles:
    """The files through which a run's process speaks: they are all that is left when it is killed."""

    folder: Path

    @property
    def trace(self) -> Path:
        """Lines of solver seconds, cost, relative stationarity and calls of oracles."""
        return self.folder / "trace.jsonl"

    @property
    def projection(self) -> Path:
        """The last iterate that the referee saw."""
        return self.folder / "projection.npy"

    @property
    def predictions(self) -> Path:
        """Labels that a baseline or a clustering gave to the samples it is judged on."""
        return self.folder / "predictions.npy"

    @property
    def given(self) -> Path:
        """The labelling that an alternative clustering was to differ from."""
        return self.folder / "given.npy"

    @property
    def checkpoint(self) -> Path:
        """What a run that is interrupted goes on from."""
        return self.folder / "checkpoint.npz"

    def clear(self) -> None:
        """Make room for a run: one that has a checkpoint keeps that, its trace and its last iterate."""
        if not self.checkpoint.exists():
            shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.result.unlink(missing_ok=True)

    @property
    def result(self) -> Path:
        """Status, message, times and counters; there when the solver has returned or raised."""
        return self.folder / "result.json"


@dataclass(frozen=True)
class Finished:
    """Work that came to its own end: the monitor with the clock that saw it, and what it says of itself."""

    monitor: TimedMonitor
    status: Status
    message: str
    iterations: int | None = None
    counters: dict[str, int] = field(default_factory=dict)
    evaluation: str | None = None
    rounds: int | None = None
    uses_degrees: bool | None = None


class Job(Protocol):
    """One fold's work: a solver's or a baseline's."""

    @property
    def n_components(self) -> int:
        """The q of this run."""
        ...

    def watched(self, limits: Limits, pauses: Pauses, files: RunFiles) -> Finished:
        """Work once, the clock on the method alone, and leave in ``files`` what the result is judged by."""
        ...

    def again(self, limits: Limits, pauses: Pauses) -> TimedMonitor:
        """Do the same work once more, for its time alone."""
        ...

    def judged(self, files: RunFiles) -> Judgement:
        """Return what the files say of the result, in the batch's process when the run has ended."""
        ...


def execute(job: Job, repeat_for_s: float, limits: Limits, pauses: Pauses, files: RunFiles) -> None:
    """Work once under watch, then repeat short work unwatched, for ``repeat_for_s``, to time it.

    The first result counts; it is handed over before the repeats begin. What a method raises becomes its
    status; a fault of the bench or a missing package ends the process with exit code ``BENCH_FAULT``.
    """
    try:
        _work_and_time(job, repeat_for_s, limits, pauses, files)
    except (BenchFaultError, ImportError):
        traceback.print_exc()
        sys.exit(BENCH_FAULT)


def _work_and_time(job: Job, repeat_for_s: float, limits: Limits, pauses: Pauses, files: RunFiles) -> None:
    try:
        done = job.watched(limits, pauses, files)
    except MemoryError as error:
        _write(files, status=Status.MEMORY_LIMIT, message=f"out of memory: {error}")
        return
    except (BenchFaultError, ImportError):
        raise
    except (Exception, SystemExit) as error:
        _write(files, status=Status.FAILED, message=f"{type(error).__name__}: {error}")
        return
    clock = done.monitor.clock
    status, message = done.status, done.message
    if clock.wall_s > limits.time_s:
        # Also for a method that ended well without asking again: its time is above the limit, and only that is said.
        status, message = Status.TIME_LIMIT, done.monitor.stop_message
    result = {
        "status": status,
        "message": message,
        "iterations": done.iterations,
        "counters": done.counters,
        "evaluation": done.evaluation,
        "rounds": done.rounds,
        "uses_degrees": done.uses_degrees,
    }
    _hand_over(files, result, [clock.wall_s], [clock.cpu_s])
    if status is not Status.TIME_LIMIT and clock.wall_s < repeat_for_s:
        walls, cpus = _repeat(job, repeat_for_s, limits, pauses, first_s=clock.wall_s)
        if walls:
            _hand_over(files, result, walls, cpus)


def _repeat(
    job: Job, repeat_for_s: float, limits: Limits, pauses: Pauses, first_s: float
) -> tuple[list[float], list[float]]:
    """Work again and again; the watched work was the warm-up."""
    walls: list[float] = []
    cpus: list[float] = []
    # The repeats count against the limit as well, so they stop where there is room for as many again.
    while sum(walls) < repeat_for_s and len(walls) < MOST_REPEATS and first_s + sum(walls) < 0.5 * limits.time_s:
        clock = job.again(limits, pauses).clock
        walls.append(clock.wall_s)
        cpus.append(clock.cpu_s)
    return walls, cpus


def _hand_over(files: RunFiles, result: dict[str, Any], walls: list[float], cpus: list[float]) -> None:
    spread = float(np.subtract(*np.percentile(walls, [75, 25])))
    _write(
        files,
        **result,
        time_s=statistics.median(walls),
        time_iqr_s=spread,
        cpu_s=statistics.median(cpus),
        repeats=len(walls),
    )


def _write(files: RunFiles, **values: Any) -> None:
    try:
        # What a power cut takes is a run without a row, which is made again.
        write_text(files.result, json.dumps(values), durable=False)
    except OSError as error:
        raise BenchFaultError(f"the result cannot be written: {error}") from error
