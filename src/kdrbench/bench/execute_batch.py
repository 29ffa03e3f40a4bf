"""All runs of a batch, one supervised process after the other, each leaving its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from kdrbench.bench.batch import Batch
from kdrbench.bench.isolation.limits import Pauses
from kdrbench.bench.isolation.supervisor import GRACE_S, Exit, ProcessExit, supervise
from kdrbench.bench.provenance import Provenance
from kdrbench.bench.record import Record
from kdrbench.bench.referee import Referee
from kdrbench.bench.run import (
    Run,
    RunResult,
    classify_exit,
    execute,
    load_average,
    read_results,
    time_of,
    was_killed,
)
from kdrbench.bench.run_files import RunFiles, read_checkpoint
from kdrbench.bench.stage import RunContext, Stage, cross
from kdrbench.bench.workspace import Workspace
from kdrbench.datasets import Dataset
from kdrbench.errors import DataError
from kdrbench.status import Status

CONTAMINATED_RATIO = 1.1
_NO_PROCESS = ProcessExit(Exit.EXITED, 0, wall_s=0.0, memory_mib=0.0, involuntary_switches=0)


@dataclass(frozen=True)
class RowMaker:
    """Makes the rows of a batch; ``shared`` are the columns that all runs of the job have in common."""

    stage: Stage
    batch: Batch
    context: RunContext
    trace_file: str
    shared: Mapping[str, Any]

    def rows(
        self,
        number: int,
        results: Mapping[tuple[Any, ...], RunResult],
        process: ProcessExit,
        started_at: str,
        scores: Mapping[str, Any],
    ) -> list[Record]:
        """Return a row for each key of the batch, from what run ``number`` handed over."""
        return [self._row(number, key, results[key], process, started_at, scores) for key in self.batch.rows]

    def skipped(self, number: int, dataset: Dataset) -> list[Record]:
        """Return the rows of a run that was left out because the grid's budget is used up."""
        message = f"not run: the grid's budget of {self.context.budget_s:g} s is used up"
        results = dict.fromkeys(self.batch.rows, RunResult(Status.SKIPPED, message))
        return self.rows(number, results, _NO_PROCESS, now(), self.stage.describe(self.batch, dataset, number))

    def _row(
        self,
        number: int,
        key: tuple[Any, ...],
        result: RunResult,
        process: ProcessExit,
        started_at: str,
        scores: Mapping[str, Any],
    ) -> Record:
        kind, batch = self.stage.record, self.batch
        return kind(
            schema_version=kind.SCHEMA_VERSION,
            experiment=batch.experiment,
            dataset=batch.dataset,
            run=number,
            seed=batch.seed,
            status=str(result.status),
            message=result.message,
            time_s=result.time_s,
            cpu_s=result.cpu_s,
            provenance=self._provenance(result, process, started_at),
            **{
                **self.stage.columns(batch),
                **scores,
                **result.columns,
                **cross(kind.CELL, batch.cell),
                **cross(kind.KEYS, key),
            },
        )

    def _provenance(self, result: RunResult, process: ProcessExit, started_at: str) -> Provenance:
        context, batch = self.context, self.batch
        return Provenance(
            wall_s=process.wall_s,
            memory_mib=process.memory_mib,
            involuntary_switches=process.involuntary_switches,
            contaminated=self._contaminated(result),
            time_limit_s=context.limits.time_s,
            memory_limit_mib=context.limits.memory_mib,
            budget_s=context.budget_s,
            timed=context.timed,
            calibration_after_s=None,
            load=load_average(),
            started_at=started_at,
            trace_file=self.trace_file,
            batch_sha256=batch.sha256,
            definition_sha256=batch.definition_sha256,
            data_sha256=batch.data_sha256,
            **self.shared,
        )

    def _contaminated(self, result: RunResult) -> bool | None:
        """Return whether the run waited for its core; unknown without CPU seconds, and but for a single own core."""
        if result.time_s is None or result.cpu_s is None or not self.context.timed or len(self.context.cores) > 1:
            return None
        return result.time_s > CONTAMINATED_RATIO * result.cpu_s


def run_batch(
    batch: Batch, load: Callable[[str], Dataset], context: RunContext, workspace: Workspace[Any], make_rows: RowMaker
) -> set[int]:
    """Make every run of the batch that has no usable rows, as far as the budget goes; return the runs made.

    Rows of an interrupted batch are kept; ``load`` is called if a run is missing. Runs for which no budget is left get
    rows that say so.
    """
    made = set()
    with workspace.claimed(batch, context.limits, timed=context.timed) as usable:
        missing = [number for number in batch.runs if number not in usable]
        if not missing:
            return set()
        dataset = load(batch.dataset)
        check_data(batch, dataset)
        prepared = make_rows.stage.prepare(batch, dataset, context)
        for number in missing:
            if context.spent_log and context.spent_log.used_up():
                workspace.append(make_rows.skipped(number, dataset))
                continue
            context.check_scheduler()
            workspace.append(_run(prepared, number, context, workspace.run(number), make_rows))
            made.add(number)
    return made


def check_data(batch: Batch, dataset: Dataset) -> None:
    """Raise ``DataError`` unless the data set has the values for which the batch was written.

    A file of the user's own that the registry names without a hash is used as it is.
    """
    if batch.data_sha256 and dataset.content_sha256 != batch.data_sha256:
        raise DataError(
            f"data set {dataset.name!r} has SHA-256 {dataset.content_sha256}, the run wants {batch.data_sha256}; "
            "delete its file under results/data and run again"
        )


def _run(
    prepared: Callable[[int], Run], number: int, context: RunContext, files: RunFiles, make_rows: RowMaker
) -> list[Record]:
    """Supervise one run and describe it, however it ended."""
    run, keys, started_at = prepared(number), make_rows.batch.rows, now()
    with context.spent_log.charged() if context.spent_log else nullcontext():
        process, results = _supervised(run, keys, context, files)
    if len(keys) == 1:
        results = {key: replace(one, time_s=time_of(one, files, context.limits)) for key, one in results.items()}
    scores = run.score(files)
    files.checkpoint.unlink(missing_ok=True)
    return make_rows.rows(number, results, process, started_at, scores)


def _supervised(
    run: Run, keys: tuple[tuple[Any, ...], ...], context: RunContext, files: RunFiles
) -> tuple[ProcessExit, dict[tuple[Any, ...], RunResult]]:
    """Do the work under supervision. Retry once after SIGKILL; a second kill is attributed to the run."""
    for tries_left in (1, 0):
        files.clear()
        kept, pauses = read_checkpoint(files.checkpoint), Pauses()
        # The seconds before an interruption count, also for a run that does not use them.
        left_s = max(context.limits.time_s - (kept.wall_s if kept else 0.0), GRACE_S)
        referee = Referee(context.limits, context.repeat_for_s, pauses, files)
        target = partial(execute, run, referee, keys)
        process = supervise(target, replace(context.limits, time_s=left_s), pauses, context.scheduler)
        killed = was_killed(process, files)
        if not (killed and tries_left):
            break
    results = read_results(files)
    if all(key in results for key in keys):
        return process, results
    missing = classify_exit(process, files, context.limits)
    if killed:
        missing = replace(missing, message=f"{missing.message}, twice")
    return process, {key: results.get(key, missing) for key in keys}


def now() -> str:
    """Return the time of day to the second, in universal time."""
    return datetime.now(UTC).isoformat(timespec="seconds")
