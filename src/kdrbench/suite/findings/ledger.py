"""Every published number of the tables that experiments reproduce, beside ours: one list over all systems, written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import astuple, replace
from enum import StrEnum
from typing import Any, get_type_hints

import pandas as pd

from kdrbench.errors import InputError, counted
from kdrbench.suite.csv_files import csv_text, parse_csv
from kdrbench.suite.findings.effects import Effect
from kdrbench.suite.findings.ledger_lines import (
    UNEXPLAINED,
    Comparison,
    ikdr_lines,
    kpca_lines,
    low_rank_lines,
    printed_line,
    text_lines,
)
from kdrbench.suite.reports.records import IKDR, KPCA_TRICK, LOW_RANK, Config, experiments_of, of_papers
from kdrbench.suite.reports.tables.labels import dataset_label, kernel_label, low_rank_label, method_label
from kdrbench.suite.reports.tables.published_numbers import AXES, find_published
from kdrbench.suite.reports.tables.significance import interval_words
from kdrbench.suite.reports.tables.verdicts import Verdict
from kdrbench.suite.systems.ikdr.scores import Metric
from kdrbench.suite.systems.low_rank import tables as low_rank

# What shares are counted of, in the order in which they are printed.
COUNTED = (Verdict.REPRODUCED, Verdict.CLOSE, Verdict.DIFFERS, Verdict.STOPPED, Verdict.NOT_RUN)
EFFECTS = (Effect.YES, Effect.SIGN_ONLY, Effect.GONE, Effect.REVERSED, Effect.IN_NEITHER, Effect.ONLY_HERE)
_METHODS = {"none": "no reduction", "ism2018": "ISM 2018"}
# How a reason says that there is none.
NONE_KNOWN = re.compile(rf"{UNEXPLAINED}|no setting is known|settings none meets")
_COLUMNS = get_type_hints(Comparison)
# How columns that are no texts are read.
_READERS: dict[Any, Callable[[str], Any]] = {
    float | None: lambda word: float(word) if word else None,
    bool: "True".__eq__,
}


def compare(tables: dict[str, pd.DataFrame], config: Config) -> list[Comparison]:
    """Return the published numbers that the experiments of ``run`` have, in print order, system by system.

    Experiments that name no paper are left out, and so is what is printed where none of the others looks.
    ``tables`` are the merged tables by system; a system that is missing is left out. What papers say in words comes
    last.
    """
    config = of_papers(config)
    by_system = {IKDR: ikdr_lines, KPCA_TRICK: kpca_lines, LOW_RANK: low_rank_lines}
    there = {name: tables[name] for name in by_system if name in tables and experiments_of(config, name)}
    lines: list[Comparison] = []
    for name, runs in there.items():
        for axes, of_number in by_system[name](runs, config):
            # Of several experiments one by the paper's protocol counts.
            of_number = sorted(of_number, key=lambda line: line.verdict is Verdict.NOT_COMPARABLE)
            of_number = of_number or [printed_line(axes)]
            lines += [replace(line, first=place == 0) for place, line in enumerate(of_number)]
    return [*lines, *text_lines(there, config)]


class Trace(StrEnum):
    """How a printed number is traced: by our own runs, by runs of the paper's protocol, by a sentence, or not at all.

    A number that a limit left open is open unless runs of the protocol that no limit stopped come close to it. So is
    one that differs for a reason that was sought and not found.
    """

    OURS = "reproduced by our runs"
    PROTOCOL = "reproduced by runs of another protocol"
    EXPLAINED = "explained by a sentence alone"
    OPEN = "open"


def trace_of(line: Comparison) -> Trace:
    """Return how a printed number is traced."""
    if line.verdict is Verdict.REPRODUCED:
        return Trace.OURS
    by_protocol = {verdict for _, verdict in line.by_protocol}
    if Verdict.REPRODUCED in by_protocol:
        return Trace.PROTOCOL
    stopped = line.verdict is Verdict.STOPPED and Verdict.CLOSE not in by_protocol
    return Trace.OPEN if stopped or not line.why or NONE_KNOWN.search(line.why) else Trace.EXPLAINED


def not_comparable(comparisons: Iterable[Comparison]) -> str:
    """Return how many numbers are shown beside runs of another protocol than the paper's; empty if none are."""
    number = sum(line.first and line.verdict is Verdict.NOT_COMPARABLE for line in comparisons)
    return f"{counted(number, 'number')} more {'is' if number == 1 else 'are'} not comparable" if number else ""


def judged(comparisons: Iterable[Comparison]) -> list[Comparison]:
    """Return the lines whose number has a verdict: not times in seconds, figures, and runs of another protocol."""
    return [line for line in comparisons if line.verdict in COUNTED]


def place_label(table: str) -> str:
    """Return the name of a place in a paper: a table by its number, or "text"."""
    return f"Table {table}" if table.isdigit() else table.capitalize()


def labels_of(line: Comparison) -> tuple[str, str, str]:
    """Return data set, kernel and method as tables print them, from the names that published numbers have."""
    kernel = kernel_label(line.kernel.replace("+", "_")) if line.kernel else "-"
    of_low_rank = line.paper == low_rank.PAPER["paper"]
    method = low_rank_label(line.method) if of_low_rank else _METHODS.get(line.method) or method_label(line.method)
    return dataset_label(line.dataset), kernel, method


def comparison_csv(comparisons: Iterable[Comparison]) -> str:
    """Return one line a comparison."""
    return csv_text([*_COLUMNS], map(astuple, comparisons))


def comparisons_from_csv(text: str) -> list[Comparison]:
    """Return the comparisons that :func:`comparison_csv` has written.

    Raises ``InputError`` when the columns are not those of a comparison.
    """
    names, rows = parse_csv(text)
    if names != [*_COLUMNS]:
        columns = ", ".join(names or ["none"])
        raise InputError(f"a list of published numbers has the columns {', '.join(_COLUMNS)}; got {columns}")
    readers = {name: _READERS.get(kind, kind) for name, kind in _COLUMNS.items()}
    return [Comparison(**{name: readers[name](word) for name, word in row.items()}) for row in rows]


def unit_text(line: Comparison) -> str:
    """Return the unit of a number that is not printed in that of ours, as "in units of 1000", or nothing."""
    number = find_published(**{axis: getattr(line, axis) for axis in AXES})
    return f"in units of {number.scale:g}" if number and number.scale != 1.0 else ""


def interval_text(line: Comparison) -> str:
    """Return the confidence interval in the unit in which the number is printed, or nothing where there is none."""
    # The KPCA trick prints shares, others per cent.
    share = line.metric == Metric.ACCURACY and "%" not in line.ours
    return interval_words("share" if share else line.metric, line.low, line.high)
