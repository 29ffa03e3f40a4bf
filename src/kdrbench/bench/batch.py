"""One job: all runs of a batch, one supervised process after the other, each leaving its row."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from typing import Any

from kdrbench.bench.clustering_job import make_clustering_job
from kdrbench.bench.execute import Job, RunFiles, execute
from kdrbench.bench.fold import Fold, Split, make_fold, make_subset, whole
from kdrbench.bench.grid import Batch, Kind
from kdrbench.bench.limits import Limits
from kdrbench.bench.outcome import RunOutcome, judge
from kdrbench.bench.pauses import Pauses
from kdrbench.bench.provenance import provenance
from kdrbench.bench.record import SCHEMA_VERSION, RunRecord, append_record
from kdrbench.bench.reference_job import make_reference_job
from kdrbench.bench.solver_job import make_solver_job
from kdrbench.bench.state import BatchFiles, claimed, publish
from kdrbench.bench.supervisor import End, Ending, supervise
from kdrbench.datasets import Dataset
from kdrbench.errors import DataError
from kdrbench.references import build_reference
from kdrbench.solvers import build_solver

CONTAMINATED_RATIO = 1.1
JobMaker = Callable[[int, Fold], Job]


@dataclass(frozen=True)
class Surroundings:
    """What a batch is run under: limits, repeats, the cores it owns, and the scheduler it must not outlive."""

    limits: Limits
    repeat_for_s: float
    cores: tuple[int, ...] = ()
    scheduler: int | None = None


def run_batch(batch: Batch, dataset: Dataset, around: Surroundings, files: BatchFiles) -> list[RunRecord]:
    """Run every fold that has no row yet, then publish rows and traces as whole files.

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
    shared_columns = {**provenance(), "cores": ",".join(map(str, around.cores)), "batch_sha256": batch.sha256}
    with claimed(files, batch, around.limits, around.repeat_for_s) as done:
        for number in batch.folds:
            if number not in done:
                append_record(files.rows, _run_fold(batch, number, make_job, dataset, around, files, shared_columns))
        return publish(batch, files)


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
    batch: Batch,
    number: int,
    make_job: JobMaker,
    dataset: Dataset,
    around: Surroundings,
    files: BatchFiles,
    shared_columns: dict[str, Any],
) -> RunRecord:
    """Supervise one run and describe it, whatever became of it."""
    fold = fold_of(batch, dataset, number)
    job = make_job(number, fold)
    run, limits = files.run(number), around.limits
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    ending, outcome = _watched(job, around, run)
    return RunRecord(
        schema_version=SCHEMA_VERSION,
        experiment=batch.experiment,
        dataset=batch.dataset,
        kernel=batch.kernel,
        solver=batch.solver,
        fold=number,
        paradigm=batch.paradigm,
        split=str(batch.split),
        seed=batch.seed,
        **outcome.columns(),
        wall_s=ending.wall_s,
        memory_mib=ending.memory_mib,
        involuntary_switches=ending.involuntary_switches,
        contaminated=_contaminated(outcome, around),
        **asdict(job.judged(run)),
        n_train=len(fold.train_features),
        n_test=len(fold.test_labels),
        n_features=dataset.features.shape[1],
        n_constant_features=fold.n_constant_features,
        n_components=batch.n_components,
        time_limit_s=limits.time_s,
        memory_limit_mib=limits.memory_mib,
        load=round(os.getloadavg()[0], 2),
        trace_file=f"{batch.path}.jsonl",
        started_at=started_at,
        data_sha256=batch.data_sha256,
        solver_version=batch.solver_version,
        **shared_columns,
    )


def _watched(job: Job, around: Surroundings, run: RunFiles) -> tuple[Ending, RunOutcome]:
    """Run the job under supervision, once more if somebody kills it: twice is its own doing."""
    for tries_left in (1, 0):
        shutil.rmtree(run.folder, ignore_errors=True)
        run.folder.mkdir(parents=True)
        pauses = Pauses()
        target = partial(execute, job, around.repeat_for_s, around.limits, pauses, run)
        ending = supervise(target, around.limits, pauses, around.scheduler)
        killed = ending.end is End.SIGNALLED and ending.code == signal.SIGKILL and not run.result.exists()
        if not (killed and tries_left):
            break
    outcome = judge(ending, run, around.limits)
    return ending, replace(outcome, message=f"{outcome.message}, twice") if killed else outcome


def _contaminated(outcome: RunOutcome, around: Surroundings) -> bool | None:
    """Return whether the run waited for its core; unknown without CPU seconds and for several threads."""
    if outcome.time_s is None or outcome.cpu_s is None or len(around.cores) > 1:
        return None
    return outcome.time_s > CONTAMINATED_RATIO * outcome.cpu_s
