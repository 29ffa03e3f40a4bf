"""One job of low-rank kernel learning: the runs of a batch, one supervised process after the other."""

from __future__ import annotations

import fcntl
import json
import math
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from kdrbench.bench.execute import BENCH_FAULT, RunFiles
from kdrbench.bench.limits import Limits
from kdrbench.bench.lowrank_batch import LowrankBatch
from kdrbench.bench.lowrank_record import LOWRANK_SCHEMA_VERSION, LowrankRecord
from kdrbench.bench.lowrank_task import LowrankTask, learn, make_task, quality_of, warmed_up
from kdrbench.bench.outcome import RunOutcome, judge
from kdrbench.bench.provenance import provenance
from kdrbench.bench.rows import append_rows, read_rows, row_json
from kdrbench.bench.seeds import rng_of
from kdrbench.bench.supervisor import End, Ending, SupervisionError, supervise
from kdrbench.datasets import Dataset
from kdrbench.errors import DataError
from kdrbench.files import drop_unfinished, write_text
from kdrbench.lowrank import Outcome
from kdrbench.solvers.status import Status

_STATUS = {
    Outcome.CONVERGED: Status.CONVERGED,
    Outcome.INFEASIBLE: Status.STALLED,
    Outcome.STALLED: Status.STALLED,
    Outcome.MAX_SWEEPS: Status.MAX_ITERATIONS,
}
_COUNTED = ("sweeps", "projections", "changes", "trace_evaluations", "compiled_sweeps")
_CERTIFICATES = ("dual_change", "kkt_residual", "largest_violation", "divergence", "duality_gap")
_MEASURED = ("accuracy", "nmi_one_start", "nmi_ten_starts", *_COUNTED, *_CERTIFICATES, "time_s", "cpu_s")


@dataclass(frozen=True)
class LowrankFiles:
    """Where a batch writes: its finished rows, and the folder of its unfinished work."""

    records: Path
    state: Path

    @property
    def rows(self) -> Path:
        """Rows of the runs that have ended."""
        return self.state / "rows.jsonl"

    @property
    def run(self) -> RunFiles:
        """Files of the run under way."""
        return RunFiles(self.state / "run")

    @property
    def learned(self) -> Path:
        """Lines of the numbers of constraints of the run under way that have ended."""
        return self.run.folder / "learned.jsonl"


@dataclass(frozen=True)
class LowrankSurroundings:
    """What a batch is run under: limits of a run, the cores it owns, and the scheduler it must not outlive."""

    limits: Limits
    cores: tuple[int, ...] = ()
    scheduler: int | None = None


def run_lowrank_batch(
    batch: LowrankBatch, dataset: Dataset, around: LowrankSurroundings, files: LowrankFiles
) -> list[LowrankRecord]:
    """Make every run that has no rows yet, then publish all rows as a whole file.

    Rows of an interrupted batch with the same specification and limits are kept. Machine code is loaded before the
    runs, which inherit it. Errors of the bench itself are raised and leave no row.
    """
    if batch.data_sha256 and dataset.content_sha256 != batch.data_sha256:
        raise DataError(
            f"data set {dataset.name!r} has SHA-256 {dataset.content_sha256}, the batch wants {batch.data_sha256}; "
            "delete its file under results/data and run again"
        )
    task, limits = make_task(batch.task, dataset), around.limits
    shared = {
        **provenance(),
        "schema_version": LOWRANK_SCHEMA_VERSION,
        "task": batch.task,
        "dataset": batch.dataset,
        "method": batch.method,
        "n_samples": len(task.labels),
        "rank": task.start.shape[1],
        "seed": batch.seed,
        "time_limit_s": limits.time_s,
        "memory_limit_mib": limits.memory_mib,
        "cores": ",".join(map(str, around.cores)),
        "batch_sha256": batch.sha256,
        "data_sha256": dataset.content_sha256,
        "numba_version": _numba_version(),
    }
    with _claimed(batch, limits, files) as done:
        compiled, shared["compile_s"] = warmed_up()
        for number in batch.runs:
            if number not in done:
                append_rows(files.rows, _rows_of(batch, task, number, compiled, around, files, shared))
        return _publish(batch, files)


def _numba_version() -> str:
    try:
        return version("numba")
    except PackageNotFoundError:
        return ""


