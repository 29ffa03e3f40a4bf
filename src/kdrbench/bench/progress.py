"""How far a grid has come, read from what lies on the disk: rows, unfinished work, and locks that are held."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from kdrbench.bench.grid import Grid
from kdrbench.bench.plan import Batch
from kdrbench.bench.record import RunRecord, read_records
from kdrbench.bench.rows import RecordError
from kdrbench.bench.state import BatchFiles
from kdrbench.bench.traces import read_trace
from kdrbench.solvers import Status

_LOCKS = Path("/proc/locks")


@dataclass(frozen=True)
class Running:
    """A run under way: its fold, the solver's seconds at the last iterate seen, and the lowest cost so far."""

    fold: int
    time_s: float
    best_cost: float | None


@dataclass(frozen=True)
class BatchProgress:
    """Rows of the runs that have ended, the run under way if a process of this machine holds the batch, and the rest.

    ``begun`` is true where unfinished work lies about, whoever holds it.
    """

    batch: Batch
    ended: tuple[RunRecord, ...]
    running: Running | None
    begun: bool

    @property
    def left(self) -> int:
        """Number of runs that have not ended."""
        return len(self.batch.folds) - len(self.ended)


def progress_of(grid: Grid, results: Path) -> list[BatchProgress]:
    """Return how far each batch of the grid has come in the folder ``results``; nothing is locked or changed."""
    held = _held_locks()
    return [_progress(batch, results, held) for batch in grid.batches()]


def _progress(batch: Batch, results: Path, held: set[tuple[int, int, int]]) -> BatchProgress:
    records = results / "runs" / f"{batch.path}.jsonl"
    files = BatchFiles(records, results / "traces" / f"{batch.path}.jsonl", results / ".state" / batch.path)
    # Once more after the unfinished work: it may have been finished in between.
    for path in (records, files.rows, records):
        ended = tuple(row for row in _rows(path) if row.definition_sha256 == batch.definition_sha256)
        if ended:
            break
    if len(ended) == len(batch.folds):
        return BatchProgress(batch, ended, None, begun=False)
    running = None
    if _place(files.lock) in held:
        following = [fold for fold in batch.folds if fold not in {record.fold for record in ended}]
        running = _running(files, following[0]) if following else None
    return BatchProgress(batch, ended, running, begun=files.state.exists())


def _rows(path: Path) -> list[RunRecord]:
    try:
        return read_records(path)
    except (FileNotFoundError, RecordError):
        # Moved away while it was looked at, or of another version of kdrbench: the batch will be run again.
        return []


def _running(files: BatchFiles, fold: int) -> Running:
    try:
        trace = read_trace(files.run(fold).trace)
    except FileNotFoundError:
        trace = []
    costs = [line.cost for line in trace]
    return Running(fold, trace[-1].time_s if trace else 0.0, min(costs) if costs else None)


def _held_locks() -> set[tuple[int, int, int]]:
    """Return device and inode of each lock that this machine's processes hold; looking at them must not take one."""
    try:
        lines = _LOCKS.read_text(encoding="ascii").splitlines()
    except OSError:
        return set()
    # 1: FLOCK  ADVISORY  WRITE 4711 08:01:123456 0 EOF; those that wait have an arrow after the number.
    places = [line.split()[-3] for line in lines if " FLOCK " in line and "->" not in line]
    parts = [place.split(":") for place in places]
    return {(int(major, 16), int(minor, 16), int(inode)) for major, minor, inode in parts}


def _place(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return os.major(found.st_dev), os.minor(found.st_dev), found.st_ino


def seconds_left(progress: Iterable[BatchProgress]) -> float | None:
    """Return about how long the rest takes if as many batches run at a time as do now; ``None`` before any run ended.

    A run is expected to last as long as those of its cell, else of its solver, else of all did on average.
    """
    progress = list(progress)
    walls: dict[tuple[str, ...], list[float]] = {}
    for one in progress:
        for record in (row for row in one.ended if row.status != Status.SKIPPED):
            for key in _keys(one.batch):
                walls.setdefault(key, []).append(record.wall_s)
    if not walls:
        return None
    total = sum(one.left * fmean(next(walls[key] for key in _keys(one.batch) if key in walls)) for one in progress)
    return total / max(1, sum(one.running is not None for one in progress))


def _keys(batch: Batch) -> list[tuple[str, ...]]:
    return [(batch.dataset, batch.kernel, batch.solver), (batch.solver,), ()]


def endings(progress: Iterable[BatchProgress]) -> Counter[str]:
    """Return how many runs ended in each status."""
    return Counter(record.status for one in progress for record in one.ended)
