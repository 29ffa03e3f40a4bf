"""The rows that decide claims: those of the papers' own tables, data and protocol, and what of them is lacking.

A run counts where its experiment names the printed table (``published``) and follows its protocol, and the paper prints
a number for its data set, kernel and method. All methods of a cell are of one experiment, and so share q and data.
A cell without any such run leaves a claim undecided; one that lacks some counts as lost. One that was stopped before
the paper's limits, or whose other runs the user's budget left out, is open, unless a claim can use bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from kdrbench.suite.engine.record import column_types
from kdrbench.suite.findings.finding import LACKING, UNDECIDED, Finding, listed, undecided
from kdrbench.suite.findings.outcome import (
    NOT_MADE,
    ONE_TIME,
    STOPPED_EARLY,
    WITHOUT_RESULT,
    clean_times,
    ended,
    is_usable,
    numbers_by_run,
    shared_numbers,
    stopped,
    without_skipped,
)
from kdrbench.suite.paired import corrected_t_interval
from kdrbench.suite.reports.protocol import by_protocol, is_imitation
from kdrbench.suite.reports.records import IKDR, KPCA_FIGURES, KPCA_TRICK, LOW_RANK, Config, of_papers
from kdrbench.suite.reports.tables.labels import CONVERGED, dataset_label, kernel_label, method_label
from kdrbench.suite.reports.tables.published_numbers import our_name, paper_label, published_name, published_numbers
from kdrbench.suite.reports.tables.significance import share_tested
from kdrbench.suite.systems import SYSTEMS, build_system
from kdrbench.suite.systems.ikdr.folds import Split

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
# What all methods of a cell share.
PLACE = ("source", "dataset", "kernel")
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
            table, columns = getattr(self, name), column_types(build_system(system).record)  # type: ignore[arg-type]
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
        if "kpca" in rows:
            # Claims on these have no lane of the authors.
            readings = [name for name in config["run"] if is_imitation(config["experiments"][name])]
            rows["kpca"] = rows["kpca"][~rows["kpca"]["experiment"].isin(readings)]
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
TABLE_4 = TABLES["four"]


def _rows_of_cell(source: str, dataset: str, kernel: str, method: str, runs: pd.DataFrame, n_runs: int) -> pd.DataFrame:
    """Return the ``n_runs`` rows that a cell needs; those that were lost or not made are empty.

    ``cell`` is its name in words. ``early`` says why it was stopped before the paper's limits, or lacks runs that were
    not made; empty where neither is so. ``open`` are the latter runs, and those that a limit stopped in such a cell.
    """
    early = next(filter(None, runs[STOPPED_EARLY].dropna()), "")
    n_not_made = int(runs[NOT_MADE].fillna(0).max())
    is_open = [*(stopped(runs) & bool(early)), *[True] * n_not_made]
    rows = runs.copy().reset_index(drop=True).reindex(range(n_runs))
    return rows.assign(
        **{"source": source, "dataset": dataset, "kernel": kernel, "method": method, "early": early},
        setting=source.rpartition(", ")[2],
        cell=_cell_name(source, dataset, kernel, method),
        open=[*is_open, *[False] * n_runs][:n_runs],
        **rows[_SIZES].ffill(),
    )


def _cell_name(source: str, dataset: str, kernel: str, method: str) -> str:
    return f"{source}: {dataset_label(dataset)}, {kernel_label(kernel)}, {method_label(method)}"


@dataclass(frozen=True)
class Coverage:
    """The rows of the cells that there are of those a claim needs, and, in words, the cells that lack."""

    rows: pd.DataFrame = field(default_factory=pd.DataFrame)
    missing: tuple[str, ...] = ()

    def __add__(self, other: Coverage) -> Coverage:
        rows = pd.concat([self.rows, other.rows], ignore_index=True) if len(self.rows) else other.rows
        return replace(self, rows=rows, missing=self.missing + other.missing)

    def without_early(self) -> Coverage:
        """Return the coverage in which cells that were stopped before the paper's limits lack."""
        if self.rows.empty:
            return self
        is_early = self.rows["early"] != ""
        words = (self.rows["source"] + ": " + self.rows["early"])[is_early].unique()
        return replace(self, rows=self.rows[~is_early], missing=(*self.missing, *words))


