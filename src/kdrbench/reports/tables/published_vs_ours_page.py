"""The list of published numbers and ours as a page, as CSV, and as the table of what the low-rank paper's text says."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import astuple, fields
from typing import Any

from kdrbench.errors import InputError
from kdrbench.reports.tables.html import render
from kdrbench.reports.tables.labels import METRIC_TITLES, dataset_label, kernel_label, low_rank_label, method_label
from kdrbench.reports.tables.low_rank import METRIC_LABELS, PAPER
from kdrbench.reports.tables.published_numbers import paper_label
from kdrbench.reports.tables.published_vs_ours import Comparison, shares, unexplained
from kdrbench.reports.tables.table import Entry, Table, blocks_by, csv_text, entries
from kdrbench.reports.tables.verdicts import VERDICT_RULES, Verdict

_METHODS = {"none": "no reduction", "ism2018": "ISM 2018"}
_NUMBERS = {"published_value", "mean", "std", "low", "high"}
_COLUMNS = [field.name for field in fields(Comparison)]


def labels_of(one: Comparison) -> tuple[str, str, str]:
    """Return data set, kernel and method as tables print them, from the names that published numbers have."""
    kernel = kernel_label(one.kernel.replace("+", "_")) if one.kernel else "-"
    of_low_rank = one.paper == PAPER["paper"]
    method = low_rank_label(one.method) if of_low_rank else _METHODS.get(one.method) or method_label(one.method)
    return dataset_label(one.dataset), kernel, method


def comparison_html(comparisons: list[Comparison]) -> str:
    """Return the list as one self-contained page."""
    return render(
        "published_vs_ours.html.j2",
        comparisons=comparisons,
        shares=list(shares(comparisons)),
        unexplained=unexplained(comparisons),
        verdict_rules=VERDICT_RULES,
        labels_of=labels_of,
        paper=paper_label,
        metrics=METRIC_TITLES,
    )


def comparison_csv(comparisons: Iterable[Comparison]) -> str:
    """Return one line a comparison."""
    return csv_text(_COLUMNS, map(astuple, comparisons))


def comparisons_from_csv(text: str) -> list[Comparison]:
    """Return the comparisons that :func:`comparison_csv` has written.

    Raises ``InputError`` when the columns are not those of a comparison.
    """
    reader = csv.DictReader(io.StringIO(text))
    if reader.fieldnames != _COLUMNS:
        given = ", ".join(reader.fieldnames or ["none"])
        raise InputError(f"a list of published numbers has the columns {', '.join(_COLUMNS)}; got {given}")
    return [Comparison(**{name: _value(name, word) for name, word in row.items()}) for row in reader]


def _value(name: str, word: str) -> Any:
    if name in _NUMBERS:
        return float(word) if word else None
    if name == "runs":
        return int(word)
    if name == "first":
        return word == "True"
    return Verdict(word) if name == "verdict" else word


def low_rank_table(name: str, comparisons: Iterable[Comparison]) -> Table:
    """Return the numbers in the text of the paper on low-rank kernels: paper, ours, verdict, why."""
    return Table(
        name=name,
        title="Low-rank kernel learning: numbers in the text of the paper, and ours",
        columns=["Data", "Number", "Method", "Ours from", "Paper", "Ours", "Verdict", "Why"],
        blocks=list(blocks_by((one.dataset, _row(one)) for one in comparisons)),
        notes=[
            "Mean and standard deviation over draws of the constraints. The published rule ends when the duals come to "
            "rest: |mu - mu_old|_1 / (|mu|_2 + |mu_old|_2) < 1e-3."
        ],
        n_labels=4,
    )


def _row(one: Comparison) -> list[Entry]:
    words = (one.dataset, METRIC_LABELS[one.metric], low_rank_label(one.method), one.experiment, one.published)
    ours = Entry(one.ours, value=one.mean, spread=one.std)
    return [*entries(words), ours, Entry(one.verdict, verdict=one.verdict), Entry(one.why)]
