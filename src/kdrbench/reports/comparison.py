"""Every published number of the tables that experiments reproduce, beside ours: one list over all experiments."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, fields

import pandas as pd

from kdrbench.bench.experiment import Config
from kdrbench.reports.interval import interval_of
from kdrbench.reports.ledger import LedgerRow, make_ledger
from kdrbench.reports.published import find_published, paper_label, published_name, published_numbers
from kdrbench.reports.verdict import Verdict

NO_EXPERIMENT = "no experiment that was run has this cell"
# What stands where a number differs and readings.toml has nothing to say of it.
UNEXPLAINED = "no reason is known"
# What shares are counted of, in the order in which they are printed.
COUNTED = (Verdict.REPRODUCED, Verdict.CLOSE, Verdict.DIFFERS, Verdict.NOT_RUN)


@dataclass(frozen=True)
class Comparison:
    """One published number, the experiment that has its cell, and what became of it.

    A number of which several experiments have the cell stands once for each, that named first in the configuration
    first; ``first`` marks the one that counts. ``low`` to ``high`` is the interval of :mod:`.interval` for our mean.
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


def compare(runs: pd.DataFrame, config: Config) -> list[Comparison]:
    """Return the published numbers of all tables that the experiments of ``run`` name, in print order."""
    ours: dict[tuple[str, ...], list[tuple[str, LedgerRow]]] = {}
    tables: list[dict[str, str]] = []
    for name in config["run"]:
        experiment = config["experiments"][name]
        table = experiment.get("published")
        if table is None:
            continue
        if table not in tables:
            tables.append(table)
        for row in make_ledger(runs[runs["experiment"] == name], experiment):
            ours.setdefault(_key(table, row), []).append((name, row))
    return [found for table in tables for axes in published_numbers(**table) for found in _compared(axes, ours)]


def _key(table: Config, row: LedgerRow) -> tuple[str, ...]:
    place = (table["paper"], table["table"], table["setting"])
    names = {"dataset": row.dataset, "kernel": row.kernel, "method": row.solver}
    return (*place, *(published_name(axis, name) for axis, name in names.items()), row.metric)


def _compared(axes: dict[str, str], ours: dict[tuple[str, ...], list[tuple[str, LedgerRow]]]) -> Iterator[Comparison]:
    found = ours.get(tuple(axes.values()), [])
    if not found:
        yield _comparison(axes, "", None, first=True)
    for count, (experiment, row) in enumerate(found):
        yield _comparison(axes, experiment, row, first=count == 0)


def _comparison(axes: dict[str, str], experiment: str, row: LedgerRow | None, *, first: bool) -> Comparison:
    number, cell = find_published(**axes), row.ours if row else None
    low, high = interval_of(row.metric, cell) if row and cell else (None, None)
    return Comparison(
        paper=axes["paper"],
        table=axes["table"],
        setting=axes["setting"],
        dataset=axes["dataset"],
        kernel=axes["kernel"],
        method=axes["method"],
        metric=axes["metric"],
        published=number.text if number else "",
        published_value=number.value if number else None,
        ours=cell.text if cell else "",
        mean=cell.mean if cell else None,
        std=cell.std if cell else None,
        low=low,
        high=high,
        runs=cell.folds if cell else 0,
        verdict=row.verdict if row else Verdict.NOT_RUN,
        why=_why(row) if row else NO_EXPERIMENT,
        experiment=experiment,
        first=first,
    )


def _why(row: LedgerRow) -> str:
    return row.why or (UNEXPLAINED if row.verdict is Verdict.DIFFERS else "")


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


def comparison_csv(comparisons: list[Comparison]) -> str:
    """Return one line a comparison."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(field.name for field in fields(Comparison))
    writer.writerows(astuple(one) for one in comparisons)
    return buffer.getvalue()
