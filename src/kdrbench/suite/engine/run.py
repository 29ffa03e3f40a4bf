"""One run, inside its process and after it: its results are written line by line, and its exit is classified."""

from __future__ import annotations

import signal
import statistics
import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

import click
import numpy as np

from kdrbench.errors import error_text, text_of, visible
from kdrbench.status import BY_METHODS, Status
from kdrbench.suite.engine.identity import is_own
from kdrbench.suite.engine.isolation.guardian import BENCH_FAULT, SETUP_FAULT, Exit, ProcessExit
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.referee import BenchFaultError, Referee, Seconds
from kdrbench.suite.engine.run_files import RunFiles, lines_of, trace_lines

Key = tuple[Any, ...]
MOST_REPEATS = 100
# Characters of a message in a row; its rest is in the job's log.
MOST_MESSAGE = 1_000
# Seconds beyond clock and referee: a fork, checks of what is returned (.01 to .06 s), and a fifth of what is claimed.
_LEAST_S, _SHARE = 0.1, 0.2
_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class RunResult:
    """One row's part of a run: how the method ended, its seconds, and the columns of its system.

    ``key`` tells the rows of one run apart (:attr:`.Batch.rows`). ``clocked_s`` and ``clocked_cpu_s`` are those of all
    clocks of the run when the result was handed over, repeats included.
    """

    status: Status
    message: str
    time_s: float | None = None
    cpu_s: float | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    key: tuple[Any, ...] = ()
    clocked_s: float | None = None
    clocked_cpu_s: float | None = None


Results = dict[Key, RunResult]


class Run(Protocol):
    """The work of one run, prepared in the batch's process and done in a process of its own.

    A run may also have a method ``judged(files, results)``, which is called in the batch's process before ``score`` and
    returns the results with what they cannot know in the run's process.
    """

    @property
    def arrays(self) -> tuple[str, ...]:
        """The names of the arrays without which a run that ended by itself has no result; others are not kept.

        Where there are none, a run may leave any.
        """
        ...

    def run(self, referee: Referee) -> Iterator[RunResult]:
        """Do the work and yield a result for each row as it is known; a later one of the same key replaces it."""
        ...

    def score(self, files: RunFiles) -> Mapping[str, Any]:
        """Return further columns of every row from what the run left, in the batch's process after the run.

        ``evaluation_s`` among them are the CPU seconds that the referee needed in the run's process, where that can be
        measured again here. Raises an error for what cannot be evaluated: the rows of the run are then ``failed``.
        """
        ...


def execute(run: Run, referee: Referee, keys: tuple[tuple[Any, ...], ...]) -> None:
    """Do the work of a run and write each of its results down as it comes.

    What a method raises becomes the status of the rows that are missing. A missing package, unless a file of the user's
    own imports it, ends the process with exit code ``SETUP_FAULT``, a file that cannot be written with
    ``BENCH_FAULT``: the batch then tries to write one.
    """
    try:
        _execute(run, referee, keys)
    except BenchFaultError as fault:
        print(f"kdrbench: {fault}", file=sys.stderr)
        sys.exit(BENCH_FAULT)
    except ModuleNotFoundError:
        traceback.print_exc()
        sys.exit(SETUP_FAULT)


def _execute(run: Run, referee: Referee, keys: tuple[tuple[Any, ...], ...]) -> None:
    missing = list(keys)
    try:
        for result in run.run(referee):
            charged_s, limit_s = referee.clocked.wall_s, referee.limits.time_s
            if result.status is Status.TIME_LIMIT and charged_s < limit_s:
                early = f"said time_limit after {charged_s:.3g} s of {limit_s:g} s"
                result = replace(result, status=Status.FAILED, message=early)
            late = charged_s > limit_s and result.key in missing
            # Also for a method that ended well without asking: only its time above the limit is reported.
            if late:
                result = replace(result, status=Status.TIME_LIMIT, message=referee.limit_message)
            hand_over(referee, result)
            missing = [key for key in missing if key != result.key]
            if late:
                break
        else:
            return
        ending = RunResult(Status.TIME_LIMIT, referee.limit_message)
    except MemoryError as error:
        ending = RunResult(Status.MEMORY_LIMIT, f"out of memory: {text_of(error)}")
    except BenchFaultError:
        raise
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and not _is_raised_by_own_code(error):
            raise
        ending = RunResult(Status.FAILED, error_text(error))
    for key in missing:
        hand_over(referee, replace(ending, key=key))


def _is_raised_by_own_code(error: BaseException) -> bool:
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return is_own(str(frame.f_globals.get("__name__", "")))


def hand_over(referee: Referee, result: RunResult) -> None:
    """Write one result down with the seconds of all clocks so far."""
    words = {"status": Status(result.status), "message": text_of(result.message)}
    clocks = {"clocked_s": referee.clocked.wall_s, "clocked_cpu_s": referee.clocked.cpu_s}
    # NumPy's scalars as Python's, which JSON can hold.
    columns = {name: one.item() if isinstance(one, np.generic) else one for name, one in result.columns.items()}
    referee.append_result({**asdict(replace(result, message="")), **words, **clocks, "columns": columns})