def means(rows: pd.DataFrame, column: str = "quality") -> pd.DataFrame:
    """Return each cell with its ``mean`` over the runs of the protocol, NaN where some lack, and the interval of it."""
    found = []
    for _, cell in rows.groupby("cell", sort=False):
        numbers = numbers_by_run(cell, column)
        low, high = corrected_t_interval(numbers, share_tested(cell)) if len(numbers) else (np.nan, np.nan)
        mean = numbers.mean() if len(numbers) == len(cell) else np.nan
        found.append({**_names(cell), "mean": mean, "low": low, "high": high})
    return pd.DataFrame(found)


def gaps(
    rows: pd.DataFrame,
    column: str = "quality",
    ours: str = "ism",
    *,
    axis: str = "method",
    place: Sequence[str] = PLACE,
) -> pd.DataFrame:
    """Return the cells of a place beside that of ``ours``, which differs from them in the ``axis``.

    ``gap`` is the mean of ours less theirs over the runs that both have. Its 95 % interval, ``low`` to ``high``, allows
    for training rows that folds share (Nadeau and Bengio 2003); one run has none. ``ours`` and ``theirs`` are the
    means; ``complete`` is whether these are all runs of the protocol, ``open`` whether one of both cells was stopped
    before the paper's limits, ``ended`` whether ours, and ``both_ended`` whether both came to their own end in these
    runs. ``bounded`` is whether a limit stopped theirs, and ``spread`` the factor within which a ratio of times is
    known.
    """
    found = []
    for _, here in rows.groupby(list(place), sort=False):
        cells = dict(list(here.groupby(axis, sort=False)))
        found += [_gap(cells[ours], cell, column) for name, cell in cells.items() if ours in cells and name != ours]
    return pd.DataFrame(found)


def _gap(ours: pd.DataFrame, theirs: pd.DataFrame, column: str) -> dict[str, Any]:
    both = shared_numbers(ours, theirs, column)
    values = (both["ours"] - both["theirs"]).to_numpy()
    low, high = corrected_t_interval(values, share_tested(ours)) if len(values) else (np.nan, np.nan)
    own, other = (cell[cell["run"].isin(both.index)] for cell in (ours, theirs))
    return {
        **_names(theirs),
        **{"gap": values.mean() if len(values) else np.nan, "low": low, "high": high},
        **{name: both[name].mean() for name in ("ours", "theirs")},
        "complete": len(both) == len(theirs),
        "open": bool(ours["early"].iloc[0] or theirs["early"].iloc[0]),
        "ended": bool(ended(own).all()),
        "both_ended": bool(ended(own).all() and ended(other).all()),
        "bounded": bool(stopped(theirs[is_usable(theirs, column)]).any()),
        "spread": _spread_of_ratio(both) if column == "time_s" else np.nan,
    }


def _names(rows: pd.DataFrame) -> dict[str, Any]:
    return {name: rows[name].iloc[0] for name in (*PLACE, "setting", "method", "cell")}


def _spread_of_ratio(times: pd.DataFrame) -> float:
    """Return the factor within which a ratio of mean times is known."""
    logs = np.log(times["ours"] / times["theirs"])
    return ONE_TIME if len(times) < 2 else float(np.exp(2.0 * logs.std(ddof=1) / np.sqrt(len(logs))))


