"""One job of Snakemake: the runs of a bundle that have no rows yet, then the files of all of them.

Each run is made in a supervised process of its own. Methods of a cell run side by side: their first works one after the
other, then their repeats in turns. A machine that becomes slower or faster meanwhile does so for all of them.
"""

from __future__ import annotations

import json
import os
import resource
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from importlib import import_module
from typing import Any, TypeVar

import click
import numpy as np

from kdrbench.datasets import Dataset
from kdrbench.errors import DataError
from kdrbench.suite.engine.batch import Batch, Bundle
from kdrbench.suite.engine.isolation.guardian import GRACE_S, SETUP_FAULT, Exit, ProcessExit
from kdrbench.suite.engine.isolation.limits import Pauses, Turn
from kdrbench.suite.engine.isolation.supervisor import SupervisionError, Supervisor
from kdrbench.suite.engine.provenance import now, software_and_machine, write_evidence
from kdrbench.suite.engine.publish import JobFiles, publish
from kdrbench.suite.engine.record import Provenance, Record
from kdrbench.suite.engine.referee import Referee
from kdrbench.suite.engine.run import (
    Key,
    Results,
    Run,
    RunResult,
    blames_bench,
    classify_exit,
    collect,
    execute,
    failed_to_score,
    row_message,
    time_of,
    unclocked,
    was_killed,
)
from kdrbench.suite.engine.run_files import RunFiles, save_array
from kdrbench.suite.engine.system import RunContext, System
from kdrbench.suite.engine.workspace import Workspace, workspace_lock

_Outcome = TypeVar("_Outcome")
# Yields whenever a run waits for its turn, and goes on when that has come.
Turns = Generator[None, None, _Outcome]
# Processes of runs at a time, each with memory up to its limit: one works, the others wait.
MOST_TOGETHER = 16
# Seconds after which the cores are calibrated again between two runs.
CALIBRATE_EVERY_S = 10.0
# How memory is measured (:mod:`.isolation.processes`); earlier rows have ``cgroup`` where the kernel did it.
MEMORY_METER = "sampled"
CONTAMINATED_RATIO = 1.1
# What a system's scores say of the referee, beside the columns of its record.
_EVALUATION = "evaluation_s"
_ENDED = object()
_BENCH_FAILED = "the bench failed within the run; correct what the lines above say and start again"


def run_job(
    system: System, bundle: Bundle, load: Callable[[str], Dataset], context: RunContext, files: JobFiles
) -> list[Record]:
    """Make what has no usable rows, then publish rows and traces of all as whole files.

    Errors of the bench itself (missing package, wrong data, bad specification) leave no row: only a method's own
    failure is data. The first of them is raised when the other batches have been run; their rows stay in the workspace.

    Raises ``SupervisionError`` when another process makes this job, on this machine or another.
    """
    began = time.monotonic()
    with workspace_lock(files.workspaces / f"{bundle.path}.job.lock", files.records):
        # Batches of one data set follow each other.
        job = _Job(system, bundle, lru_cache(maxsize=1)(load), context, files)
        job.run_missing()
        records = publish(bundle, files, system.record)
    for record in records:
        click.echo(f"{'/'.join(map(str, record.axes))}: {record.status} - {record.message}")
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu_s = round(sum(usage.ru_utime + usage.ru_stime for usage in usages), 3)
    wall_s = round(time.monotonic() - began, 3)
    # CPU seconds of this process and those of all its runs.
    click.echo(json.dumps({"rows": len(records), "runs_made": job.n_made, "cpu_s": cpu_s, "wall_s": wall_s}))
    return records


def groups_of(batches: Iterable[Batch]) -> Iterator[Sequence[Batch]]:
    """Yield those that differ in the method alone, the last name of their cell, in the order of the first."""
    groups: dict[tuple[object, ...], list[Batch]] = {}
    for batch in batches:
        groups.setdefault((batch.dataset, batch.cell[:-1], batch.runs), []).append(batch)
    for group in groups.values():
        for first in range(0, len(group), MOST_TOGETHER):
            yield group[first : first + MOST_TOGETHER]


def take_turns(runs: Iterable[Turns[None]]) -> None:
    """Let each run do its first work, one after the other, then give each that waits a turn, until all have ended."""
    with ExitStack() as stack:
        waiting = [stack.enter_context(closing(run)) for run in runs]
        while waiting:
            waiting = [run for run in waiting if next(run, _ENDED) is not _ENDED]


@dataclass
class _BatchAtWork:
    """A batch whose workspace is held, prepared to make its ``missing`` runs; ``fresh`` ones lack a calibration."""

    batch: Batch
    dataset: Dataset
    prepared: Callable[[int], Run]
    workspace: Workspace[Any]
    missing: list[int]
    fresh: set[int] = field(default_factory=set)


