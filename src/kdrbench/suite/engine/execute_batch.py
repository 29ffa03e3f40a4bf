"""The runs of a batch, each in a supervised process of its own that leaves its rows.

Methods of a cell run side by side: their first works one after the other, then their repeats in turns. A machine that
becomes slower or faster meanwhile does so for all of them.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

import click
import numpy as np

from kdrbench.datasets import Dataset
from kdrbench.errors import DataError
from kdrbench.files import present_umask
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.isolation.guardian import GRACE_S, SETUP_FAULT, Exit, ProcessExit
from kdrbench.suite.engine.isolation.limits import Pauses, Turn
from kdrbench.suite.engine.isolation.supervisor import Supervised, SupervisionError, Supervisor
from kdrbench.suite.engine.referee import Referee
from kdrbench.suite.engine.rows import RowMaker, now
from kdrbench.suite.engine.run import (
    Judged,
    Request,
    Results,
    Run,
    RunResult,
    blames_bench,
    classify_exit,
    collect,
    execute,
    failed_to_score,
    time_of,
    was_killed,
)
from kdrbench.suite.engine.run_files import Checkpoint, RunFiles, save_array
from kdrbench.suite.engine.system import RunContext
from kdrbench.suite.engine.workspace import Workspace

_Outcome = TypeVar("_Outcome")
# Yields whenever a run waits for its turn, and goes on when that has come.
Turns = Generator[None, None, _Outcome]

# Processes of runs at a time, each with memory up to its limit: one works, the others wait.
MOST_TOGETHER = 16


def groups_of(makers: Iterable[RowMaker]) -> Iterator[Sequence[RowMaker]]:
    """Yield those whose batches differ in the method alone, the last name of their cell, in the order of the first."""
    groups: dict[tuple[object, ...], list[RowMaker]] = {}
    for one in makers:
        groups.setdefault((one.batch.dataset, one.batch.cell[:-1], one.batch.runs), []).append(one)
    for group in groups.values():
        for first in range(0, len(group), MOST_TOGETHER):
            yield group[first : first + MOST_TOGETHER]


def take_turns(runs: Iterable[Turns[None]]) -> None:
    """Let each run do its first work, one after the other, then give each that waits a turn, until all have ended."""
    with ExitStack() as stack:
        waiting = [run for run in runs if _waits(stack.enter_context(closing(run)))]
        while waiting:
            waiting = [run for run in waiting if _waits(run)]


def _waits(run: Turns[None]) -> bool:
    """Let the run go on; return whether it waits for its next turn."""
    return next(run, _ENDED) is not _ENDED


_ENDED = object()


@dataclass
class BatchAtWork:
    """A batch whose workspace is held, prepared to make its ``missing`` runs."""

    dataset: Dataset
    prepared: Callable[[int], Run]
    workspace: Workspace[Any]
    make_rows: RowMaker
    missing: list[int]
    supervisor: Supervisor

    def run(self, number: int, calibration_before_s: float | None) -> Turns[bool]:
        """Make a run and append its rows; return whether it was made.

        A run for which no budget is left gets rows that say so.
        """
        make_rows = self.make_rows.calibrated(calibration_before_s)
        context = make_rows.context
        if context.spent_log and context.spent_log.used_up():
            self.workspace.append(make_rows.skipped(number, self.dataset))
            return False
        context.check_scheduler()
        yield from self._make(number, make_rows)
        return True

    def _make(self, number: int, make_rows: RowMaker) -> Turns[None]:
        context, files = make_rows.context, self.workspace.run(number)
        run, keys, started_at = self.prepared(number), make_rows.batch.rows, now()
        request = Request(keys, run.arrays)
        supervised = _supervised(run, request, context, files, self.supervisor)
        process, results = yield from supervised
        if len(keys) == 1:
            results = {key: replace(one, time_s=time_of(one, files, context.limits)) for key, one in results.items()}
        results, scores = self._scored(run, number, files, results)
        files.checkpoint.unlink(missing_ok=True)
        self.workspace.append(make_rows.rows(number, results, process, started_at, scores))

    def _scored(self, run: Run, number: int, files: RunFiles, results: Results) -> tuple[Results, Mapping[str, Any]]:
        """Return the results of a run with what its files say; what cannot be evaluated is the run's fault."""
        try:
            judged = run.judged(files, results) if isinstance(run, Judged) else results
            return judged, run.score(files)
        except (ImportError, OSError):
            raise
        except Exception as error:
            click.echo(traceback.format_exc(), err=True)
            make_rows = self.make_rows
            columns = make_rows.system.describe(make_rows.batch, self.dataset, number)
            return failed_to_score(results, error), columns


