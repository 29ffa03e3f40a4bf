"""Tests of claims on how ISM and its rivals solve problems: costs, iterations, starts, fixed points.

Methods are compared run by run; a difference of costs below 1e-6 is a tie. Keyword arguments are those of claims.toml.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from kdrbench.solvers.geometry.curvature import DENSE_DIMENSION
from kdrbench.status import Status
from kdrbench.suite.findings.claim_rows import (
    FOLDS,
    CellPair,
    Coverage,
    Lane,
    OwnCell,
    Place,
    PrintedTable,
    Records,
    cells_of,
    decided_in_lanes,
    decided_on,
    lanes_of,
    printed_cells,
    without_early,
)
from kdrbench.suite.findings.finding import (
    Decision,
    Finding,
    decided_by_cases,
    decided_by_share,
    listed,
    share_of,
    smallest_shown,
    undecided,
)
from kdrbench.suite.findings.outcome import ended, stopped
from kdrbench.suite.findings.pairwise import TIE, relative_gaps
from kdrbench.suite.reports.records import Split

Tables = Sequence[PrintedTable]
_WORST_FIRST = (Decision.CONTRADICTED, Decision.UNDECIDED, Decision.INDISTINCT, Decision.CONFIRMED)


def lower_cost(records: Records, *, tables: Tables, rivals: Sequence[str]) -> Finding:
    """Count the cells of a rival in which ISM's mean cost is lower or tied; contradicted if it is lower nowhere."""

    def judge(lane: Lane) -> Finding:
        pairs = lane.pairs("cost")
        whole = [pair for pair in pairs if pair.is_complete and not pair.is_open]
        percent = ((100 * low, 100 * high) for low, high in (pair.interval for pair in whole))
        power, extreme = smallest_shown(percent, "{:.2g} %"), _at_most_higher(pairs)
        found = decided_by_cases([(pair.name, pair.lower) for pair in pairs], extreme=extreme, power=power)
        if not pairs or any(pair.gap < -TIE for pair in whole):
            return found
        if not any(pair.is_open for pair in pairs):
            return replace(found, decision=Decision.CONTRADICTED, measure=f"lower in {share_of(0, len(pairs), 'cell')}")
        # Open cells may turn out lower.
        return found if found.decision is Decision.CONTRADICTED else replace(found, decision=Decision.UNDECIDED)

    return decided_in_lanes(lanes_of(records, tables, "cost", rivals, ("cost",)), judge)


def _at_most_higher(pairs: Sequence[CellPair]) -> str:
    """Return by how much the worst complete cell is above its rival's cost, ties left out; empty where none is."""
    largest = max((pair.gap for pair in pairs if pair.is_complete and not pair.is_open), default=0.0)
    return f"at most {100 * largest:.2g} % higher" if largest > TIE else ""


def lowest_cost(records: Records, *, tables: Tables, rivals: Sequence[str]) -> Finding:
    """Count the cells in which no rival is lower."""

    def judge(lane: Lane) -> Finding:
        pairs = lane.pairs("cost")
        worst: dict[Place, tuple[str, Decision]] = {}
        for pair in sorted(pairs, key=lambda pair: _WORST_FIRST.index(pair.lower)):
            worst.setdefault(pair.rival.place, (pair.name, pair.lower))
        return decided_by_cases(list(worst.values()), extreme=_at_most_higher(pairs))

    return decided_in_lanes(lanes_of(records, tables, "cost", rivals, ("cost",)), judge)


def few_iterations(records: Records, *, tables: Tables, fewer_than: int) -> Finding:
    """Count the runs that ended by the rule of ISM after fewer iterations; a lost one is none of these.

    Alternations are left out, whose iterations are over many solves.
    """

    def judge(lane: Lane) -> Finding:
        cells = lane.cells.of(lane.solver)
        counts = cells.runs.loc[cells.runs["status"] == str(Status.CONVERGED), "iterations"].dropna()
        if counts.empty:
            return undecided("iterations of runs that ended by the rule")
        few, extreme = int((counts < fewer_than).sum()), f"at most {counts.max():g}"
        evidence = f"fewer than {fewer_than} in {share_of(few, cells.n_runs, 'run')}, median {counts.median():g}"
        return decided_by_share(few, cells.n_runs, evidence, unit="run", normally=True, extreme=extreme)

    lanes = lanes_of(records, tables, "time_s", (), ("iterations",))[:2]
    return decided_in_lanes([replace(lane, cells=without_early(lane.cells)) for lane in lanes], judge)


def iterations_within(records: Records, *, tables: Tables, rivals: Sequence[str], least: int, most: int) -> Finding:
    """Count the runs of rivals that took ``least`` to ``most`` iterations.

    Runs that were stopped at the paper's limit have no such number, at an earlier one it is open; those that are lost
    count as outside.
    """

    def judge(lane: Lane) -> Finding:
        cells = lane.cells.of(*lane.rivals)
        completed = cells.runs[ended(cells.runs)].dropna(subset=["iterations"])
        limits, n_early = int(stopped(cells.runs).sum()), sum(len(cell.open_runs) for cell in cells.cells)
        n_open = n_early + sum(cell.n_not_made for cell in cells.cells)
        inside = int(completed["iterations"].between(least, most).sum())
        by_rival = completed.groupby(completed["method"].str.partition("_")[0], sort=False)["iterations"]
        evidence = "; ".join(f"{name.upper()} {one.min():g} to {one.max():g}" for name, one in by_rival)
        evidence += f"; stopped at a limit: {limits}" if limits else ""
        extreme = f"{completed['iterations'].min():g} to {completed['iterations'].max():g}" if len(completed) else ""
        total = cells.n_runs - limits + n_early
        return decided_by_share(inside, total, evidence, unit="run", normally=True, extreme=extreme, n_open=n_open)

    first, second = lanes_of(records, tables, "cost", rivals, ("iterations",))[:2]
    # The second lane needs no ISM.
    alone = printed_cells(records, tables, "cost", rivals, ("iterations",), bounds=True)
    return decided_in_lanes([first, replace(second, cells=alone)], judge)


