"""The files of a job: rows, traces and findings of all its batches, assembled from their workspaces.

A line of a trace holds the cell and the number of its run; the name of an array in the findings does as well, as in
``gaussian/ism/projection_0``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdrbench.bench.batch import Batch, Bundle
from kdrbench.bench.record import AnyRecord, RecordError, write_records
from kdrbench.bench.traces import read_trace
from kdrbench.bench.workspace import Workspace
from kdrbench.files import drop_unfinished, replacing, write_text


@dataclass(frozen=True)
class JobFiles:
    """Where a job writes: rows, traces and findings that appear whole, and the folder of all workspaces."""

    records: Path
    traces: Path
    findings: Path
    workspaces: Path

    @classmethod
    def of(cls, results: Path, path: str) -> JobFiles:
        """Return the files of the job with this path, in the folder ``results``."""
        return cls(
            results / "runs" / f"{path}.jsonl",
            results / "traces" / f"{path}.jsonl",
            results / "findings" / f"{path}.npz",
            results / ".workspace",
        )

    def workspace(self, batch: Batch, record: type[AnyRecord]) -> Workspace[AnyRecord]:
        """Return the workspace of a batch."""
        return Workspace.of(self.workspaces, batch, record)


def publish(bundle: Bundle, files: JobFiles, record: type[AnyRecord]) -> list[AnyRecord]:
    """Write findings, traces and rows of all batches as whole files, rows last, and return the rows.

    Raises ``RecordError`` unless every batch has its rows.
    """
    for path in (files.records, files.traces, files.findings):
        drop_unfinished(path)
    workspaces = [(batch, files.workspace(batch, record)) for batch in bundle.batches]
    records = [row for batch, workspace in workspaces for row in _in_order(batch, workspace)]
    arrays = {name: array for batch, workspace in workspaces for name, array in _arrays(batch, workspace)}
    with replacing(files.findings) as stream:
        # Without pickled objects: loading those would run code.
        np.savez_compressed(stream, allow_pickle=False, **arrays)
    lines = [line for batch, workspace in workspaces for line in _trace_lines(batch, workspace)]
    write_text(files.traces, "".join(f"{line}\n" for line in lines))
    write_records(files.records, records)
    return records


def _in_order(batch: Batch, workspace: Workspace[AnyRecord]) -> list[AnyRecord]:
    records = {record.axes: record for record in workspace.records()}
    if missing := [axes for axes in batch.axes if axes not in records]:
        raise RecordError(f"{workspace.folder} lacks {len(missing)} row(s), the first is {missing[0]}; run it again")
    return [records[axes] for axes in batch.axes]


def _trace_lines(batch: Batch, workspace: Workspace[Any]) -> Iterator[str]:
    for run in batch.runs:
        for line in read_trace(workspace.run(run).trace):
            yield json.dumps({"cell": batch.cell_name, "run": run} | line._asdict())


def _arrays(batch: Batch, workspace: Workspace[Any]) -> Iterator[tuple[str, NDArray[Any]]]:
    for run in batch.runs:
        for name, array in workspace.run(run).arrays().items():
            yield array_name(batch.cell_name, name, run), array


def array_name(cell: str, name: str, run: int) -> str:
    """Return the name of an array in a job's findings; ``cell`` as in traces."""
    return f"{cell}/{name}_{run}" if cell else f"{name}_{run}"


def read_points(path: Path) -> dict[tuple[str, int], list[dict[str, Any]]]:
    """Read a published trace: by cell and run the points in their order."""
    points: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        point = json.loads(line)
        points.setdefault((point.pop("cell"), point.pop("run")), []).append(point)
    return points
