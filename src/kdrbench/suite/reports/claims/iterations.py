"""Claims on how solvers go: iterations, where ISM's rule stops it, and where it starts."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from kdrbench.errors import counted
from kdrbench.status import Status
from kdrbench.suite.reports.claims.claim import Claim, Found, Records, decided_by_share, share_of, undecided
from kdrbench.suite.reports.claims.costs import TIE, at_most_higher, pairs_of, relative_gaps
from kdrbench.suite.reports.claims.coverage import OwnCell, decided_on, experiment_cells, printed_cells
from kdrbench.suite.reports.claims.fixed_points import at_limits, open_runs, second_order
from kdrbench.suite.reports.claims.printed_tables import FOLDS, PLUS_5, TABLE_4, TABLE_5, PrintedTable
from kdrbench.suite.reports.records import Split
from kdrbench.suite.reports.tables.cells import COMPLETED
from kdrbench.suite.reports.tables.labels import dataset_label, kernel_label

FEWER_THAN = 5
# What the papers say of DG and SM: 30 to 400 iterations, and hundreds to thousands.
RANGES = {"neurips2019": (30, 400), "ismplus": (100, 9999)}
# Where ISM's rule should leave a run: nearly stationary, and nearly at the cost of a converged run.
STATIONARY, NEAR = 1e-2, 1e-2
_SUPERVISED = (TABLE_4, TABLE_5, PLUS_5)
_START, _RANDOM = "start_of_ism", "ism_random"
_START_CELLS = [(data, kernel) for data in ("wine", "cancer") for kernel in ("gaussian", "polynomial")]


def few_iterations(records: Records) -> Found:
    """Decide "ISM normally needs fewer than 5 iterations" by every supervised run, also lost ones.

    A run that did not end by its own rule is none with few iterations. Alternations are left out, whose iterations are
    over many solves.
    """
    coverage = printed_cells(records, _SUPERVISED, "time_s", ("ism",), ("iterations",))

    def judge() -> Found:
        runs = pd.concat([cell.runs for cell in coverage.cells])
        asked = sum(cell.n_runs for cell in coverage.cells)
        counts = runs.loc[runs["status"] == str(Status.CONVERGED), ["dataset", "kernel", "iterations"]].dropna()
        if counts.empty:
            return undecided("iterations of runs that ended by the rule")
        few = int((counts["iterations"] < FEWER_THAN).sum())
        most = counts.iloc[int(counts["iterations"].argmax())]
        evidence = f"fewer than {FEWER_THAN} in {share_of(few, asked, 'run')}, median {counts['iterations'].median():g}"
        evidence += (
            f", at most {most['iterations']:g} ({dataset_label(most['dataset'])}, {kernel_label(most['kernel'])})"
        )
        note = "The rule stops when eigenvalues change by less than 1 %, which is no proof of a stationary point."
        extreme = f"at most {most['iterations']:g}"
        return decided_by_share(few, asked, evidence, note, "run", normally=True, extreme=extreme)

    return decided_on(coverage, judge)


def rivals_iterations(records: Records, table: PrintedTable) -> Found:
    """Decide how many iterations DG and SM take as published: within the range that the paper of ``table`` names.

    Runs that were stopped at the paper's limit have no such number, at an earlier one it is open; those that are lost
    count as outside.
    """
    low, high = RANGES[table.paper]
    coverage = printed_cells(records, (table,), "cost", ("dg", "sm"), ("iterations",), bounds=True)

    def judge() -> Found:
        runs = pd.concat([cell.runs for cell in coverage.cells])
        ended = runs[runs["status"].isin([*map(str, COMPLETED)])].dropna(subset=["iterations"])
        limits = at_limits(runs)
        not_made = sum(cell.n_not_made for cell in coverage.cells)
        n_open = len(open_runs(coverage.cells)) + not_made
        asked = sum(cell.n_runs for cell in coverage.cells) - int(limits.sum()) + n_open - not_made
        inside = int(ended["iterations"].between(low, high).sum())
        medians = ended.groupby("method", sort=False)["iterations"].agg(["min", "median", "max"])
        evidence = "; ".join(
            f"{str(name).upper()} {row['min']:g} to {row['max']:g}, median {row['median']:g}"
            for name, row in medians.iterrows()
        )
        evidence += f"; stopped at a limit: {counted(int(limits.sum()), 'run')}" if limits.any() else ""
        extreme = f"{medians['min'].min():g} to {medians['max'].max():g}" if len(medians) else ""
        return decided_by_share(inside, asked, evidence, unit="run", normally=True, extreme=extreme, n_open=n_open)

    return decided_on(coverage, judge)


def eigenvalue_stopping(records: Records) -> Found:
    """Decide "the change of eigenvalues stops ISM well" by the referee's numbers of every supervised run of ``ism``.

    It holds for a run that is stationary to 1e-2 and whose cost is less than 1 % above that of ``ism_converged``.
    """
    columns = ("cost", "stationarity")
    coverage = printed_cells(records, (TABLE_4, PLUS_5), "cost", ("ism", "ism_converged"), columns)

    def judge() -> Found:
        good = asked = still = near = 0
        largest = 0.0
        for methods in coverage.places().values():
            if {"ism", "ism_converged"} <= set(methods):
                stationary, gaps = _stopped(methods["ism"], methods["ism_converged"])
                asked += methods["ism"].n_runs
                good += int(((stationary <= STATIONARY) & (gaps < NEAR)).sum())
                still, near = still + int((stationary <= STATIONARY).sum()), near + int((gaps < NEAR).sum())
                largest = max(largest, float(stationary.max(initial=0.0)))
        evidence = (
            f"stationary to {STATIONARY:g} in {still} of {counted(asked, 'run')} (at worst {largest:.2g}), "
            "cost less than "
        )
        evidence += f"{NEAR:.0%} above the converged one in {near}"
        extreme = f"stationary to {largest:.2g} at worst"
        return decided_by_share(good, asked, evidence, unit="run", normally=True, extreme=extreme)

    return decided_on(coverage, judge)


def _stopped(ours: OwnCell, converged: OwnCell) -> tuple[np.ndarray, np.ndarray]:
    """Return stationarity and relative cost above the converged run, of the runs that have both."""
    ended = converged.runs[converged.runs["status"] == str(Status.CONVERGED)].set_index("run")["cost"]
    columns = [ours.numbers("stationarity"), ours.numbers("cost"), ended.dropna()]
    numbers = pd.concat(columns, axis=1, join="inner").to_numpy(float)
    return numbers[:, 0], relative_gaps(numbers[:, 1], numbers[:, 2])


def start_of_ism(records: Records) -> Found:
    """Decide "Phi_0 is the start to choose" (Theorem 3): ISM ends no higher from it than from a random projection.

    Run by run on Wine and Cancer, the same folds for both; differences of cost below 1e-6 are ties.
    """
    wanted = [(*place, method) for place in _START_CELLS for method in ("ism", _RANDOM)]
    coverage = experiment_cells(records, _START, wanted, (Split.FOLDS, FOLDS), ("cost", "iterations"))

    def judge() -> Found:
        pairs = pairs_of(coverage, "cost", "ism", (_RANDOM,))
        gaps = np.concatenate([relative_gaps(pair.ours, pair.theirs) for pair in pairs]) if pairs else np.zeros(0)
        asked = sum(pair.rival.n_runs for pair in pairs)
        lower, higher = int((gaps < -TIE).sum()), int((gaps > TIE).sum())
        evidence = (
            f"lower in {lower}, tied in {len(gaps) - lower - higher}, higher in {higher} of {counted(asked, 'run')}; "
        )
        medians = [_median_iterations(coverage.of(method)) for method in ("ism", _RANDOM)]
        evidence += f"median iterations {medians[0]:g} against {medians[1]:g}"
        note = "Both stop when eigenvalues settle, which is not always where the cost does."
        return decided_by_share(len(gaps) - higher, asked, evidence, note, "run", extreme=at_most_higher(gaps))

    return decided_on(coverage, judge)


def _median_iterations(cells: list[OwnCell]) -> float:
    return float(pd.concat([cell.numbers("iterations") for cell in cells]).median()) if cells else float("nan")


_BOTH = "NeurIPS 2019, ISM+"
CLAIMS = (
    Claim(
        "few_iterations",
        "ISM normally needs fewer than 5 iterations.",
        _BOTH,
        "",
        few_iterations,
    ),
    Claim(
        "rivals_iterations",
        "DG and SM take 30 to 400 iterations.",
        "NeurIPS 2019",
        "",
        partial(rivals_iterations, table=TABLE_4),
    ),
    Claim(
        "rivals_iterations_plus",
        "DG and SM take hundreds to thousands of iterations.",
        "ISM+",
        "",
        partial(rivals_iterations, table=PLUS_5),
    ),
    Claim(
        "second_order",
        "A fixed point of ISM satisfies the second-order conditions.",
        _BOTH,
        "Theorem 1; Eq. 49",
        second_order,
    ),
    Claim(
        "eigenvalue_stopping",
        "Stopping when eigenvalues settle works well.",
        "NeurIPS 2019",
        "Appendix Q",
        eigenvalue_stopping,
    ),
    Claim(
        "start_of_ism",
        "Leading eigenvectors of Phi_0 are the start to choose, so that random ones are not needed.",
        _BOTH,
        "Theorem 3",
        start_of_ism,
    ),
)
