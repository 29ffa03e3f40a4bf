"""The rows that decide claims: those of the papers' own tables, data and protocol, and what of them is lacking.

A run counts where its experiment names the printed table (``published``) and follows its protocol, and the paper prints
a number for its data set, kernel and method. All methods of a cell are of one experiment, with one q and one data set.
A cell without any such run leaves a claim undecided; one that lacks some counts as lost. One that was stopped before
the paper's limits, or whose other runs the user's budget left out, is open, unless a claim can use bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kdrbench.suite.findings.finding import LACKING, Decision, Finding, listed, sentence, side_of, undecided
from kdrbench.suite.findings.outcome import (
    NOT_MADE,
    STOPPED_EARLY,
    WITHOUT_RESULT,
    clean_times,
    ended,
    numbers_by_run,
    stopped,
    without_skipped,
)
from kdrbench.suite.findings.pairwise import TIE, relative_gaps
from kdrbench.suite.paired import corrected_t_interval
from kdrbench.suite.reports.protocol import by_protocol
from kdrbench.suite.reports.records import (
    IKDR,
    KPCA_FIGURES,
    KPCA_TRICK,
    LOW_RANK,
    NO_KERNEL,
    Config,
    Split,
    of_papers,
)
from kdrbench.suite.reports.tables.labels import CONVERGED, dataset_label, kernel_label, method_label
from kdrbench.suite.reports.tables.published_numbers import our_name, paper_label, published_name, published_numbers
from kdrbench.suite.reports.tables.significance import share_tested
from kdrbench.suite.systems import SYSTEMS

_RIVALS = ("dg", "sm", "gm")
# Solvers by the rules of the authors' code; of two versions of ISM the first is that of the printed numbers.
AUTHORS, _FIRST_VERSION = "_authors", "_1"
AS_PUBLISHED = "as published"
FOLDS = 10
LOST = "missing or failed runs"
# What claims read, which tables of made-up or earlier rows may lack.
_ALL = ("experiment", "dataset", "method", "run", "status", "time_s", "n_train", "n_test", "n_features")
_COLUMNS = {
    "runs": (
        *("kernel", "split", "partition", "n_components", "data_sha256", "cost", "quality", "train_accuracy"),
        *("iterations", "stationarity", "optimality", "eigengap", "curvature", STOPPED_EARLY, NOT_MADE),
    ),
    "kpca": ("learner", "variant", "accuracy", "tuning_wall_s"),
    "low_rank": (
        *("n_constraints", "n_samples", "rank", "learned_rank", "sweeps", "projections", "trace_evaluations"),
        *("largest_violation", "reference_distance", "accuracy", "target_accuracy", "nmi_ten_starts"),
    ),
    "tricks": ("figure", "series", "varied", "value", "accuracy", "condition", "disagreement"),
}
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
        """Add the columns that tables lack."""
        for name, columns in _COLUMNS.items():
            table = getattr(self, name)
            object.__setattr__(self, name, table.reindex(columns=list(dict.fromkeys((*table, *_ALL, *columns)))))

    @classmethod
    def of(cls, tables: Mapping[str, pd.DataFrame], config: Config) -> Records:
        """Return the records of the systems that there are, of the experiments that name a paper, by its protocol."""
        names = {"runs": IKDR, "kpca": KPCA_TRICK, "tricks": KPCA_FIGURES, "low_rank": LOW_RANK}
        config, rows, left_out = of_papers(config), {}, []
        for name, system in names.items():
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

    def numbers(self, column: str) -> pd.Series:
        """Return the numbers of a column by run; failed runs have none."""
        return numbers_by_run(self.runs, column)

    def mean(self, column: str = "quality") -> float | None:
        """Return the mean over the runs of the protocol; ``None`` for a cell that lacks some of them."""
        numbers = self.numbers(column)
        return float(numbers.mean()) if len(numbers) == self.n_runs else None

    def difference(self, other: OwnCell, column: str, *, relative: bool = False) -> NDArray[np.float64] | None:
        """Return mean, low and high of ours less the other's over common runs; ``None`` where either lacks runs.

        The 95 % interval allows for training rows that folds share (Nadeau and Bengio 2003); one run has none. If
        ``relative`` all are divided by the size of the other's mean.
        """
        ours, theirs = self.numbers(column), other.numbers(column)
        values = (ours - theirs).dropna().to_numpy(float)
        if len(values) < max(self.n_runs, other.n_runs):
            return None
        size = abs(float(theirs.mean())) if relative else 1.0
        return np.array([values.mean(), *corrected_t_interval(values, share_tested(self.runs))]) / size

    @property
    def stopped_early(self) -> str:
        """Why it was stopped before the paper's limits, or lacks runs that were not made; empty where neither is so."""
        return next(filter(None, self.runs[STOPPED_EARLY].dropna()), "")

    @property
    def n_not_made(self) -> int:
        """How many of its runs the user's budget left out."""
        return int(self.runs[NOT_MADE].fillna(0).max())

    @property
    def open_runs(self) -> pd.Index:
        """The rows of runs that a limit stopped, where the cell was stopped before the paper's limits."""
        return self.runs.index[stopped(self.runs)] if self.stopped_early else pd.Index([])


