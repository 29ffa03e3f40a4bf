"""The rows that decide claims: those of the papers' own tables, data and protocol, and what of them is lacking.

A run counts where its experiment names the printed table (``published``) and follows its protocol, and the paper prints
a number for its data set, kernel and method. All methods of a cell are of one experiment, and so share q and data.
A cell without any such run leaves a claim undecided; one that lacks some counts as lost. One that was stopped before
the paper's limits, or whose other runs the user's budget left out, is open, unless a claim can use bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kdrbench.suite.engine.record import column_types
from kdrbench.suite.findings.finding import (
    CONFIRMED,
    CONTRADICTED,
    LACKING,
    UNDECIDED,
    Case,
    Finding,
    listed,
    sentence,
    side_of,
    undecided,
)
from kdrbench.suite.findings.outcome import (
    NOT_MADE,
    STOPPED_EARLY,
    WITHOUT_RESULT,
    clean_times,
    ended,
    numbers_by_run,
    shared_numbers,
    stopped,
    without_skipped,
)
from kdrbench.suite.findings.pairwise import TIE, relative_gaps
from kdrbench.suite.paired import corrected_t_interval
from kdrbench.suite.reports.protocol import by_protocol
from kdrbench.suite.reports.records import IKDR, KPCA_FIGURES, KPCA_TRICK, LOW_RANK, Config, Split, of_papers
from kdrbench.suite.reports.tables.labels import CONVERGED, dataset_label, kernel_label, method_label
from kdrbench.suite.reports.tables.published_numbers import our_name, paper_label, published_name, published_numbers
from kdrbench.suite.reports.tables.significance import share_tested
from kdrbench.suite.systems import SYSTEMS, build_system

# Solvers that are also run until they converge.
_HAVE_VARIANTS = ("ism", "dg", "sm", "gm")
# Solvers by the rules of the authors' code; of two versions of ISM the first is that of the printed numbers.
AUTHORS, _FIRST_VERSION = "_authors", "_1"
AS_PUBLISHED = "as published"
FOLDS = 10
LOST = "missing or failed runs"
# The system of each table of the records.
_SYSTEM_OF = {"runs": IKDR, "kpca": KPCA_TRICK, "tricks": KPCA_FIGURES, "low_rank": LOW_RANK}
_SIZES = ["n_features", "n_components"]
Place = tuple[str, str, str]


@dataclass(frozen=True)
class Records:
    """The merged tables by system: of dimension reduction, the KPCA trick, low-rank kernels, and the trick's figures.

    ``left_out`` are experiment and reason of rows that are not among them, since they depart from the paper's protocol.
    ``own`` are the tables of the user's systems.
    """

    runs: pd.DataFrame = field(default_factory=pd.DataFrame)
    kpca: pd.DataFrame = field(default_factory=pd.DataFrame)
    low_rank: pd.DataFrame = field(default_factory=pd.DataFrame)
    tricks: pd.DataFrame = field(default_factory=pd.DataFrame)
    config: Config = field(default_factory=dict)
    left_out: tuple[tuple[str, str], ...] = ()
    own: Mapping[str, pd.DataFrame] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Add the columns that tables lack, such as those of made-up or earlier rows."""
        for name, system in _SYSTEM_OF.items():
            table, columns = getattr(self, name), column_types(build_system(system).record)
            names = dict.fromkeys((*table, *columns, STOPPED_EARLY, NOT_MADE))
            object.__setattr__(self, name, table.reindex(columns=list(names)))

    @classmethod
    def of(cls, tables: Mapping[str, pd.DataFrame], config: Config) -> Records:
        """Return the records of the systems that there are, of the experiments that name a paper, by its protocol."""
        config, rows, left_out = of_papers(config), {}, []
        for name, system in _SYSTEM_OF.items():
            if system in tables:
                table = tables[system]
                rows[name], reasons = by_protocol(table[table["experiment"].isin(config["run"])], config)
                left_out += reasons
        # Low-rank kernels say themselves which of their draws are open.
        made = {name: table if name == "low_rank" else without_skipped(table) for name, table in rows.items()}
        own = {system: table for system, table in tables.items() if system not in SYSTEMS}
        return cls(**made, config=config, left_out=tuple(left_out), own=own)


