"""How far a grid has come, read from what lies on the disk: rows, unfinished work, and locks that are held."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from kdrbench.bench.grid import Grid
from kdrbench.bench.plan import Batch
from kdrbench.bench.record import RunRecord, read_records
from kdrbench.bench.rows import RecordError
from kdrbench.bench.sources import packages_of_environment
from kdrbench.bench.state import BatchFiles
from kdrbench.bench.traces import read_trace
from kdrbench.solvers import Status

_LOCKS = Path("/proc/locks")
_ENVIRONMENT = Path(__file__).resolve().parents[3] / "envs" / "ikdr.yaml"


@dataclass(frozen=True)
class Running:
    """A run under way: its fold, the solver's seconds at the last iterate seen, and the lowest cost so far."""

    fold: int
    time_s: float
    best_cost: float | None


@dataclass(frozen=True)
class BatchProgress:
    """Rows of the runs that have ended, the run under way if a process of this machine holds the batch, and the rest.

    ``begun`` is true where unfinished work lies about, whoever holds it; ``outdated`` where the rows were made with
    other code or packages than there are, so that the workflow will make them again. ``reckoned_s`` is what a run is
    reckoned to take.
    """

    batch: Batch
    reckoned_s: float
    ended: tuple[RunRecord, ...]
    running: Running | None
    begun: bool
    outdated: bool = False

    @property
    def left(self) -> int:
        """Number of runs that are to be made: those that have not ended, and those out of date."""
        return len(self.batch.folds) - (0 if self.outdated else len(self.ended))


def progress_of(grid: Grid, results: Path) -> list[BatchProgress]:
    """Return how far each batch of the grid has come in the folder ``results``; nothing is locked or changed."""
    held, found = _held_locks(), {}
    for bundle in grid.bundles():
        records = results / "runs" / f"{bundle.path}.jsonl"
        files = BatchFiles(records, results / "traces" / f"{bundle.path}.jsonl", results / ".state" / bundle.path)
        published = _rows(records)
        for batch in bundle.batches:
            reckoned_s = grid.reckoned_s(batch)
            found[batch.path] = _progress(batch, reckoned_s, files.of(batch, bundle), published, held)
    return [found[batch.path] for batch in grid.batches()]


def _progress(
    batch: Batch, reckoned_s: float, files: BatchFiles, published: list[RunRecord], held: set[tuple[int, int, int]]
) -> BatchProgress:
    ended, current = _ended(batch, published)
    if not (ended and current):
        # Those published once more after the unfinished work: it may have been finished in between.
        looks = [_ended(batch, _rows(files.rows)), _ended(batch, _rows(files.records)), (ended, current)]
        ended, current = max(looks, key=lambda one: (bool(one[0]), one[1]))
    if current and len(ended) == len(batch.folds):
        return BatchProgress(batch, reckoned_s, ended, None, begun=False)
    running = None
    if _place(files.lock) in held:
        unfinished_folds = {record.fold for record in _rows(files.rows)}
        following = [fold for fold in batch.folds if fold not in unfinished_folds]
        running = _running(files, following[0]) if following else None
    return BatchProgress(batch, reckoned_s, ended, running, files.state.exists(), outdated=not current)


def _ended(batch: Batch, rows: list[RunRecord]) -> tuple[tuple[RunRecord, ...], bool]:
    """Return the batch's rows among these, and whether none was made with other code or packages."""
    axes = set(batch.axes)
    of_batch = [row for row in rows if row.axes in axes and row.definition_sha256 == batch.definition_sha256]
    hashes = {batch.sha256}
    if _ENVIRONMENT.exists():
        # Where the jobs ran in conda's environment, its file stands for the packages.
        hashes.add(replace(batch, packages=packages_of_environment(_ENVIRONMENT)).sha256)
    return tuple(of_batch), {row.batch_sha256 for row in of_batch} <= hashes


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

    A run is expected to last as long as those of its cell did on average. Of a cell without any, it is expected to
    last as long as it is reckoned to, times what the runs of its solver, or else all, took of that.
    """
    progress = list(progress)
    took: dict[tuple[str, ...], list[tuple[float, float]]] = {}
    for one in progress:
        for record in (row for row in one.ended if row.status != Status.SKIPPED):
            for key in _keys(one.batch):
                took.setdefault(key, []).append((record.wall_s, one.reckoned_s))
    if not took:
        return None
    total = sum(one.left * _expected_s(one, took) for one in progress)
    return total / max(1, sum(one.running is not None for one in progress))


def _expected_s(one: BatchProgress, took: dict[tuple[str, ...], list[tuple[float, float]]]) -> float:
    """Return the seconds of a run; ``took`` holds by key what runs took, and what they were reckoned to take.

    All runs of a cell are reckoned to take the same, so that its mean is what comes out for them.
    """
    pairs = next(took[key] for key in _keys(one.batch) if key in took)
    return one.reckoned_s * sum(wall_s for wall_s, _ in pairs) / sum(reckoned_s for _, reckoned_s in pairs)


def _keys(batch: Batch) -> list[tuple[str, ...]]:
    return [(batch.experiment, batch.dataset, batch.kernel, batch.solver), (batch.solver,), ()]


def endings(progress: Iterable[BatchProgress]) -> Counter[str]:
    """Return how many runs ended in each status."""
    return Counter(record.status for one in progress for record in one.ended)
