"""A batch's workspace: the rows of its runs, each kept for as long as it is what the batch asks for, and their folders.

Snakemake deletes the outputs of a job that fails or is made again. The workspace is none of its outputs: a job that
starts again goes on from here, and publishes the rows that exist without running anything.

What cannot be read is set aside, into one folder beside the workspace, and its runs are made again. A row counts only
with the trace and the arrays that its run left.
"""

from __future__ import annotations

import errno
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
from typing import Any, Generic

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
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_WITHOUT_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}
# Options of a mount by which the locks of a network file system stay on their machine, or by which they leave it.
_KEPT = {name: {"nolock", "local_lock=all", "local_lock=flock"} for name in ("nfs", "nfs4")}
_KEPT |= {name: {"nobrl"} for name in ("cifs", "smb3")}
_SHARED = {"lustre": {"flock"}}
# The mount of these does not say it.
_UNKNOWN = ("fuse", "9p", "afs", "beegfs", "virtiofs")
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

    def worker(self) -> int | None:
        """Return the process of this machine that works on the batch, if there is one; nothing is locked."""
        holder, here = Holder.read(_mark_of(self.lock)), Holder.here()
        if holder is None or (holder.machine, holder.boot) != (here.machine, here.boot):
            return None
        return holder.process if Path(f"/proc/{holder.process}").exists() else None

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
        by_axes: dict[tuple[Any, ...], list[AnyRecord]] = {}
        for record in records:
            by_axes.setdefault(record.axes, []).append(record)
        faults += [f"row {axes} occurs {len(rows)} times" for axes, rows in by_axes.items() if len(rows) > 1]
        if faults:
            why = f"holds what is no row, in {counted(len(faults), 'line')} ({faults[0]})"
            # Copied first: a kill in between must not cost the other rows.
            self._set_aside(self.rows, why, copy=True)
            records = [rows[0] for rows in by_axes.values() if rows[0] == rows[-1]]
            self.replace(records)
        return records

    def _set_runs_aside(self, runs: Iterable[int], with_rows: set[int]) -> set[int]:
        """Set the files aside of runs whose rows rest on others, or that could not go on; return these runs."""
        damaged = set()
        for number in runs:
            files = self.run(number)
            if fault := files.fault() if number in with_rows else files.fault_of_checkpoint():
                self._set_aside(files.folder, fault)
                damaged.add(number)
        return damaged

    def _set_aside(self, path: Path, why: str, *, copy: bool = False) -> None:
        set_aside(path, why, self.folder.with_name(f"{self.folder.name}.damaged") / path.name, copy=copy)

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


@dataclass(frozen=True)
class Holder:
    """Who holds a lock: a process of a machine, which has another identity after each start."""

    process: int
    machine: str
    boot: str

    @classmethod
    def here(cls) -> Holder:
        """Return this process."""
        return cls(os.getpid(), platform.node(), _BOOT.read_text(encoding="ascii").strip() if _BOOT.exists() else "")

    @classmethod
    def read(cls, mark: Path) -> Holder | None:
        """Return whom a mark names; ``None`` where it names no process, or is not there."""
        try:
            process, machine, boot = mark.read_text(encoding="utf-8").split("\n")
            return cls(int(process), machine, boot)
        except (OSError, ValueError):
            return None

    def __str__(self) -> str:
        """Return the holder in words."""
        return f"process {self.process} on {self.machine}"


def _mark_of(lock: Path) -> Path:
    return lock.with_suffix(".holder")


@contextmanager
def workspace_lock(lock: Path, folder: Path) -> Iterator[None]:
    """Hold ``lock``, and with it the folder, for this process alone.

    Raises ``SupervisionError`` when another process holds it, may hold it on a machine whose locks do not reach here,
    when the file system has no locks, or when another user has not shared the folder.
    """
    mark = _mark_of(lock)
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        with lock.open("a", encoding="ascii") as stream:
            _take(stream.fileno(), mark, folder)
            _put(mark, folder)
            try:
                yield
            finally:
                mark.unlink(missing_ok=True)
    except PermissionError as error:
        if error.filename not in (str(lock), str(mark), *map(str, lock.parents)):
            raise
        raise SupervisionError(
            f"{error.filename} may not be written by you: it belongs to {_owner(Path(error.filename))}; work in a "
            "folder of your own, or have its owner share it (a common group, chmod -R g+w, and umask 002 for both)"
        ) from None


def _take(lock: int, mark: Path, folder: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = Holder.read(mark)
        raise SupervisionError(
            f"another process works on {folder}; wait until it has ended, or end it, and start again"
            + (f" (it is {holder})" if holder else "")
        ) from None
    except OSError as error:
        if error.errno not in _WITHOUT_LOCKS:
            raise
        raise SupervisionError(
            f"the file system of {folder} has no locks (flock: {error.strerror}), so two jobs could work on one run; "
            "mount it with locks, or put results on another one"
        ) from None


def _put(mark: Path, folder: Path) -> None:
    """Write down that this process works; it holds the lock, which others may or may not see."""
    here = Holder.here()
    text = f"{here.process}\n{here.machine}\n{here.boot}"
    try:
        # Of several that try at once, on whatever machines, one succeeds.
        with mark.open("x", encoding="utf-8") as stream:
            stream.write(text)
        return
    except FileExistsError:
        other = Holder.read(mark)
    same_machine = other is not None and (other.machine, other.boot) == (here.machine, here.boot)
    if not same_machine and not locks_reach(mark.parent):
        raise SupervisionError(
            f"{other or 'a process of another machine'} works on {folder}, or was killed there: locks of this file "
            f"system do not reach other machines, so nothing here can tell. When it has ended, delete {mark} and start "
            "again"
        )
    # Its lock is ours, so it has ended.
    mark.write_text(text, encoding="utf-8")


def locks_reach(folder: Path) -> bool:
    """Return whether flock in ``folder`` is seen by every machine that sees the folder.

    A local file system is seen by one machine. What a mount does not say counts as no.
    """
    place = folder.absolute().resolve()
    around = [mount for mount in psutil.disk_partitions(all=True) if place.is_relative_to(mount.mountpoint)]
    # The last of equally deep mounts covers the others.
    mount = max(reversed(around), key=lambda one: len(Path(one.mountpoint).parts))
    kind, options = mount.fstype, set(mount.opts.split(","))
    if kind in _KEPT:
        return not options & _KEPT[kind]
    if kind in _SHARED:
        return bool(options & _SHARED[kind])
    return kind.partition(".")[0] not in _UNKNOWN


def _owner(path: Path) -> str:
    try:
        return path.owner()
    except (KeyError, OSError):
        return "another user"
