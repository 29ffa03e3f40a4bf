"""A batch's workspace: the rows of its runs, each kept for as long as it is what the batch asks for, and their folders.

Snakemake deletes the outputs of a job that fails or is made again. The workspace is none of its outputs: a job that
starts again goes on from here, and publishes the rows that exist without running anything.

What cannot be read is set aside, into one folder beside the workspace, and its runs are made again. A row counts only
with the trace and the arrays that its run left.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import shutil
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

import psutil

from kdrbench.errors import counted
from kdrbench.files import set_aside, unsealed, write_text
from kdrbench.status import Status
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.identity import Requirements, reasons
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.isolation.supervisor import SupervisionError
from kdrbench.suite.engine.record import AnyRecord, append_records, flat, read_records, read_undamaged, write_records
from kdrbench.suite.engine.run_files import RunFiles, kept_checkpoint

ROWS, _BATCH = "rows.jsonl", "batch.json"
# Between the number of the process that holds a lock and the name of its machine.
_ON = " on "
_AT_A_LIMIT = {Status.TIME_LIMIT: "time_limit_s", Status.MEMORY_LIMIT: "memory_limit_mib"}


@dataclass(frozen=True)
class Workspace(Generic[AnyRecord]):
    """The folder of a batch below ``results/.workspace``, and the class of its records."""

    folder: Path
    record: type[AnyRecord]

    @property
    def rows(self) -> Path:
        """Rows of the runs that have ended."""
        return self.folder / ROWS

    @property
    def lock(self) -> Path:
        """Held by the process that works on the batch; it outlives the folder."""
        return self.folder.with_name(f"{self.folder.name}.lock")

    def is_held(self) -> bool:
        """Return whether a process of this machine works on the batch; nothing is locked."""
        holder = self.lock.read_text(encoding="utf-8") if self.lock.exists() else ""
        process, _, machine = holder.partition(_ON)
        return machine == platform.node() and psutil.pid_exists(int(process))

    def run(self, number: int) -> RunFiles:
        """Return the files of one run, wherever a method changes its folder to."""
        return RunFiles((self.folder / f"run-{number}").absolute())

    def records(self) -> list[AnyRecord]:
        """Return the rows so far."""
        return read_records(self.rows, self.record)

    def append(self, records: Sequence[AnyRecord]) -> None:
        """Add the rows of one run, flushed to disk after the files that they rest on."""
        for number in {record.run for record in records}:
            self.run(number).seal()
        append_records(self.rows, records, seal=True)

    def replace(self, records: Sequence[AnyRecord]) -> None:
        """Write these rows in place of all others."""
        write_records(self.rows, records, seal=True)

    def take_out(self, runs: Container[int]) -> None:
        """Take the rows of runs out, and then what these runs left."""
        lines = self.rows.read_text(encoding="utf-8").splitlines(keepends=True)
        numbers = [_run_of(line) for line in lines]
        write_text(self.rows, "".join(line for line, number in zip(lines, numbers, strict=True) if number not in runs))
        for number in {number for number in numbers if number in runs}:
            shutil.rmtree(self.run(number).folder, ignore_errors=True)

    def batches_of_cell(self) -> dict[str, Batch]:
        """Return by the hash of their definitions the batches of which workspaces of the same cell are left."""
        stored = map(_batch_in, self.folder.parent.glob(f"*/{_BATCH}"))
        return {batch.definition_sha256: batch for batch in stored if batch is not None}

    @contextmanager
    def claimed(self, batch: Batch, limits: Limits, required: Requirements) -> Iterator[set[int]]:
        """Hold the workspace for this process alone and yield the runs whose rows can be used as they are.

        Rows count only if they are of the batch (:mod:`.identity`), and timed where times are asked for.
        Runs that ended at another limit than today's are made again.

        Raises ``SupervisionError`` when another process works on the batch.
        """
        with workspace_lock(self.lock, self.folder):
            self.prepare_for(batch)
            records = self._undamaged_records()
            usable = _usable_runs(records, batch, limits, required)
            usable -= self._set_runs_aside(batch.runs, usable)
            self._drop_unusable_checkpoints(limits, required.timed)
            if [record.run for record in records if record.run not in usable]:
                self.replace([record for record in records if record.run in usable])
            yield usable

    def _undamaged_records(self) -> list[AnyRecord]:
        """Return the rows that can be read; a file with others is set aside, and those that can are written again."""
        if self.rows.exists():
            # Without the unfinished line of a writer that was killed.
            os.truncate(self.rows, self.rows.read_bytes().rfind(b"\n") + 1)
        records, faults = read_undamaged(self.rows, self.record)
        by_axes = {record.axes: record for record in records}
        if len(by_axes) < len(records):
            faults.append("rows occur twice")
        if faults:
            self._set_aside(self.rows, f"holds what is no row, in {counted(len(faults), 'line')} ({faults[0]})")
            self.replace(list(by_axes.values()))
        return list(by_axes.values())

    def _set_runs_aside(self, runs: Iterable[int], with_rows: set[int]) -> set[int]:
        """Set the files aside of runs whose rows rest on others, or that could not go on; return these runs."""
        damaged = set()
        for number in runs:
            files = self.run(number)
            if fault := files.fault() if number in with_rows else files.fault_of_checkpoint():
                self._set_aside(files.folder, fault)
                damaged.add(number)
        return damaged

    def _set_aside(self, path: Path, why: str) -> None:
        set_aside(path, why, self.folder.with_name(f"{self.folder.name}.damaged") / path.name)

    def _drop_unusable_checkpoints(self, limits: Limits, timed: bool) -> None:
        """Remove checkpoints beyond today's time limit, and those of untimed runs where times are asked for."""
        mark = self.folder / "untimed"
        for path in self.folder.glob("run-*/checkpoint.npz"):
            kept = kept_checkpoint(path)
            if (timed and mark.exists()) or (kept and kept.wall_s >= limits.time_s):
                path.unlink(missing_ok=True)
        mark.unlink(missing_ok=True) if timed else mark.touch()

    def prepare_for(self, batch: Batch) -> None:
        """Note which batch the work is for; unfinished runs of another batch start again."""
        before = _batch_in(self.folder / _BATCH)
        if before is not None and before.sha256 == batch.sha256:
            return
        for path in self.folder.glob("run-*/checkpoint.npz"):
            path.unlink(missing_ok=True)
        write_text(self.folder / _BATCH, batch.to_json())


