"""One job: all runs of a batch, one supervised process after the other, each leaving its row."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module

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
from kdrbench.bench.reference_job import make_reference_job
from kdrbench.bench.row import Row, now, shared_columns
from kdrbench.bench.solver_job import make_solver_job
from kdrbench.bench.state import BatchFiles, claimed, publish
from kdrbench.bench.supervisor import GRACE_S, End, Ending, supervise
from kdrbench.bench.terms import TIMED, Terms
from kdrbench.datasets import Dataset
from kdrbench.errors import DataError
from kdrbench.references import build_reference
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


def run_batch(batch: Batch, dataset: Dataset, around: Surroundings, files: BatchFiles) -> list[RunRecord]:
    """Run every fold that has no row yet, as far as the budget goes, then publish rows and traces as whole files.

    Rows of an interrupted batch with the same specification and limits are kept. Errors of the bench itself
    (missing package, wrong data, bad specification) are raised and leave no row: only a method's own
    failure is data.
    """
    if dataset.content_sha256 != batch.data_sha256:
        raise DataError(
            f"data set {dataset.name!r} has SHA-256 {dataset.content_sha256}, the run wants {batch.data_sha256}; "
            "delete its file under results/data and run again"
        )
    make_job = _job_maker(batch, around.limits)
    with claimed(files, batch, around.limits, around.repeat_for_s, around.terms) as done:
        shared = shared_columns(around.cores, _calibration(around))
        row = Row(batch, around.limits, around.terms, shared, len(around.cores))
        for number in batch.folds:
            if around.budget and around.budget.used_up():
                break
            if number not in done:
                append_record(files.rows, _run_fold(number, make_job, dataset, around, files, row))
        return publish(batch, files, _finished(row, dataset, around, files, done))


def _calibration(around: Surroundings) -> float | None:
    return around.calibrate() if around.terms.timed else None


def _finished(row: Row, dataset: Dataset, around: Surroundings, files: BatchFiles, before: set[int]) -> list[RunRecord]:
    """Return a row for each fold: of those that this process made with the calibration that followed them."""
    after, made = _calibration(around), {}
    for record in read_records(files.rows):
        calibrated = record if record.fold in before else replace(record, calibration_after_s=after)
        made[record.fold] = replace(calibrated, budget_s=around.terms.budget_s)
    return [
        made[number] if number in made else row.of_no_run(number, fold_of(row.batch, dataset, number))
        for number in row.batch.folds
    ]


def _job_maker(batch: Batch, limits: Limits) -> JobMaker:
    """Build the batch's method, load what it needs, and return what makes its job on a fold."""
    if batch.kind is Kind.REFERENCE:
        reference = build_reference(batch.solver_definition)
        _load(reference.imports)
        return partial(make_reference_job, batch, reference)
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
