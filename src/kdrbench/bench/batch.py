"""All runs of a batch, one supervised process after the other, each leaving its row."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

import psutil

from kdrbench.baselines import build_baseline
from kdrbench.bench.baseline_job import make_baseline_job
from kdrbench.bench.budget import Budget
from kdrbench.bench.calibration import calibration_s
from kdrbench.bench.checkpoint import read_checkpoint
from kdrbench.bench.clustering_job import make_clustering_job
from kdrbench.bench.execute import Job, RunFiles, execute
from kdrbench.bench.fold import Fold, Split, make_fold, make_subset, whole
from kdrbench.bench.limits import Limits
from kdrbench.bench.outcome import RunOutcome, judge
from kdrbench.bench.pauses import Pauses
from kdrbench.bench.plan import Batch, Kind
from kdrbench.bench.record import RunRecord, append_record, read_records
from kdrbench.bench.row import Row, now
from kdrbench.bench.solver_job import make_solver_job
from kdrbench.bench.state import BatchFiles, claimed
from kdrbench.bench.supervisor import GRACE_S, End, Ending, SupervisionError, supervise
from kdrbench.bench.terms import TIMED, Terms
from kdrbench.datasets import Dataset
from kdrbench.solvers import build_solver

JobMaker = Callable[[int, Fold], Job]


@dataclass(frozen=True)
class Surroundings:
    """What a batch is run under: limits, repeats, terms, budget, its own cores, the scheduler it must not outlive.

    ``calibrate`` times the fixed piece of work by which drift is told.
    """

    limits: Limits
    repeat_for_s: float
    cores: tuple[int, ...] = ()
    scheduler: int | None = None
    terms: Terms = TIMED
    budget: Budget | None = None
    calibrate: Callable[[], float] = calibration_s

    def check_scheduler(self) -> None:
        """Raise ``SupervisionError`` when the scheduler is gone; while a short run is made nobody looks."""
        if self.scheduler is not None and not psutil.pid_exists(self.scheduler):
            raise SupervisionError("the scheduler is gone; start the workflow again")


def run_batch(
    batch: Batch, dataset: Dataset, around: Surroundings, files: BatchFiles, place: str, shared: Mapping[str, Any]
) -> list[RunRecord]:
    """Run every fold that has no row yet, as far as the budget goes; return a row for each fold.

    Rows of an interrupted batch with the same specification and limits are kept. ``place`` is the path of the job that
    will publish the rows, ``shared`` what they have in common with those of its other batches.
    """
    make_job = _job_maker(batch, around.limits)
    with claimed(files, batch, around.limits, around.repeat_for_s, around.terms) as done:
        row = Row(batch, place, around.limits, around.terms, shared, len(around.cores))
        for number in batch.folds:
            if around.budget and around.budget.used_up():
                break
            if number not in done:
                around.check_scheduler()
                append_record(files.rows, _run_fold(number, make_job, dataset, around, files, row))
        ended = {record.fold: replace(record, budget_s=around.terms.budget_s) for record in read_records(files.rows)}
    return [
        ended[number] if number in ended else row.of_no_run(number, fold_of(batch, dataset, number))
        for number in batch.folds
    ]


def _job_maker(batch: Batch, limits: Limits) -> JobMaker:
    """Build the batch's method, load what it needs, and return what makes its job on a fold."""
    if batch.kind is Kind.BASELINE:
        baseline = build_baseline(batch.solver_definition)
        _load(baseline.imports)
        return partial(make_baseline_job, batch, baseline)
    solver = build_solver(batch.solver_definition)
    _load(getattr(solver, "imports", ()))
    if batch.paradigm == "supervised":
        return partial(make_solver_job, batch, solver, limits.memory_mib)
    return partial(make_clustering_job, batch, solver, limits.memory_mib)


def _load(modules: Iterable[str]) -> None:
    for module in modules:
        import_module(module)


def fold_of(batch: Batch, dataset: Dataset, number: int) -> Fold:
    """Return the samples of the batch's run ``number``."""
    if batch.split is Split.FOLDS:
        return make_fold(dataset, number, batch.n_folds, batch.seed)
    if batch.n_rows is not None:
        return make_subset(dataset, number, batch.n_rows, batch.seed)
    return whole(dataset)


def _run_fold(
    number: int, make_job: JobMaker, dataset: Dataset, around: Surroundings, files: BatchFiles, row: Row
) -> RunRecord:
    """Supervise one run and describe it, whatever became of it."""
    fold = fold_of(row.batch, dataset, number)
    job, run, started_at = make_job(number, fold), files.run(number), now()
    with around.budget.charged() if around.budget else nullcontext():
        ending, outcome = _watched(job, around, run)
    return row.of_run(number, fold, job.n_components, outcome, ending, job.judged(run), started_at)


def _watched(job: Job, around: Surroundings, run: RunFiles) -> tuple[Ending, RunOutcome]:
    """Run the job under supervision, once more if somebody kills it: twice is its own doing."""
    for tries_left in (1, 0):
        run.clear()
        kept, pauses = read_checkpoint(run.checkpoint), Pauses()
        # What was used before an interruption counts, also for a run that does not ask.
        left_s = max(around.limits.time_s - (kept.wall_s if kept else 0.0), GRACE_S)
        target = partial(execute, job, around.repeat_for_s, around.limits, pauses, run)
        ending = supervise(target, replace(around.limits, time_s=left_s), pauses, around.scheduler)
        killed = ending.end is End.SIGNALLED and ending.code == signal.SIGKILL and not run.result.exists()
        if not (killed and tries_left):
            break
    outcome = judge(ending, run, around.limits)
    return ending, replace(outcome, message=f"{outcome.message}, twice") if killed else outcome
