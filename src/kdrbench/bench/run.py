"""One run, inside its process and after it: its results are written line by line, and its exit is classified."""

from __future__ import annotations

import json
import os
import signal
import statistics
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from kdrbench.bench.isolation.guardian import BENCH_FAULT, Exit, ProcessExit
from kdrbench.bench.isolation.limits import Limits
from kdrbench.bench.isolation.supervisor import SupervisionError
from kdrbench.bench.referee import BenchFaultError, Referee, Seconds, columns_of
from kdrbench.bench.run_files import RunFiles, read_trace
from kdrbench.status import Status

MOST_REPEATS = 100
_INTERRUPTIONS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class RunResult:
    """One row's part of a run: how the method ended, its seconds, and the columns of its stage.

    ``key`` tells the rows of one run apart (:attr:`.Batch.rows`).
    """

    status: Status
    message: str
    time_s: float | None = None
    cpu_s: float | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    key: tuple[Any, ...] = ()


class Run(Protocol):
    """The work of one run, prepared in the batch's process and done in a process of its own."""

    def run(self, referee: Referee) -> Iterator[RunResult]:
        """Do the work and yield a result for each row as it is known; a later one of the same key replaces it."""
        ...

    def score(self, files: RunFiles) -> Mapping[str, Any]:
        """Return further columns of every row from what the run left, in the batch's process after the run."""
        ...


def execute(run: Run, referee: Referee, keys: tuple[tuple[Any, ...], ...]) -> None:
    """Do the work of a run and write each of its results down as it comes.

    What a method raises becomes the status of the rows that are missing. A fault of the bench or a missing package
    ends the process with exit code ``BENCH_FAULT``.
    """
    try:
        _execute(run, referee, keys)
    except BenchFaultError as fault:
        print(f"kdrbench: {fault}", file=sys.stderr)
        sys.exit(BENCH_FAULT)
    except ImportError:
        traceback.print_exc()
        sys.exit(BENCH_FAULT)


def _execute(run: Run, referee: Referee, keys: tuple[tuple[Any, ...], ...]) -> None:
    missing = list(keys)
    try:
        for result in run.run(referee):
            late = referee.charged_s > referee.limits.time_s and result.key in missing
            # Also for a method that ended well without asking: only its time above the limit is reported.
            hand_over(referee.files, replace(result, **_at_limit(referee)) if late else result)
            missing = [key for key in missing if key != result.key]
            if late:
                break
        else:
            return
        ending = RunResult(Status.TIME_LIMIT, referee.limit_message)
    except MemoryError as error:
        ending = RunResult(Status.MEMORY_LIMIT, f"out of memory: {error}")
    except (BenchFaultError, ImportError):
        raise
    except (Exception, SystemExit) as error:
        ending = RunResult(Status.FAILED, f"{type(error).__name__}: {error}")
    for key in missing:
        hand_over(referee.files, replace(ending, key=key))


def _at_limit(referee: Referee) -> dict[str, Any]:
    return {"status": Status.TIME_LIMIT, "message": referee.limit_message}


def hand_over(files: RunFiles, result: RunResult) -> None:
    """Write one result in a single write; raises ``BenchFaultError`` when it cannot be written."""
    words = {"status": Status(result.status), "message": _printable(result.message)}
    line = json.dumps({**asdict(result), **words, "columns": columns_of(result.columns)}, allow_nan=False)
    try:
        with files.results.open("ab", buffering=0) as stream:
            stream.write((line + "\n").encode())
    except OSError as error:
        raise BenchFaultError(f"the result cannot be written: {error}") from error


def _printable(message: object) -> str:
    """Return the message as text that every encoding can hold: file names may bring lone surrogates."""
    return str(message).encode("utf-8", "backslashreplace").decode("utf-8")


def repeated(result: RunResult, repeat: Callable[[], Seconds], first: Seconds, referee: Referee) -> Iterator[RunResult]:
    """Yield the result with the seconds of its first work, then, for short work, with those of its repeats as well.

    The first work is cold, the repeats are warm, one for each turn of the run. They stop where as many again would
    reach the time limit.
    """
    cold = replace(result, time_s=first.wall_s, cpu_s=first.cpu_s, columns={**result.columns, "repeats": 0})
    yield cold
    if result.status is Status.TIME_LIMIT or first.wall_s >= referee.repeat_for_s:
        return
    times: list[Seconds] = []
    while (
        (total := sum(one.wall_s for one in times)) < referee.repeat_for_s
        and len(times) < MOST_REPEATS
        and first.wall_s + total < 0.5 * referee.limits.time_s
    ):
        referee.wait_for_turn()
        times.append(repeat())
    if times:
        yield replace(cold, columns={**result.columns, **_warm(times)})


def _warm(times: list[Seconds]) -> dict[str, Any]:
    walls = [one.wall_s for one in times]
    return {
        "warm_s": statistics.median(walls),
        "warm_cpu_s": statistics.median(one.cpu_s for one in times),
        "warm_iqr_s": float(np.subtract(*np.percentile(walls, [75, 25]))),
        "repeats": len(times),
    }


def read_results(files: RunFiles) -> dict[tuple[Any, ...], RunResult]:
    """Return by key the results that the run has handed over; an unfinished last line is left out."""
    if not files.results.exists():
        return {}
    results = {}
    for line in files.results.read_bytes().split(b"\n")[:-1]:
        values = json.loads(line)
        key = tuple(values["key"])
        results[key] = RunResult(**{**values, "status": Status(values["status"]), "key": key})
    return results


def classify_exit(process: ProcessExit, files: RunFiles, limits: Limits) -> RunResult:
    """Return the result of the rows for which the run handed none over, from how its process ended.

    Raises ``SupervisionError`` when the run was ended by INT, TERM or HUP (somebody stops the work), or by a fault of
    the bench.
    """
    if process.end is Exit.TIME_LIMIT:
        return RunResult(Status.TIME_LIMIT, f"killed at the time limit of {limits.time_s:g} s")
    if process.end is Exit.MEMORY_LIMIT:
        return RunResult(Status.MEMORY_LIMIT, f"killed beyond the memory limit of {limits.memory_mib:g} MiB")
    if process.end is Exit.SIGNALLED:
        name = _signal_name(process.code)
        if process.code in _INTERRUPTIONS:
            raise SupervisionError(f"the run was ended by {name}; start the workflow again")
        return RunResult(Status.FAILED, f"ended by {name}")
    if process.code == BENCH_FAULT:
        raise SupervisionError("the bench failed within the run; correct what the lines above say and start again")
    return RunResult(Status.FAILED, f"ended with exit code {process.code} and no result")


def time_of(result: RunResult, files: RunFiles, limits: Limits) -> float | None:
    """Return the seconds of the only row of a run; of one without a result, as far as its last trace line shows."""
    if result.time_s is not None:
        return result.time_s
    if result.status is Status.TIME_LIMIT:
        return limits.time_s
    trace = read_trace(files.trace)
    return trace[-1].time_s if trace else None


def was_killed(process: ProcessExit, files: RunFiles) -> bool:
    """Return whether something outside killed the run before it handed any result over."""
    return process.end is Exit.SIGNALLED and process.code == signal.SIGKILL and not files.results.exists()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # real-time signals have no names
        return f"signal {number}"


def load_average() -> float:
    """Return the machine's load over the last minute."""
    return round(os.getloadavg()[0], 2)