def second_order(records: Records, *, tables: Tables, methods: Sequence[str], least_points: int) -> Finding:
    """Count the stationary ends of any solver that are fixed points of ISM.

    A fixed point is stationary to 1e-6 and spans leading eigenvectors of Phi there (eigengap above 0). Its smallest
    curvature, as the referee evaluated it exactly (``optimality``), must not be negative. A run that was stopped before
    the paper's limits, at no such point, might have ended at one: it is open, unless its problem is too large for the
    referee to evaluate a curvature.
    """

    def judge(coverage: Coverage) -> Finding:
        runs = coverage.runs
        stationary = runs[runs["optimality"].isin(["second_order", "saddle"])].dropna(subset=["eigengap"])
        fixed, others = (stationary[(stationary["eigengap"] > 0) == is_fixed] for is_fixed in (True, False))
        if len(fixed) < least_points:
            return undecided(f"{least_points} fixed points whose curvature was evaluated; there are {len(fixed)}")
        good = int((fixed["optimality"] == "second_order").sum())
        saddles = int((others["optimality"] == "saddle").sum())
        note = f"Left out: {len(others)} stationary ends that are no fixed points of ISM, {saddles} of them saddles; "
        note += "ends that are not stationary; and those whose curvature was not evaluated."
        least = fixed["curvature"].min() if "curvature" in fixed else None
        extreme = "" if pd.isna(least) else f"curvature at least {least:.0e}"
        evaluated = [cell for cell in coverage.cells if _is_evaluated(cell)]
        n_open = sum(len(cell.open_runs.difference(fixed.index)) + cell.n_not_made for cell in evaluated)
        evidence = f"curvature not negative at {good} of {len(fixed)} fixed points"
        counts = (good, len(fixed) + n_open)
        return decided_by_share(*counts, evidence, note, "fixed point", extreme=extreme, n_open=n_open)

    return decided_on(printed_cells(records, tables, "cost", methods, ("optimality", "eigengap"), bounds=True), judge)


def _is_evaluated(cell: OwnCell) -> bool:
    """Return whether the referee evaluates curvatures of the cell's problem; true where its size is not recorded."""
    sizes = [cell.runs[name].max() for name in ("n_features", "n_components") if name in cell.runs]
    if len(sizes) < 2 or pd.isna(sizes).any():
        return True
    n_features, q = sizes
    return bool(0 < (n_features - q) * q <= DENSE_DIMENSION)


def eigenvalue_stopping(records: Records, *, tables: Tables, stationary: float, near: float) -> Finding:
    """Count the runs of ISM that are stationary, and near the cost of a converged run, by its end or bound.

    A run whose converged one was stopped before the paper's limits is open, unless it is not stationary. What decides
    it is a longer run of the converged solver.
    """

    def judge(coverage: Coverage) -> Finding:
        good = n_open = n_runs = 0
        worst, waiting = 0.0, []
        for pair in coverage.pairs("cost", "ism", ("ism_converged",)):
            best = pair.rival.runs[pair.rival.runs["status"] == str(Status.CONVERGED)].set_index("run")["cost"]
            stationarity, cost = (pair.solver.numbers(name) for name in ("stationarity", "cost"))
            still, best = stationarity <= stationary, best.reindex(stationarity.index)
            close = relative_gaps(cost.reindex(stationarity.index).to_numpy(), best.to_numpy()) < near
            good, n_runs = good + int((still & close).sum()), n_runs + pair.solver.n_runs
            worst = max(worst, stationarity.max())
            if pair.is_open:
                n_open += int((still & best.isna()).sum())
                waiting.append(f"{pair.rival.name} with more than {pair.rival.runs['time_s'].max():.0f} s a run")
        extreme = f"stationary to {worst:.2g} at worst"
        evidence = f"holds in {share_of(good, n_runs, 'run')}" + (f"; decided by {listed(waiting)}" if waiting else "")
        return decided_by_share(good, n_runs, evidence, unit="run", normally=True, extreme=extreme, n_open=n_open)

    methods, columns = ("ism", "ism_converged"), ("cost", "stationarity")
    return decided_on(printed_cells(records, tables, "cost", methods, columns, bounds=True), judge)


def start_of_ism(
    records: Records, *, experiment: str, solver: str, random: str, cells: Sequence[Sequence[str]]
) -> Finding:
    """Count the runs that end no higher from Phi_0 than from a random projection."""

    def judge(coverage: Coverage) -> Finding:
        pairs = coverage.pairs("cost", solver, (random,))
        gaps = np.concatenate([np.zeros(0), *(relative_gaps(pair.ours, pair.theirs) for pair in pairs)])
        n_runs, lower, higher = sum(pair.rival.n_runs for pair in pairs), (gaps < -TIE).sum(), int((gaps > TIE).sum())
        evidence = f"lower in {lower}, tied in {len(gaps) - lower - higher}, higher in {higher}"
        largest = float(gaps.max(initial=0.0))
        extreme = f"at most {100 * largest:.2g} % higher" if largest > TIE else ""
        return decided_by_share(len(gaps) - higher, n_runs, evidence, unit="run", extreme=extreme)

    places = [(data, kernel, method) for data, kernel in cells for method in (solver, random)]
    coverage = cells_of(experiment, records.runs, [experiment], places, (Split.FOLDS, FOLDS), ("cost",))
    return decided_on(without_early(coverage), judge)
