"""One job: all runs of a batch, one supervised child after the other, each leaving its row."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil

from kdrbench.bench.execute import RunFiles, execute
from kdrbench.bench.fold import Fold, make_fold
from kdrbench.bench.grid import Batch
from kdrbench.bench.limits import Limits
from kdrbench.bench.monitor import read_projection, read_trace
from kdrbench.bench.outcome import RunOutcome, judge
from kdrbench.bench.provenance import provenance
from kdrbench.bench.quality import held_out_accuracy
from kdrbench.bench.record import SCHEMA_VERSION, RunRecord, append_record, read_records
from kdrbench.bench.seeds import rng_of
from kdrbench.bench.supervisor import Ending, supervise
from kdrbench.datasets import Dataset
from kdrbench.errors import DataError
from kdrbench.files import write_text
from kdrbench.kernels import build_kernel
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms import supervised_problem
from kdrbench.problems import Problem
from kdrbench.solvers import Solver, build_solver, make_start
from kdrbench.solvers.stiefel import feasibility_error, relative_stationarity

CONTAMINATED_RATIO = 1.1


@dataclass(frozen=True)
class BatchFiles:
    """Where a batch writes: its finished rows and traces, and the folder of its unfinished work."""

    records: Path
    traces: Path
    state: Path


def run_batch(
    batch: Batch, dataset: Dataset, limits: Limits, files: BatchFiles, cores: tuple[int, ...] = ()
) -> list[RunRecord]:
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
    rows = _prepare_state(files.state, batch, limits)
    done = {record.fold for record in read_records(rows)}
    surroundings = {**provenance(), "cores": ",".join(map(str, cores)), "batch_sha256": batch.sha256}
    for number in batch.folds:
        if number not in done:
            record = _run_fold(batch, number, solver, dataset, limits, files, surroundings)
            append_record(rows, record)
    return _publish(batch, rows, files)


def _run_fold(
    batch: Batch,
    number: int,
    solver: Solver,
    dataset: Dataset,
    limits: Limits,
    files: BatchFiles,
    surroundings: dict[str, Any],
) -> RunRecord:
    """Supervise one run and describe it, whatever became of it."""
    fold = make_fold(dataset, number, batch.n_folds, batch.seed)
    kernel = build_kernel(batch.kernel_definition, fold.train_features, batch.n_components)
    problem = supervised_problem(fold.train_features, fold.train_labels, kernel)
    run = RunFiles(files.state / f"fold-{number}")
    shutil.rmtree(run.folder, ignore_errors=True)
    run.folder.mkdir(parents=True)
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    start = partial(_start, batch, number)
    target = partial(execute, solver, problem, start, limits, batch.repeat_for_s, run)
    ending = supervise(target, limits)
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
        **_ending_columns(ending, outcome),
        **_certificate_columns(problem.fresh(), read_projection(run.projection), fold),
        n_train=len(fold.train_labels),
        n_test=len(fold.test_labels),
        n_features=dataset.features.shape[1],
        n_constant_features=fold.n_constant_features,
        n_components=batch.n_components,
        time_limit_s=limits.time_s,
        memory_limit_mib=limits.memory_mib,
        load=round(psutil.getloadavg()[0], 2),
        trace_file=f"{batch.path}.jsonl",
        started_at=started_at,
        data_sha256=batch.data_sha256,
        solver_version=batch.solver_version,
        **surroundings,
    )


def _start(batch: Batch, number: int, problem: Problem) -> FloatArray:
    rng = rng_of("start", batch.dataset, number, batch.seed)
    return make_start(batch.start, problem, batch.n_components, rng)


def _ending_columns(ending: Ending, outcome: RunOutcome) -> dict[str, Any]:
    busy = outcome.time_s is not None and outcome.cpu_s is not None
    return {
        "wall_s": ending.wall_s,
        "memory_mib": ending.memory_mib,
        "involuntary_switches": ending.involuntary_switches,
        "contaminated": bool(busy and outcome.time_s > CONTAMINATED_RATIO * outcome.cpu_s),  # type: ignore[operator]
    }


def _certificate_columns(problem: Problem, projection: FloatArray | None, fold: Fold) -> dict[str, Any]:
    """Evaluate the run's last projection with the bench's own oracles; ``None`` if it never had one."""
    columns: dict[str, Any] = dict.fromkeys(("cost", "quality", "feasibility", "stationarity"))
    columns["quality_metric"] = "accuracy"
    if projection is not None:
        columns["cost"] = -problem.value(projection)
        columns["stationarity"] = relative_stationarity(projection, problem.gradient(projection))
        columns["feasibility"] = feasibility_error(projection)
        columns["quality"] = held_out_accuracy(projection, fold)
    return columns


def _prepare_state(state: Path, batch: Batch, limits: Limits) -> Path:
    """Return the file of unfinished rows, emptied unless it belongs to this very batch and these limits."""
    key = json.dumps([batch.sha256, limits.time_s, limits.memory_mib])
    marker = state / "key.json"
    if not marker.exists() or marker.read_text(encoding="utf-8") != key:
        shutil.rmtree(state, ignore_errors=True)
        write_text(marker, key)
    rows = state / "rows.jsonl"
    _drop_unfinished_line(rows)
    return rows


def _drop_unfinished_line(path: Path) -> None:
    if path.exists():
        whole = path.read_bytes()
        os.truncate(path, whole.rfind(b"\n") + 1)


def _publish(batch: Batch, rows: Path, files: BatchFiles) -> list[RunRecord]:
    """Write rows and traces whole, traces first, and drop the state they came from."""
    records = sorted(read_records(rows), key=lambda record: record.fold)
    lines = [
        json.dumps({"fold": number, "time_s": time_s, "cost": cost, "stationarity": stationarity})
        for number in batch.folds
        for time_s, cost, stationarity in read_trace(RunFiles(files.state / f"fold-{number}").trace)
    ]
    write_text(files.traces, "".join(line + "\n" for line in lines))
    write_text(files.records, "".join(record.to_json() + "\n" for record in records))
    shutil.rmtree(files.state)
    return records