@dataclass(frozen=True)
class PrintedTable:
    """A table of a paper, or one of its two halves."""

    paper: str
    table: str
    setting: str

    @property
    def label(self) -> str:
        """The table in words."""
        return f"{paper_label(self.paper)}, Table {self.table}, {self.setting}"

    @property
    def protocol(self) -> tuple[Split, int]:
        """The split and the number of runs: ten folds in supervised tables of NeurIPS 2019, else all rows, once."""
        folds = self.paper == "neurips2019" and self.setting == "supervised"
        return (Split.FOLDS, FOLDS) if folds else (Split.NONE, 1)


Tables = Sequence[PrintedTable]
# By the names that claims.toml gives them.
TABLES = {
    "four": PrintedTable("neurips2019", "4", "supervised"),
    "four_clusters": PrintedTable("neurips2019", "4", "unsupervised"),
    "five": PrintedTable("neurips2019", "5", "supervised"),
    "five_clusters": PrintedTable("neurips2019", "5", "unsupervised"),
    "plus_five": PrintedTable("ismplus", "5", "supervised"),
    "plus_six": PrintedTable("ismplus", "6", "unsupervised"),
}
TABLE_4, PLUS_5 = TABLES["four"], TABLES["plus_five"]


@dataclass(frozen=True)
class OwnCell:
    """The runs of one method in one cell of ``source``, a printed table or an experiment; it needs ``n_runs``."""

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

    def numbers(self, column: str = "quality") -> pd.Series:
        """Return the numbers of a column by run; failed runs have none."""
        return numbers_by_run(self.runs, column)

    def mean(self, column: str = "quality") -> float | None:
        """Return the mean over the runs of the protocol; ``None`` for a cell that lacks some of them."""
        numbers = self.numbers(column)
        return float(numbers.mean()) if len(numbers) == self.n_runs else None

    @property
    def stopped_early(self) -> str:
        """Why it was stopped before the paper's limits, or lacks runs that were not made; empty where neither is so."""
        return next(filter(None, self.runs[STOPPED_EARLY].dropna()), "")

    @property
    def rows(self) -> pd.DataFrame:
        """All runs that are needed; those that were lost or not made are empty.

        ``open`` are those not made, and those stopped by a limit where the cell was stopped before the paper's limits.
        """
        is_open, n_lost = stopped(self.runs) & bool(self.stopped_early), self.n_runs - len(self.runs)
        n_not_made = int(self.runs[NOT_MADE].fillna(0).max())
        rows = self.runs.copy().reset_index(drop=True).reindex(range(self.n_runs))
        waits = [*is_open, *[True] * n_not_made, *[False] * (n_lost - n_not_made)]
        return rows.assign(open=waits, **rows[_SIZES].ffill())


