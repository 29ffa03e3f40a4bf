"""The unfinished work of a batch: rows so far, a folder a run, and a lock against a second process."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdrbench.bench.execute import RunFiles
from kdrbench.bench.limits import Limits
from kdrbench.bench.plan import Batch
from kdrbench.bench.record import RunRecord, read_records
from kdrbench.bench.rows import RecordError, write_rows
from kdrbench.bench.supervisor import SupervisionError
from kdrbench.bench.terms import Terms
from kdrbench.bench.traces import read_array, read_trace
from kdrbench.files import drop_unfinished, replacing, write_text
from kdrbench.solvers import Status


@dataclass(frozen=True)
class BatchFiles:
    """Where a batch writes: its finished rows and traces, the folder of its unfinished work, and what its runs found.

    ``findings`` is an .npz file of arrays ``projection_<fold>`` (d x q), ``labels_<fold>`` (those by which a reference
    or a clustering was judged) and ``given_<fold>`` (of alternative clusterings), of the runs that have such; without
    it nothing is kept.
    """

    records: Path
    traces: Path
    state: Path
    findings: Path | None = None

    @property
    def rows(self) -> Path:
        """Rows of the runs that have ended."""
        return self.state / "rows.jsonl"

    @property
    def lock(self) -> Path:
        """Held by the process that works on the batch."""
        return self.state.with_name(f"{self.state.name}.lock")

    def run(self, fold: int) -> RunFiles:
        """Files of one run."""
        return RunFiles(self.state / f"fold-{fold}")


@contextmanager
def claimed(files: BatchFiles, batch: Batch, limits: Limits, repeat_for_s: float, terms: Terms) -> Iterator[set[int]]:
    """Hold the batch for this process alone and yield the folds whose rows are there already.

    Rows count only if they were made for the same batch, limits and repeats, and timed or not as is asked; others are
    thrown away.

    Raises ``SupervisionError`` when another process works on the batch.
    """
    files.lock.parent.mkdir(parents=True, exist_ok=True)
    with files.lock.open("w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SupervisionError(
                f"another process works on {files.state}; wait until it has ended, or end it, and start again"
            ) from None
        key = json.dumps([batch.sha256, limits.time_s, limits.memory_mib, repeat_for_s, terms.timed])
        marker = files.state / "key.json"
        if not marker.exists() or marker.read_text(encoding="utf-8") != key:
            shutil.rmtree(files.state, ignore_errors=True)
            write_text(marker, key)
        _drop_unfinished_line(files.rows)
        for path in (files.records, files.traces, files.findings):
            if path is not None:
                drop_unfinished(path)
        yield {record.fold for record in read_records(files.rows)}


def publish(batch: Batch, files: BatchFiles, records: list[RunRecord]) -> list[RunRecord]:
    """Write rows, traces and findings as whole files, rows last, and drop the state they came from.

    The state stays where a run was left out: with more budget the batch goes on from there.

    Raises ``RecordError`` unless there is one row for each fold of the batch.
    """
    if [record.fold for record in records] != list(batch.folds):
        raise RecordError(f"{files.state} holds folds {[record.fold for record in records]}, not {list(batch.folds)}")
    lines = [
        json.dumps({"fold": fold, **line._asdict()})
        for fold in batch.folds
        for line in read_trace(files.run(fold).trace)
    ]
    write_text(files.traces, "".join(line + "\n" for line in lines))
    if files.findings is not None:
        with replacing(files.findings) as stream:
            # Without pickled objects, which nobody should have to trust.
            np.savez_compressed(stream, **_findings(batch, files))  # type: ignore[arg-type]
    write_rows(files.records, records)
    if any(record.status == Status.SKIPPED for record in records):
        return records
    # Without its key the state is worth nothing: a removal that is cut short leaves no half of it in use.
    (files.state / "key.json").unlink()
    shutil.rmtree(files.state)
    return records


def _findings(batch: Batch, files: BatchFiles) -> dict[str, NDArray[Any]]:
    """Return what :class:`BatchFiles` says of the arrays to be kept."""
    read = {}
    for fold in batch.folds:
        left = files.run(fold)
        for kind, path in (("projection", left.projection), ("labels", left.predictions), ("given", left.given)):
            read[f"{kind}_{fold}"] = read_array(path)
    return {name: array for name, array in read.items() if array is not None}


def _drop_unfinished_line(path: Path) -> None:
    if path.exists():
        os.truncate(path, path.read_bytes().rfind(b"\n") + 1)
