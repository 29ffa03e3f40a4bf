"""Rows of any record class: JSON lines that are appended and flushed to disk, and one CSV table of all of them.

A record class is a frozen dataclass whose first field is ``schema_version`` and which has ``axes``, what names a row.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar, get_type_hints

from kdrbench.bench.record import RecordError
from kdrbench.files import write_text
from kdrbench.solvers.status import Status


class Row(Protocol):
    """What these functions need of a record."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def axes(self) -> tuple[Any, ...]:
        """What names the row."""
        ...


_Row = TypeVar("_Row", bound=Row)


def row_json(row: Row) -> str:
    """Return the record as one line of JSON."""
    return json.dumps(asdict(row), separators=(",", ":"), allow_nan=False)


def parse_row(line: str, kind: type[_Row], version: int) -> _Row:
    """Read one line; raises ``RecordError`` when a column is missing, unknown or of the wrong type."""
    try:
        values = json.loads(line)
    except json.JSONDecodeError as error:
        raise RecordError(f"not a line of JSON: {line[:80]!r}") from error
    hints = {name: hint for name, hint in get_type_hints(kind).items() if name in kind.__dataclass_fields__}
    if not isinstance(values, dict) or values.get("schema_version") != version:
        raise RecordError(
            f"a {kind.__name__} must have schema version {version}, got {line[:80]!r}; delete the results folder it "
            "lies in and run again"
        )
    if differing := set(hints) ^ set(values):
        raise RecordError(f"the record's columns differ from the schema in: {', '.join(sorted(differing))}")
    for name, value in values.items():
        allowed = hints[name] | int if hints[name] in (float, float | None) else hints[name]
        if not isinstance(value, allowed):
            raise RecordError(f"column {name} holds {value!r}, which is not of type {hints[name]}")
    if values["status"] not in set(Status):
        raise RecordError(f"unknown status {values['status']!r}; allowed: {', '.join(Status)}")
    return kind(**values)


def read_rows(path: Path, kind: type[_Row], version: int) -> list[_Row]:
    """Read a file of records; an unfinished last line (a writer that was killed) is left out."""
    if not path.exists():
        return []
    return [parse_row(line, kind, version) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def append_rows(path: Path, rows: Sequence[Row]) -> None:
    """Append the records and flush them to disk before returning."""
    with path.open("a", encoding="utf-8") as stream:
        stream.write("".join(row_json(row) + "\n" for row in rows))
        stream.flush()
        os.fsync(stream.fileno())


def merge_rows(rows: Iterable[_Row], expected: Sequence[tuple[Any, ...]], table: Path) -> list[_Row]:
    """Write all records as one CSV table in the order of ``expected`` and return them.

    Raises ``RecordError`` when a row is missing, double or not expected: a table never has silent holes.
    """
    found: dict[tuple[Any, ...], _Row] = {}
    for row in rows:
        if row.axes in found:
            raise RecordError(f"row {row.axes} stands twice in the results")
        found[row.axes] = row
    missing = [axes for axes in expected if axes not in found]
    if missing:
        raise RecordError(f"{len(missing)} row(s) have no record, the first is {missing[0]}; run the workflow again")
    if extra := set(found) - set(expected):
        raise RecordError(f"{len(extra)} record(s) belong to no row of the configuration, one is {min(extra)}")
    merged = [found[axes] for axes in expected]
    buffer = io.StringIO()
    if merged:
        writer = csv.DictWriter(buffer, [field.name for field in fields(merged[0])], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in merged)
    write_text(table, buffer.getvalue())
    return merged
