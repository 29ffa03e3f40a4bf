"""Every published number of the tables that experiments reproduce, beside ours: one list over all systems, written."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import astuple, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

import pandas as pd

from kdrbench.errors import InputError, counted
from kdrbench.files import write_text
from kdrbench.suite.csv_files import csv_text, parse_csv
from kdrbench.suite.findings.effects import EFFECT_RULES, Effect
from kdrbench.suite.findings.ledger_lines import (
    UNEXPLAINED,
    Comparison,
    comparison,
    ikdr_lines,
    kpca_lines,
    low_rank_lines,
)
from kdrbench.suite.findings.ledger_text import text_lines
from kdrbench.suite.reports.records import IKDR, KPCA_TRICK, LOW_RANK, Config, Metric, experiments_of, of_papers
from kdrbench.suite.reports.tables.labels import (
    METRIC_TITLES,
    dataset_label,
    kernel_label,
    low_rank_label,
    method_label,
)
from kdrbench.suite.reports.tables.published_numbers import paper_label
from kdrbench.suite.reports.tables.significance import interval_words
from kdrbench.suite.reports.tables.table import render
from kdrbench.suite.reports.tables.verdicts import VERDICT_RULES, Verdict
from kdrbench.suite.systems.low_rank import tables as low_rank

# What shares are counted of, in the order in which they are printed.
COUNTED = (Verdict.REPRODUCED, Verdict.CLOSE, Verdict.DIFFERS, Verdict.STOPPED, Verdict.NOT_RUN)
EFFECTS = (Effect.YES, Effect.SIGN_ONLY, Effect.GONE, Effect.REVERSED, Effect.IN_NEITHER, Effect.ONLY_HERE)
_METHODS = {"none": "no reduction", "ism2018": "ISM 2018"}
_NUMBERS = {"published_value", "mean", "std", "low", "high", "error"}
# How a reason says that there is none, and how it names what was searched.
_NONE_KNOWN = re.compile(rf"{UNEXPLAINED}|no setting is known|settings none meets")
_SEARCHES = re.compile(r"\((?:experiments? )?((?:benchmarks/\w+\.py|[a-z]\w+)(?:, \w+)*)\)")
_COLUMNS = [field.name for field in fields(Comparison)]


def compare(tables: dict[str, pd.DataFrame], config: Config) -> list[Comparison]:
    """Return the published numbers that the experiments of ``run`` have, in print order, system by system.

    Experiments that name no paper are left out, and so is what is printed where none of the others looks.
    ``tables`` are the merged tables by system; a system that is missing is left out. What papers say in words comes
    last.
    """
    config = of_papers(config)
    by_system = {IKDR: ikdr_lines, KPCA_TRICK: kpca_lines, LOW_RANK: low_rank_lines}
    there = {name: tables[name] for name in by_system if name in tables and experiments_of(config, name)}
    pairs = [pair for name, runs in there.items() for pair in by_system[name](runs, config)]
    lines = []
    for axes, ours in pairs:
        lines += [comparison(axes, ours_here, first=count == 0) for count, ours_here in enumerate(ours or [None])]
    return [*lines, *text_lines(there, config)]


def unexplained(comparisons: Iterable[Comparison]) -> list[Comparison]:
    """Return the numbers that differ, or are only close, for no reason that is known: after a search or without."""
    unlike = (Verdict.DIFFERS, Verdict.CLOSE)
    return [line for line in comparisons if line.first and line.verdict in unlike and names_no_reason(line.why)]


class Trace(StrEnum):
    """How a printed number is traced: by our own runs, by runs of the paper's protocol, by a sentence, or not at all.

    A number that a limit left open, and one that differs for a reason that was sought and not found, is open.
    """

    OURS = "reproduced by our runs"
    PROTOCOL = "reproduced by runs of the authors' protocol"
    EXPLAINED = "explained by a sentence alone"
    OPEN = "open"


def traces(comparisons: Iterable[Comparison]) -> Iterator[tuple[str, Counter[Trace]]]:
    """Yield each paper, and how many of its printed numbers are traced how; times and missing runs are not counted."""
    counted: dict[str, Counter[Trace]] = {}
    for line in judged(comparisons):
        if line.first and line.verdict is not Verdict.NOT_RUN:
            counted.setdefault(line.paper, Counter())[trace_of(line)] += 1
    yield from counted.items()


def trace_of(line: Comparison) -> Trace:
    """Return how a printed number is traced."""
    if line.verdict is Verdict.REPRODUCED:
        return Trace.OURS
    if str(Verdict.REPRODUCED) in line.protocol_verdict.split("; "):
        return Trace.PROTOCOL
    is_open = line.verdict is Verdict.STOPPED or not line.why or names_no_reason(line.why)
    return Trace.OPEN if is_open else Trace.EXPLAINED


def names_no_reason(why: str) -> bool:
    """Return whether what is written of a number says that no reason is known."""
    return _NONE_KNOWN.search(why) is not None


def searches_in(why: str) -> list[str]:
    """Return the experiments and benchmarks by which a reason was sought, as ``why`` names them in brackets."""
    return [name for found in _SEARCHES.findall(why) for name in found.split(", ")]


def shares(comparisons: Iterable[Comparison]) -> Iterator[str]:
    """Yield how many numbers are reproduced, close and so on: a line for each table, and for each paper.

    Times are not counted: they have no verdict. A second line of a paper counts its effects, and a third one says how
    many numbers differ for no reason that is known, if any do.
    """
    counted = [line for line in comparisons if line.first]
    for paper in dict.fromkeys(line.paper for line in counted):
        of_paper, name = [line for line in counted if line.paper == paper], paper_label(paper)
        for table, setting in dict.fromkeys((line.table, line.setting) for line in of_paper):
            part = [line for line in of_paper if (line.table, line.setting) == (table, setting)]
            if judged(part):
                yield f"{name}, {place_label(table)}, {setting}: {_in_words(part)}"
        yield "; ".join([f"{name}: {_in_words(of_paper)}", *_others(of_paper)])
        if effects := Counter(line.effect for line in of_paper if line.effect):
            yield f"{name}, effects: " + ", ".join(f"{effects[effect]} {effect}" for effect in EFFECTS)
        if unknown := unexplained(of_paper):
            searched = sum(bool(searches_in(line.why)) for line in unknown)
            after = f", of which {searched} after a stated search" if searched else ""
            yield f"{name}, unlike for no reason that is known: {len(unknown)}{after}"


def _others(comparisons: list[Comparison]) -> Iterator[str]:
    """Yield how many numbers are shown without a verdict that counts, and why."""
    others = [
        line for line in comparisons if line.verdict not in COUNTED and line.verdict is not Verdict.NOT_COMPARABLE
    ]
    if others:
        yield f"{len(others)} more are not judged (times, figures)"
    if departing := not_comparable(comparisons):
        yield f"{departing} (our runs depart from the paper's protocol)"


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


def _in_words(comparisons: list[Comparison]) -> str:
    verdicts = [line.verdict for line in judged(comparisons)]
    counts, total = Counter(verdicts), max(1, len(verdicts))
    parts = [f"{counts[verdict]} {verdict} ({counts[verdict] / total:.0%})" for verdict in COUNTED]
    return f"{counted(len(verdicts), 'number')}: " + ", ".join(parts)


def labels_of(line: Comparison) -> tuple[str, str, str]:
    """Return data set, kernel and method as tables print them, from the names that published numbers have."""
    kernel = kernel_label(line.kernel.replace("+", "_")) if line.kernel else "-"
    of_low_rank = line.paper == low_rank.PAPER["paper"]
    method = low_rank_label(line.method) if of_low_rank else _METHODS.get(line.method) or method_label(line.method)
    return dataset_label(line.dataset), kernel, method


def comparison_html(comparisons: list[Comparison]) -> str:
    """Return the list as one self-contained page."""
    return render(
        "published_vs_ours.html.j2",
        groups=list(_by_table(comparisons)),
        shares=list(shares(comparisons)),
        unexplained=unexplained(comparisons),
        rules=(VERDICT_RULES, EFFECT_RULES),
        labels_of=labels_of,
        metrics=METRIC_TITLES,
        interval=interval_text,
    )


def _by_table(comparisons: list[Comparison]) -> Iterator[tuple[str, list[Comparison], list[Comparison]]]:
    """Yield each printed table in words, its lines that have runs, and those for which nothing was run."""
    tables: dict[tuple[str, str, str], list[Comparison]] = {}
    for line in comparisons:
        tables.setdefault((line.paper, line.table, line.setting), []).append(line)
    for (paper, table, setting), lines in tables.items():
        title = f"{paper_label(paper)}, {place_label(table)}, {setting}"
        absent = [line for line in lines if line.ours in ("", Verdict.NOT_RUN)]
        yield title, [line for line in lines if line not in absent], absent


def write_comparisons(comparisons: list[Comparison], stem: Path) -> None:
    """Write ``stem`` as .csv and .html; each appears whole."""
    write_text(stem.parent / f"{stem.name}.csv", comparison_csv(comparisons))
    write_text(stem.parent / f"{stem.name}.html", comparison_html(comparisons))


def comparison_csv(comparisons: Iterable[Comparison]) -> str:
    """Return one line a comparison."""
    return csv_text(_COLUMNS, map(astuple, comparisons))


def comparisons_from_csv(text: str) -> list[Comparison]:
    """Return the comparisons that :func:`comparison_csv` has written.

    Raises ``InputError`` when the columns are not those of a comparison.
    """
    names, rows = parse_csv(text)
    if names != _COLUMNS:
        columns = ", ".join(names or ["none"])
        raise InputError(f"a list of published numbers has the columns {', '.join(_COLUMNS)}; got {columns}")
    return [Comparison(**{name: _value(name, word) for name, word in row.items()}) for row in rows]


def _value(name: str, word: str) -> Any:
    if name in _NUMBERS:
        return float(word) if word else None
    if name == "runs":
        return int(word)
    if name == "first":
        return word == "True"
    if name in ("effect", "converged_effect"):
        return Effect(word)
    return Verdict(word) if name == "verdict" else word


def interval_text(line: Comparison) -> str:
    """Return the confidence interval in the unit in which the number is printed, or nothing where there is none."""
    if line.low is None or line.high is None:
        return ""
    # The KPCA trick prints shares, others per cent.
    share = line.metric == Metric.ACCURACY and "%" not in line.ours
    return interval_words("share" if share else line.metric, line.low, line.high)
