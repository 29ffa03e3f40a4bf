"""What happens inside the child process of one run: solve, time, hand the result over in files."""

from __future__ import annotations

import dataclasses
import json
import statistics
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kdrbench.bench.limits import Limits
from kdrbench.bench.monitor import BenchFaultError, Referee, TimedMonitor
from kdrbench.bench.pauses import Pauses
from kdrbench.files import write_text
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem
from kdrbench.solvers import Solver, SolverResult, Status, solve

MOST_REPEATS = 100
# The exit code by which a run says that the bench, not the solver, is at fault (EX_SOFTWARE of sysexits.h).
BENCH_FAULT = 70


@dataclass(frozen=True)
class Job:
    """One fold's problem, its solver, number of components and start, and how long a short solve is repeated.

    ``exact`` is the problem without approximations, by which the referee judges.
    """

    solver: Solver
    problem: Problem
    exact: Problem
    n_components: int
    start: Callable[[Problem], FloatArray]
    repeat_for_s: float


@dataclass(frozen=True)
class RunFiles:
    """The files through which a run's process speaks: they are all that is left when it is killed."""

    folder: Path

    @property
    def trace(self) -> Path:
        """Lines of solver seconds, cost, relative stationarity."""
        return self.folder / "trace.jsonl"

    @property
    def projection(self) -> Path:
        """The last iterate that the referee saw."""
        return self.folder / "projection.npy"

    @property
    def result(self) -> Path:
        """Status, message, times and counters; there when the solver has returned or raised."""
        return self.folder / "result.json"


def execute(job: Job, limits: Limits, pauses: Pauses, files: RunFiles) -> None:
    """Solve once under the referee, then repeat a short solve unwatched to time it.

    The first result counts; it is handed over before the repeats begin. What a solver raises becomes its
    status; a fault of the bench or a missing package ends the process with exit code ``BENCH_FAULT``.
    """
    try:
        _solve_and_time(job, limits, pauses, files)
    except (BenchFaultError, ImportError):
        traceback.print_exc()
        sys.exit(BENCH_FAULT)


def _solve_and_time(job: Job, limits: Limits, pauses: Pauses, files: RunFiles) -> None:
    referee = Referee(job.exact, job.n_components, limits.time_s, files.trace, files.projection, pauses)
    try:
        result = solve(job.solver, job.problem, lambda: job.start(job.problem), referee)
    except MemoryError as error:
        _write(files, status=Status.MEMORY_LIMIT, message=f"out of memory: {error}")
        return
    except (BenchFaultError, ImportError):
        raise
    except (Exception, SystemExit) as error:
        _write(files, status=Status.FAILED, message=f"{type(error).__name__}: {error}")
        return
    if referee.clock.wall_s > limits.time_s:
        # Also for a solver that converged without asking again: its time is above the limit, and only that is said.
        result = dataclasses.replace(result, status=Status.TIME_LIMIT, message=referee.stop_message)
    _hand_over(files, result, [referee.clock.wall_s], [referee.clock.cpu_s])
    if result.status is not Status.TIME_LIMIT and referee.clock.wall_s < job.repeat_for_s:
        walls, cpus = _repeat(job, limits, pauses, first_s=referee.clock.wall_s)
        if walls:
            _hand_over(files, result, walls, cpus)


def _repeat(job: Job, limits: Limits, pauses: Pauses, first_s: float) -> tuple[list[float], list[float]]:
    """Solve again and again; the watched solve was the warm-up."""
    walls: list[float] = []
    cpus: list[float] = []
    # The repeats count against the limit as well, so they stop where there is room for as many again.
    while sum(walls) < job.repeat_for_s and len(walls) < MOST_REPEATS and first_s + sum(walls) < 0.5 * limits.time_s:
        problem, monitor = job.problem.fresh(), TimedMonitor(limits.time_s, pauses)
        solve(job.solver, problem, partial(job.start, problem), monitor)
        walls.append(monitor.clock.wall_s)
        cpus.append(monitor.clock.cpu_s)
    return walls, cpus


def _hand_over(files: RunFiles, result: SolverResult, walls: list[float], cpus: list[float]) -> None:
    spread = float(np.subtract(*np.percentile(walls, [75, 25])))
    _write(
        files,
        status=result.status,
        message=result.message,
        iterations=result.iterations,
        counters=result.counters,
        evaluation=result.evaluation,
        time_s=statistics.median(walls),
        time_iqr_s=spread,
        cpu_s=statistics.median(cpus),
        repeats=len(walls),
    )


def _write(files: RunFiles, **values: Any) -> None:
    try:
        write_text(files.result, json.dumps(values))
    except OSError as error:
        raise BenchFaultError(f"the result cannot be written: {error}") from error
