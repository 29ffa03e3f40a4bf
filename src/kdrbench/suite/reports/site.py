"""A static site of several records: the dashboard of each, and a page that puts them side by side.

The page has how the runs of each record ended, what each experiment asks with the answer of every record, the claims,
and what changed between any two: definitions, machines and versions, results. It needs no server and no network.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kdrbench.errors import DamagedError, counted, in_words
from kdrbench.files import write_text
from kdrbench.status import Status
from kdrbench.suite.engine.record import Provenance
from kdrbench.suite.engine.system import TRACES
from kdrbench.suite.findings.answers import Answer, answers_of
from kdrbench.suite.findings.claim_rows import Records
from kdrbench.suite.findings.claims import claims_json, decide_claims
from kdrbench.suite.findings.finding import DECISION_RULES, Decision
from kdrbench.suite.findings.ledger import compare
from kdrbench.suite.findings.nearness import traces_of
from kdrbench.suite.reports.dashboard.overview import bar_of, counts_of
from kdrbench.suite.reports.dashboard.page import Parts, render_dashboard
from kdrbench.suite.reports.dashboard.rendering import environment, slug
from kdrbench.suite.reports.dashboard.runs import all_runs
from kdrbench.suite.reports.figures.chart import Chart
from kdrbench.suite.reports.making import make_table
from kdrbench.suite.reports.outputs import figures_of, tables_of
from kdrbench.suite.reports.records import (
    Config,
    Results,
    differences,
    read_runs,
    same_definition,
    table_of,
    without_code,
    write_results,
)
from kdrbench.suite.reports.tables.cells import endings_found
from kdrbench.suite.reports.tables.labels import TIMES_MEAN, abbreviations_in, dataset_label
from kdrbench.suite.reports.tables.table import Entry, Table, entries

# Results that a later version might change, as far as a system has them.
_QUALITIES = ("quality", "accuracy", "knn_accuracy", "sweeps")
# Below this results differ by rounding.
_ROUNDING = 1e-9
# What a reader asks of two records: where and with what they were made.
_MADE_WITH = (
    *("machine", "processor", "blas", "blas_threads", "memory_meter", "git_commit", "git_dirty", "lock_sha256"),
    *("time_limit_s", "memory_limit_mib"),
    *(field.name for field in fields(Provenance) if field.name.endswith("_version")),
)
_RESULTS = ("Experiment", "Data", "Cell", "Largest change of cost", "Change of quality", "Ended")
_RESULTS_MEAN = (
    "Changes of costs are relative, the largest over runs; those of quality (accuracy, NMI, error or sweeps) are of "
    "the mean. Below 1e-9 a change is rounding."
)


@dataclass(frozen=True)
class SiteRecord:
    """A record under the ``name`` that the site gives it, with its dashboard's ``page``.

    ``claims`` are as the dashboard reads them. ``remarks`` say what of the record is not shown, and why.
    """

    name: str
    results: Results
    runs: pd.DataFrame
    page: str
    claims: list[dict[str, str]]
    answers: list[Answer]
    remarks: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        """The file of its dashboard."""
        return f"record-{slug(self.name)}.html"


def site_record(name: str, results: Results, folder: Path) -> SiteRecord:
    """Return a record whose merged tables are written into ``folder``, from which its dashboard is made.

    Figures are those that the workflow has drawn beside the results; traces are read where they are.
    """
    write_results(folder, results)
    config, store = without_code(results.config), _store(results)
    systems = {system: read_runs(folder / f"{table_of(system)}.csv") for system in results.systems}
    runs = all_runs(systems)
    charts, remarks = _charts(_reports(results) / "figures", config)
    if results.left_out:
        remarks.append(f"Left out, being of systems of its own: {', '.join(results.left_out)}.")
    claims = _claims(systems, config)
    answers = [
        answer for rows in systems.values() for answer in answers_of(rows, config, traces_of(rows, store / TRACES))
    ]
    tables = [make_table(report, config, folder, store)[0] for report in tables_of(config).values()]
    parts = Parts(charts, tables, claims)
    page = render_dashboard(runs, config, store / TRACES, compare(dict(systems), config), parts, answers)
    return SiteRecord(name, results, runs, page, claims, answers, tuple(remarks))


def _claims(systems: dict[str, pd.DataFrame], config: Config) -> list[dict[str, str]]:
    decided: list[dict[str, str]] = json.loads(claims_json(decide_claims(Records.of(systems, config))))
    return decided


def _store(results: Results) -> Path:
    """Return the folder of traces and findings of a folder of results, whether or not that has a name."""
    places = (results.place, results.place.parent) if results.place.is_dir() else ()
    return next((place for place in places if (place / TRACES).is_dir()), results.place)


def _reports(results: Results) -> Path:
    """Return the folder of reports that the workflow has for a folder of results."""
    place = results.place.absolute()
    beside = place.parent.parent / "reports" / place.name
    return beside if results.config.get("name") and beside.is_dir() else place.parent / "reports"


def _charts(folder: Path, config: Config) -> tuple[list[Chart], list[str]]:
    """Return the figures that are beside the results, and what is to be said of those that are not."""
    paths = [folder / f"{name}.json" for name in figures_of(config)]
    charts = [_chart(path) for path in paths if path.is_file()]
    missing = len(paths) - len(charts)
    return charts, [f"{missing} of {counted(len(paths), 'figure')} were not drawn."] if missing else []


def _chart(path: Path) -> Chart:
    try:
        return Chart.from_json(path.read_text(encoding="utf-8"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedError(
            f"{path} is no figure of kdrbench ({in_words(error)}); draw it again where its runs are, or remove it"
        ) from error


def write_site(folder: Path, records: Sequence[SiteRecord]) -> list[str]:
    """Write the pages into a folder, and return their names."""
    page = environment().get_template("site.html.j2")
    index = page.render(
        records=[_row(record) for record in records],
        answers=_answers(records),
        claims=_claims_by_record(records),
        abbreviations=abbreviations_in(*(answer.text for record in records for answer in record.answers)),
        decision_rules=DECISION_RULES,
        changes=[changes(first, second) for first, second in combinations(records, 2)],
        times_mean=TIMES_MEAN,
    )
    pages = {"index.html": index} | {record.file: record.page for record in records}
    for name, text in pages.items():
        write_text(folder / name, text, durable=False)
    return list(pages)


def _row(record: SiteRecord) -> dict[str, Any]:
    """Return a record's line: where, with what and when it was made, and how its runs ended."""
    runs, found = record.runs, [str(ending) for ending in endings_found(record.runs)]
    dates = sorted({str(day)[:10] for day in runs["started_at"].dropna()} - {""})
    order = [str(status) for status in Status]
    return {
        "record": record,
        "machines": _values(runs, "processor"),
        "versions": _values(runs, "kdrbench_version"),
        "dates": " to ".join(dict.fromkeys([dates[0], dates[-1]])) if dates else "unknown",
        "counts": counts_of(runs),
        "bar": bar_of(record.name, found, [*dict.fromkeys([order[0], *found, *order])]),
    }


