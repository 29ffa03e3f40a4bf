"""Merged tables read as records again: every cell is checked, since a table may come from anywhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any

from kdrbench.errors import visible
from kdrbench.files import write_bytes
from kdrbench.status import Status
from kdrbench.suite.csv_files import numbered_csv
from kdrbench.suite.engine.provenance import DRIFT
from kdrbench.suite.engine.record import (
    AnyRecord,
    Record,
    RecordError,
    column_types,
    completed,
    kinds_of,
    record_of,
)

_TRUTHS = {"True": True, "False": False}


def read_merged(path: Path, kind: type[AnyRecord], content: bytes | None = None) -> list[AnyRecord]:
    """Return the records of a merged table of one system; how cores drifted is left out.

    Where its ``content`` is given, ``path`` only names it. Raises ``RecordError`` naming the file, the line and the
    column for a table that is cut, lacks a column that all tables have, or holds a value that the column may not hold;
    and for two rows with the same axes.
    """
    records: dict[tuple[Any, ...], AnyRecord] = {}
    for number, words in read_words(path, kind, content):
        try:
            record = record_in(words, kind)
        except RecordError as error:
            raise _unreadable(path, f"line {number}: {error}") from error
        if record.axes in records:
            raise _unreadable(path, f"the row {record.axes} occurs twice")
        records[record.axes] = record
    return list(records.values())


def read_words(path: Path, kind: type[Record], content: bytes | None = None) -> list[tuple[int, dict[str, str]]]:
    """Return the cells of a merged table's rows by column, with the numbers of their lines.

    Columns that were added since are filled. Raises ``RecordError`` for a table that is cut, or lacks other columns.
    """
    content = path.read_bytes() if content is None else content
    if not content.endswith(b"\n"):
        raise _unreadable(path, "its last line is cut" if content else "it is empty")
    try:
        names, rows = numbered_csv(content.decode("utf-8"))
    except ValueError as error:
        raise _unreadable(path, str(error)) from error
    added = {name: "" if default is None else str(default) for name, default in completed({}, kind).items()}
    types = column_types(kind)  # type: ignore[arg-type]
    if missing := sorted({*types, *DRIFT} - {*names, *added}):
        raise _unreadable(path, f"it lacks columns of {kind.__name__}: {_shown(missing)}")
    return [(number, added | row) for number, row in rows]


def record_in(words: dict[str, str], kind: type[AnyRecord]) -> AnyRecord:
    """Return the record of a row's cells; ``RecordError`` for one that its column may not hold."""
    types = column_types(kind)  # type: ignore[arg-type]
    return record_of({name: _value(name, words[name], types[name]) for name in types}, kind)


def was_disturbed(words: Mapping[str, str]) -> bool:
    """Return whether a row is of a timed run whose cores changed their speed, or worked for others too."""
    return words["timed"] == "True" and "True" in (words["drifted"], words["contaminated"])


def was_stopped(words: Mapping[str, str]) -> bool:
    """Return whether a row is of a run that ended at a limit of time or memory."""
    return words["status"] in (Status.TIME_LIMIT, Status.MEMORY_LIMIT)


def runs_that(chosen: Callable[[Mapping[str, str]], bool], path: Path, kind: type[Record]) -> dict[str, set[int]]:
    """Return by their cell the runs of a merged table with a row that is ``chosen``.

    A cell is experiment/data set/..., the place of its batches. Raises ``RecordError`` as :func:`read_words` does.
    """
    axes = ("experiment", "dataset", *kind.CELL)
    found: dict[str, set[int]] = defaultdict(set)
    for _, words in read_words(path, kind):
        if chosen(words):
            found["/".join(words[axis] for axis in axes)].add(int(words["run"]))
    return dict(found)


def join_tables(tables: Sequence[Path], path: Path) -> None:
    """Write the table of a system from those of its experiments, which say of their rows the same as it does."""
    contents = [content for content in map(Path.read_bytes, tables) if content]
    write_bytes(path, b"".join([*contents[:1], *(content.partition(b"\n")[2] for content in contents[1:])]))


def _unreadable(path: Path, fault: str) -> RecordError:
    return RecordError(
        f"{path} is no merged table that can be read: {fault}; merge it again where its runs are, with the same "
        "version of kdrbench, or leave it out"
    )


def _value(name: str, word: str, allowed: Any) -> Any:
    """Return a cell as a value of its column's type; a text stays one, for the check of the record to refuse."""
    kinds = kinds_of(allowed)
    if not word and NoneType in kinds:
        return None
    if bool in kinds and word in _TRUTHS:
        return _TRUTHS[word]
    for number in (int, float):
        if number in kinds:
            try:
                return number(word)
            except ValueError:
                continue
    return word


def _shown(names: Sequence[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return visible(", ".join(name[:60] for name in names[:most])) + more
