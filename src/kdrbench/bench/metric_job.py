"""One job of the KPCA trick's tables: the splits of a batch, one supervised process after the other."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from kdrbench.bench.execute import BENCH_FAULT, RunFiles
from kdrbench.bench.limits import Limits
from kdrbench.bench.metric_batch import MetricBatch
from kdrbench.bench.metric_record import METRIC_SCHEMA_VERSION, MetricRecord, read_metric_records
from kdrbench.bench.metric_split import run_split
from kdrbench.bench.outcome import RunOutcome, judge
from kdrbench.bench.provenance import provenance
from kdrbench.bench.supervisor import End, Ending, SupervisionError, supervise
from kdrbench.datasets import Dataset
from kdrbench.errors import DataError
from kdrbench.files import drop_unfinished, write_text
from kdrbench.solvers.status import Status


@dataclass(frozen=True)
class MetricSurroundings:
    """What a batch is run under: limits of a split, the cores it owns, and the scheduler it must not outlive."""

    limits: Limits
    cores: tuple[int, ...] = ()
    scheduler: int | None = None


@dataclass(frozen=True)
class MetricFiles:
    """Where a batch writes: its finished rows, and the folder of its unfinished work."""

    records: Path
    state: Path

    @property
    def rows(self) -> Path:
        """Rows of the splits that have ended."""
        return self.state / "rows.jsonl"

    @property
    def run(self) -> RunFiles:
        """Files of the split under way."""
        return RunFiles(self.state / "split")

    @property
    def methods(self) -> Path:
        """Lines of the methods of the split under way that have ended."""
        return self.run.folder / "methods.jsonl"


def run_metric_batch(
    batch: MetricBatch, dataset: Dataset, around: MetricSurroundings, files: MetricFiles
) -> list[MetricRecord]:
    """Run every split that has no rows yet, then publish all rows as a whole file.

    Rows of an interrupted batch with the same specification and limits are kept. Errors of the bench itself are raised
    and leave no row: only a method's own failure is data.
    """
    if dataset.content_sha256 != batch.data_sha256:
        raise DataError(
            f"data set {dataset.name!r} has SHA-256 {dataset.content_sha256}, the batch wants {batch.data_sha256}; "
            "delete its file under results/data and run again"
        )
    shared = {**provenance(), "cores": ",".join(map(str, around.cores)), "batch_sha256": batch.sha256}
    with _claimed(batch, around.limits, files) as done:
        for number in batch.splits:
            if number not in done:
                _append(files.rows, _rows_of(batch, dataset, number, around, files, shared))
        records = read_metric_records(files.rows)
        order = {axes: place for place, axes in enumerate(batch.axes)}
        records.sort(key=lambda record: order[record.axes])
        write_text(files.records, "".join(record.to_json() + "\n" for record in records))
        # Without its key the state is worth nothing: a removal that is cut short leaves no half of it in use.
        (files.state / "key.json").unlink()
        shutil.rmtree(files.state)
        return records


@contextmanager
def _claimed(batch: MetricBatch, limits: Limits, files: MetricFiles) -> Iterator[set[int]]:
    """Hold the batch for this process alone and yield the splits whose rows are all there.

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
        yield _keep_whole_splits(files.rows, len(batch.methods))


def _keep_whole_splits(rows: Path, n_methods: int) -> set[int]:
    """Drop the rows of a split whose writing was cut short, and return the others."""
    records = read_metric_records(rows)
    splits = [record.split for record in records]
    whole = {split for split in splits if splits.count(split) == n_methods}
    write_text(rows, "".join(record.to_json() + "\n" for record in records if record.split in whole))
    return whole


def _append(path: Path, records: list[MetricRecord]) -> None:
    with path.open("a", encoding="utf-8") as stream:
        stream.write("".join(record.to_json() + "\n" for record in records))
        stream.flush()
        os.fsync(stream.fileno())


def _rows_of(
    batch: MetricBatch,
    dataset: Dataset,
    number: int,
    around: MetricSurroundings,
    files: MetricFiles,
    shared: dict[str, Any],
) -> list[MetricRecord]:
    """Supervise one split and return a row for each method, whatever became of it."""
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    ending = _watched(partial(_work, batch, dataset, number, files), around, files)
    outcome = judge(ending, files.run, around.limits)
    finished = {(row["learner"], row["variant"]): row for row in _lines(files.methods)}
    columns = {
        **shared,
        "schema_version": METRIC_SCHEMA_VERSION,
        "dataset": batch.dataset,
        "split": number,
        "n_train": batch.n_train,
        "n_test": len(dataset.labels) - batch.n_train,
        "n_features": dataset.features.shape[1],
        "n_folds": batch.n_folds,
        "seed": batch.seed,
        "time_limit_s": around.limits.time_s,
        "memory_limit_mib": around.limits.memory_mib,
        "load": round(os.getloadavg()[0], 2),
        "started_at": started_at,
        "data_sha256": batch.data_sha256,
    }
    return [_record(columns, method, finished.get(method), ending, outcome) for method in batch.methods]


def _watched(work: Callable[[], None], around: MetricSurroundings, files: MetricFiles) -> Ending:
    """Do the work under supervision, once more if somebody kills it: twice is its own doing."""
    for tries_left in (1, 0):
        shutil.rmtree(files.run.folder, ignore_errors=True)
        files.run.folder.mkdir(parents=True)
        ending = supervise(work, around.limits, None, around.scheduler)
        killed = ending.end is End.SIGNALLED and ending.code == signal.SIGKILL
        if not (killed and tries_left):
            break
    return ending


def _record(
    columns: dict[str, Any],
    method: tuple[str, str],
    row: dict[str, Any] | None,
    ending: Ending,
    outcome: RunOutcome,
) -> MetricRecord:
    """Return the method's row; one that had not ended with the split has the split's status."""
    found = row or {}
    status, message = (outcome.status, outcome.message) if row is None else (Status.CONVERGED, found["message"])
    tried = found.get("test_selected")
    return MetricRecord(
        learner=method[0],
        variant=method[1],
        status=str(Status.FAILED if found.get("message") else status),
        message=message,
        accuracy=found.get("accuracy"),
        tuning_cpu_s=_seconds(found, "tuning", "cpu_s"),
        tuning_wall_s=_seconds(found, "tuning", "wall_s"),
        learning_cpu_s=_seconds(found, "learning", "cpu_s"),
        learning_wall_s=_seconds(found, "learning", "wall_s"),
        kernel=found.get("kernel", ""),
        n_coordinates=found.get("n_coordinates", 0),
        test_selected=json.dumps(tried) if tried else "",
        split_wall_s=ending.wall_s,
        memory_mib=ending.memory_mib,
        **columns,
    )


def _seconds(row: dict[str, Any], part: str, clock: str) -> float | None:
    return row[part][clock] if row.get("accuracy") is not None else None


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def _work(batch: MetricBatch, dataset: Dataset, number: int, files: MetricFiles) -> None:
    """Make the split's rows in its own process, each written down as it ends: a limit takes only what is left."""
    try:
        with files.methods.open("w", encoding="utf-8") as stream:
            for row in run_split(batch, dataset, number):
                stream.write(json.dumps(asdict(row)) + "\n")
                stream.flush()
    except MemoryError as error:
        write_text(files.run.result, json.dumps({"status": Status.MEMORY_LIMIT, "message": f"out of memory: {error}"}))
    except (ImportError, OSError):
        traceback.print_exc()
        sys.exit(BENCH_FAULT)
