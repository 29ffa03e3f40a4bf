"""Which runs may decide a claim: those of the paper's own tables, data and protocol, and what of them is lacking.

A run counts where its experiment names the printed table (``published``) and does not only imitate its protocol
(``protocol: true``), where the paper prints a number for its data set, kernel and method, and where it is split as the
paper says. All methods of a cell are of one experiment, with one q and one data set. A cell without any such run
leaves a claim undecided. A cell that has runs, but not all, counts as lost. One that was stopped before the paper's
limits, or whose other runs the user's budget left out, leaves it undecided as well, but where a claim can use bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import pandas as pd

from kdrbench.status import Status
from kdrbench.suite.reports.claims.claim import LACKING, Found, Records, listed, undecided
from kdrbench.suite.reports.claims.deciding_rows import of_one_experiment, unlike_definitions
from kdrbench.suite.reports.claims.not_made import NOT_MADE
from kdrbench.suite.reports.claims.printed_tables import PrintedTable
from kdrbench.suite.reports.clean_times import clean_times, lacking_times
from kdrbench.suite.reports.protocol import STOPPED_EARLY
from kdrbench.suite.reports.records import Split
from kdrbench.suite.reports.tables.labels import CONVERGED, dataset_label, kernel_label, method_label
from kdrbench.suite.reports.tables.published_numbers import our_name, published_name, published_numbers

# A time is the first solve of a run. Only records that hold the repeated solves apart (``warm_s``) have it.
TIME_COLUMNS = ("time_s", "warm_s", "timed", "drifted")
_AXES = ["dataset", "kernel", "method"]
_FILE = "ikdr.csv"
Place = tuple[str, str, str]


@dataclass(frozen=True)
class OwnCell:
    """The runs of one method in one cell of ``source``, a printed table or an experiment; it asks for ``n_runs``."""

    source: str
    dataset: str
    kernel: str
    method: str
    n_runs: int
    runs: pd.DataFrame

    @property
    def place(self) -> Place:
        """Source, data set and kernel, which all methods of a cell share."""
        return self.source, self.dataset, self.kernel

    @property
    def name(self) -> str:
        """The cell in words."""
        return f"{self.source}: {dataset_label(self.dataset)}, {kernel_label(self.kernel)}, {method_label(self.method)}"

    def numbers(self, column: str) -> pd.Series:
        """Return the numbers of a column by run; failed runs have none."""
        # Copies of these columns alone: a row has some hundred.
        ended = self.runs.loc[self.runs["status"] != str(Status.FAILED), ["run", column]]
        return ended.set_index("run")[column].dropna()

    @property
    def stopped_early(self) -> str:
        """Why it was stopped before the paper's limits, or lacks runs that were not made; empty where neither is so."""
        return next(iter(filter(None, self.runs[STOPPED_EARLY])), "") if STOPPED_EARLY in self.runs else ""

    @property
    def n_not_made(self) -> int:
        """How many of its runs the user's budget left out."""
        return int(self.runs[NOT_MADE].max()) if NOT_MADE in self.runs else 0

    def complete(self, column: str) -> bool:
        """Return whether every run of the protocol has a number."""
        return len(self.numbers(column)) == self.n_runs


@dataclass(frozen=True)
class Coverage:
    """The cells that there are of those a claim asks for, and, in words, those that lack."""

    cells: tuple[OwnCell, ...] = ()
    missing: tuple[str, ...] = ()

    def __add__(self, other: Coverage) -> Coverage:
        return Coverage(self.cells + other.cells, self.missing + other.missing)

    def places(self) -> dict[Place, dict[str, OwnCell]]:
        """Return the cells by place and method."""
        places: dict[Place, dict[str, OwnCell]] = {}
        for cell in self.cells:
            places.setdefault(cell.place, {})[cell.method] = cell
        return places

    def of(self, *methods: str) -> list[OwnCell]:
        """Return the cells of some methods."""
        return [cell for cell in self.cells if cell.method in methods]


def decided_on(coverage: Coverage, judge: Callable[[], Found]) -> Found:
    """Return what ``judge`` finds if no cell lacks; else undecided, naming what lacks and what the others say."""
    if not coverage.missing:
        return judge()
    so_far = judge().evidence if coverage.cells else ""
    note = f"Of what is there: {so_far}." if so_far and not so_far.startswith(LACKING) else ""
    return undecided("; ".join(coverage.missing), note)


def printed_cells(
    records: Records,
    tables: Sequence[PrintedTable],
    metric: str,
    methods: Sequence[str],
    columns: Sequence[str],
    *,
    bounds: bool = False,
) -> Coverage:
    """Return the cells of some tables for which the paper prints ``metric`` of the methods.

    A converged variant is asked for where the published one is printed. ``columns`` must be among those of the records.
    With ``bounds`` cells that were stopped before the paper's limits are among them; else they lack.
    """
    found = Coverage()
    for table in tables:
        wanted = _printed(table, metric, methods)
        if wanted:
            found += _collect(table.label, _rows_of(records, table), wanted, table.protocol[1], columns)
    return found if bounds else _ended(found)


def experiment_cells(
    records: Records, experiment: str, wanted: Sequence[Place], protocol: tuple[Split, int], columns: Sequence[str]
) -> Coverage:
    """Return the cells (data set, kernel, method) of an experiment by its name, for claims without a printed table."""
    rows = _split_as(_named(records.runs, {experiment}), protocol)
    return _ended(_collect(experiment, rows, wanted, protocol[1], columns))


