"""The files of a job, assembled from the workspaces of its batches, and the merged tables of the rows of many jobs.

A line of a trace holds the cell and the number of its run; the name of an array in the findings does as well, as in
``wine/gaussian/ism/projection_0``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kdrbench.errors import counted
from kdrbench.files import drop_unfinished, replacing, write_text
from kdrbench.suite.csv_files import csv_text
from kdrbench.suite.engine.batch import WORKSPACES, Batch, Bundle
from kdrbench.suite.engine.provenance import drift_columns
from kdrbench.suite.engine.record import AnyRecord, Record, RecordError, flat, read_records, write_records
from kdrbench.suite.engine.run_files import trace_lines
from kdrbench.suite.engine.workspace import Workspace


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
            results / WORKSPACES,
        )

    def workspace(self, batch: Batch, record: type[AnyRecord]) -> Workspace[AnyRecord]:
        """Return the workspace of a batch."""
        return Workspace(self.workspaces / batch.path, record)


def publish(bundle: Bundle, files: JobFiles, record: type[AnyRecord]) -> list[AnyRecord]:
    """Write findings, traces and rows of all batches as whole files, rows last, and return the rows.

    Raises ``RecordError`` unless every batch has its rows.
    """
    for path in (files.records, files.traces, files.findings):
        drop_unfinished(path)
    workspaces = [(batch, files.workspace(batch, record)) for batch in bundle.batches]
    runs = [(batch.cell_name, run, workspace.run(run)) for batch, workspace in workspaces for run in batch.runs]
    records: list[AnyRecord] = []
    for batch, workspace in workspaces:
        rows = (row for row in workspace.records() if row.provenance.definition_sha256 == batch.definition_sha256)
        records += in_order(((workspace.rows, row) for row in rows), batch.axes)
    arrays = {array_name(cell, name, run): array for cell, run, left in runs for name, array in left.arrays().items()}
    with replacing(files.findings) as stream:
        # Without pickled objects: loading those would run code.
        np.savez_compressed(stream, allow_pickle=False, **arrays)
    with replacing(files.traces) as stream:
        for cell, run, left in runs:
            # A line at a time: traces may be long.
            for line in trace_lines(left.trace):
                stream.write(json.dumps({"cell": cell, "run": run} | line._asdict()).encode() + b"\n")
    write_records(files.records, records)
    return records


def array_name(cell: str, name: str, run: int) -> str:
    """Return the name of an array in a job's findings; ``cell`` as in traces."""
    return f"{cell}/{name}_{run}"


def array_place(name: str) -> tuple[str, str, int]:
    """Return cell, name and run of what :func:`array_name` made."""
    cell, _, kind = name.rpartition("/")
    kind, _, run = kind.rpartition("_")
    return cell, kind, int(run)


def read_points(path: Path) -> dict[tuple[str, int], list[dict[str, Any]]]:
    """Read a published trace: by cell and run the points in their order."""
    points: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        point = json.loads(line)
        points.setdefault((point.pop("cell"), point.pop("run")), []).append(point)
    return points


def merge_records(
    paths: Iterable[Path], kind: type[AnyRecord], expected: Mapping[tuple[Any, ...], str], table: Path
) -> list[AnyRecord]:
    """Write all records and how their cores drifted as one CSV table, in the order of ``expected``; return them.

    ``expected`` names the rows and the definition for which each was to be made.

    Raises ``RecordError`` when a row is missing, double, not expected, or made for another definition than the
    configuration's: a table has neither silent holes nor numbers of something else.
    """
    records = in_order(_of_these_definitions(paths, kind, expected), expected)
    write_table(table, merged_lines(records))
    return records


def merged_lines(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return the lines of a merged table: the columns of each record, and how its cores drifted."""
    return [flat(record) | drift for record, drift in zip(records, drift_columns(records), strict=True)]


def _of_these_definitions(
    paths: Iterable[Path], kind: type[AnyRecord], expected: Mapping[tuple[Any, ...], str]
) -> Iterator[tuple[Path, AnyRecord]]:
    for path in paths:
        for record in read_records(path, kind):
            definition = record.provenance.definition_sha256
            if definition != expected.get(record.axes, definition):
                raise RecordError(
                    f"row {record.axes} in {path} was made for another definition than the configuration has; "
                    "delete that file and run the workflow again"
                )
            yield path, record


def in_order(records: Iterable[tuple[Path, AnyRecord]], expected: Iterable[tuple[Any, ...]]) -> list[AnyRecord]:
    """Return the records, each given with its file, in the order of ``expected``, which are their axes.

    Raises ``RecordError`` when a row is missing, double or not expected.
    """
    rows: dict[tuple[Any, ...], AnyRecord] = {}
    for path, row in records:
        if row.axes in rows:
            raise RecordError(f"row {row.axes} occurs twice in the results, the second time in {path}")
        rows[row.axes] = row
    wanted = dict.fromkeys(expected)
    if missing := [axes for axes in wanted if axes not in rows]:
        raise RecordError(
            f"without a record: {counted(len(missing), 'row')}, the first is {missing[0]}; run the workflow again"
        )
    if extra := set(rows) - set(wanted):
        raise RecordError(
            f"belonging to no row of the configuration: {counted(len(extra), 'record')}, one is {min(extra)}"
        )
    return [rows[axes] for axes in wanted]


def write_table(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    """Write lines with the same columns as CSV with a header; no lines make an empty file."""
    write_text(path, csv_text(lines[0], (line.values() for line in lines)) if lines else "")
