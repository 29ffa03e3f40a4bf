"""Tables as CSV that spreadsheets can open: no text of a run is a formula, and reading gives the exact text again."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kdrbench.errors import DamagedError

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
    # An empty line is none: a row of one empty cell is quoted.
    lines = (",".join(map(_cell, cells)) or '""' for cells in (columns, *rows))
    return "".join(f"{line}\n" for line in lines)


def parse_csv(text: str) -> tuple[list[str], list[dict[str, str]]]:
    """Return the columns and the rows that :func:`csv_text` has written; ``ValueError`` for what is no such table."""
    names, rows = numbered_csv(text)
    return names, [row for _, row in rows]


def numbered_csv(text: str) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """Return the same as :func:`parse_csv`, each row after the number of its line."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        lines = [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: {error}") from error
    names = lines[0][1] if lines else []
    if len(set(names)) < len(names):
        raise ValueError("two of its columns have the same name")
    for number, row in lines:
        if len(row) != len(names):
            raise ValueError(f"line {number} has {len(row)} cells in place of {len(names)}")
        if (longest := max(map(len, row))) > LONGEST_CELL:
            raise ValueError(f"a field is larger than {LONGEST_CELL} characters: {longest}")
    return names, [(number, dict(zip(names, map(restored, row), strict=True))) for number, row in lines[1:]]


def read_csv(path: Path) -> list[dict[str, str]]:
    """Return the rows of a file that holds what :func:`csv_text` has written; ``DamagedError`` for another one."""
    try:
        return parse_csv(path.read_bytes().decode("utf-8"))[1]
    except ValueError as error:
        raise DamagedError(f"{path} is no table that can be read ({error}); make it again") from error


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