def timed_cells(
    records: Records, tables: Sequence[PrintedTable], methods: Sequence[str], *, bounds: bool = False
) -> Coverage:
    """Return the cells for which a time is printed, with those first solves that nothing disturbed.

    With ``bounds`` those of runs that were stopped before the paper's limits are among them.
    """
    found = printed_cells(records, tables, "time_s", methods, TIME_COLUMNS, bounds=bounds)
    clean = [
        OwnCell(cell.source, cell.dataset, cell.kernel, cell.method, cell.n_runs, clean_times(cell.runs))
        for cell in found.cells
    ]
    # A few folds of ten with a time that counts would let chance choose them.
    few = [2 * len(cell.numbers("time_s")) < cell.n_runs for cell in clean]
    names: dict[str, list[str]] = {}
    for cell in compress(found.cells, few):
        names.setdefault(lacking_times(cell.runs), []).append(cell.name)
    lacking = "; ".join(f"{words} of {listed(cells)}" for words, cells in names.items())
    enough = tuple(cell for cell, is_lacking in zip(clean, few, strict=True) if not is_lacking)
    return Coverage(enough, found.missing + ((lacking,) if lacking else ()))


def _ended(coverage: Coverage) -> Coverage:
    """Take cells that were stopped before the paper's limits for lacking."""
    early = tuple(f"{cell.source}: {cell.stopped_early}" for cell in coverage.cells if cell.stopped_early)
    cells = tuple(cell for cell in coverage.cells if not cell.stopped_early)
    return Coverage(cells, coverage.missing + tuple(dict.fromkeys(early)))


def _printed(table: PrintedTable, metric: str, methods: Sequence[str]) -> list[Place]:
    """Return data set, kernel and method, in our names, for which the table prints a number."""
    printed = published_numbers(paper=table.paper, table=table.table, setting=table.setting, metric=metric)
    ours = {method: published_name("method", method.removesuffix(f"_{CONVERGED}")) for method in methods}
    return [
        (our_name("dataset", axes["dataset"], table.paper), our_name("kernel", axes["kernel"], table.paper), method)
        for method in methods
        for axes in printed
        if axes["method"] == ours[method]
    ]


def _rows_of(records: Records, table: PrintedTable) -> pd.DataFrame:
    wanted = {"paper": table.paper, "table": table.table, "setting": table.setting}
    names = {
        name
        for name, experiment in records.config.get("experiments", {}).items()
        if _reproduces(experiment.get("published", {}), wanted)
    }
    return _split_as(_named(records.runs, names), table.protocol)


def _reproduces(published: Mapping[str, object], wanted: Mapping[str, str]) -> bool:
    return not published.get("protocol", False) and all(published.get(key) == value for key, value in wanted.items())


def _named(runs: pd.DataFrame, names: set[str]) -> pd.DataFrame:
    return runs if runs.empty else runs[runs["experiment"].isin(names)]


def _split_as(runs: pd.DataFrame, protocol: tuple[Split, int]) -> pd.DataFrame:
    """Return the runs of the protocol's split; folds that were drawn again (``partition``) are another experiment's."""
    if runs.empty:
        return runs
    split, n_runs = protocol
    chosen = (runs["split"] == str(split)) & runs["run"].isin(range(n_runs))
    return runs[chosen & (runs["partition"].fillna(0) == 0)] if "partition" in runs else runs[chosen]


def _collect(source: str, rows: pd.DataFrame, wanted: Sequence[Place], n_runs: int, columns: Sequence[str]) -> Coverage:
    if rows.empty:
        return Coverage(missing=(f"{source} on {_datasets(wanted)}: no runs ({_FILE})",))
    if absent := [name for name in columns if name not in rows]:
        return Coverage(missing=(f"{source}: the records have no column {', '.join(absent)}",))
    rows = of_one_experiment(rows[rows["method"].isin({method for *_, method in wanted})])
    unlike = unlike_definitions(rows)
    groups = {(str(axes[0]), str(axes[1]), str(axes[2])): group for axes, group in rows.groupby(_AXES, sort=False)}
    cells = tuple(OwnCell(source, *place, n_runs, groups[place]) for place in wanted if place in groups)
    lacking = [place for place in wanted if place not in groups]
    words = [f"{source} on {_datasets(wanted)}: no runs {_lacking(lacking, wanted)}"] if lacking else []
    for dataset, kernel in unlike:
        words.append(f"{source} on {dataset_label(dataset)}, {kernel_label(kernel)}: runs of one q and one data set")
    return Coverage(cells, tuple(words))


def _datasets(wanted: Sequence[Place]) -> str:
    return ", ".join(dict.fromkeys(dataset_label(dataset) for dataset, _, _ in wanted))


def _lacking(lacking: Sequence[Place], wanted: Sequence[Place]) -> str:
    """Return "on Face; of DG on Wine; of GM on Wine (Polynomial)": only what lacks in part is named in full."""
    pairs = list(dict.fromkeys((dataset, method) for dataset, _, method in lacking))
    whole = [
        data for data in dict.fromkeys(data for data, _ in pairs) if _all_of(data, lacking) == _all_of(data, wanted)
    ]
    parts = {"on ": [dataset_label(dataset) for dataset in whole]} if whole else {}
    for dataset, method in pairs:
        if dataset not in whole:
            kernels = [kernel for other, kernel, solver in lacking if (other, solver) == (dataset, method)]
            asked = [kernel for other, kernel, solver in wanted if (other, solver) == (dataset, method)]
            some = "" if len(kernels) == len(asked) else f" ({', '.join(map(kernel_label, kernels))})"
            parts.setdefault(f"of {method_label(method)} on ", []).append(f"{dataset_label(dataset)}{some}")
    return "; ".join(start + ", ".join(names) for start, names in parts.items())


def _all_of(dataset: str, places: Sequence[Place]) -> list[Place]:
    return [place for place in places if place[0] == dataset]
