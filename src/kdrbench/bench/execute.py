"""What happens inside the child process of one run: solve, time, hand the result over in files."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kdrbench.bench.limits import Limits
from kdrbench.bench.monitor import Referee, TimedMonitor, save_projection
from kdrbench.files import write_text
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem
from kdrbench.solvers import Solver, SolverResult, Status, solve

MOST_REPEATS = 100


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


def execute(
    solver: Solver,
    problem: Problem,
    start: Callable[[Problem], FloatArray],
    limits: Limits,
    repeat_for_s: float,
    files: RunFiles,
) -> None:
    """Solve once under the referee, then repeat a short solve unwatched for ``repeat_for_s`` to time it.

    The first result counts; it is handed over before the repeats begin.
    """
    try:
        referee = Referee(problem, limits.time_s, files.trace, files.projection)
        result = solve(solver, problem, lambda: start(problem), referee)
    except MemoryError as error:
        _fail(files, Status.MEMORY_LIMIT, f"out of memory: {error}")
        return
    except Exception as error:
        _fail(files, Status.FAILED, f"{type(error).__name__}: {error}")
        return
    save_projection(files.projection, result.projection)
    _hand_over(files, result, [referee.clock.wall_s], [referee.clock.cpu_s])
    if result.status is Status.TIME_LIMIT or referee.clock.wall_s >= repeat_for_s:
        return
    walls, cpus = _repeat(solver, problem, start, limits, repeat_for_s, first_s=referee.clock.wall_s)
    if walls:
        _hand_over(files, result, walls, cpus)


def _repeat(
    solver: Solver,
    problem: Problem,
    start: Callable[[Problem], FloatArray],
    limits: Limits,
    repeat_for_s: float,
    first_s: float,
) -> tuple[list[float], list[float]]:
    """Solve again and again; the watched solve was the warm-up."""
    walls: list[float] = []
    cpus: list[float] = []
    while sum(walls) < repeat_for_s and len(walls) < MOST_REPEATS and first_s + sum(walls) < 0.5 * limits.time_s:
        fresh, monitor = problem.fresh(), TimedMonitor(limits.time_s)
        solve(solver, fresh, lambda fresh=fresh: start(fresh), monitor)  # type: ignore[misc]
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
        time_s=statistics.median(walls),
        time_iqr_s=spread,
        cpu_s=statistics.median(cpus),
        repeats=len(walls),
    )


def _fail(files: RunFiles, status: Status, message: str) -> None:
    _write(files, status=status, message=message)


def _write(files: RunFiles, **values: Any) -> None:
    write_text(files.result, json.dumps(values))