def _batch_in(path: Path) -> Batch | None:
    try:
        return Batch.from_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _run_of(line: str) -> int:
    """Return the number of the run of a row; -1 of one that is damaged, which the next start sets aside."""
    try:
        return int(json.loads(unsealed(line.rstrip("\n")))["run"])
    except (ValueError, TypeError, KeyError):
        return -1


def _usable_runs(records: Sequence[AnyRecord], batch: Batch, limits: Limits, required: Requirements) -> set[int]:
    """Return the runs that have all of their rows, as the batch asks for them and today's limits would make them."""
    today = {"time_limit_s": limits.time_s, "memory_limit_mib": limits.memory_mib}
    counts = Counter[int]()
    for record in records:
        column = _AT_A_LIMIT.get(Status(record.status))
        same_limit = column is None or getattr(record.provenance, column) == today[column]
        if same_limit and not reasons(flat(record), batch, required):
            counts[record.run] += 1
    return {run for run, count in counts.items() if count == len(batch.rows)}


@contextmanager
def workspace_lock(lock: Path, folder: Path) -> Iterator[None]:
    """Hold ``lock``, and with it the folder, for this process alone; meanwhile the file names the process.

    Raises ``SupervisionError`` when another process holds it.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("a", encoding="utf-8") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = lock.read_text(encoding="utf-8")
            raise SupervisionError(
                f"another process works on {folder}; wait until it has ended, or end it, and start again"
                + (f" (it is process {holder})" if holder else "")
            ) from None
        stream.truncate(0)
        stream.write(f"{os.getpid()}{_ON}{platform.node()}")
        stream.flush()
        try:
            yield
        finally:
            stream.truncate(0)
