"""One job of Snakemake: the runs of a bundle that have no rows yet, then the files of all of them."""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import click

from kdrbench.datasets import Dataset
from kdrbench.suite.engine.batch import Batch, Bundle
from kdrbench.suite.engine.execute_batch import BatchAtWork, Turns, at_work, groups_of, take_turns
from kdrbench.suite.engine.isolation.supervisor import SupervisionError, Supervisor
from kdrbench.suite.engine.provenance import software_and_machine, write_evidence
from kdrbench.suite.engine.publish import JobFiles, publish
from kdrbench.suite.engine.record import Record
from kdrbench.suite.engine.rows import RowMaker
from kdrbench.suite.engine.system import RunContext, System
from kdrbench.suite.engine.workspace import Workspace, workspace_lock

# Seconds after which the cores are calibrated again between two runs.
CALIBRATE_EVERY_S = 10.0


@dataclass
class _Calibrations:
    """Times of the fixed piece of work before and after the runs of each stretch of a job."""

    context: RunContext
    before_s: float | None = None
    _at: float = 0.0
    _stretch: dict[Workspace[Any], set[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._calibrate()

    def note(self, workspace: Workspace[Any], run: int) -> None:
        """Note a run that has its rows."""
        self._stretch.setdefault(workspace, set()).add(run)

    def end_if_long(self, held: Collection[Workspace[Any]]) -> None:
        """End the stretch where it began some seconds ago."""
        if time.monotonic() >= self._at + CALIBRATE_EVERY_S:
            self.end(held)

    def end(self, held: Collection[Workspace[Any]] = ()) -> None:
        """Calibrate, and write the time to the rows of the stretch that ends here; the locks of ``held`` are ours."""
        if not self._stretch:
            return
        self._calibrate()
        for workspace, runs in self._stretch.items():
            # Rows that another job has begun to add to are its own: these keep their first calibration alone.
            with suppress(SupervisionError):
                lock = nullcontext() if workspace in held else workspace_lock(workspace.lock, workspace.folder)
                with lock:
                    workspace.replace([self._completed(record, runs) for record in workspace.records()])
        self._stretch.clear()

    def _completed(self, record: Record, runs: set[int]) -> Record:
        if record.run not in runs:
            return record
        return replace(record, provenance=replace(record.provenance, calibration_after_s=self.before_s))

    def _calibrate(self) -> None:
        self.before_s = self.context.calibrate() if self.context.timed else None
        self._at = time.monotonic()


def run_job(
    system: System, bundle: Bundle, load: Callable[[str], Dataset], context: RunContext, files: JobFiles
) -> list[Record]:
    """Make what has no usable rows, as far as the budget goes, then publish rows and traces of all as whole files.

    Errors of the bench itself (missing package, wrong data, bad specification) leave no row: only a method's own
    failure is data. The first of them is raised when the other batches have been run; their rows stay in the workspace.

    Raises ``SupervisionError`` when another process makes this job, on this machine or another.
    """
    began = time.monotonic()
    lock = workspace_lock(files.workspaces / f"{bundle.path}.job.lock", files.records)
    with lock:
        # Batches of one data set follow each other.
        n_made = _run_all(system, bundle, lru_cache(maxsize=1)(load), context, files)
        records = publish(bundle, files, system.record)
    for record in records:
        click.echo(f"{'/'.join(map(str, record.axes))}: {record.status} - {record.message}")
    click.echo(_summary(began, n_made, len(records)))
    return records


def _run_all(
    system: System, bundle: Bundle, load: Callable[[str], Dataset], context: RunContext, files: JobFiles
) -> int:
    """Run the groups of batches one after the other; return how many runs were made."""
    pending = [
        batch for batch in bundle.batches if not _is_complete(files.workspace(batch, system.record), batch, context)
    ]
    if not pending:
        return 0
    evidence = write_evidence(files.workspaces.parent)
    shared = {**software_and_machine(), **evidence, "cores": ",".join(map(str, context.cores))}
    makers = [RowMaker(system, batch, context, f"{bundle.path}.jsonl", shared) for batch in pending]
    job = _Job(load, context, files, _Calibrations(context))
    for group in groups_of(makers):
        job.run_group(group)
    job.calibrations.end()
    if job.errors:
        raise job.errors[0]
    return job.n_made


@dataclass
class _Job:
    """The work of a job: an error of the bench ends the work on its batch, and on no other."""

    load: Callable[[str], Dataset]
    context: RunContext
    files: JobFiles
    calibrations: _Calibrations
    errors: list[Exception] = field(default_factory=list)
    n_made: int = 0

    def run_group(self, group: Sequence[RowMaker]) -> None:
        """Make the missing runs of batches that have the same ones: run by run, each by all methods in turns."""
        supervisor = Supervisor(self.context.scheduler)
        with ExitStack() as stack:
            works = []
            for make_rows in group:
                workspace = self.files.workspace(make_rows.batch, make_rows.system.record)
                try:
                    works.append(stack.enter_context(at_work(self.load, workspace, make_rows, supervisor)))
                except Exception as error:
                    self._note_fault(make_rows.batch, error)
            for number in group[0].batch.runs:
                take_turns(self._make(work, number) for work in works if number in work.missing)
                self.calibrations.end_if_long({work.workspace for work in works})

    def _make(self, work: BatchAtWork, number: int) -> Turns[None]:
        try:
            made = yield from work.run(number, self.calibrations.before_s)
        except Exception as error:
            self._note_fault(work.make_rows.batch, error)
            work.missing.clear()
            return
        if made:
            self.calibrations.note(work.workspace, number)
            self.n_made += 1

    def _note_fault(self, batch: Batch, error: Exception) -> None:
        self.context.check_scheduler()
        click.echo(f"{batch.path}: {error}", err=True)
        self.errors.append(error)


def _is_complete(workspace: Workspace[Any], batch: Batch, context: RunContext) -> bool:
    with workspace.claimed(batch, context.limits, context.requirements) as usable:
        return usable == set(batch.runs)


def _summary(began: float, n_made: int, n_rows: int) -> str:
    """Return what the job did and took: its own CPU seconds and those of all its runs, as one line of JSON."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    values = {
        "rows": n_rows,
        "runs_made": n_made,
        "cpu_s": round(sum(usage.ru_utime + usage.ru_stime for usage in usages), 3),
        "wall_s": round(time.monotonic() - began, 3),
    }
    return json.dumps(values)
