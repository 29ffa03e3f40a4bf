"""Every published number of the tables that experiments reproduce, beside ours: one list over all systems, written."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, fields
from typing import Any

import pandas as pd

from kdrbench.errors import InputError
from kdrbench.reports.records import IKDR, KPCA_TRICK, LOW_RANK, Config, experiments_of
from kdrbench.reports.tables import low_rank
from kdrbench.reports.tables.html import render
from kdrbench.reports.tables.ikdr import compared_cells, published_axes
from kdrbench.reports.tables.kpca_cells import METRIC, PAPER, PLAIN, SETTING, TABLES, kpca_cells
from kdrbench.reports.tables.labels import (
    METRIC_TITLES,
    VARIANTS,
    dataset_label,
    kernel_label,
    low_rank_label,
    method_label,
)
from kdrbench.reports.tables.published_numbers import find_published, paper_label, printed_table, published_numbers
from kdrbench.reports.tables.significance import interval_of
from kdrbench.reports.tables.table import csv_text
from kdrbench.reports.tables.verdicts import VERDICT_RULES, Compared, Verdict

NO_EXPERIMENT = "no experiment that was run has this cell"
# What is written where a number differs and readings.toml gives no reason.
UNEXPLAINED = "no reason is known"
# What shares are counted of, in the order in which they are printed.
COUNTED = (Verdict.REPRODUCED, Verdict.CLOSE, Verdict.DIFFERS, Verdict.NOT_RUN)
Axes = dict[str, str]


@dataclass(frozen=True)
class Comparison:
    """One published number, the experiment that has its cell, and how ours compares.

    A number of which several experiments have the cell is listed once for each, in the order of the configuration;
    ``first`` marks the one that counts. ``low`` to ``high`` is the interval of :mod:`.significance` for our mean.
    """

    paper: str
    table: str
    setting: str
    dataset: str
    kernel: str
    method: str
    metric: str
    published: str
    published_value: float | None
    ours: str
    mean: float | None
    std: float | None
    low: float | None
    high: float | None
    runs: int
    verdict: Verdict
    why: str
    experiment: str
    first: bool


_METHODS = {"none": "no reduction", "ism2018": "ISM 2018"}
_NUMBERS = {"published_value", "mean", "std", "low", "high"}
_COLUMNS = [field.name for field in fields(Comparison)]


def compare(tables: dict[str, pd.DataFrame], config: Config) -> list[Comparison]:
    """Return the published numbers that the experiments of ``run`` have, in print order, system by system.

    ``tables`` are the merged tables by system; a system that is missing is left out.
    """
    by_system = {IKDR: _of_ikdr, KPCA_TRICK: _of_kpca_trick, LOW_RANK: _of_low_rank}
    pairs = [
        pair
        for system, pairs_of in by_system.items()
        if system in tables and experiments_of(config, system)
        for pair in pairs_of(tables[system], config)
    ]
    return [one for axes, ours in pairs for one in _comparisons(axes, ours)]


def _of_ikdr(runs: pd.DataFrame, config: Config) -> Iterator[tuple[Axes, list[tuple[str, Compared]]]]:
    ours: dict[tuple[str, ...], list[tuple[str, Compared]]] = {}
    tables: list[dict[str, str]] = []
    for name in experiments_of(config, IKDR):
        experiment = config["experiments"][name]
        table = printed_table(experiment)
        if table is None:
            continue
        if table not in tables:
            tables.append(table)
        place = (table["paper"], table["table"], table["setting"])
        for cell in compared_cells(runs[runs["experiment"] == name], experiment):
            names = published_axes({"dataset": cell.dataset, "kernel": cell.kernel, "method": cell.method})
            ours.setdefault((*place, *names.values(), cell.metric), []).append((name, cell))
    for table in tables:
        for axes in published_numbers(**table):
            yield axes, ours.get(tuple(axes.values()), [])


def _of_kpca_trick(runs: pd.DataFrame, config: Config) -> Iterator[tuple[Axes, list[tuple[str, Compared]]]]:
    groups = [(name, kpca_cells(runs[runs["experiment"] == name])) for name in experiments_of(config, KPCA_TRICK)]
    for learner, table in TABLES.items():
        for axes in published_numbers(paper=PAPER, table=table, setting=SETTING):
            variant = axes["kernel"] or PLAIN
            if axes["metric"] == METRIC and variant in VARIANTS:
                key = (axes["dataset"], learner, variant)
                yield axes, [(name, cells[key]) for name, cells in groups if key in cells]


def _of_low_rank(runs: pd.DataFrame, config: Config) -> Iterator[tuple[Axes, list[tuple[str, Compared]]]]:
    for axes, sources in low_rank.published_and_sources(runs, config):
        yield axes, [(source.label, Compared(source.cell, find_published(**axes))) for source in sources]


def _comparisons(axes: Axes, ours: list[tuple[str, Compared]]) -> Iterator[Comparison]:
    if not ours:
        yield _comparison(axes, "", None, first=True)
    for count, (experiment, compared) in enumerate(ours):
        yield _comparison(axes, experiment, compared, first=count == 0)


def _comparison(axes: Axes, experiment: str, compared: Compared | None, *, first: bool) -> Comparison:
    number, cell = find_published(**axes), compared.ours if compared else None
    low, high = interval_of(axes["metric"], cell) if cell else (None, None)
    return Comparison(
        **axes,
        published=number.text if number else "",
        published_value=number.value if number else None,
        ours=cell.text if cell else "",
        mean=cell.mean if cell else None,
        std=cell.std if cell else None,
        low=low,
        high=high,
        runs=cell.runs if cell else 0,
        verdict=compared.verdict if compared else Verdict.NOT_RUN,
        why=_why(compared) if compared else NO_EXPERIMENT,
        experiment=experiment,
        first=first,
    )


def _why(compared: Compared) -> str:
    return compared.why or (UNEXPLAINED if compared.verdict is Verdict.DIFFERS else "")


def unexplained(comparisons: Iterable[Comparison]) -> list[Comparison]:
    """Return the numbers that differ for no reason that is known."""
    return [one for one in comparisons if one.first and one.why == UNEXPLAINED]


def shares(comparisons: Iterable[Comparison]) -> Iterator[str]:
    """Yield how many numbers are reproduced, close and so on: a line for each table, and two for each paper.

    The second is without times, which belong to the machine and the code as much as to the method. A third one says
    how many differ for no reason that is known, if any do.
    """
    counted = [one for one in comparisons if one.first]
    for paper in dict.fromkeys(one.paper for one in counted):
        of_paper, name = [one for one in counted if one.paper == paper], paper_label(paper)
        for table, setting in dict.fromkeys((one.table, one.setting) for one in of_paper):
            part = [one.verdict for one in of_paper if (one.table, one.setting) == (table, setting)]
            yield f"{name}, Table {table}, {setting}: {_in_words(part)}"
        yield f"{name}: {_in_words([one.verdict for one in of_paper])}"
        results = [one.verdict for one in of_paper if one.metric != "time_s"]
        yield f"{name}, without times: {_in_words(results)}"
        if unknown := len(unexplained(of_paper)):
            yield f"{name}, differ for no reason that is known: {unknown}"


def _in_words(verdicts: list[Verdict]) -> str:
    counts = Counter(verdicts)
    total = max(1, len(verdicts))
    parts = [f"{counts[verdict]} {verdict} ({counts[verdict] / total:.0%})" for verdict in COUNTED]
    return f"{len(verdicts)} numbers: " + ", ".join(parts)


def labels_of(one: Comparison) -> tuple[str, str, str]:
    """Return data set, kernel and method as tables print them, from the names that published numbers have."""
    kernel = kernel_label(one.kernel.replace("+", "_")) if one.kernel else "-"
    of_low_rank = one.paper == low_rank.PAPER["paper"]
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
        columns = ", ".join(reader.fieldnames or ["none"])
        raise InputError(f"a list of published numbers has the columns {', '.join(_COLUMNS)}; got {columns}")
    return [Comparison(**{name: _value(name, word) for name, word in row.items()}) for row in reader]


def _value(name: str, word: str) -> Any:
    if name in _NUMBERS:
        return float(word) if word else None
    if name == "runs":
        return int(word)
    if name == "first":
        return word == "True"
    return Verdict(word) if name == "verdict" else word
