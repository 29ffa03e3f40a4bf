"""Rows of any record class: JSON lines that are appended and flushed to disk, and one CSV table of all of them."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar, get_type_hints

from kdrbench.errors import KdrbenchError
from kdrbench.files import write_text
from kdrbench.solvers.status import Status


class RecordError(KdrbenchError):
    """A record that is not what its schema says, or a table with rows missing or double."""


class Row(Protocol):
    """What these functions need of a record class, which is a frozen dataclass with ``schema_version`` and ``status``.

    ``SCHEMA_VERSION`` is the version of what is written and read.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]
    SCHEMA_VERSION: ClassVar[int]

    @property
    def axes(self) -> tuple[Any, ...]:
        """What names the row."""
        ...


_Row = TypeVar("_Row", bound=Row)


def row_json(row: Row) -> str:
    """Return the record as one line of JSON."""
    return json.dumps(asdict(row), separators=(",", ":"), allow_nan=False)


def parse_row(line: str, kind: type[_Row]) -> _Row:
    """Read one line; raises ``RecordError`` when a column is missing, unknown or of the wrong type."""
    try:
        values = json.loads(line)
    except json.JSONDecodeError as error:
        raise RecordError(f"not a line of JSON: {line[:80]!r}") from error
    if not isinstance(values, dict):
        raise RecordError(f"a record must be a JSON object, got {line[:80]!r}")
    if values.get("schema_version") != kind.SCHEMA_VERSION:
        raise RecordError(
            f"a {kind.__name__} must have schema version {kind.SCHEMA_VERSION}, got "
            f"{values.get('schema_version')!r}; delete the results folder it lies in and run again"
        )
    types = _column_types(kind)
    if differing := set(types) ^ set(values):
        raise RecordError(f"the record's columns differ from the schema in: {', '.join(sorted(differing))}")
    for name, value in values.items():
        allowed = types[name] | int if types[name] in (float, float | None) else types[name]
        if not isinstance(value, allowed):
            raise RecordError(f"column {name} holds {value!r}, which is not of type {types[name]}")
    if values["status"] not in set(Status):
        raise RecordError(f"unknown status {values['status']!r}; allowed: {', '.join(Status)}")
    return kind(**values)


@cache
def _column_types(kind: type[Row]) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def read_rows(path: Path, kind: type[_Row]) -> list[_Row]:
    """Read a file of records; an unfinished last line (a writer that was killed) is left out."""
    if not path.exists():
        return []
    return [parse_row(line, kind) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def append_rows(path: Path, rows: Iterable[Row]) -> None:
    """Append the records and flush them to disk before returning."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as stream:
        stream.write("".join(row_json(row) + "\n" for row in rows))
        stream.flush()
        os.fsync(stream.fileno())


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write the records as a whole file."""
    write_text(path, "".join(row_json(row) + "\n" for row in rows))


def in_order(found: Iterable[tuple[Path, _Row]], expected: Iterable[tuple[Any, ...]]) -> list[_Row]:
    """Return the records, each given with its file, in the order of ``expected``, which are their axes.

    Raises ``RecordError`` when a row is missing, double or not expected: a table never has silent holes.
    """
    rows: dict[tuple[Any, ...], _Row] = {}
    for path, row in found:
        if row.axes in rows:
            raise RecordError(f"row {row.axes} stands twice in the results, the second time in {path}")
        rows[row.axes] = row
    wanted = dict.fromkeys(expected)
    if missing := [axes for axes in wanted if axes not in rows]:
        raise RecordError(f"{len(missing)} row(s) have no record, the first is {missing[0]}; run the workflow again")
    if extra := set(rows) - set(wanted):
        raise RecordError(f"{len(extra)} record(s) belong to no row of the configuration, one is {min(extra)}")
    return [rows[axes] for axes in wanted]


def merge_rows(paths: Iterable[Path], kind: type[_Row], expected: Iterable[tuple[Any, ...]], table: Path) -> list[_Row]:
    """Write the records of all files as one CSV table in the order of ``expected`` and return them.

    Raises ``RecordError`` as :func:`in_order` does.
    """
    merged = in_order(((path, row) for path in paths for row in read_rows(path, kind)), expected)
    write_table(table, [asdict(row) for row in merged])
    return merged


def write_table(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    """Write lines with the same columns as CSV with a header; no lines make an empty file."""
    buffer = io.StringIO()
    if lines:
        writer = csv.DictWriter(buffer, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    write_text(path, buffer.getvalue())