def paired_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of ISM with those of its rivals (``_theirs``), and the ``gap`` of costs relative to theirs.

    ``pair_open`` says whether one of both cells was stopped before the paper's limits.
    """
    is_early = (rows["early"] != "").groupby([rows[name] for name in PLACE])
    rows = rows.assign(pair_open=is_early.transform("any"))
    rivals = rows[rows["method"] != "ism"].dropna(subset=["run"])
    both = rows[rows["method"] == "ism"].merge(rivals, on=[*PLACE, "run"], how="left", suffixes=("", "_theirs"))
    theirs = both["cost_theirs"].astype(float)
    return both.assign(gap=(both["cost"].astype(float) - theirs) / theirs.abs().clip(lower=np.finfo(float).tiny))


# What decides by rows.
Judge = Callable[[pd.DataFrame], Finding]


def decided_on(coverage: Coverage, judge: Judge) -> Finding:
    """Return what ``judge`` finds; undecided where cells lack, which it names."""
    found = judge(coverage.rows) if len(coverage.rows) else undecided("")
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
) -> dict[str, Coverage]:
    """Return by lane the cells by the authors' code, those of methods as published, and ``converged`` variants.

    With ``timed`` only those of the latter two whose times nothing disturbed.
    """
    chosen = partial(timed_cells, records, tables) if timed else partial(printed_cells, records, tables, metric)
    authors = authors_cells(records, tables, methods)
    datasets = ", ".join(map(dataset_label, authors.rows["dataset"].unique())) if len(authors.rows) else ""
    lanes = {
        f"by the authors' code on {datasets}": authors if bounds else authors.without_early(),
        AS_PUBLISHED: chosen(methods, bounds=bounds),
    }
    if converged:
        variants = chosen([f"{name}_{CONVERGED}" for name in methods if name in _HAVE_VARIANTS], bounds=bounds)
        if len(rows := variants.rows):
            variants = replace(variants, rows=rows.assign(method=rows["method"].str.removesuffix(f"_{CONVERGED}")))
        lanes[CONVERGED] = variants
    return lanes


def decided_in_lanes(lanes: Mapping[str, Coverage], judge: Judge) -> Finding:
    """Return what the first lane with cells says; the note says in one sentence what holds in all that have some."""
    findings = {lane: decided_on(cells, judge) for lane, cells in lanes.items() if len(cells.rows)}
    if not findings:
        return decided_on(lanes[AS_PUBLISHED], judge)
    first = next(iter(findings.values()))
    if [*findings] == [AS_PUBLISHED]:
        return first
    results = [
        f"{lane}, {each.measure} ({each.decision})" if each.measure else f"{lane}, {each.decision}"
        for lane, each in findings.items()
    ]
    # The authors ran some of the data sets only.
    words = "; ".join(results)
    return first.with_note(f"{words[0].upper()}{words[1:]}.")


def authors_cells(records: Records, tables: Tables, methods: Sequence[str]) -> Coverage:
    """Return the cells of experiments that run some tables by the authors' code, with the names of published methods.

    Their rows are the authors' own, which may be others than those of the tables. None is required.
    """
    cells, solvers = [], records.runs["method"].astype(str)
    by_authors = solvers.str.contains(AUTHORS) | solvers.isin({*methods} - {*_HAVE_VARIANTS})
    for table in tables:
        rows = records.runs[by_authors & records.runs["experiment"].isin(_experiments(records, table, protocol=True))]
        of_authors = rows["experiment"].isin(rows.loc[solvers[rows.index].str.contains(AUTHORS), "experiment"])
        rows = rows[of_authors].assign(run=rows["run"] + 10_000 * rows["partition"].fillna(0).astype(int))
        for (experiment, dataset, kernel), here in rows.groupby(["experiment", "dataset", "kernel"], sort=False):
            groups = {str(name): cell for name, cell in here.groupby("method")}
            by_version = sorted(groups, key=lambda name: name.endswith(_FIRST_VERSION))
            roles = {name.partition(AUTHORS)[0]: groups[name] for name in by_version}
            n_runs, axes = max(map(len, groups.values())), (str(experiment), str(dataset), str(kernel))
            cells += [_rows_of_cell(*axes, name, roles[name], n_runs) for name in methods if name in roles]
    return Coverage(pd.concat(cells, ignore_index=True)) if cells else Coverage()


def printed_cells(
    records: Records, tables: Tables, metric: str, methods: Sequence[str], *, bounds: bool = False
) -> Coverage:
    """Return the cells of some tables for which the paper prints ``metric`` of the methods.

    A converged variant is needed where the published one is printed.
    With ``bounds`` cells that were stopped before the paper's limits are among them; else they lack.
    """
    coverage = Coverage()
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
    if (rows := coverage.rows).empty:
        return coverage
    counts = pd.Series(is_usable(rows, "time_s") & rows.index.isin(clean_times(rows).index), rows.index)
    rows = rows.assign(time_s=rows["time_s"].where(counts))
    # A few folds of ten with a time that counts would let chance choose them.
    is_enough = counts.groupby(rows["cell"]).transform("mean") >= 0.5
    lacking = rows.loc[~is_enough, "cell"].unique().tolist()
    missing = (f"undisturbed times of {listed(lacking)}",) if lacking else ()
    return replace(coverage, rows=rows[is_enough], missing=coverage.missing + missing)


def _printed(table: PrintedTable, metric: str, methods: Sequence[str]) -> list[Place]:
    """Return data set, kernel and method, in our names, for which the table prints a number."""
    printed = published_numbers(**vars(table), metric=metric)
    ours = {method: published_name("method", method.removesuffix(f"_{CONVERGED}")) for method in methods}
    return [
        (our_name("dataset", axes["dataset"], table.paper), our_name("kernel", axes["kernel"], table.paper), method)
        for method in methods
        for axes in printed
        if axes["method"] == ours[method]
    ]


def _experiments(records: Records, table: PrintedTable, *, protocol: bool) -> list[str]:
    """Return the experiments that name a table, by its own protocol or by that of the authors' code."""
    published = {name: one.get("published", {}) for name, one in records.config.get("experiments", {}).items()}
    return [
        name
        for name, axes in published.items()
        if vars(table).items() <= axes.items() and bool(axes.get("protocol")) is protocol
    ]