def _answers(records: Sequence[SiteRecord]) -> dict[str, dict[str, list[tuple[str, Answer]]]]:
    """Return the answers by question and experiment, each with the record that gives it."""
    asked: dict[str, dict[str, list[tuple[str, Answer]]]] = {}
    for record in records:
        for answer in record.answers:
            asked.setdefault(answer.question, {}).setdefault(answer.experiment, []).append((record.name, answer))
    return asked


def _claims_by_record(records: Sequence[SiteRecord]) -> list[dict[str, Any]]:
    """Return each claim with what every record says of it; ``decided`` counts those that decide it."""
    claims: dict[tuple[str, str], dict[str, Any]] = {}
    for record in records:
        for claim in record.claims:
            key = claim["claim"], claim["paper"]
            row = claims.setdefault(key, {**claim, "by": dict.fromkeys((each.name for each in records), None)})
            row["by"][record.name] = claim
    for row in claims.values():
        verdicts = [
            claim["verdict"] for claim in row["by"].values() if claim and claim["verdict"] != Decision.UNDECIDED
        ]
        row |= {"decided": len(verdicts), "differ": len(set(verdicts)) > 1}
    return list(claims.values())


@dataclass(frozen=True)
class Changes:
    """From the ``first`` record to the ``second``; ``sentences`` sum it up, tables hold the cases."""

    first: str
    second: str
    sentences: tuple[str, ...]
    definitions: list[str]
    made_with: Table
    results: Table