@dataclass(frozen=True)
class CellPair:
    """A solver and a rival in one cell, by the numbers of a column on the runs that both have."""

    solver: OwnCell
    rival: OwnCell
    column: str = "quality"

    @cached_property
    def numbers(self) -> pd.DataFrame:
        """The solver's numbers (``ours``) and the rival's (``theirs``) by run."""
        return shared_numbers(self.solver.runs, self.rival.runs, self.column)

    @property
    def is_complete(self) -> bool:
        """Whether these are all runs of the protocol."""
        return len(self.numbers) == self.rival.n_runs

    @property
    def is_open(self) -> bool:
        """Whether one of both was stopped before the paper's limits."""
        return bool(self.solver.stopped_early or self.rival.stopped_early)

    def has_ended(self, *cells: OwnCell) -> bool:
        """Whether the cells came to their own end in all of these runs."""
        return all(ended(cell.runs[cell.runs["run"].isin(self.numbers.index)]).all() for cell in cells)

    @cached_property
    def difference(self) -> NDArray[np.float64]:
        """Mean, low and high of ours less the rival's.

        The 95 % interval allows for training rows that folds share (Nadeau and Bengio 2003); one run has none.
        """
        values = (self.numbers["ours"] - self.numbers["theirs"]).to_numpy()
        return np.array([values.mean(), *corrected_t_interval(values, share_tested(self.solver.runs))])

    @property
    def ratio(self) -> float:
        """How many times the mean of ours the rival's mean is."""
        return float(self.numbers["theirs"].mean() / self.numbers["ours"].mean())

    @cached_property
    def higher(self) -> Case:
        """Whether ours is lower or tied; its number is by how many per cent of the rival's mean it is higher.

        A cost at which a run was stopped is not where its method ends.
        """
        if self.is_open:
            return Case(UNDECIDED, self.rival.name)
        if not self.is_complete:
            return Case(CONTRADICTED, f"{self.rival.name} ({LOST})")
        gap, low, high = map(float, self.difference / abs(self.numbers["theirs"].mean()))
        side = CONFIRMED if abs(gap) <= TIE else side_of(low, high, most=TIE)
        has_ended = self.has_ended(self.solver, self.rival)
        name = f"{self.rival.name} by {100 * gap:.2g} %{'' if has_ended else ' (stopped)'}"
        return Case(side if has_ended else CONTRADICTED, name, 100 * gap, [(100 * low, 100 * high)])


@dataclass(frozen=True)
class Coverage:
    """The cells that there are of those a claim needs, and, in words, those that lack.

    ``methods`` are those that it needs, a solver before its rivals. ``lane`` says in which way they were run: as the
    authors ran them, as their own papers publish them, or until they converge.
    """

    cells: tuple[OwnCell, ...] = ()
    missing: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    lane: str = ""

    def __add__(self, other: Coverage) -> Coverage:
        return replace(self, cells=self.cells + other.cells, missing=self.missing + other.missing)

    def by_place(self) -> dict[Place, dict[str, OwnCell]]:
        """Return the cells of each place by their methods."""
        places: dict[Place, dict[str, OwnCell]] = {}
        for cell in self.cells:
            places.setdefault(cell.place, {})[cell.method] = cell
        return places

    def pairs(self, column: str) -> list[CellPair]:
        """Return each cell of a rival beside the solver's in the same place."""
        solver, *rivals = self.methods
        return [
            CellPair(cells[solver], cells[rival], column)
            for cells in self.by_place().values()
            for rival in rivals
            if solver in cells and rival in cells
        ]

    @property
    def rows(self) -> pd.DataFrame:
        """The runs of all cells, see :attr:`OwnCell.rows`."""
        return pd.concat([cell.rows for cell in self.cells], ignore_index=True)

    @property
    def paired_rows(self) -> pd.DataFrame:
        """The solver's runs with those of its rivals (``_theirs``), and the ``gap`` of their costs, relative to theirs.

        ``pair_open`` says whether one of both cells was stopped before the paper's limits.
        """
        both = [
            pair.solver.rows.merge(pair.rival.runs, on="run", how="left", suffixes=("", "_theirs")).assign(
                pair_open=pair.is_open
            )
            for pair in self.pairs("cost")
        ]
        rows = pd.concat(both, ignore_index=True)
        return rows.assign(gap=relative_gaps(rows["cost"].to_numpy(), rows["cost_theirs"].to_numpy()))

    def without_early(self) -> Coverage:
        """Return the coverage in which cells that were stopped before the paper's limits lack."""
        early = [f"{cell.source}: {cell.stopped_early}" for cell in self.cells if cell.stopped_early]
        cells = tuple(cell for cell in self.cells if not cell.stopped_early)
        return replace(self, cells=cells, missing=self.missing + tuple(dict.fromkeys(early)))


# What decides by cells.
Judge = Callable[[Coverage], Finding]


