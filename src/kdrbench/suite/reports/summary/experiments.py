"""What the experiments of a record gave, as tables: their runs, printed numbers beside ours, what explains them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kdrbench.status import BY_METHODS, Status
from kdrbench.suite.findings.ledger import judged, labels_of, place_label
from kdrbench.suite.findings.ledger_lines import Comparison
from kdrbench.suite.reports.records import ALTERNATIVE, IKDR, Metric, experiments_of
from kdrbench.suite.reports.summary.source import Source
from kdrbench.suite.reports.tables import numbers
from kdrbench.suite.reports.tables.labels import NO_CELL, dataset_label, kernel_label, method_label
from kdrbench.suite.reports.tables.partitions import Partitions, spread_table
from kdrbench.suite.reports.tables.published_numbers import paper_label
from kdrbench.suite.reports.tables.table import Table, entries
from kdrbench.suite.reports.tables.verdicts import Verdict

if TYPE_CHECKING:
    import pandas as pd

_LIMITS = (Status.TIME_LIMIT, Status.MEMORY_LIMIT)
_ISM = "ism"
_QUALITIES = (str(Metric.ACCURACY), str(Metric.ERROR), str(Metric.NMI))
_SHOWN = ("cost", *_QUALITIES)


@dataclass(frozen=True)
class Experiments:
    """The experiments of a record, as the page on them shows them; a table without rows is not shown."""

    source: Source

    def endings(self) -> Table:
        """Return how many rows each experiment has, how their runs ended, and the minutes of their processes."""
        rows = [entries(_endings(name, self.source.runs(name))) for name in self.source.experiments]
        columns = ["Experiment", "rows", "ended by their method", "stopped at a limit", "others", "process minutes"]
        return Table("endings", "How the runs ended", columns, [rows])

    def printed(self) -> Table:
        """Return what is printed of ISM and of baselines in tables of dimension reduction, beside ours."""
        cells: dict[tuple[str, ...], dict[str, Comparison]] = {}
        for one in _counted(self.source.comparisons):
            # Baselines have no kernel.
            if one.metric in _SHOWN and (one.method == _ISM or not one.kernel) and self._is_ikdr(one):
                cells.setdefault((_place_of(one), *labels_of(one)), {})[one.metric] = one
        rows = [entries([*axes, *_both(of_cell)]) for axes, of_cell in cells.items()]
        columns = ["Table", "Data", "Kernel", "Method", "cost", "printed", "quality", "printed"]
        return Table("printed", "ISM and baselines, printed and ours", columns, [rows], n_labels=4)

    def protocols(self) -> Table:
        """Return the printed numbers that ours do not reproduce, and runs by the published protocol do."""
        lines = [
            one
            for one in _counted(self.source.comparisons)
            if one.verdict is not Verdict.REPRODUCED and str(Verdict.REPRODUCED) in one.protocol_verdict.split("; ")
        ]
        rows = [
            entries((_place_of(one), *labels_of(one), one.metric, one.published, one.ours, _reproducing(one)))
            for one in lines
        ]
        columns = ["Table", "Data", "Kernel", "Method", "number", "printed", "ours", "by the published protocol"]
        return Table("protocols", "What the published protocol brings", columns, [rows], n_labels=5)

    def spreads(self) -> Table:
        """Return how far the means of ISM as published move when the folds are drawn again."""
        runs = self.source.rows_of(IKDR)
        return spread_table(Partitions(runs[runs["method"] == _ISM] if len(runs) else runs, self.source.made))

    def alternatives(self) -> Table:
        """Return how much the clusterings that were found agree with the given ones, and with those that are sought."""
        rows = [row for name in self._of_paradigm(ALTERNATIVE) for row in _alternative(name, self.source.runs(name))]
        columns = ["Experiment", "Data", "Kernel", "Method", "NMI with the given", "NMI with the sought"]
        return Table("alternatives", "Alternative clusterings", columns, [rows], n_labels=4)

    def _of_paradigm(self, paradigm: str) -> list[str]:
        experiments = self.source.config["experiments"]
        return [one for one in experiments_of(self.source.made, IKDR) if experiments[one]["paradigm"] == paradigm]

    def _is_ikdr(self, one: Comparison) -> bool:
        return one.experiment in experiments_of(self.source.made, IKDR)


def _counted(comparisons: Iterable[Comparison]) -> list[Comparison]:
    return [one for one in judged(comparisons) if one.first]


def _place_of(one: Comparison) -> str:
    return f"{paper_label(one.paper)}, {place_label(one.table)}, {one.setting}"


def _endings(name: str, runs: pd.DataFrame) -> Iterator[object]:
    ended, stopped = (int(runs["status"].isin([*map(str, words)]).sum()) for words in (BY_METHODS, _LIMITS))
    # Several rows may be of one process.
    processes = runs.drop_duplicates(["trace_file", "run", "wall_s"])
    yield from (name, len(runs), ended, stopped, len(runs) - ended - stopped)
    yield f"{processes['wall_s'].sum() / 60:.1f}"


def _both(of_cell: Mapping[str, Comparison]) -> Iterator[str]:
    """Yield cost and quality, each with the printed number behind it."""
    for metrics in (("cost",), _QUALITIES):
        one = next((of_cell[metric] for metric in metrics if metric in of_cell), None)
        yield from (one.ours, one.published) if one else (NO_CELL, NO_CELL)


def _reproducing(one: Comparison) -> str:
    """Return those of the runs by the published protocol that give the printed number."""
    both = zip(one.protocol.split("; "), one.protocol_verdict.split("; "), strict=True)
    return "; ".join(words for words, verdict in both if verdict == str(Verdict.REPRODUCED))


def _alternative(name: str, runs: pd.DataFrame) -> Iterator[list[Any]]:
    for (dataset, kernel, method), cell in runs.groupby(["dataset", "kernel", "method"], sort=False):
        words = (name, dataset_label(str(dataset)), kernel_label(str(kernel)), method_label(str(method)))
        yield entries([*words, *(_mean(cell[column], numbers.agreement) for column in ("nmi_given", "quality"))])


def _mean(values: pd.Series, written: Callable[[float], str]) -> str:
    known = values.dropna()
    return written(float(known.mean())) if len(known) else NO_CELL
