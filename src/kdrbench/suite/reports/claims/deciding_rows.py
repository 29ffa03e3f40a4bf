"""The rows that decide claims: those of the papers' own data and protocol, and of one definition for each cell.

KPCA trick: ten data sets, three learners and 40 splits; the data, degrees, n and k of its figures. Low-rank kernels:
Digits, and for gyrB, whose data are not to be had, a synthetic stand-in, which decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from kdrbench.status import Status
from kdrbench.suite.reports.claims.claim import Decision, Found, Records, listed, papers_datasets
from kdrbench.suite.reports.records import NO_KERNEL
from kdrbench.suite.reports.tables.kpca_cells import FIGURE_DATA, PAPER, TABLES
from kdrbench.suite.reports.tables.labels import dataset_label

SPLITS = 40
VARIED = {"degree": (2, 3, 4, 5), "n": (50, 100, 150), "k": (1, 2, 3, 4, 5)}
DIGITS, GYRB, STAND_IN = "digits", "gyrb", "gyrb-standin"
# A tenth of the 3165 points of three classes.
DIGITS_SAMPLES = 317
# A set of constraints, and the method that DefiniteBoost is compared with: also among kernels of trace one.
SET = ["experiment", "n_constraints", "run"]
TRACE_ONE = "von_neumann_trace"
# Fewer draws of the constraints decide nothing: chance would.
DRAWS = 5
# A set counts as solvable where its constraints are met to this share in the end.
MET = 0.05


def papers_rows(kpca: pd.DataFrame, *variants: str) -> pd.DataFrame:
    """Return the rows of the paper's data, learners and splits, each once."""
    if kpca.empty:
        return kpca
    chosen = kpca["dataset"].isin(papers_datasets(PAPER, *TABLES.values()))
    chosen &= kpca["learner"].isin(TABLES) & kpca["variant"].isin(variants) & (kpca["run"] < SPLITS)
    return kpca[chosen].drop_duplicates(["dataset", "learner", "variant", "run"])


def means_of(kpca: pd.DataFrame, *variants: str) -> pd.DataFrame:
    """Return means over the splits of the 30 cells, a column for each variant; NaN where a split has no accuracy."""
    index = pd.MultiIndex.from_product(
        [sorted(papers_datasets(PAPER, *TABLES.values())), TABLES], names=["dataset", "learner"]
    )
    rows = papers_rows(kpca, *variants)
    if rows.empty:
        return pd.DataFrame(index=index, columns=list(variants), dtype=float)
    groups = rows.groupby(["dataset", "learner", "variant"])["accuracy"]
    means = groups.mean().where(groups.count() == SPLITS).unstack("variant")
    return means.reindex(index=index, columns=list(variants)).astype(float)


def missing_splits(kpca: pd.DataFrame, *variants: str) -> str:
    """Say on which of the paper's data sets some learner was not run on all splits, in words; empty if on none."""
    rows, words = papers_rows(kpca, *variants), []
    for dataset in sorted(papers_datasets(PAPER, *TABLES.values())):
        of_set = rows[rows["dataset"] == dataset] if not rows.empty else rows
        made = dict(of_set.groupby(["learner", "variant"])["run"].nunique()) if len(of_set) else {}
        splits = min(int(made.get((learner, variant), 0)) for learner in TABLES for variant in variants)
        if splits < SPLITS:
            words.append(f"{dataset_label(dataset)} has {splits} of {SPLITS} splits")
    return listed(words)


def is_open(rows: pd.DataFrame, column: str = "status") -> pd.Series:
    """Return which rows are of runs that a limit stopped or that were not made: with more time they had numbers.

    Of these papers' methods no limit is known at which a run may have been stopped.
    """
    words = rows[column] if column in rows else pd.Series("", index=rows.index)
    return words.isin([str(Status.TIME_LIMIT), str(Status.MEMORY_LIMIT), str(Status.SKIPPED)])


def open_cells(kpca: pd.DataFrame, *variants: str) -> pd.MultiIndex:
    """Return data set and learner of the cells of which a limit stopped a split."""
    rows = papers_rows(kpca, *variants)
    names = ["dataset", "learner"]
    if rows.empty:
        return pd.MultiIndex.from_tuples([], names=names)
    return pd.MultiIndex.from_frame(rows.loc[is_open(rows), names].drop_duplicates())


def of_figure(tricks: pd.DataFrame, figure: int) -> pd.DataFrame:
    """Return the rows of a figure on the paper's data."""
    if tricks.empty:
        return tricks
    return tricks[(tricks["figure"] == figure) & tricks["dataset"].isin(FIGURE_DATA[figure])]


def missing_settings(rows: pd.DataFrame, figure: int) -> str:
    """Say which of the paper's data sets lack settings; empty if none does."""
    wanted = {(varied, float(value)) for varied, values in VARIED.items() for value in values}
    lacking = []
    for dataset in FIGURE_DATA[figure]:
        of_set = rows[rows["dataset"] == dataset] if not rows.empty else rows
        there = set(zip(of_set["varied"], of_set["value"], strict=True)) if len(of_set) else set()
        if not wanted <= there:
            lacking.append(f"{len(wanted - there)} of {len(wanted)} settings of {dataset_label(dataset)}")
    return listed(lacking)


def of_dataset(records: Records, dataset: str) -> pd.DataFrame:
    """Return the rows of low-rank kernels on a data set."""
    table = records.low_rank
    return table[table["dataset"] == dataset] if has_columns(table, "dataset") else table