def decided_on(coverage: Coverage, judge: Judge) -> Finding:
    """Return what ``judge`` finds; undecided where cells lack, which it names."""
    found = judge(coverage) if coverage.cells else undecided("")
    if not coverage.missing:
        return found
    return replace(found, decision=UNDECIDED, evidence=f"{LACKING}{'; '.join(coverage.missing)}")


def lanes_of(
    records: Records,
    tables: Tables,
    metric: str,
    methods: Sequence[str],
    *,
    converged: bool = True,
    bounds: bool = True,
    timed: bool = False,
) -> list[Coverage]:
    """Return the cells by the authors' code, those of methods as published, and their ``converged`` variants.

    With ``timed`` only those of the latter two whose times nothing disturbed.
    """
    chosen = partial(timed_cells, records, tables) if timed else partial(printed_cells, records, tables, metric)
    authors = authors_cells(records, tables, methods)
    datasets = ", ".join(dict.fromkeys(dataset_label(cell.dataset) for cell in authors.cells))
    lanes = {f"by the authors' code on {datasets}": authors if bounds else authors.without_early()}
    lanes[AS_PUBLISHED] = chosen(methods, bounds=bounds)
    if converged:
        variants = [f"{method}_{CONVERGED}" for method in methods if method in _HAVE_VARIANTS]
        lanes[CONVERGED] = chosen(variants, bounds=bounds)
    return [replace(cells, lane=lane) for lane, cells in lanes.items()]


def decided_in_lanes(lanes: Sequence[Coverage], judge: Judge) -> Finding:
    """Return what the first lane with cells says; the note says in one sentence what holds in all that have some."""
    findings = {lane.lane: decided_on(lane, judge) for lane in lanes if lane.cells}
    if not findings:
        return decided_on(lanes[1], judge)
    first = next(iter(findings.values()))
    if [*findings] == [AS_PUBLISHED]:
        return first
    results = [
        f"{lane}, {each.measure} ({each.decision})" if each.measure else f"{lane}, {each.decision}"
        for lane, each in findings.items()
    ]
    # The authors ran some of the data sets only.
    return first.with_note(sentence("; ".join(results)))


def authors_cells(records: Records, tables: Tables, methods: Sequence[str]) -> Coverage:
    """Return the cells of experiments that run some tables by the authors' code, with the names of published methods.

    Their rows are the authors' own, which may be others than those of the tables. None is required.
    """
    coverage = Coverage(methods=tuple(methods))
    solvers, axes = records.runs["method"].astype(str), ["experiment", "dataset", "kernel"]
    by_authors = solvers.str.contains(AUTHORS) | solvers.isin({*methods} - {*_HAVE_VARIANTS})
    for table in tables:
        rows = records.runs[by_authors & records.runs["experiment"].isin(_experiments(records, table, protocol=True))]
        of_authors = rows["experiment"].isin(rows.loc[solvers[rows.index].str.contains(AUTHORS), "experiment"])
        for (experiment, dataset, kernel), cell in rows[of_authors].groupby(axes, sort=False):
            coverage += _by_role((str(experiment), str(dataset), str(kernel)), cell, methods)
    return coverage


def _by_role(place: Place, rows: pd.DataFrame, methods: Sequence[str]) -> Coverage:
    drawn = rows["partition"].fillna(0).astype(int)
    groups = {str(name): cell for name, cell in rows.assign(run=rows["run"] + 10_000 * drawn).groupby("method")}
    by_version = sorted(groups, key=lambda name: name.endswith(_FIRST_VERSION))
    roles = {name.partition(AUTHORS)[0]: groups[name] for name in by_version}
    n_runs = max(map(len, groups.values()))
    return Coverage(tuple(OwnCell(*place, name, n_runs, roles[name]) for name in methods if name in roles))


