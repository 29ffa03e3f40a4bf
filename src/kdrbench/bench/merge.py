"""The merged tables: all rows of an experiment, or of a system, as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kdrbench.bench.isolation.calibration import drift_columns
from kdrbench.bench.record import AnyRecord, RecordError, flat, read_records
from kdrbench.files import write_text


def merge_records(
    paths: Iterable[Path], kind: type[AnyRecord], expected: Mapping[tuple[Any, ...], str], table: Path
) -> list[AnyRecord]:
    """Write all records and how their cores drifted as one CSV table, in the order of ``expected``; return them.

    ``expected`` names the rows and the definition for which each was to be made.

    Raises ``RecordError`` when a row is missing, double, not expected, or made for another definition than the
    configuration's: a table has neither silent holes nor numbers of something else.
    """
    records = in_order(_of_these_definitions(paths, kind, expected), expected)
    drifts = drift_columns([record.provenance for record in records])
    write_table(table, [flat(record) | drift for record, drift in zip(records, drifts, strict=True)])
    return records


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
        raise RecordError(f"{len(missing)} row(s) have no record, the first is {missing[0]}; run the workflow again")
    if extra := set(rows) - set(wanted):
        raise RecordError(f"{len(extra)} record(s) belong to no row of the configuration, one is {min(extra)}")
    return [rows[axes] for axes in wanted]


def rows_lost(table: Path, n_rows: int) -> int:
    """Return how many rows fewer ``n_rows`` are than an existing table has."""
    if not table.exists():
        return 0
    with table.open(encoding="utf-8", newline="") as stream:
        return max(0, sum(1 for _ in csv.DictReader(stream)) - n_rows)


def write_table(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    """Write lines with the same columns as CSV with a header; no lines make an empty file."""
    buffer = io.StringIO()
    if lines:
        writer = csv.DictWriter(buffer, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    write_text(path, buffer.getvalue())