def collect(files: RunFiles, keys: Sequence[Key], arrays: Sequence[str] = ()) -> Results:
    """Return by key the results that a run has handed over.

    A method that ended by itself and did not leave the ``arrays`` has failed.
    """
    results = read_results(files)
    lacking = [name for name in arrays if not files.array(name).exists()]
    for key, result in results.items():
        if lacking and result.status in BY_METHODS:
            results[key] = _refused(result, f"the run left no {lacking[0]}")
    return {key: results[key] for key in keys if key in results}


def read_results(files: RunFiles) -> Results:
    """Return by key what is in the run's list of results."""
    results = {}
    for values in lines_of(files.results):
        key = tuple(values["key"])
        results[key] = RunResult(**{**values, "status": Status(values["status"]), "key": key})
    return results


def failed(error: Exception, key: Key = (), **columns: Any) -> RunResult:
    """Return the row of a method that raised; raise what is no fault of its own, a missing package or memory."""
    if isinstance(error, ImportError | MemoryError):
        raise error
    return RunResult(Status.FAILED, error_text(error), columns=columns, key=key)


def failed_to_score(results: Mapping[Key, RunResult], error: Exception) -> Results:
    """Return the results of a run whose files the bench could read, but not evaluate."""
    why = f"what the run left cannot be evaluated: {error_text(error)}"
    return {key: _refused(result, why) for key, result in results.items()}


def _refused(result: RunResult, why: str) -> RunResult:
    return RunResult(Status.FAILED, f"{why}; it said {result.status}: {text_of(result.message)}", key=result.key)


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
        if referee.turn:
            referee.turn.wait()
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


def classify_exit(process: ProcessExit, limits: Limits) -> RunResult:
    """Return the result of the rows for which the run handed none over, from how its process ended."""
    if process.end is Exit.TIME_LIMIT:
        return RunResult(Status.TIME_LIMIT, f"killed at the time limit of {limits.time_s:g} s")
    if process.end is Exit.MEMORY_LIMIT:
        return RunResult(Status.MEMORY_LIMIT, f"killed beyond the memory limit of {limits.memory_mib:g} MiB")
    if process.end is Exit.SIGNALLED:
        return RunResult(Status.FAILED, f"ended by {_signal_name(process.code)}")
    if blames_bench(process):
        return RunResult(Status.FAILED, "could not write its result, and the batch can")
    return RunResult(Status.FAILED, f"ended with exit code {process.code} and no result")


def time_of(result: RunResult, files: RunFiles, limits: Limits) -> float | None:
    """Return the seconds of the only row of a run; of one without a result, as far as its last trace line shows."""
    if result.time_s is not None:
        return result.time_s
    if result.status is Status.TIME_LIMIT:
        return limits.time_s
    last = deque(trace_lines(files.trace), maxlen=1)
    return last[0].time_s if last else None


def was_killed(process: ProcessExit) -> bool:
    """Return whether the run was ended by a signal that may have come from outside.

    Who stops the work stops the batch as well, which then makes no row.
    """
    return process.end is Exit.SIGNALLED and process.code in _FROM_OUTSIDE


def blames_bench(process: ProcessExit) -> bool:
    """Return whether the run said that the bench is at fault: any method can say so."""
    return process.end is Exit.EXITED and process.code == BENCH_FAULT


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # real-time signals have no names
        return f"signal {number}"


def unclocked(process: ProcessExit, results: Iterable[RunResult], evaluation_s: float | None) -> dict[str, Any]:
    """Return what the clocks of a run do not cover, from what its guardian has seen of its process.

    ``unclocked_s`` are wall seconds outside all clocks; ``unaccounted`` says whether too much work was done in them.

    Work on the machine by others adds to wall seconds, and to no process's CPU seconds. A run is not judged where it
    left no result, or the system does not say what the referee took of the CPU (``evaluation_s``), which is measured in
    the batch: the seconds of one evaluation, times the evaluations that the trace shows.
    """
    unknown = dict.fromkeys(("unclocked_s", "evaluation_s", "unaccounted"))
    clocked = [(one.clocked_s, one.clocked_cpu_s) for one in results if one.clocked_s is not None]
    if not clocked:
        return unknown
    wall_s, cpu_s = max(clocked)
    outside_s = process.wall_s - wall_s
    if evaluation_s is None or cpu_s is None:
        return unknown | {"unclocked_s": outside_s}
    worked_s = process.cpu_s - cpu_s - evaluation_s
    # A clock that claims more than the whole process took is wrong as well.
    unaccounted = worked_s > max(_LEAST_S, _SHARE * cpu_s) or outside_s < -_LEAST_S
    return {"unclocked_s": outside_s, "evaluation_s": evaluation_s, "unaccounted": unaccounted}


def row_message(message: object) -> str:
    """Return a message as rows hold it: visible characters, 1,000 of them at most; the rest goes to the job's log."""
    text = visible(text_of(message))
    if len(text) <= MOST_MESSAGE:
        return text
    click.echo(f"a message in full: {text}", err=True)
    return f"{text[: MOST_MESSAGE - 3]}..."
