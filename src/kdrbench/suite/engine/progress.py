"""How far a grid has come, read from the disk: rows, who works on them, which are stale, and what the rest takes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kdrbench.errors import counted
from kdrbench.status import Status
from kdrbench.suite.engine.batch import Batch, Bundle
from kdrbench.suite.engine.grid import Grid
from kdrbench.suite.engine.identity import Requirements, attested_in, reasons
from kdrbench.suite.engine.publish import JobFiles
from kdrbench.suite.engine.record import Record, RecordError, columns_in, of_this_schema
from kdrbench.suite.engine.run_files import UnreadableError, read_trace
from kdrbench.suite.engine.workspace import Workspace

# Reasons that a line names.
_MOST_REASONS = 3
# The columns of a row by name.
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Running:
    """A run under way: its number, the method's seconds at the last traced iterate, and the lowest cost so far."""

    run: int
    time_s: float
    best_cost: float | None


@dataclass(frozen=True)
class BatchProgress:
    """Rows of the runs that have ended, the run under way if a process of this machine holds the batch, and the rest.

    ``reasons`` say in words why rows are out of date, so that the workflow will make them again: what was asked for is
    something else now, or a revision was raised. ``estimated_s`` is about how long one run takes, ``most_s`` how long
    it can, on as many cores as ``threads``.
    """

    batch: Batch
    estimated_s: float
    ended: tuple[Row, ...]
    running: Running | None
    reasons: tuple[str, ...] = ()
    most_s: float = math.inf
    threads: int = 1

    @property
    def outdated(self) -> bool:
        """Whether rows are out of date."""
        return bool(self.reasons)

    @property
    def n_ended(self) -> int:
        """Number of runs that have ended."""
        return len({row["run"] for row in self.ended})

    @property
    def left(self) -> int:
        """Number of runs that are to be made: those that have not ended, and those out of date."""
        return len(self.batch.runs) - (0 if self.outdated else self.n_ended)

    @property
    def known(self) -> list[Row]:
        """The rows of this definition that tell what a run takes: not those that were skipped."""
        of_batch = [row for row in self.ended if row["definition_sha256"] == self.batch.definition_sha256]
        return [row for row in of_batch if row["status"] != Status.SKIPPED]

    @property
    def begun(self) -> bool:
        """Whether some runs have ended or are under way, but not all have ended."""
        return self.running is not None or 0 < self.n_ended < len(self.batch.runs)


def progress_of(grid: Grid, results: Path) -> list[BatchProgress]:
    """Return how far each batch of the grid has come in the folder ``results``; nothing is locked or changed."""
    attested, progress = attested_in(results), {}
    for bundle in grid.bundles():
        kind, required = grid.system(bundle.experiment).record, Requirements(grid.timed(bundle.experiment), attested)
        files = JobFiles.of(results, bundle.path)
        published = _rows(files.records, kind) or {}
        for batch in bundle.batches:
            workspace = files.workspace(batch, kind)
            # The workspace has the newest rows; results that were copied from elsewhere have the published ones only.
            newest = _rows(workspace.rows, kind) or {}
            looks = [_ended(batch, rows, required, workspace) for rows in (newest, published)]
            # Without rows there is nothing current either.
            ended, why = max(looks, key=lambda look: (not look[1] and bool(look[0]), len(look[0])))
            progress[batch.path] = BatchProgress(
                batch,
                grid.estimated_s(batch),
                ended,
                _running(workspace, batch, set() if why else {row["run"] for row in ended}),
                why,
                grid.most_s(batch.experiment),
                grid.threads,
            )
    return [progress[batch.path] for batch in grid.batches()]


def _rows(path: Path, kind: type[Record]) -> dict[tuple[Any, ...], Row] | None:
    """Return the rows of a file; ``None`` for one that is gone, or holds others than this version of kdrbench reads."""
    try:
        # Without a record of each line, which would take ten times as long; an unfinished last line is left out.
        lines = path.read_text(encoding="utf-8").split("\n")[:-1]
        rows = [of_this_schema(columns_in(line), kind) for line in lines]
        return {tuple(row[name] for name in kind.axis_names()): row for row in rows}
    except (OSError, UnicodeDecodeError, RecordError, KeyError):
        return None


def _ended(
    batch: Batch, rows: Mapping[tuple[Any, ...], Row], required: Requirements, workspace: Workspace[Any]
) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    """Return the rows of a batch, and in words why they are to be made again."""
    ended = tuple(rows[axes] for axes in batch.axes if axes in rows)
    differ = any(row["definition_sha256"] != batch.definition_sha256 for row in ended)
    # The batches that rows were made for tell what has changed.
    known = workspace.batches_of_cell() if differ else {}
    return ended, tuple(dict.fromkeys(why for row in ended for why in reasons(row, batch, required, known)))


def stale_jobs(grid: Grid, results: Path) -> dict[str, list[str]]:
    """Return by its path each job that has rows, but not those that are asked for, with the reasons in words.

    They follow from the results themselves, whatever Snakemake remembers.
    """
    attested, stale = attested_in(results), {}
    for bundle in grid.bundles():
        kind, required = grid.system(bundle.experiment).record, Requirements(grid.timed(bundle.experiment), attested)
        files = JobFiles.of(results, bundle.path)
        if files.records.is_file() and (why := _why_stale(bundle, files, kind, required)):
            stale[bundle.path] = why
    return stale


