"""The list of published numbers and ours, read again from the file in which it was written."""

from __future__ import annotations

import csv
import io
from dataclasses import fields
from typing import Any

from kdrbench.errors import InputError
from kdrbench.reports.comparison import Comparison
from kdrbench.reports.layout import dataset_label, kernel_label, method_label
from kdrbench.reports.lowrank import PAPER as LOWRANK
from kdrbench.reports.lowrank import label_of as lowrank_label
from kdrbench.reports.verdict import Verdict

_METHODS = {"none": "no reduction", "ism2018": "ISM 2018"}
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


def named(one: Comparison) -> tuple[str, str, str]:
    """Return data set, kernel and method as tables print them, from the names that published numbers have."""
    kernel = kernel_label(one.kernel.replace("+", "_")) if one.kernel else "-"
    of_lowrank = one.paper == LOWRANK["paper"]
    method = lowrank_label(one.method) if of_lowrank else _METHODS.get(one.method) or method_label(one.method)
    return dataset_label(one.dataset), kernel, method


def _value(name: str, word: str) -> Any:
    if name in _NUMBERS:
        return float(word) if word else None
    if name == "runs":
        return int(word)
    if name == "first":
        return word == "True"
    return Verdict(word) if name == "verdict" else word
