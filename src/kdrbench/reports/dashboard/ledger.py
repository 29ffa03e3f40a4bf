"""The list of published numbers and ours, read again from the file in which it was written."""

from __future__ import annotations

import csv
import io
from dataclasses import fields
from typing import Any

from kdrbench.errors import InputError
from kdrbench.reports.comparison import Comparison
from kdrbench.reports.verdict import Verdict

_NUMBERS = {"published_value", "mean", "std", "low", "high"}


def comparisons_from_csv(text: str) -> list[Comparison]:
    """Return the comparisons that :func:`kdrbench.reports.comparison.comparison_csv` has written.

    Raises ``InputError`` when the columns are not those of a comparison.
    """
    reader = csv.DictReader(io.StringIO(text))
    names = [field.name for field in fields(Comparison)]
    if reader.fieldnames != names:
        raise InputError(f"a ledger has the columns {', '.join(names)}; got {', '.join(reader.fieldnames or ['none'])}")
    return [Comparison(**{name: _value(name, word) for name, word in row.items()}) for row in reader]


def _value(name: str, word: str) -> Any:
    if name in _NUMBERS:
        return float(word) if word else None
    if name == "runs":
        return int(word)
    if name == "first":
        return word == "True"
    return Verdict(word) if name == "verdict" else word
