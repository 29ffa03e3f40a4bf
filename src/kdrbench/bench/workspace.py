"""A batch's workspace: the rows of its runs and a folder for each run, kept for as long as they are for the same batch.

Snakemake deletes the outputs of a job that fails or is made again. The workspace is none of its outputs: a job that
starts again goes on from here, and publishes the rows that exist without running anything.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic

from kdrbench.bench.batch import Batch
from kdrbench.bench.isolation.limits import Limits
from kdrbench.bench.record import AnyRecord, append_records, read_records, write_records
from kdrbench.bench.run_files import RunFiles, read_checkpoint
from kdrbench.bench.workspace_lock import workspace_lock
from kdrbench.files import write_text
from kdrbench.status import Status

_AT_A_LIMIT = {Status.TIME_LIMIT: "time_limit_s", Status.MEMORY_LIMIT: "memory_limit_mib"}


@dataclass(frozen=True)
class Workspace(Generic[AnyRecord]):
    """The folder of a batch below ``results/.workspace``, and the class of its records."""

    folder: Path
    record: type[AnyRecord]

    @classmethod
    def of(cls, root: Path, batch: Batch, record: type[AnyRecord]) -> Workspace[AnyRecord]:
        """Return the workspace of a batch below the folder ``root`` of all workspaces."""
        return cls(root / batch.path, record)

    @property
    def rows(self) -> Path:
        """Rows of the runs that have ended."""
        return self.folder / "rows.jsonl"

    @property
    def lock(self) -> Path:
        """Held by the process that works on the batch; it outlives the folder."""
        return self.folder.with_name(f"{self.folder.name}.lock")

    def run(self, number: int) -> RunFiles:
        """Return the files of one run."""
        return RunFiles(self.folder / f"run-{number}")

    def records(self) -> list[AnyRecord]:
        """Return the rows so far."""
        return read_records(self.rows, self.record)

    def append(self, records: Sequence[AnyRecord]) -> None:
        """Add the rows of one run, flushed to disk."""
        append_records(self.rows, records)

    def replace(self, records: Sequence[AnyRecord]) -> None:
        """Write these rows in place of all others."""
        write_records(self.rows, records)

    def drop(self) -> None:
        """Remove the folder with all it holds."""
        # Without its key the workspace is void: a removal that is cut short leaves no half of it in use.
        self._key.unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def _key(self) -> Path:
        return self.folder / "key.json"

    @contextmanager
    def claimed(self, batch: Batch, limits: Limits, *, timed: bool) -> Iterator[set[int]]:
        """Hold the workspace for this process alone and yield the runs whose rows can be used as they are.

        Rows count only if they were made for the same batch, and timed where times are asked for. Runs that were
        skipped, or that ended at another limit than today's, are made again.

        Raises ``SupervisionError`` when another process works on the batch.
        """
        with workspace_lock(self.lock, self.folder):
            self._keep_only_for([batch.sha256, self.record.SCHEMA_VERSION])
            _drop_unfinished_line(self.rows)
            self._drop_unusable_checkpoints(limits, timed)
            records = self.records()
            complete = _complete(records, batch)
            usable = {run for run, rows in complete.items() if all(_usable(row, limits, timed) for row in rows)}
            if [record.run for record in records if record.run not in usable]:
                self.replace([record for record in records if record.run in usable])
            yield usable

    def _drop_unusable_checkpoints(self, limits: Limits, timed: bool) -> None:
        """Remove checkpoints beyond today's time limit, and those of untimed runs where times are asked for."""
        mark = self.folder / "untimed"
        for path in self.folder.glob("run-*/checkpoint.npz"):
            kept = read_checkpoint(path)
            if (timed and mark.exists()) or (kept and kept.wall_s >= limits.time_s):
                path.unlink()
        mark.unlink(missing_ok=True) if timed else mark.touch()

    def _keep_only_for(self, key: Sequence[Any]) -> None:
        """Empty the folder unless the work in it is for the same ``key``, and write the key down."""
        wanted = json.dumps(key)
        if not self._key.exists() or self._key.read_text(encoding="utf-8") != wanted:
            shutil.rmtree(self.folder, ignore_errors=True)
            write_text(self._key, wanted)


def _complete(records: Sequence[AnyRecord], batch: Batch) -> dict[int, list[AnyRecord]]:
    """Return by run the rows of the runs that have all of theirs."""
    by_run: dict[int, list[AnyRecord]] = {}
    for record in records:
        if record.provenance.batch_sha256 != batch.sha256:
            continue
        by_run.setdefault(record.run, []).append(record)
    return {run: rows for run, rows in by_run.items() if len(rows) == len(batch.rows)}


def _usable(record: AnyRecord, limits: Limits, timed: bool) -> bool:
    made = record.provenance
    if record.status == Status.SKIPPED or (timed and not made.timed):
        return False
    column = _AT_A_LIMIT.get(Status(record.status))
    today = {"time_limit_s": limits.time_s, "memory_limit_mib": limits.memory_mib}
    return column is None or getattr(made, column) == today[column]


def _drop_unfinished_line(path: Path) -> None:
    if path.exists():
        os.truncate(path, path.read_bytes().rfind(b"\n") + 1)