@dataclass(frozen=True)
class CellPair:
    """A solver and a rival in one cell, by the numbers of a column on the runs that both have."""

    solver: OwnCell
    rival: OwnCell
    column: str

    @cached_property
    def _numbers(self) -> pd.DataFrame:
        columns = [cell.numbers(self.column) for cell in (self.solver, self.rival)]
        return pd.concat(columns, axis=1, join="inner")

    @property
    def ours(self) -> NDArray[np.float64]:
        """The solver's numbers."""
        return self._numbers.to_numpy(float)[:, 0]

    @property
    def theirs(self) -> NDArray[np.float64]:
        """The rival's numbers."""
        return self._numbers.to_numpy(float)[:, 1]

    @property
    def is_complete(self) -> bool:
        """Whether these are all runs of the protocol."""
        return len(self._numbers) == self.rival.n_runs

    @property
    def is_open(self) -> bool:
        """Whether one of both was stopped before the paper's limits."""
        return bool(self.solver.stopped_early or self.rival.stopped_early)

    def has_ended(self, *cells: OwnCell) -> bool:
        """Whether the cells, both unless they are named, came to their own end in all of these runs."""
        shared = self._numbers.index
        return all(ended(cell.runs[cell.runs["run"].isin(shared)]).all() for cell in cells or (self.solver, self.rival))

    @cached_property
    def gap(self) -> float:
        """How far our mean is above the rival's, relative to it."""
        return float(relative_gaps(self.ours.mean(keepdims=True), self.theirs.mean(keepdims=True))[0])

    @cached_property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the gap; of one run there is none, and both ends are the gap."""
        gap = self.solver.difference(self.rival, self.column, relative=True)
        return (self.gap, self.gap) if gap is None else (float(gap[1]), float(gap[2]))

    @property
    def lower(self) -> Decision:
        """Whether ours is lower or tied; a cost at which a run was stopped is not where its method ends."""
        if self.is_open:
            return Decision.UNDECIDED
        if not self.is_complete or not self.has_ended():
            return Decision.CONTRADICTED
        return Decision.CONFIRMED if abs(self.gap) <= TIE else side_of(*self.interval, most=TIE)

    @property
    def ratio(self) -> float:
        """How many times the mean of ours the rival's mean is."""
        return float(self.theirs.mean() / self.ours.mean())

    @property
    def name(self) -> str:
        """The rival's cell, and by how much ours is above it."""
        if not self.is_complete:
            return f"{self.rival.name} ({LOST})"
        return f"{self.rival.name} by {100 * self.gap:.2g} %{'' if self.has_ended() else ' (stopped)'}"


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

    def pairs(self, column: str) -> list[CellPair]:
        """Return each cell of a rival beside the solver's in the same place."""
        solver, *rivals = self.methods
        places: dict[Place, dict[str, OwnCell]] = {}
        for cell in self.cells:
            places.setdefault(cell.place, {})[cell.method] = cell
        return [
            CellPair(cells[solver], cells[rival], column)
            for cells in places.values()
            for rival in rivals
            if solver in cells and rival in cells
        ]

    @property
    def runs(self) -> pd.DataFrame:
        """The runs of all cells."""
        return pd.concat([cell.runs for cell in self.cells])

    @property
    def n_runs(self) -> int:
        """How many runs the cells need."""
        return sum(cell.n_runs for cell in self.cells)


# What decides by cells.
Judge = Callable[[Coverage], Finding]


def decided_on(coverage: Coverage, judge: Judge) -> Finding:
    """Return what ``judge`` finds if no cell lacks; else undecided, naming what lacks and what the others say."""
    if not coverage.missing:
        return judge(coverage)
    so_far = judge(coverage).evidence if coverage.cells else ""
    note = f"Of what is there: {so_far}." if so_far and not so_far.startswith(LACKING) else ""
    return undecided("; ".join(coverage.missing), note)


