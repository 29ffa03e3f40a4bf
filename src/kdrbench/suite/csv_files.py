"""Tables as CSV that spreadsheets can open: no text of a run is a formula, and reading gives the exact text again."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

# With these a spreadsheet takes a cell for a formula, or skips to what comes next.
_ACTIVE = ("=", "+", "-", "@", "\t", "\r", "\n")
# Checked here: the limit of the csv module is the process's, and scipy's reader of ARFF lifts it.
LONGEST_CELL = 2**17
# In front of a text a spreadsheet shows it as it is.
_GUARD = "'"
# What makes a cell one that is quoted.
_QUOTED = re.compile(r'[,"\r\n]')
_NUMBER = r"[+-]?(\d+\.?\d*|\.\d+|inf|nan)(e[+-]?\d+)?"
# A mean and its spread, and the dash of a cell without a number, are none to a spreadsheet.
_HARMLESS = re.compile(rf"[+-]|{_NUMBER}( ?± ?{_NUMBER})?( ?%)?", re.IGNORECASE)


def csv_text(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return a CSV file with a line of names; ``None`` is an empty cell. Texts are guarded (:func:`guarded`)."""
    return "".join(map(csv_line, (columns, *rows)))


def csv_line(cells: Iterable[Any]) -> str:
    """Return one line of a CSV file, as :func:`csv_text` writes it."""
    # An empty line is none: a row of one empty cell is quoted.
    return (",".join(map(_cell, cells)) or '""') + "\n"


def parse_csv(text: str) -> tuple[list[str], list[dict[str, str]]]:
    """Return the columns and the rows that :func:`csv_text` has written; ``ValueError`` for what is no such table."""
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        rows = list(reader)
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: {error}") from error
    if any(None in row for row in rows):
        raise ValueError("a row has more cells than there are columns")
    if (longest := max((len(word) for row in rows for word in row.values() if word), default=0)) > LONGEST_CELL:
        raise ValueError(f"a field is larger than {LONGEST_CELL} characters: {longest}")
    return list(reader.fieldnames or []), [{name: restored(word or "") for name, word in row.items()} for row in rows]


def read_csv(path: Path) -> list[dict[str, str]]:
    """Return the rows of a file that holds what :func:`csv_text` has written."""
    with path.open(encoding="utf-8", newline="") as stream:
        return parse_csv(stream.read())[1]


def guarded(text: str) -> str:
    """Return a text with an apostrophe before it if a spreadsheet would take it for a formula; numbers stay.

    One that begins with an apostrophe gets another, so that :func:`restored` gives every text again.
    """
    return f"{_GUARD}{text}" if text.startswith((_GUARD, *_ACTIVE)) and not _HARMLESS.fullmatch(text) else text


def restored(text: str) -> str:
    """Return the text of which :func:`guarded` made this."""
    return text.removeprefix(_GUARD)


def _cell(value: Any) -> str:
    text = "" if value is None else guarded(value) if isinstance(value, str) else str(value)
    # The writer of the standard library leaves a carriage return bare, which readers take for the end of a line.
    return '"{}"'.format(text.replace('"', '""')) if _QUOTED.search(text) else text