def printed_cells(
    records: Records, tables: Tables, metric: str, methods: Sequence[str], *, bounds: bool = False
) -> Coverage:
    """Return the cells of some tables for which the paper prints ``metric`` of the methods.

    A converged variant is needed where the published one is printed.
    With ``bounds`` cells that were stopped before the paper's limits are among them; else they lack.
    """
    coverage = Coverage(methods=tuple(methods))
    for table in tables:
        required = _printed(table, metric, methods)
        experiments = _experiments(records, table, protocol=False)
        coverage += cells_of(table.label, records.runs, experiments, required, table.protocol)
    return coverage if bounds else coverage.without_early()


def timed_cells(records: Records, tables: Tables, methods: Sequence[str], *, bounds: bool = False) -> Coverage:
    """Return the cells for which a time is printed, with those first solves that nothing disturbed.

    With ``bounds`` those of runs that were stopped before the paper's limits are among them.
    """
    coverage = printed_cells(records, tables, "time_s", methods, bounds=bounds)
    clean = [replace(cell, runs=clean_times(cell.runs)) for cell in coverage.cells]
    # A few folds of ten with a time that counts would let chance choose them.
    enough = tuple(cell for cell in clean if 2 * len(cell.numbers("time_s")) >= cell.n_runs)
    lacking = [cell.name for cell in clean if cell not in enough]
    missing = (f"undisturbed times of {listed(lacking)}",) if lacking else ()
    return replace(coverage, cells=enough, missing=coverage.missing + missing)


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


def _experiments(records: Records, table: PrintedTable, *, protocol: bool) -> list[str]:
    """Return the experiments that name a table, by its own protocol or by that of the authors' code."""
    place = {"paper": table.paper, "table": table.table, "setting": table.setting}
    published = {name: one.get("published", {}) for name, one in records.config.get("experiments", {}).items()}
    return [
        name
        for name, axes in published.items()
        if place.items() <= axes.items() and bool(axes.get("protocol")) is protocol
    ]


def cells_of_experiment(
    records: Records, experiment: str, methods: Sequence[str], cells: Sequence[Sequence[str]]
) -> Coverage:
    """Return the cells, each a data set with a kernel, of two methods in an experiment on ten folds."""
    places = [(dataset, kernel, method) for dataset, kernel in cells for method in methods]
    coverage = cells_of(experiment, records.runs, [experiment], places, (Split.FOLDS, FOLDS))
    return replace(coverage, methods=tuple(methods)).without_early()


def cells_of(
    source: str,
    runs: pd.DataFrame,
    experiments: Sequence[str],
    required: Sequence[Place],
    protocol: tuple[Split, int],
) -> Coverage:
    """Return the required cells of some experiments; folds that were drawn again are another experiment's."""
    split, n_runs = protocol
    chosen = runs["experiment"].isin(experiments) & (runs["split"] == str(split)) & runs["run"].isin(range(n_runs))
    chosen &= (runs["partition"].fillna(0) == 0) & runs["method"].isin({method for *_, method in required})
    runs = _of_one_experiment(runs[chosen])
    groups = {tuple(map(str, axes)): cell for axes, cell in runs.groupby(["dataset", "kernel", "method"], sort=False)}
    cells = tuple(OwnCell(source, *place, n_runs, groups[place]) for place in required if place in groups)
    absent = [OwnCell("", *place, n_runs, runs[:0]).name[2:] for place in required if place not in groups]
    return Coverage(cells, (f"{source}: no runs of {listed(absent)} (ikdr.csv)",) if absent else ())


def _of_one_experiment(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one experiment for each data set and kernel, so that all methods of a cell share a definition.

    Of several the one with most runs that ended counts, then the first; what failed or was skipped is none.
    """
    has_result, cell = ~runs["status"].isin(WITHOUT_RESULT), [runs["dataset"], runs["kernel"]]
    counts = has_result.groupby([*cell, runs["experiment"]], sort=False).transform("sum")
    most = runs["experiment"].where(counts == counts.groupby(cell).transform("max"))
    return runs[runs["experiment"] == most.groupby(cell).transform("first")]
