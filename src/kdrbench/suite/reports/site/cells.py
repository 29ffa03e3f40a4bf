"""Every method on every data set of all records: the lines of the pages of methods and of data sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import pandas as pd

from kdrbench.errors import counted
from kdrbench.suite.findings.outcome import clean_times
from kdrbench.suite.reports.records import IKDR, KPCA_TRICK, LOW_RANK
from kdrbench.suite.reports.site.record import SiteRecord
from kdrbench.suite.reports.tables.cells import FORMATS, endings_found
from kdrbench.suite.reports.tables.labels import (
    METRIC_TITLES,
    dataset_label,
    kernel_label,
    learner_name,
    low_rank_label,
    method_label,
)
from kdrbench.suite.reports.tables.numbers import duration, quantity
from kdrbench.suite.reports.tables.table import FLAGGED, Entry, Table, entries

# What tells the cells of a data set apart, as far as a system has it; the first names the method.
_AXES = ("method", "learner", "variant", "kernel", "n_constraints", "n_components")
_METHOD = ("method", "learner", "variant")
_UNITS = {"n_constraints": "constraint", "n_components": "component"}
# By which number the methods of a system are judged.
_QUALITIES = ("quality", "accuracy", "knn_accuracy")
# What else of a table's columns a line is made of.
_SHOWN = ("time_s", "cost", "quality_metric", *_QUALITIES)
_COLUMNS = ("Ended", METRIC_TITLES["time_s"], "Cost", "Above best known", "Quality", "Measure")
_NOTES = (
    "Means over runs; of times and distances from the best known cost the median. The best known cost is the lowest "
    "that any method of the same record saw in the run, or that an atlas has stored. Times of different machines are "
    "not to be compared.",
    f"{FLAGGED} the cores were shared, or not as fast as for other methods, in every run.",
)


@dataclass(frozen=True)
class Line:
    """One method on one data set of one experiment, with its numbers as a table shows them.

    ``record`` is empty where there is but one.
    """

    record: str
    experiment: str
    dataset: str
    method: str
    setting: str
    numbers: tuple[Entry, ...]


def lines_of(record: SiteRecord, *, named: bool = True) -> list[Line]:
    """Return a line for each cell of a record; ``named`` says whether they name it."""
    systems, name = record.runs.groupby("system", sort=False), record.name if named else ""
    return [replace(line, record=name) for system, runs in systems for line in _lines(record, str(system), runs)]


def table_of_method(name: str, lines: Iterable[Line]) -> Table:
    """Return the lines of one method, a block for each experiment of a record."""
    return _table(name, ["Record", "Experiment", "Data", "Setting"], lines, _axes_of_method)


def table_of_dataset(name: str, lines: Iterable[Line]) -> Table:
    """Return the lines of one data set, a block for each experiment of a record."""
    return _table(name, ["Record", "Experiment", "Setting", "Method"], lines, _axes_of_dataset)


def _axes_of_method(line: Line) -> list[str]:
    return [line.record, line.experiment, dataset_label(line.dataset), line.setting]


def _axes_of_dataset(line: Line) -> list[str]:
    return [line.record, line.experiment, line.setting, line.method]


def _table(name: str, axes: list[str], lines: Iterable[Line], of: Callable[[Line], list[str]]) -> Table:
    made = list(lines)
    # A column of one name takes the place that the others need.
    first = 0 if any(line.record for line in made) else 1
    rows = [[*entries(of(line)[first:]), *line.numbers] for line in made]
    return Table(name, name, [*axes[first:], *_COLUMNS], [rows], list(_NOTES), n_labels=len(axes) - first)


def _lines(record: SiteRecord, system: str, runs: pd.DataFrame) -> Iterator[Line]:
    axes = [axis for axis in _AXES if axis in runs and runs[axis].notna().any() and not _is_result(system, axis)]
    # Tables have some hundred columns, which each group would copy.
    shown = [name for name in dict.fromkeys(["experiment", "dataset", *axes, *_SHOWN]) if name in runs]
    made = {
        "clean_s": clean_times(runs)["time_s"].reindex(runs.index),
        "gap": record.gaps.loc[runs.index],
        "ending": endings_found(runs),
    }
    found = runs[shown].assign(**made)
    for (experiment, dataset, *cell), group in found.groupby(["experiment", "dataset", *axes], sort=False):
        named = dict(zip(axes, cell, strict=True))
        yield Line(
            record.name, str(experiment), str(dataset), _method(system, named), _setting(named), tuple(_numbers(group))
        )


def _is_result(system: str, axis: str) -> bool:
    # What cross validation chose is no axis, and q follows from the experiment but in the league.
    return (axis == "kernel" and system != IKDR) or (axis == "n_components" and system == IKDR)


def _method(system: str, cell: dict[str, object]) -> str:
    if system == KPCA_TRICK:
        return learner_name(str(cell["learner"]), str(cell["variant"])).upper()
    method = str(cell.get("method", "not named"))
    return low_rank_label(method) if system == LOW_RANK else method_label(method)


def _setting(cell: dict[str, object]) -> str:
    words = [kernel_label(str(cell["kernel"]))] if "kernel" in cell else []
    words += [counted(int(float(str(cell[axis]))), unit) for axis, unit in _UNITS.items() if axis in cell]
    return ", ".join(words) or "-"


def _numbers(group: pd.DataFrame) -> Iterator[Entry]:
    """Yield the cells of a line, in the order of the columns."""
    endings = group["ending"].value_counts()
    yield Entry(", ".join(f"{count} {str(name).replace('_', ' ')}" for name, count in endings.items()))
    clean = group["clean_s"].dropna()
    times = clean if len(clean) else group["time_s"].dropna()
    mark = FLAGGED if len(times) and not len(clean) else ""
    yield Entry("-") if times.empty else Entry(duration(times.median()), float(times.median()), mark=mark)
    yield _mean(group["cost"], "cost")
    gaps = group["gap"].dropna()
    yield Entry("-") if gaps.empty else Entry(f"{gaps.median():.1e}", float(gaps.median()))
    measured = next((name for name in _QUALITIES if name in group and group[name].notna().any()), "")
    metric = str(group["quality_metric"].iloc[0]) if measured == "quality" else "accuracy"
    yield _mean(group[measured], metric) if measured else Entry("-")
    yield Entry(METRIC_TITLES.get(metric, metric) if measured else "-")


def _mean(values: pd.Series, metric: str) -> Entry:
    known = values.dropna().astype(float)
    if known.empty:
        return Entry("-")
    spread = float(known.std()) if len(known) > 1 else None
    return Entry(FORMATS.get(metric, quantity)(float(known.mean()), spread), float(known.mean()), spread)