def papers_digits(records: Records) -> pd.DataFrame:
    """Return the rows of Digits on as many samples as the paper takes."""
    rows = of_dataset(records, DIGITS)
    return rows[rows["n_samples"] == DIGITS_SAMPLES] if has_columns(rows, "n_samples") else rows.iloc[:0]


def gyrb_rows(records: Records) -> pd.DataFrame:
    """Return the rows of gyrB, or of its stand-in."""
    rows = of_dataset(records, GYRB)
    return rows if len(rows) else of_dataset(records, STAND_IN)


def beside_trace_one(rows: pd.DataFrame, method: str, column: str) -> pd.DataFrame:
    """Return a column of von Neumann with trace one (``ours``) and of a method (``theirs``) on the same constraints.

    ``status`` is that of the method, and ``is_open`` says that a limit stopped one of the two.
    """
    if not has_columns(rows, "method", "status", column, *SET):
        return pd.DataFrame(columns=["ours", "theirs", "status", "is_open"])
    asked = rows[rows["n_constraints"] > 0].set_index(SET)
    ours = asked.loc[asked["method"] == TRACE_ONE, [column, "status"]].set_axis(["ours", "our_status"], axis=1)
    theirs = asked.loc[asked["method"] == method, [column, "status"]].rename(columns={column: "theirs"})
    both = ours.join(theirs, how="inner")
    return both.assign(is_open=is_open(both) | is_open(both, "our_status"))


def ratios_of_sweeps(rows: pd.DataFrame, method: str) -> tuple[pd.Series, int, int]:
    """Return the sweeps of a method over those of von Neumann with trace one, how many are lower bounds, and are open.

    Those that are open have no ratio.
    """
    both = beside_trace_one(rows, method, "sweeps")
    # Sweeps at which the method was stopped are a lower bound.
    opened = is_open(both, "our_status") | (is_open(both) & ~(both["theirs"] > 0))
    both = both[(both["ours"] > 0) & (both["theirs"] > 0) & ~opened]
    return both["theirs"] / both["ours"], int((both["status"] != str(Status.CONVERGED)).sum()), int(opened.sum())


def on_gyrb(rows: pd.DataFrame, found: Found) -> Found:
    """Return what was found on gyrB; undecided, with that as a note, where it is of the stand-in."""
    if not (rows["dataset"] == STAND_IN).any():
        return found
    note = f"There it would be {found.decision}: {found.evidence}."
    return Found(Decision.UNDECIDED, "on the stand-in: gyrB's data are not to be had", note, found.measure)


def met(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the solves whose constraints are met in the end, and those that left no number."""
    return rows[~(rows["largest_violation"] > MET)] if "largest_violation" in rows else rows


def solvable(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of those experiments and numbers of constraints of which at least half the sets are met."""
    if "largest_violation" not in rows or rows.empty:
        return rows
    missed = (rows["largest_violation"] > MET).groupby([rows["experiment"], rows["n_constraints"]]).transform("mean")
    return rows[np.asarray(missed) <= 0.5]


def by_draws(decide: Callable[[Records], Found]) -> Callable[[Records], Found]:
    """Return the same for rows with enough draws of the constraints; undecided, it says which were left out."""

    def decided(records: Records) -> Found:
        rows, left_out = _enough_draws(records.low_rank)
        found = decide(replace(records, low_rank=rows))
        if found.decision is not Decision.UNDECIDED:
            return found
        return replace(found, note=f"{found.note} {left_out}".strip())

    return decided


def _enough_draws(low_rank: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return the rows of methods and numbers of constraints with enough draws, and in words those left out."""
    if not has_columns(low_rank, *SET, "method"):
        return low_rank, ""
    draws = low_rank.groupby(["experiment", "method", "n_constraints"])["run"].transform("nunique")
    fewest = draws[draws < DRAWS].groupby(low_rank["experiment"], sort=False).min()
    words = [f"{name} ({count})" for name, count in fewest.items()]
    left_out = f"Left out, with fewer than {DRAWS} draws of the constraints: {listed(words)}." if words else ""
    return low_rank[draws >= DRAWS], left_out


def of_one_experiment(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one experiment for each data set and kernel, so that all methods of a cell share a definition.

    Of several the one with most runs that ended counts, then the first; what failed or was skipped is none.
    """
    if runs.empty:
        return runs
    ended = ~runs["status"].isin([str(Status.FAILED), str(Status.SKIPPED)])
    counts = ended.groupby([runs["dataset"], runs["kernel"], runs["experiment"]], sort=False).transform("sum")
    most = counts.groupby([runs["dataset"], runs["kernel"]]).transform("max")
    first = runs["experiment"].where(counts == most).groupby([runs["dataset"], runs["kernel"]]).transform("first")
    return runs[runs["experiment"] == first]


def unlike_definitions(runs: pd.DataFrame) -> list[tuple[str, str]]:
    """Return data set and kernel of those cells in whose runs methods differ in q or in the data they were given.

    Baselines have no kernel, and each of them its own q.
    """
    unlike = []
    for (dataset, kernel), cell in runs.groupby(["dataset", "kernel"], sort=False):
        columns = {"data_sha256"} | (set() if kernel == NO_KERNEL else {"n_components"})
        by_run = cell.groupby("run")[sorted(columns & set(cell))].nunique()
        if (by_run > 1).any(axis=None):
            unlike.append((str(dataset), str(kernel)))
    return unlike


def has_columns(table: pd.DataFrame, *columns: str) -> bool:
    """Return whether the table has rows and these columns."""
    return not table.empty and set(columns) <= set(table.columns)