@contextmanager
def at_work(
    load: Callable[[str], Dataset], workspace: Workspace[Any], make_rows: RowMaker, supervisor: Supervisor
) -> Iterator[BatchAtWork]:
    """Hold the workspace of a batch and prepare the runs that have no usable rows; those of an earlier job are kept."""
    batch, context = make_rows.batch, make_rows.context
    with workspace.claimed(batch, context.limits, context.requirements) as usable:
        missing = [number for number in batch.runs if number not in usable]
        dataset = load(batch.dataset)
        check_data(batch, dataset)
        prepared = make_rows.system.prepare(batch, dataset, context)
        yield BatchAtWork(dataset, prepared, workspace, make_rows, missing, supervisor)


def check_data(batch: Batch, dataset: Dataset) -> None:
    """Raise ``DataError`` unless the data set has the values for which the batch was written.

    A file of the user's own that the registry names without a hash is used as it is.
    """
    name, digest = dataset.name, dataset.content_sha256
    if batch.data_sha256 and digest != batch.data_sha256:
        raise DataError(
            f"data set {name!r} has SHA-256 {digest}, the run wants {batch.data_sha256}; "
            "delete its file under results/data and run again"
        )


def _supervised(
    run: Run, request: Request, context: RunContext, files: RunFiles, supervisor: Supervisor
) -> Turns[tuple[ProcessExit, Results]]:
    """Do the work under supervision and return its results.

    Retry once after a signal from outside, or where the run blames a bench that works; a second time is the run's.
    """
    before: list[ProcessExit] = []
    for tries_left in (1, 0):
        kept = files.clear()
        pauses, turn = Pauses(), Turn()
        # The seconds before an interruption count, also for a run that does not use them.
        used_s = kept.wall_s if kept else 0.0
        left_s = max(context.limits.time_s - used_s, GRACE_S)
        referee = Referee(context.limits, context.repeat_for_s, pauses, files, turn, present_umask())
        target = partial(execute, run, referee, request.keys)
        limits = replace(context.limits, time_s=left_s)
        process = yield from _in_turns(partial(supervisor.start, target, limits, pauses, turn), turn, context)
        if process.end is Exit.EXITED and process.code == SETUP_FAULT:
            raise SupervisionError("a run could not be set up; correct what the lines above say and start again")
        results = collect(files, request)
        killed = was_killed(process) and not results
        blaming = blames_bench(process) and len(results) < len(request.keys)
        if blaming:
            _check_bench(files)
        if not ((killed or blaming) and tries_left):
            break
        before.append(process)
    # Work of a first try is no method's to hide: times of a run that was made twice do not count.
    process = replace(
        process,
        wall_s=process.wall_s + sum(one.wall_s for one in before),
        cpu_s=process.cpu_s + sum(one.cpu_s for one in before),
    )
    if kept:
        # Of a run that went on from a checkpoint, the process is that of its last part.
        results = {key: _since(kept, one) for key, one in results.items()}
    if len(results) == len(request.keys):
        return process, results
    missing = classify_exit(process, files, context.limits)
    if killed or blaming:
        missing = replace(missing, message=f"{missing.message}, twice")
    return process, {key: results.get(key, missing) for key in request.keys}


def _check_bench(files: RunFiles) -> None:
    """Raise ``SupervisionError`` where this process, which runs no method, cannot do either what a run could not do."""
    try:
        save_array(files.array("probe"), np.zeros(1))
        files.array("probe").unlink()
        if files.missing_module.exists():
            import_module(files.missing_module.read_text(encoding="utf-8"))
    except (OSError, ImportError) as error:
        click.echo(f"kdrbench: {error}", err=True)
        raise SupervisionError(
            "the bench failed within the run; correct what the lines above say and start again"
        ) from error


def _since(kept: Checkpoint, result: RunResult) -> RunResult:
    if result.clocked_s is None or result.clocked_cpu_s is None:
        return result
    cpu_s = result.clocked_cpu_s - kept.cpu_s
    return replace(result, clocked_s=result.clocked_s - kept.wall_s, clocked_cpu_s=cpu_s)


def _in_turns(start: Callable[[], Supervised], turn: Turn, context: RunContext) -> Turns[ProcessExit]:
    """Start a process and see it to its end; yield whenever it waits for its turn, which is not charged."""
    with ExitStack() as stack:
        with _charged(context):
            process = stack.enter_context(closing(start()))
            ending = process.wait()
        if ending is None:
            # What it did first counts against the budget before the next run begins.
            stack.enter_context(_charged(context, turn.waited_s))
        while ending is None:
            yield
            process.grant_turn()
            ending = process.wait()
    return ending


def _charged(context: RunContext, waited_s: Callable[[], float] = lambda: 0.0) -> AbstractContextManager[None]:
    return context.spent_log.charged(waited_s) if context.spent_log else nullcontext()
