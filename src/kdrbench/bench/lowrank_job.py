"""One job of low-rank kernel learning: the runs of a batch, one supervised process after the other."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from kdrbench.bench.lowrank_batch import LowrankBatch
from kdrbench.bench.lowrank_record import LowrankRecord
from kdrbench.bench.lowrank_task import LowrankTask, learn, make_task, quality_of, warmed_up
from kdrbench.bench.parts import (
    EndedPart,
    PartFiles,
    Supervision,
    check_data,
    claimed,
    publish,
    run_part,
    shared_columns,
)
from kdrbench.bench.rows import append_rows
from kdrbench.bench.seeds import rng_of
from kdrbench.datasets import Dataset
from kdrbench.lowrank import LowRankStatus
from kdrbench.solvers.status import Status

_STATUS = {
    LowRankStatus.CONVERGED: Status.CONVERGED,
    LowRankStatus.INFEASIBLE: Status.STALLED,
    LowRankStatus.STALLED: Status.STALLED,
    LowRankStatus.MAX_SWEEPS: Status.MAX_ITERATIONS,
}
_COUNTED = ("sweeps", "projections", "changes", "trace_evaluations", "compiled_sweeps")
_CERTIFICATES = ("dual_change", "kkt_residual", "largest_violation", "divergence", "duality_gap")
_MEASURED = ("accuracy", "nmi_one_start", "nmi_ten_starts", *_COUNTED, *_CERTIFICATES, "time_s", "cpu_s")


def run_lowrank_batch(
    batch: LowrankBatch, dataset: Dataset, around: Supervision, files: PartFiles
) -> list[LowrankRecord]:
    """Make every run that has no rows yet, then publish all rows as a whole file.

    Rows of an interrupted batch with the same specification and limits are kept. Machine code is loaded before the
    runs, which inherit it. Errors of the bench itself are raised and leave no row.
    """
    check_data(batch, dataset)
    task = make_task(batch.task, dataset)
    shared = {
        **shared_columns(batch, dataset, around),
        "task": batch.task,
        "method": batch.method,
        "n_samples": len(task.labels),
        "rank": task.start.shape[1],
        "numba_version": _numba_version(),
    }
    with claimed(batch, LowrankRecord, around.limits, files) as done:
        compiled, shared["compile_s"] = warmed_up()
        for number in batch.runs:
            if number not in done:
                ended = run_part(partial(_lines, batch, task, number, compiled), around, files)
                append_rows(files.rows, _rows_of(batch, number, ended, shared))
        return publish(batch, LowrankRecord, files)


def _numba_version() -> str:
    try:
        return version("numba")
    except PackageNotFoundError:
        return ""


def _rows_of(batch: LowrankBatch, number: int, ended: EndedPart, shared: dict[str, Any]) -> list[LowrankRecord]:
    """Return a row for each number of constraints of a run, whatever became of it."""
    found = {line["n_constraints"]: line for line in ended.lines}
    columns = {**shared, **ended.columns, "run": number, "run_wall_s": ended.wall_s}
    return [_record(columns, count, found.get(count, {}), ended) for count in batch.constraints]


def _record(columns: dict[str, Any], count: int, found: dict[str, Any], ended: EndedPart) -> LowrankRecord:
    """Return a row; one that had not ended with the run has the run's status."""
    measured: dict[str, Any] = {name: found.get(name) for name in _MEASURED}
    return LowrankRecord(
        schema_version=LowrankRecord.SCHEMA_VERSION,
        n_constraints=count,
        status=found.get("status", str(ended.outcome.status)),
        outcome=found.get("outcome", ""),
        message=found.get("message", ended.outcome.message),
        **measured,
        **columns,
    )


def _lines(batch: LowrankBatch, task: LowrankTask, number: int, compiled: bool) -> Iterator[dict[str, Any]]:
    for count in batch.constraints:
        yield {"n_constraints": count, **_learned(batch, task, count, number, compiled)}


def _learned(batch: LowrankBatch, task: LowrankTask, count: int, number: int, compiled: bool) -> dict[str, Any]:
    """Return what is measured of one kernel; what the method raises is its message."""
    try:
        asked = task.constraints(count, number, batch.seed)
        wall, cpu = time.perf_counter(), time.process_time()
        found = learn(batch.definition, task.start, asked, compiled)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        quality = quality_of(found.factor, task.labels, rng_of("lowrank quality", task.name, number, batch.seed))
    except (MemoryError, ImportError, OSError):
        raise
    except Exception as error:
        return {"status": str(Status.FAILED), "message": f"{type(error).__name__}: {error}"}
    return {
        "status": str(_STATUS[found.status]),
        "outcome": str(found.status),
        "message": found.message,
        **quality,
        **{name: getattr(found, name) for name in _COUNTED},
        **{name: _finite(getattr(found, name)) for name in _CERTIFICATES},
        "time_s": wall,
        "cpu_s": cpu,
    }


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
