"""The table of all rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from kdrbench.bench.calibration import drift_columns
from kdrbench.bench.record import Axes, RunRecord, read_records
from kdrbench.bench.rows import RecordError, in_order, write_table


def merge_records(paths: Iterable[Path], expected: Mapping[Axes, str], table: Path) -> list[RunRecord]:
    """Write all records and how their cores drifted as one CSV table, in the order of ``expected``; return them.

    ``expected`` names the runs and the definition that each was to be made for.

    Raises ``RecordError`` when a run is missing, double, not expected, or made for another definition than the
    configuration's: a table has neither silent holes nor numbers of something else.
    """
    records = in_order(_of_these_definitions(paths, expected), expected)
    drifts = drift_columns(records)
    write_table(table, [asdict(record) | drift for record, drift in zip(records, drifts, strict=True)])
    return records


def _of_these_definitions(paths: Iterable[Path], expected: Mapping[Axes, str]) -> Iterator[tuple[Path, RunRecord]]:
    for path in paths:
        for record in read_records(path):
            if record.definition_sha256 != expected.get(record.axes, record.definition_sha256):
                raise RecordError(
                    f"run {record.axes} in {path} was made for another definition than the configuration has; "
                    "delete that file and run the workflow again"
                )
            yield path, record