def _why_stale(bundle: Bundle, files: JobFiles, kind: type[Record], required: Requirements) -> list[str]:
    if (rows := _rows(files.records, kind)) is None:
        return ["its rows cannot be read"]
    looks = [_ended(batch, rows, required, files.workspace(batch, kind)) for batch in bundle.batches]
    n_asked, n_found = sum(len(batch.axes) for batch in bundle.batches), sum(len(ended) for ended, _ in looks)
    why = [one for _, reasons in looks for one in reasons]
    why += [f"{counted(n_asked - n_found, 'row')} more asked for"] if n_asked > n_found else []
    why += [f"{counted(len(rows) - n_found, 'row')} no longer asked for"] if len(rows) > n_found else []
    return list(dict.fromkeys(why))


def stale_in_words(stale: Mapping[str, list[str]]) -> str:
    """Return in a line how many jobs are out of date, and the most frequent reasons."""
    counts = Counter(why for reasons in stale.values() for why in reasons)
    words = [f"{why} ({counted(count, 'job')})" for why, count in counts.most_common(_MOST_REASONS)]
    more = f" and {len(counts) - _MOST_REASONS} more reasons" if len(counts) > _MOST_REASONS else ""
    return f"{counted(len(stale), 'job')} out of date: {'; '.join(words)}{more}"


def _running(workspace: Workspace[Any], batch: Batch, ended: Container[int]) -> Running | None:
    """Return the run under way, if a process of this machine holds the batch: the first that has not ended."""
    run = next((run for run in batch.runs if run not in ended), None)
    if run is None or not workspace.is_held():
        return None
    try:
        trace = read_trace(workspace.run(run).trace)
    except UnreadableError:
        # Of a run under way, which is not judged yet.
        trace = []
    best_cost = min((line.cost for line in trace), default=None)
    return Running(run, trace[-1].time_s if trace else 0.0, best_cost)


class Costs:
    """What runs are expected to take, from what ended runs took.

    A run is expected to last as long as those of its cell did on average. In a cell without any, it is expected to last
    as long as estimated, times the ratio of actual to estimated seconds of the runs of its method, or of all, and no
    longer than its limits allow.
    """

    def __init__(self, progress: Iterable[BatchProgress]) -> None:
        # By what runs have in common: their actual and their estimated seconds.
        self._seconds: dict[tuple[str, ...], list[tuple[float, float]]] = {}
        for one in progress:
            wall_s = {row["run"]: row["wall_s"] for row in one.known}
            for key in _keys(one.batch):
                self._seconds.setdefault(key, []).extend((run_s, one.estimated_s) for run_s in wall_s.values())

    def is_measured(self, one: BatchProgress) -> bool:
        """Return whether a run of the batch's cell has ended."""
        return bool(self._seconds[_keys(one.batch)[0]])

    def ratio(self, one: BatchProgress) -> float:
        """Return the actual over the estimated seconds of the runs that tell most of the batch; 1 before any ended.

        All runs of a cell have the same estimate, so that their mean is what comes out for them.
        """
        pairs = next((found for key in _keys(one.batch) if (found := self._seconds.get(key))), [(1.0, 1.0)])
        return sum(wall_s for wall_s, _ in pairs) / sum(estimated_s for _, estimated_s in pairs)

    def run_s(self, one: BatchProgress) -> float:
        """Return the seconds that a run of the batch is expected to take."""
        run_s = one.estimated_s * self.ratio(one)
        return run_s if self.is_measured(one) else min(run_s, one.most_s)

    def core_s_left(self, progress: Iterable[BatchProgress]) -> float:
        """Return the core-seconds that the runs to make are expected to take."""
        return sum(one.left * self.run_s(one) * one.threads for one in progress)


@dataclass(frozen=True)
class Forecast:
    """What the runs ``to_make`` of an experiment's ``runs`` will take.

    ``core_s`` are core-seconds, ``most_core_s`` those if every run reached its time limit. ``measured`` runs are of a
    cell in which runs have ended; the seconds of the others are estimated.
    """

    experiment: str
    runs: int
    to_make: int
    measured: int
    core_s: float
    most_core_s: float


def forecast(grid: Grid, results: Path, experiments: Sequence[str] = ()) -> list[Forecast]:
    """Return what each of these experiments, or all of the grid, will take; nothing is locked, run or changed."""
    progress = progress_of(grid, results)
    costs = Costs(progress)
    forecasts = []
    for name in (name for name in grid.experiments if not experiments or name in experiments):
        batches = [one for one in progress if one.batch.experiment == name]
        runs, to_make = sum(len(one.batch.runs) for one in batches), sum(one.left for one in batches)
        measured = sum(one.left for one in batches if costs.is_measured(one))
        most_core_s = to_make * grid.most_s(name) * grid.threads
        forecasts.append(Forecast(name, runs, to_make, measured, costs.core_s_left(batches), most_core_s))
    return forecasts


def _keys(batch: Batch) -> list[tuple[str, ...]]:
    return [(batch.experiment, batch.dataset, *batch.cell), (batch.system, *batch.cell[-1:]), ()]