def changes(first: SiteRecord, second: SiteRecord) -> Changes:
    """Return what changed; of results that of the runs which both have of the same definition and data."""
    mine, theirs = (
        {row.axes: row for rows in record.results.records.values() for row in rows} for record in (first, second)
    )
    shared = [axes for axes in mine if axes in theirs]
    pairs = [(mine[axes], theirs[axes]) for axes in shared if same_definition(mine[axes], theirs[axes])]
    rows = list(_changed_cells(pairs))
    n_changed = sum(any(entry.value for entry in row[3:]) for row in rows)
    sentences = (
        f"{counted(len(shared), 'result')} are in both records, {len(mine) - len(shared)} in {first.name} alone, "
        f"{len(theirs) - len(shared)} in {second.name} alone.",
        f"{len(pairs)} of those in both were made for the same definition and data, and are compared below.",
        f"Results or endings differ in {n_changed} of {counted(len(rows), 'cell')}, by more than rounding.",
    )
    columns = [(column, _values(first.runs, column), _values(second.runs, column)) for column in _MADE_WITH]
    made_with = [entries((column.replace("_", " "), ours, other)) for column, ours, other in columns if ours != other]
    return Changes(
        first.name,
        second.name,
        sentences,
        list(differences(first.results.config, second.results.config)),
        Table("made_with", "Made with", ["Column", first.name, second.name], [made_with], n_labels=3),
        Table("results", "Results", list(_RESULTS), [rows], [_RESULTS_MEAN], n_labels=3),
    )


def _values(runs: pd.DataFrame, column: str) -> str:
    return ", ".join(sorted({str(value) for value in runs[column].dropna()})) or "unknown"


def _changed_cells(pairs: Iterable[tuple[Any, Any]]) -> Iterator[list[Entry]]:
    """Yield each cell with the changes of its costs, quality and endings between two records."""
    cells: dict[tuple[Any, ...], list[tuple[Any, Any]]] = {}
    for ours, other in pairs:
        names = [name for name in ours.axis_names() if name != "run"]
        cells.setdefault(tuple(getattr(ours, name) for name in names), []).append((ours, other))
    for (experiment, dataset, *cell), both in cells.items():
        costs = _numbers(both, "cost")
        relative = (costs[:, 1] - costs[:, 0]) / np.maximum(np.abs(costs).max(axis=1), np.finfo(float).tiny)
        qualities = next((numbers for name in _QUALITIES if len(numbers := _numbers(both, name))), np.zeros((0, 2)))
        ended = Counter(f"{ours.status} to {other.status}" for ours, other in both if ours.status != other.status)
        texts = "; ".join(f"{count} {text.replace('_', ' ')}" for text, count in ended.most_common()) or "-"
        yield [
            *entries([experiment, dataset_label(dataset), "/".join(map(str, cell)) or "-"]),
            _change(relative[[np.abs(relative).argmax()]] if len(relative) else relative, ".2g"),
            _change(qualities[:, 1] - qualities[:, 0], "+.3f"),
            Entry(texts, float(ended.total())),
        ]


def _numbers(pairs: list[tuple[Any, Any]], name: str) -> np.ndarray:
    """Return the numbers of a column that both have, a pair a line."""
    values = [(getattr(ours, name, None), getattr(other, name, None)) for ours, other in pairs]
    return np.array([pair for pair in values if None not in pair], dtype=float).reshape(-1, 2)


def _change(changes: np.ndarray, form: str) -> Entry:
    """Return the mean of some changes, "none" below rounding, and a dash where there are none."""
    if not len(changes):
        return Entry("-")
    change = float(changes.mean())
    return Entry("none", 0.0) if abs(change) < _ROUNDING else Entry(format(change, form), change)
