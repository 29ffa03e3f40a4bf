"""The table of all rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from kdrbench.bench.calibration import drift_columns
from kdrbench.bench.record import Axes, RecordError, RunRecord, read_records
from kdrbench.files import write_text


def merge_records(paths: Iterable[Path], expected: Mapping[Axes, str], table: Path) -> list[RunRecord]:
    """Write all records and how their cores drifted as one CSV table, in the order of ``expected``; return them.

    ``expected`` names the runs and the definition that each was to be made for.

    Raises ``RecordError`` when a run is missing, double, not expected, or made for another definition than the
    configuration's: a table has neither silent holes nor numbers of something else.
    """
    found: dict[Axes, RunRecord] = {}
    for path in paths:
        for record in read_records(path):
            if record.axes in found:
                raise RecordError(f"run {record.axes} stands twice in the results, the second time in {path}")
            if record.definition_sha256 != expected.get(record.axes, record.definition_sha256):
                raise RecordError(
                    f"run {record.axes} in {path} was made for another definition than the configuration has; "
                    "delete that file and run the workflow again"
                )
            found[record.axes] = record
    if missing := [axes for axes in expected if axes not in found]:
        raise RecordError(f"{len(missing)} run(s) have no record, the first is {missing[0]}; run the workflow again")
    if extra := set(found) - set(expected):
        raise RecordError(f"{len(extra)} record(s) belong to no run of the configuration, one is {min(extra)}")
    records = [found[axes] for axes in expected]
    _write(records, table)
    return records


def _write(records: list[RunRecord], table: Path) -> None:
    rows = [asdict(record) | drift for record, drift in zip(records, drift_columns(records), strict=True)]
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(table, buffer.getvalue())
