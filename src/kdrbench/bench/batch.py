"""One job: all runs of a batch, one supervised process after the other, each leaving its row."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from typing import Any

from kdrbench.bench.execute import Job, execute
from kdrbench.bench.fold import Fold, make_fold
from kdrbench.bench.grid import Batch
from kdrbench.bench.limits import Limits
from kdrbench.bench.monitor import read_projection
from kdrbench.bench.outcome import RunOutcome, judge
from kdrbench.bench.pauses import Pauses
from kdrbench.bench.provenance import provenance
from kdrbench.bench.quality import held_out_accuracy
from kdrbench.bench.record import SCHEMA_VERSION, RunRecord, append_record
from kdrbench.bench.seeds import rng_of
from kdrbench.bench.state import BatchFiles, claimed, publish
from kdrbench.bench.supervisor import supervise
from kdrbench.datasets import Dataset
from kdrbench.errors import DataError
from kdrbench.kernels import build_kernel
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms import build_task
from kdrbench.problems import Problem
from kdrbench.solvers import Solver, build_solver, make_start
from kdrbench.solvers.base import check_oracles
from kdrbench.solvers.stiefel import feasibility_error, relative_stationarity
from kdrbench.surrogate import Evaluation

CONTAMINATED_RATIO = 1.1


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
    (missing package, wrong data, bad specification) are raised and leave no row: only a solver's own
    failure is data.
    """
    if dataset.content_sha256 != batch.data_sha256:
        raise DataError(
            f"data set {dataset.name!r} has SHA-256 {dataset.content_sha256}, the run wants {batch.data_sha256}; "
            "delete its file under results/data and run again"
        )
    solver = build_solver(batch.solver_definition)
    for module in getattr(solver, "imports", ()):
        import_module(module)
    shared_columns = {**provenance(), "cores": ",".join(map(str, around.cores)), "batch_sha256": batch.sha256}
    with claimed(files, batch, around.limits, around.repeat_for_s) as done:
        for number in batch.folds:
            if number not in done:
                append_record(files.rows, _run_fold(batch, number, solver, dataset, around, files, shared_columns))
        return publish(batch, files)


def _run_fold(
    batch: Batch,
    number: int,
    solver: Solver,
    dataset: Dataset,
    around: Surroundings,
    files: BatchFiles,
    shared_columns: dict[str, Any],
) -> RunRecord:
    """Supervise one run and describe it, whatever became of it."""
    fold = make_fold(dataset, number, batch.n_folds, batch.seed)
    asked = Evaluation(**batch.evaluation, threads=batch.threads, memory_mib=around.limits.memory_mib)
    problem = _problem(batch, fold, asked)
    # The referee does not judge by approximations, nor by evaluators that lack oracles or take long.
    usual = replace(asked, evaluator="auto", tolerance=0.0)
    exact = problem if asked == usual else _problem(batch, fold, usual)
    check_oracles(solver, problem)
    run, pauses, limits = files.run(number), Pauses(), around.limits
    shutil.rmtree(run.folder, ignore_errors=True)
    run.folder.mkdir(parents=True)
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    job = Job(solver, problem, exact, batch.n_components, partial(_start, batch, number), around.repeat_for_s)
    ending = supervise(partial(execute, job, limits, pauses, run), limits, pauses, around.scheduler)
    outcome = judge(ending, run, limits)
    return RunRecord(
        schema_version=SCHEMA_VERSION,
        experiment=batch.experiment,
        dataset=batch.dataset,
        kernel=batch.kernel,
        solver=batch.solver,
        fold=number,
        seed=batch.seed,
        **outcome.columns(),
        wall_s=ending.wall_s,
        memory_mib=ending.memory_mib,
        involuntary_switches=ending.involuntary_switches,
        contaminated=_contaminated(outcome, around),
        **_certificate_columns(exact.fresh(), read_projection(run.projection), fold),
        n_train=len(fold.train_labels),
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


def _problem(batch: Batch, fold: Fold, evaluation: Evaluation) -> Problem:
    task = build_task(batch.paradigm, {}, fold.train_features, fold.train_labels, evaluation=evaluation)
    kernel = build_kernel(batch.kernel_definition, fold.train_features, batch.n_components, task.alignment_target)
    return task.first_problem(kernel)


def _start(batch: Batch, number: int, problem: Problem) -> FloatArray:
    rng = rng_of("start", batch.dataset, number, batch.seed)
    return make_start(batch.start, problem, batch.n_components, rng)


def _contaminated(outcome: RunOutcome, around: Surroundings) -> bool | None:
    """Return whether the run waited for its core; unknown without CPU seconds and for several threads."""
    if outcome.time_s is None or outcome.cpu_s is None or len(around.cores) > 1:
        return None
    return outcome.time_s > CONTAMINATED_RATIO * outcome.cpu_s


def _certificate_columns(problem: Problem, projection: FloatArray | None, fold: Fold) -> dict[str, Any]:
    """Evaluate the last projection the referee passed, with the bench's own oracles; ``None`` if there is none.

    The referee passes only orthonormal projections of finite cost.
    """
    columns: dict[str, Any] = dict.fromkeys(("cost", "quality", "feasibility", "stationarity"))
    columns["quality_metric"] = "accuracy"
    if projection is not None:
        columns["cost"] = -problem.value(projection)
        columns["stationarity"] = relative_stationarity(projection, problem.gradient(projection))
        columns["feasibility"] = feasibility_error(projection)
        columns["quality"] = held_out_accuracy(projection, fold)
    return columns