@dataclass
class _Job:
    """The work of a job: an error of the bench ends the work on its batch, and on no other.

    ``shared`` are the columns that all its rows have in common.
    """

    system: System
    bundle: Bundle
    load: Callable[[str], Dataset]
    context: RunContext
    files: JobFiles
    errors: list[Exception] = field(default_factory=list)
    n_made: int = 0
    shared: Mapping[str, Any] = field(default_factory=dict)
    calibration_s: float | None = None
    calibrated_at: float = 0.0

    def run_missing(self) -> None:
        """Run the groups of batches one after the other."""
        pending, context = [], self.context
        for batch in self.bundle.batches:
            workspace = self.files.workspace(batch, self.system.record)
            with workspace.claimed(batch, context.limits, context.requirements) as usable:
                pending += [batch] if usable != set(batch.runs) else []
        if not pending:
            return
        evidence = write_evidence(self.files.workspaces.parent)
        place = {"cores": ",".join(map(str, context.cores)), "trace_file": f"{self.bundle.path}.jsonl"}
        self.shared = {**software_and_machine(), **evidence, **place}
        for module in self.system.imports:
            import_module(module)
        self._calibrate()
        for group in groups_of(pending):
            self._run_group(group)
        if self.errors:
            raise self.errors[0]

    def _run_group(self, group: Sequence[Batch]) -> None:
        """Make the missing runs of batches that have the same ones: run by run, each by all methods in turns."""
        supervisor = Supervisor(self.context.scheduler)
        with ExitStack() as stack:
            works = []
            for batch in group:
                try:
                    works.append(stack.enter_context(self._at_work(batch)))
                except Exception as error:
                    self._note_fault(batch, error)
            for number in group[0].runs:
                take_turns(self._make(work, number, supervisor) for work in works if number in work.missing)
                if time.monotonic() >= self.calibrated_at + CALIBRATE_EVERY_S:
                    self._end_stretch(works)
            self._end_stretch(works)

    @contextmanager
    def _at_work(self, batch: Batch) -> Iterator[_BatchAtWork]:
        """Hold the workspace of a batch and prepare the runs without usable rows; those of an earlier job are kept."""
        context, workspace = self.context, self.files.workspace(batch, self.system.record)
        with workspace.claimed(batch, context.limits, context.requirements) as usable:
            dataset = self.load(batch.dataset)
            # A file of the user's own that the registry names without a hash is used as it is.
            if batch.data_sha256 and dataset.content_sha256 != batch.data_sha256:
                raise DataError(
                    f"data set {dataset.name!r} has SHA-256 {dataset.content_sha256}, the run wants "
                    f"{batch.data_sha256}; delete its file under results/data and run again"
                )
            missing = [number for number in batch.runs if number not in usable]
            prepared = self.system.prepare(batch, dataset, context)
            yield _BatchAtWork(batch, dataset, prepared, workspace, missing)

    def _calibrate(self) -> None:
        self.calibration_s = self.context.calibrate() if self.context.timed else None
        self.calibrated_at = time.monotonic()

    def _end_stretch(self, works: Sequence[_BatchAtWork]) -> None:
        if not any(work.fresh for work in works):
            return
        self._calibrate()
        for work in (work for work in works if work.fresh and self.context.timed):
            for number, record in enumerate(records := work.workspace.records()):
                if record.run in work.fresh:
                    made = replace(record.provenance, calibration_after_s=self.calibration_s)
                    records[number] = replace(record, provenance=made)
            work.workspace.replace(records)
            work.fresh.clear()

    def _make(self, work: _BatchAtWork, number: int, supervisor: Supervisor) -> Turns[None]:
        try:
            self.context.check_scheduler()
            yield from self._run(work, number, supervisor)
        except Exception as error:
            self._note_fault(work.batch, error)
            work.missing.clear()
            return
        work.fresh.add(number)
        self.n_made += 1

    def _run(self, work: _BatchAtWork, number: int, supervisor: Supervisor) -> Turns[None]:
        batch, files = work.batch, work.workspace.run(number)
        began = {"started_at": now(), "calibration_before_s": self.calibration_s}
        run, keys = work.prepared(number), batch.rows
        process, results = yield from _supervised(run, keys, self.context, files, supervisor)
        if len(keys) == 1:
            limits = self.context.limits
            results = {key: replace(result, time_s=time_of(result, files, limits)) for key, result in results.items()}
        try:
            results = run.judged(files, results) if hasattr(run, "judged") else results
            scores = run.score(files)
        except (ImportError, OSError):
            raise
        except Exception as error:
            # What cannot be evaluated is the run's fault.
            click.echo(traceback.format_exc(), err=True)
            results = failed_to_score(results, error)
            scores = self.system.describe(batch, work.dataset, number)
        files.checkpoint.unlink(missing_ok=True)
        made = self._provenance(batch, results, process, scores.get(_EVALUATION), began)
        known = {**self.system.columns(batch), **{name: one for name, one in scores.items() if name != _EVALUATION}}
        work.workspace.append([self._row(batch, number, key, results[key], known, made) for key in keys])

    def _provenance(
        self, batch: Batch, results: Results, process: ProcessExit, evaluation_s: float | None, began: Mapping[str, Any]
    ) -> Provenance:
        limits = self.context.limits
        return Provenance(
            wall_s=process.wall_s,
            memory_mib=process.memory_mib,
            memory_meter=MEMORY_METER,
            involuntary_switches=process.involuntary_switches,
            **unclocked(process, results.values(), evaluation_s),
            contaminated=None,
            time_limit_s=limits.time_s,
            memory_limit_mib=limits.memory_mib,
            timed=self.context.timed,
            calibration_after_s=None,
            # Of the last minute.
            load=round(os.getloadavg()[0], 2),
            **began,
            **batch.identity,
            **self.shared,
        )

    def _row(
        self, batch: Batch, number: int, key: Key, result: RunResult, known: Mapping[str, Any], made: Provenance
    ) -> Record:
        kind = self.system.record
        return kind(
            schema_version=kind.SCHEMA_VERSION,
            experiment=batch.experiment,
            dataset=batch.dataset,
            run=number,
            seed=batch.seed,
            status=str(result.status),
            message=row_message(result.message),
            time_s=result.time_s,
            cpu_s=result.cpu_s,
            provenance=replace(made, contaminated=self._contaminated(result)),
            # What the batch knows overrides what a run claims.
            **{**result.columns, **known, **dict(zip(kind.CELL + kind.KEYS, batch.cell + key, strict=True))},
        )

    def _contaminated(self, result: RunResult) -> bool | None:
        """Return whether the run waited for its core; unknown without CPU seconds, and but for a single own core."""
        if result.time_s is None or result.cpu_s is None or not self.context.timed or len(self.context.cores) > 1:
            return None
        return result.time_s > CONTAMINATED_RATIO * result.cpu_s

    def _note_fault(self, batch: Batch, error: Exception) -> None:
        self.context.check_scheduler()
        click.echo(f"{batch.path}: {error}", err=True)
        self.errors.append(error)