def cells_of_experiment(
    records: Records, experiment: str, methods: Sequence[str], cells: Sequence[Sequence[str]]
) -> Coverage:
    """Return the cells, each a data set with a kernel, of two methods in an experiment on ten folds."""
    places = [(dataset, kernel, method) for dataset, kernel in cells for method in methods]
    return cells_of(experiment, records.runs, [experiment], places, (Split.FOLDS, FOLDS)).without_early()


def cells_of(
    source: str, runs: pd.DataFrame, experiments: Sequence[str], required: Sequence[Place], protocol: tuple[Split, int]
) -> Coverage:
    """Return the required cells of some experiments; folds that were drawn again are another experiment's."""
    split, n_runs = protocol
    chosen = runs["experiment"].isin(experiments) & (runs["split"] == str(split)) & runs["run"].isin(range(n_runs))
    chosen &= (runs["partition"].fillna(0) == 0) & runs["method"].isin({method for *_, method in required})
    runs = _of_one_experiment(runs[chosen])
    groups = {tuple(map(str, axes)): cell for axes, cell in runs.groupby(["dataset", "kernel", "method"], sort=False)}
    cells = [_rows_of_cell(source, *place, groups[place], n_runs) for place in required if place in groups]
    absent = listed([_cell_name("", *place)[2:] for place in required if place not in groups])
    rows = pd.concat(cells, ignore_index=True) if cells else pd.DataFrame()
    return Coverage(rows, (f"{source}: no runs of {absent} (ikdr.csv)",) if absent else ())


def _of_one_experiment(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one experiment for each data set and kernel, so that all methods of a cell share a definition.

    Of several the one with most runs that ended counts, then the first; what failed or was skipped is none.
    """
    has_result, cell = ~runs["status"].isin(WITHOUT_RESULT), [runs["dataset"], runs["kernel"]]
    counts = has_result.groupby([*cell, runs["experiment"]], sort=False).transform("sum")
    most = runs["experiment"].where(counts == counts.groupby(cell).transform("max"))
    return runs[runs["experiment"] == most.groupby(cell).transform("first")]
