"""A job in parts (splits, runs), each supervised in a process of its own and leaving several rows."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from kdrbench.bench import claim
from kdrbench.bench.execute import BENCH_FAULT, RunFiles
from kdrbench.bench.limits import Limits
from kdrbench.bench.outcome import RunOutcome, judge
from kdrbench.bench.parts_batch import PartsBatch
from kdrbench.bench.provenance import provenance
from kdrbench.bench.rows import Row, read_rows, write_rows
from kdrbench.bench.supervisor import End, supervise
from kdrbench.datasets import Dataset
from kdrbench.errors import DataError
from kdrbench.files import drop_unfinished, write_text
from kdrbench.solvers.status import Status


class PartRow(Row, Protocol):
    """A row that knows the part it comes from."""

    @property
    def part(self) -> int:
        """Number of the split or run."""
        ...


@dataclass(frozen=True)
class Supervision:
    """What the parts are run under: limits of each, the cores the job owns, the scheduler it must not outlive."""

    limits: Limits
    cores: tuple[int, ...] = ()
    scheduler: int | None = None


@dataclass(frozen=True)
class PartFiles:
    """Where a job writes: its finished rows, and the folder of its unfinished work."""

    records: Path
    state: Path

    @property
    def rows(self) -> Path:
        """Rows of the parts that have ended."""
        return self.state / "rows.jsonl"

    @property
    def part(self) -> RunFiles:
        """Files of the part under way."""
        return RunFiles(self.state / "part")

    @property
    def lines(self) -> Path:
        """What the part under way has handed over, a line for each row that it could make."""
        return self.part.folder / "lines.jsonl"


@dataclass(frozen=True)
class EndedPart:
    """What became of a part: ``lines`` for some of its rows or all, and ``outcome``, which is that of the others.

    ``columns`` are those of all its rows: when it was started, load of the machine, memory.
    """

    lines: list[dict[str, Any]]
    outcome: RunOutcome
    wall_s: float
    columns: dict[str, Any]


_PartRow = TypeVar("_PartRow", bound=PartRow)


def check_data(batch: PartsBatch, dataset: Dataset) -> None:
    """Raise ``DataError`` unless the data set has the values that the batch was written for."""
    if batch.data_sha256 and dataset.content_sha256 != batch.data_sha256:
        raise DataError(
            f"data set {dataset.name!r} has SHA-256 {dataset.content_sha256}, the batch wants {batch.data_sha256}; "
            "delete its file under results/data and run again"
        )


def shared_columns(batch: PartsBatch, dataset: Dataset, around: Supervision) -> dict[str, Any]:
    """Return the columns that all rows of a job have: of what, where and with what they are made."""
    return {
        **provenance(),
        "dataset": batch.dataset,
        "seed": batch.seed,
        "time_limit_s": around.limits.time_s,
        "memory_limit_mib": around.limits.memory_mib,
        "cores": ",".join(map(str, around.cores)),
        "batch_sha256": batch.sha256,
        "data_sha256": dataset.content_sha256,
    }


@contextmanager
def claimed(batch: PartsBatch, kind: type[PartRow], limits: Limits, files: PartFiles) -> Iterator[set[int]]:
    """Hold the job for this process alone and yield the parts whose rows are all there.

    Rows count only if they were made for the same batch and limits, and those of a part whose writing was cut short go.

    Raises ``SupervisionError`` when another process works on the job.
    """
    with claim.held(claim.lock_of(files.state), files.state):
        claim.keep_if_for(files.state, [batch.sha256, limits.time_s, limits.memory_mib])
        drop_unfinished(files.records)
        rows = read_rows(files.rows, kind)
        parts = [row.part for row in rows]
        whole = {part for part in parts if parts.count(part) == batch.rows_per_part}
        write_rows(files.rows, [row for row in rows if row.part in whole])
        yield whole


def publish(batch: PartsBatch, kind: type[_PartRow], files: PartFiles) -> list[_PartRow]:
    """Write the rows as a whole file in the order of the batch, drop the state they came from, and return them."""
    order = {names: place for place, names in enumerate(batch.axes)}
    records = sorted(read_rows(files.rows, kind), key=lambda row: order[row.axes])
    write_rows(files.records, records)
    claim.drop(files.state)
    return records


def run_part(work: Callable[[], Iterable[dict[str, Any]]], around: Supervision, files: PartFiles) -> EndedPart:
    """Do the work under supervision and return what became of it; ``work`` yields a line for each row.

    Raises ``SupervisionError`` when somebody stops the work, or when the bench, not a method, is at fault.
    """
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    # Once more if somebody kills it: twice is its own doing.
    for tries_left in (1, 0):
        shutil.rmtree(files.part.folder, ignore_errors=True)
        files.part.folder.mkdir(parents=True)
        ending = supervise(partial(_hand_over, work, files), around.limits, None, around.scheduler)
        killed = ending.end is End.SIGNALLED and ending.code == signal.SIGKILL
        if not (killed and tries_left):
            break
    outcome = judge(ending, files.part, around.limits)
    load = round(os.getloadavg()[0], 2)
    columns = {"started_at": started_at, "load": load, "memory_mib": ending.memory_mib}
    return EndedPart(_lines(files.lines), outcome, ending.wall_s, columns)


def _hand_over(work: Callable[[], Iterable[dict[str, Any]]], files: PartFiles) -> None:
    """Write each line down as it comes, in the part's own process: a limit takes only what is left."""
    try:
        with files.lines.open("w", encoding="utf-8") as stream:
            for line in work():
                stream.write(json.dumps(line, allow_nan=False) + "\n")
                stream.flush()
    except MemoryError as error:
        result = {"status": Status.MEMORY_LIMIT, "message": f"out of memory: {error}"}
        write_text(files.part.result, json.dumps(result))
    except (ImportError, OSError):
        traceback.print_exc()
        sys.exit(BENCH_FAULT)


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]] if path.exists() else []