def _supervised(
    run: Run, keys: tuple[Key, ...], context: RunContext, files: RunFiles, supervisor: Supervisor
) -> Turns[tuple[ProcessExit, Results]]:
    """Do the work under supervision and return its results.

    Retry once after a signal from outside, or where the run blames a bench that works; a second time is the run's.
    """
    for tries_left in (1, 0):
        kept = files.clear()
        pauses, turn = Pauses(), Turn()
        # The seconds before an interruption count, also for a run that does not use them.
        used_s = kept.wall_s if kept else 0.0
        left_s = max(context.limits.time_s - used_s, GRACE_S)
        referee = Referee(context.limits, context.repeat_for_s, pauses, files, turn)
        limits = replace(context.limits, time_s=left_s)
        process = yield from supervisor.start(partial(execute, run, referee, keys), limits, pauses, turn).until_end()
        if process.end is Exit.EXITED and process.code == SETUP_FAULT:
            raise SupervisionError(_BENCH_FAILED)
        results = collect(files, keys, run.arrays)
        killed = was_killed(process) and not results
        blaming = blames_bench(process) and len(results) < len(keys)
        if blaming:
            _check_bench(files)
        if not ((killed or blaming) and tries_left):
            break
    for key, one in results.items():
        # Of a run that went on from a checkpoint, the process is that of its last part.
        if kept and one.clocked_s is not None and one.clocked_cpu_s is not None:
            clocked_s, cpu_s = one.clocked_s - kept.wall_s, one.clocked_cpu_s - kept.cpu_s
            results[key] = replace(one, clocked_s=clocked_s, clocked_cpu_s=cpu_s)
    if len(results) == len(keys):
        return process, results
    missing = classify_exit(process, context.limits)
    if killed or blaming:
        missing = replace(missing, message=f"{missing.message}, twice")
    return process, {key: results.get(key, missing) for key in keys}


def _check_bench(files: RunFiles) -> None:
    """Raise ``SupervisionError`` where this process, which runs no method, cannot write what a run could not write."""
    try:
        save_array(files.array("probe"), np.zeros(1))
        files.array("probe").unlink()
    except OSError as error:
        click.echo(f"kdrbench: {error}", err=True)
        raise SupervisionError(_BENCH_FAILED) from error
