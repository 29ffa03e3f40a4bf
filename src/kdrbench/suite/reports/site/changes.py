"""What changed between two records: what was run, by which definitions, where and with what, and what came out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd

from kdrbench.errors import counted
from kdrbench.status import BY_METHODS
from kdrbench.suite.engine.provenance import Provenance
from kdrbench.suite.reports.records import differences, same_definition
from kdrbench.suite.reports.site.record import SiteRecord
from kdrbench.suite.reports.tables.labels import dataset_label
from kdrbench.suite.reports.tables.table import Entry, Table, entries

# Results that a later version might change, as far as a system has them.
_RESULTS = ("cost", "quality", "accuracy", "knn_accuracy", "sweeps")
# Of results of equal bits nothing is lost by printing; below this they differ by rounding.
_ROUNDING = 1e-9
# What a reader asks of two records: where and with what they were made.
_MADE_WITH = (
    *("machine", "processor", "blas", "blas_threads", "memory_meter", "git_commit", "git_dirty", "lock_sha256"),
    *("time_limit_s", "memory_limit_mib"),
    *(field.name for field in fields(Provenance) if field.name.endswith("_version")),
)


@dataclass(frozen=True)
class Changes:
    """From the ``first`` record to the ``second``; ``sentences`` sum it up, tables hold the cases."""

    first: SiteRecord
    second: SiteRecord
    sentences: tuple[str, ...]
    made_with: Table
    definitions: list[str]
    results: Table
    claims: Table


def changes(first: SiteRecord, second: SiteRecord) -> Changes:
    """Return what changed; of results that of the runs which both have of the same definition and data."""
    mine, theirs = (_by_axes(record) for record in (first, second))
    shared = [axes for axes in mine if axes in theirs]
    alike = [axes for axes in shared if same_definition(mine[axes], theirs[axes])]
    rows = list(_results([(mine[axes], theirs[axes]) for axes in alike]))
    n_changed = sum(any(entry.value for entry in row[3:5]) or row[6].text != "-" for row in rows)
    sentences = (
        f"{counted(len(shared), 'result')} are in both records, {len(mine) - len(shared)} in {first.name} alone, "
        f"{len(theirs) - len(shared)} in {second.name} alone.",
        f"{len(alike)} of those in both were made for the same definition and data, and are compared below.",
        f"Results or endings differ in {n_changed} of {counted(len(rows), 'cell')}, by more than rounding.",
    )
    claims = [[*entries(row)] for row in _claims(first, second)]
    made_with = [[*entries(row)] for row in _made_with(first, second)]
    names = [first.name, second.name]
    return Changes(
        first,
        second,
        sentences,
        Table("made_with", "Made with", ["Column", *names], [made_with], n_labels=3),
        list(differences(first.results.config, second.results.config)),
        Table("results", "Results", _TITLES, [rows], [_NOTE], n_labels=3),
        Table("claims", "Claims", ["Claim", *names], [claims], n_labels=3),
    )


_TITLES = ["Experiment", "Data", "Cell", "Largest change of cost", "Change of quality", "Time, second / first", "Ended"]
_NOTE = (
    "Changes of costs are relative, the largest over runs; those of quality (accuracy, NMI, error or sweeps) are of "
    "the mean. The ratio of times is the median over runs that came to their own end in both records; between unlike "
    "machines it compares these. Below 1e-9 a change is rounding."
)


def _by_axes(record: SiteRecord) -> dict[tuple[Any, ...], Any]:
    return {one.axes: one for records in record.results.records.values() for one in records}


def _results(pairs: list[tuple[Any, Any]]) -> Iterator[list[Entry]]:
    cells: dict[tuple[Any, ...], list[tuple[Any, Any]]] = {}
    for one, other in pairs:
        names = [name for name in one.axis_names() if name != "run"]
        cells.setdefault(tuple(getattr(one, name) for name in names), []).append((one, other))
    for (experiment, dataset, *cell), both in cells.items():
        place = entries([experiment, dataset_label(dataset), "/".join(map(str, cell)) or "-"])
        yield [*place, _cost(both), _quality(both), _time(both), Entry(_endings(both))]


def _numbers(pairs: list[tuple[Any, Any]], name: str) -> np.ndarray:
    """Return the numbers of a column that both have, a pair a line."""
    values = [(getattr(one, name, None), getattr(other, name, None)) for one, other in pairs]
    return np.array([pair for pair in values if None not in pair], dtype=float).reshape(-1, 2)


def _cost(pairs: list[tuple[Any, Any]]) -> Entry:
    costs = _numbers(pairs, "cost")
    if not len(costs):
        return Entry("-")
    relative = (costs[:, 1] - costs[:, 0]) / np.maximum(np.abs(costs).max(axis=1), np.finfo(float).tiny)
    return _change(float(relative[np.abs(relative).argmax()]), ".2g")


def _quality(pairs: list[tuple[Any, Any]]) -> Entry:
    found = (_numbers(pairs, name) for name in _RESULTS[1:])
    both = next((numbers for numbers in found if len(numbers)), None)
    return Entry("-") if both is None else _change(float(both[:, 1].mean() - both[:, 0].mean()), "+.3f")


def _change(change: float, shown: str) -> Entry:
    return Entry("none", 0.0) if abs(change) < _ROUNDING else Entry(format(change, shown), change)


def _time(pairs: list[tuple[Any, Any]]) -> Entry:
    ended = [pair for pair in pairs if all(one.status in BY_METHODS for one in pair)]
    times = _numbers(ended, "time_s")
    times = times[(times > 0).all(axis=1)]
    if not len(times):
        return Entry("-")
    ratio = float(np.median(times[:, 1] / times[:, 0]))
    return Entry(f"{ratio:.3g}", ratio)


def _endings(pairs: list[tuple[Any, Any]]) -> str:
    changed = Counter(f"{one.status} to {other.status}" for one, other in pairs if one.status != other.status)
    return "; ".join(f"{count} {words.replace('_', ' ')}" for words, count in changed.most_common()) or "-"


def _made_with(first: SiteRecord, second: SiteRecord) -> Iterator[tuple[str, str, str]]:
    for column in _MADE_WITH:
        mine, theirs = (_values(record.runs, column) for record in (first, second))
        if mine != theirs:
            yield column.replace("_", " "), mine, theirs


def _values(runs: pd.DataFrame, column: str) -> str:
    return ", ".join(sorted({str(value) for value in runs[column].dropna()})) or "unknown"


def _claims(first: SiteRecord, second: SiteRecord) -> Iterator[tuple[str, str, str]]:
    mine, theirs = (_decisions(record.claims) for record in (first, second))
    for claim in mine:
        if claim in theirs and mine[claim] != theirs[claim]:
            yield claim, mine[claim], theirs[claim]


def _decisions(claims: list[Mapping[str, str]] | list[dict[str, str]]) -> dict[str, str]:
    return {one["claim"]: f"{one['verdict']}{': ' if one['measure'] else ''}{one['measure']}" for one in claims}