@contextmanager
def _claimed(batch: LowrankBatch, limits: Limits, files: LowrankFiles) -> Iterator[set[int]]:
    """Hold the batch for this process alone and yield the runs whose rows are all there.

    Raises ``SupervisionError`` when another process works on the batch.
    """
    files.state.parent.mkdir(parents=True, exist_ok=True)
    with files.state.with_name(f"{files.state.name}.lock").open("w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SupervisionError(
                f"another process works on {files.state}; wait until it has ended, or end it, and start again"
            ) from None
        key, marker = json.dumps([batch.sha256, limits.time_s, limits.memory_mib]), files.state / "key.json"
        if not marker.exists() or marker.read_text(encoding="utf-8") != key:
            shutil.rmtree(files.state, ignore_errors=True)
            write_text(marker, key)
        drop_unfinished(files.records)
        # Rows of a run whose writing was cut short go.
        rows = read_rows(files.rows, LowrankRecord, LOWRANK_SCHEMA_VERSION)
        runs = [row.run for row in rows]
        whole = {run for run in runs if runs.count(run) == len(batch.constraints)}
        write_text(files.rows, "".join(row_json(row) + "\n" for row in rows if row.run in whole))
        yield whole


def _publish(batch: LowrankBatch, files: LowrankFiles) -> list[LowrankRecord]:
    order = {axes: place for place, axes in enumerate(batch.axes)}
    records = sorted(read_rows(files.rows, LowrankRecord, LOWRANK_SCHEMA_VERSION), key=lambda row: order[row.axes])
    write_text(files.records, "".join(row_json(record) + "\n" for record in records))
    # Without its key the state is worth nothing: a removal that is cut short leaves no half of it in use.
    (files.state / "key.json").unlink()
    shutil.rmtree(files.state)
    return records


def _rows_of(
    batch: LowrankBatch,
    task: LowrankTask,
    number: int,
    compiled: bool,
    around: LowrankSurroundings,
    files: LowrankFiles,
    shared: dict[str, Any],
) -> list[LowrankRecord]:
    """Supervise one run and return a row for each number of constraints, whatever became of it."""
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    work = partial(_work, batch, task, number, compiled, files)
    for tries_left in (1, 0):
        shutil.rmtree(files.run.folder, ignore_errors=True)
        files.run.folder.mkdir(parents=True)
        ending = supervise(work, around.limits, None, around.scheduler)
        # Once more if somebody kills it: twice is its own doing.
        if not (tries_left and ending.end is End.SIGNALLED and ending.code == signal.SIGKILL):
            break
    outcome = judge(ending, files.run, around.limits)
    columns = {**shared, "run": number, "started_at": started_at, "load": round(os.getloadavg()[0], 2)}
    found = {line["n_constraints"]: line for line in _lines(files.learned)}
    return [_record(columns, count, found.get(count, {}), ending, outcome) for count in batch.constraints]


def _record(
    columns: dict[str, Any], count: int, found: dict[str, Any], ending: Ending, outcome: RunOutcome
) -> LowrankRecord:
    """Return a row; one that had not ended with the run has the run's status."""
    measured: dict[str, Any] = {name: found.get(name) for name in _MEASURED}
    return LowrankRecord(
        n_constraints=count,
        status=found.get("status", str(outcome.status)),
        outcome=found.get("outcome", ""),
        message=found.get("message", outcome.message),
        **measured,
        run_wall_s=ending.wall_s,
        memory_mib=ending.memory_mib,
        **columns,
    )


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]] if path.exists() else []


def _work(batch: LowrankBatch, task: LowrankTask, number: int, compiled: bool, files: LowrankFiles) -> None:
    """Learn with each number of constraints, written down as it ends: a limit takes only what is left."""
    try:
        with files.learned.open("w", encoding="utf-8") as stream:
            for count in batch.constraints:
                line = {"n_constraints": count, **_learned(batch, task, count, number, compiled)}
                stream.write(json.dumps(line, allow_nan=False) + "\n")
                stream.flush()
    except MemoryError as error:
        write_text(files.run.result, json.dumps({"status": Status.MEMORY_LIMIT, "message": f"out of memory: {error}"}))
    except (ImportError, OSError):
        traceback.print_exc()
        sys.exit(BENCH_FAULT)


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
        "status": str(_STATUS[found.outcome]),
        "outcome": str(found.outcome),
        "message": found.message,
        **quality,
        **{name: getattr(found, name) for name in _COUNTED},
        **{name: _finite(getattr(found, name)) for name in _CERTIFICATES},
        "time_s": wall,
        "cpu_s": cpu,
    }


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