def lanes_of(
    records: Records,
    tables: Tables,
    metric: str,
    methods: Sequence[str],
    *,
    converged: bool = True,
    bounds: bool = True,
) -> list[Coverage]:
    """Return the cells by the authors' code, those of methods as published, and their ``converged`` variants."""
    authors = authors_cells(records, tables, methods)
    datasets = ", ".join(dict.fromkeys(dataset_label(cell.dataset) for cell in authors.cells))
    lanes = {f"by the authors' code on {datasets}": authors if bounds else without_early(authors)}
    lanes[AS_PUBLISHED] = printed_cells(records, tables, metric, methods, bounds=bounds)
    if converged:
        variants = [f"{method}_{CONVERGED}" for method in methods]
        lanes[CONVERGED] = printed_cells(records, tables, metric, variants, bounds=bounds)
    return [replace(cells, lane=lane) for lane, cells in lanes.items()]


def decided_in_lanes(lanes: Sequence[Coverage], judge: Judge) -> Finding:
    """Return what the first lane with cells says; the note says in one sentence what holds in all that have some."""
    findings = {lane.lane: decided_on(lane, judge) for lane in lanes if lane.cells}
    if not findings:
        return decided_on(lanes[1], lambda _: undecided("runs of any lane (ikdr.csv)"))
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
    by_authors = solvers.str.contains(AUTHORS) | solvers.isin({*methods} - {"ism", *_RIVALS})
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
    records: Records,
    tables: Tables,
    metric: str,
    methods: Sequence[str],
    *,
    bounds: bool = False,
) -> Coverage:
    """Return the cells of some tables for which the paper prints ``metric`` of the methods.

    A converged variant is needed where the published one is printed.
    With ``bounds`` cells that were stopped before the paper's limits are among them; else they lack.
    """
    coverage = Coverage(methods=tuple(methods))
    for table in tables:
        if required := _printed(table, metric, methods):
            experiments = _experiments(records, table, protocol=False)
            coverage += cells_of(table.label, records.runs, experiments, required, table.protocol)
    return coverage if bounds else without_early(coverage)


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


def without_early(coverage: Coverage) -> Coverage:
    """Take cells that were stopped before the paper's limits for lacking."""
    early = tuple(f"{cell.source}: {cell.stopped_early}" for cell in coverage.cells if cell.stopped_early)
    cells = tuple(cell for cell in coverage.cells if not cell.stopped_early)
    return replace(coverage, cells=cells, missing=coverage.missing + tuple(dict.fromkeys(early)))


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
    runs = runs[chosen & (runs["partition"].fillna(0) == 0)]
    if runs.empty:
        datasets = ", ".join(dict.fromkeys(dataset_label(dataset) for dataset, _, _ in required))
        return Coverage(missing=(f"{source} on {datasets}: no runs (ikdr.csv)",))
    runs = of_one_experiment(runs[runs["method"].isin({method for *_, method in required})])
    groups = {tuple(map(str, axes)): cell for axes, cell in runs.groupby(["dataset", "kernel", "method"], sort=False)}
    cells = [OwnCell(source, *place, n_runs, groups.get(place, runs[:0])) for place in required]
    lacking = [cell.name.removeprefix(f"{source}: ") for cell in cells if cell.runs.empty]
    missing = [f"{source}: no runs of {listed(lacking)}"] if lacking else []
    missing += [
        f"{source} on {dataset_label(dataset)}, {kernel_label(kernel)}: runs of one q and one data set"
        for dataset, kernel in unlike_definitions(runs)
    ]
    return Coverage(tuple(cell for cell in cells if len(cell.runs)), tuple(missing))


def of_one_experiment(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one experiment for each data set and kernel, so that all methods of a cell share a definition.

    Of several the one with most runs that ended counts, then the first; what failed or was skipped is none.
    """
    has_result, cell = ~runs["status"].isin(WITHOUT_RESULT), [runs["dataset"], runs["kernel"]]
    counts = has_result.groupby([*cell, runs["experiment"]], sort=False).transform("sum")
    most = runs["experiment"].where(counts == counts.groupby(cell).transform("max"))
    return runs[runs["experiment"] == most.groupby(cell).transform("first")]


def unlike_definitions(runs: pd.DataFrame) -> list[tuple[str, str]]:
    """Return data set and kernel of those cells in whose runs methods differ in q or in the data they were given.

    Baselines have no kernel, and each of them its own q.
    """
    unlike = []
    for (dataset, kernel), cell in runs.groupby(["dataset", "kernel"], sort=False):
        columns = ["data_sha256", *([] if kernel == NO_KERNEL else ["n_components"])]
        if (cell.groupby("run")[columns].nunique() > 1).any(axis=None):
            unlike.append((str(dataset), str(kernel)))
    return unlike
