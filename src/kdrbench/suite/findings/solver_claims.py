"""Claims on how ISM and its rivals solve problems (NeurIPS 2019 and ISM+): costs, iterations, starts, fixed points.

Methods are compared run by run; a difference of costs below 1e-6 is a tie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kdrbench.errors import counted
from kdrbench.solvers.geometry.curvature import DENSE_DIMENSION
from kdrbench.status import Status
from kdrbench.suite.findings.claim_rows import (
    BOTH,
    CONVERGED_RIVALS,
    FOLDS,
    NEURIPS,
    PLUS,
    PLUS_5,
    PLUS_6,
    RIVALS,
    TABLE_4,
    TABLE_4_CLUSTERS,
    TABLE_5,
    Coverage,
    OwnCell,
    PrintedTable,
    Records,
    claim_on,
    decided_on,
    experiment_cells,
    printed_cells,
)
from kdrbench.suite.findings.finding import (
    Decision,
    Finding,
    claim,
    decided_by_share,
    listed,
    share_of,
    undecided,
)
from kdrbench.suite.findings.outcome import ended, stopped
from kdrbench.suite.paired import corrected_t_p
from kdrbench.suite.reports.records import Split
from kdrbench.suite.reports.tables.labels import dataset_label, is_converged, kernel_label, method_label
from kdrbench.suite.reports.tables.significance import SIGNIFICANT

SUPERVISED, CLUSTERS = (TABLE_4, PLUS_5), (TABLE_4_CLUSTERS, PLUS_6)
# Test samples for one training sample of ten folds.
_TEST_SHARE = 1.0 / 9.0
# A smaller difference of two costs, relative to the second, is a tie.
TIE = 1e-6
FEWER_THAN = 5
# What the papers say of DG and SM: 30 to 400 iterations, and hundreds to thousands.
RANGES = {"neurips2019": (30, 400), "ismplus": (100, 9999)}
# Where ISM's rule should leave a run: nearly stationary, and nearly at the cost of a converged run.
STATIONARY, NEAR = 1e-2, 1e-2
# A theorem is not confirmed by a handful of cases.
LEAST_POINTS = 30
_START, _RANDOM = "start_of_ism", "ism_random"
_START_CELLS = [
    (data, kernel, method)
    for data in ("wine", "cancer")
    for kernel in ("gaussian", "polynomial")
    for method in ("ism", _RANDOM)
]
_OF_ISM = ("ism", "ism_converged")
_CONVERGING = (*_OF_ISM, *CONVERGED_RIVALS)
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PairOfCells:
    """Numbers of one solver and a ``rival`` in one place, on the runs that both have.

    ``complete`` says whether these are all runs of the protocol, ``ended`` whether both came to their own end in all,
    ``ours_ended`` whether the solver did. ``is_open`` says that one of them was stopped before the paper's limits.
    """

    rival: OwnCell
    ours: Floats
    theirs: Floats
    complete: bool
    ended: bool
    ours_ended: bool
    is_open: bool

    @property
    def gap(self) -> float:
        """How far our mean is above the rival's, relative to it."""
        return float(relative_gaps(np.array([self.ours.mean()]), np.array([self.theirs.mean()]))[0])

    @property
    def holds(self) -> bool:
        """Whether ours is lower or tied; a cost at which a run was stopped is not where its method ends."""
        return bool(self.complete and self.ended and self.gap <= TIE)

    @property
    def ratio(self) -> float:
        """How many times the mean of ours the rival's mean is."""
        return float(self.theirs.mean() / self.ours.mean())

    @property
    def words(self) -> str:
        """The rival's cell, and by how much ours is above it."""
        return f"{self.rival.name} by {100 * self.gap:.2g} %" if self.complete else self.rival.name


def relative_gaps(ours: Floats, theirs: Floats) -> Floats:
    """Return (ours - theirs) / |theirs|."""
    gaps: Floats = (ours - theirs) / np.maximum(np.abs(theirs), np.finfo(float).tiny)
    return gaps


def pairs_of(coverage: Coverage, column: str, solver: str, rivals: Sequence[str]) -> list[PairOfCells]:
    """Return each cell of a rival beside the solver's in the same place."""
    return [
        _pair(methods[solver], methods[rival], column)
        for methods in coverage.places().values()
        for rival in rivals
        if solver in methods and rival in methods
    ]


def _pair(ours: OwnCell, theirs: OwnCell, column: str) -> PairOfCells:
    both = pd.concat([cell.numbers(column) for cell in (ours, theirs)], axis=1, join="inner")
    own_end = [bool(ended(cell.runs[cell.runs["run"].isin(both.index)]).all()) for cell in (ours, theirs)]
    numbers, is_open = both.to_numpy(float), bool(ours.stopped_early or theirs.stopped_early)
    complete = len(both) == theirs.n_runs
    return PairOfCells(theirs, numbers[:, 0], numbers[:, 1], complete, all(own_end), own_end[0], is_open)


def endings(cells: Sequence[OwnCell]) -> str:
    """Say how many final projections the referee found to be saddles or not stationary; empty if none or unknown."""
    known = [str(end) for cell in cells if "optimality" in cell.runs for end in cell.runs["optimality"].dropna()]
    words = {"saddle": "end on a saddle", "not_stationary": "are not stationary"}
    many = " and ".join(f"{known.count(kind)} {text}" for kind, text in words.items() if kind in known)
    names = list(dict.fromkeys(cell.method for cell in cells))
    who = "converged rivals" if all(map(is_converged, names)) else ", ".join(map(method_label, names))
    return f"Of the {counted(len(known), 'run')} of {who}, {many}." if many else ""


@claim("ISM ends at lower cost than DG, SM and GM.", BOTH, "Table 4; Table 5")
def lower_cost(records: Records) -> Finding:
    """Compare means over all runs in the supervised tables, rivals as published: it holds where ISM is lower or tied.

    Contradicted if ISM is lower nowhere. The note says the same of converged rivals.
    """
    found = _lower(_costs(records, SUPERVISED, "ism", RIVALS), "ism", RIVALS)
    fair = _lower(_costs(records, SUPERVISED, "ism", CONVERGED_RIVALS), "ism", CONVERGED_RIVALS)
    if found.is_undecided:
        return found
    return replace(found, note="" if fair.is_undecided else f"Against converged rivals: {fair.evidence}.")


@claim(
    "ISM ends at lower cost than DG, SM and GM, also where these are run until they converge.",
    BOTH,
    "Table 4; Tables 5 and 6",
)
def lower_cost_than_converged(records: Records) -> Finding:
    """Compare with rivals that were run to a relative stationarity of 1e-6, in all tables.

    The note says where these ended, and what comes out with ISM run to the same stationarity.
    """
    tables, converged = SUPERVISED + CLUSTERS, "ism_converged"
    plain = _costs(records, tables, "ism", CONVERGED_RIVALS)
    found = _lower(plain, "ism", CONVERGED_RIVALS)
    fair = _lower(_costs(records, tables, converged, CONVERGED_RIVALS), converged, CONVERGED_RIVALS)
    if found.is_undecided:
        return found
    note = f"ISM run to the same stationarity: {fair.evidence}. {endings(plain.of(*CONVERGED_RIVALS))}"
    return replace(found, note=note.strip())


@claim_on(
    "ISM has the lowest cost of all solvers in unsupervised learning.",
    BOTH,
    "Table 4; Table 6",
    lambda records: _costs(records, CLUSTERS, "ism", RIVALS),
)
def lowest_among_clusters(coverage: Coverage) -> Finding:
    """Count the cells of unsupervised tables in which no rival as published is lower."""
    pairs = pairs_of(coverage, "cost", "ism", RIVALS)
    places = {pair.rival.place for pair in pairs}
    higher = [pair for pair in pairs if not pair.is_open and not pair.holds]
    lost = {pair.rival.place for pair in higher}
    n_open = len({pair.rival.place for pair in pairs if pair.is_open} - lost)
    n_holding = len(places) - len(lost) - n_open
    evidence = share_of(n_holding, len(places), "cell") + " have no lower rival"
    evidence += f"; lower or incomplete: {listed([pair.words for pair in higher])}" if higher else ""
    return decided_by_share(n_holding, len(places), evidence, extreme=_worst(pairs), n_open=n_open)


def _costs(records: Records, tables: Sequence[PrintedTable], solver: str, rivals: Sequence[str]) -> Coverage:
    return printed_cells(records, tables, "cost", (solver, *rivals), ("cost",), bounds=True)


def _lower(coverage: Coverage, solver: str, rivals: Sequence[str]) -> Finding:
    return decided_on(coverage, lambda cells: _judged_costs(pairs_of(cells, "cost", solver, rivals)))


def _judged_costs(pairs: list[PairOfCells]) -> Finding:
    """Count the cells in which the first of each pair is lower, tied or higher."""
    whole = [pair for pair in pairs if pair.complete and not pair.is_open]
    n_open = sum(pair.is_open for pair in pairs)
    lower = sum(pair.gap < -TIE for pair in whole)
    higher = sorted((pair for pair in whole if pair.gap > TIE), key=lambda pair: -pair.gap)
    evidence = f"lower in {lower} of {counted(len(pairs), 'cell')}, tied in {len(whole) - lower - len(higher)}"
    evidence += f", higher in {len(higher)}" + (f": {listed([pair.words for pair in higher])}" if higher else "")
    if lost := [pair.rival.name for pair in pairs if not pair.complete and not pair.is_open]:
        evidence += f"; {len(lost)} lost for missing or failed runs: {listed(lost)}"
    if unended := sum(not pair.ended for pair in whole):
        evidence += (
            f"; runs were stopped in {unended}, compared here by their last iterate: there the claim does not hold"
        )
    evidence += _intervals(whole)
    holding = sum(pair.holds for pair in whole)
    found = decided_by_share(holding, len(pairs), evidence, extreme=_worst(whole), n_open=n_open)
    if pairs and lower + n_open == 0:
        return Finding(Decision.CONTRADICTED, evidence, measure=f"lower in {share_of(0, len(pairs), 'cell')}")
    if lower == 0 and found.decision is not Decision.CONTRADICTED:
        # With open cells that turn out tied or higher it is lower nowhere.
        return replace(found, decision=Decision.UNDECIDED)
    return found


def _worst(pairs: list[PairOfCells]) -> str:
    """Say how far above a rival's cost the worst cell is; empty where none is above."""
    return at_most_higher(np.array([pair.gap for pair in pairs if pair.complete and not pair.is_open]))


def at_most_higher(gaps: Floats) -> str:
    """Say by how much the largest relative gap is above zero, ties left out; empty where none is."""
    largest = float(gaps.max(initial=0.0))
    return f"at most {100 * largest:.2g} % higher" if largest > TIE else ""


def _intervals(pairs: list[PairOfCells]) -> str:
    """Say in how many cells with folds the 95 % interval of the difference leaves out zero (Nadeau and Bengio 2003)."""
    folds = [pair for pair in pairs if len(pair.ours) > 1]
    if not folds:
        return ""
    clear = [pair for pair in folds if (corrected_t_p(pair.ours - pair.theirs, _TEST_SHARE) or 0.0) <= SIGNIFICANT]
    below, above = (sum(sign * pair.gap > TIE for pair in clear) for sign in (-1, 1))
    return f"; the 95 % interval of the difference is below zero in {below} and above it in {above} of {len(folds)}"


@claim_on(
    "ISM normally needs fewer than 5 iterations.",
    BOTH,
    "",
    lambda records: printed_cells(records, (TABLE_4, TABLE_5, PLUS_5), "time_s", ("ism",), ("iterations",)),
)
def few_iterations(coverage: Coverage) -> Finding:
    """Count every supervised run, also lost ones; one that did not end by its own rule is none with few iterations.

    Alternations are left out, whose iterations are over many solves.
    """
    runs, n_runs = coverage.runs, coverage.n_runs
    counts = runs.loc[runs["status"] == str(Status.CONVERGED), ["dataset", "kernel", "iterations"]].dropna()
    if counts.empty:
        return undecided("iterations of runs that ended by the rule")
    few = int((counts["iterations"] < FEWER_THAN).sum())
    most = counts.iloc[int(counts["iterations"].argmax())]
    extreme = f"at most {most['iterations']:g}"
    evidence = f"fewer than {FEWER_THAN} in {share_of(few, n_runs, 'run')}, median {counts['iterations'].median():g}"
    evidence += f", {extreme} ({dataset_label(most['dataset'])}, {kernel_label(most['kernel'])})"
    note = "The rule stops when eigenvalues change by less than 1 %, which is no proof of a stationary point."
    return decided_by_share(few, n_runs, evidence, note, "run", normally=True, extreme=extreme)


@claim("DG and SM take 30 to 400 iterations.", NEURIPS)
def rivals_iterations(records: Records) -> Finding:
    """Count the runs of DG and SM as published within the range that the paper names."""
    return _rivals_iterations(records, TABLE_4)


@claim("DG and SM take hundreds to thousands of iterations.", PLUS)
def rivals_iterations_plus(records: Records) -> Finding:
    """Count the same for ISM+."""
    return _rivals_iterations(records, PLUS_5)


def _rivals_iterations(records: Records, table: PrintedTable) -> Finding:
    """Count the runs of DG and SM in a table that take as many iterations as its paper says.

    Runs that were stopped at the paper's limit have no such number, at an earlier one it is open; those that are lost
    count as outside.
    """

    def judge(coverage: Coverage) -> Finding:
        runs = coverage.runs
        completed = runs[ended(runs)].dropna(subset=["iterations"])
        limits, not_made = int(stopped(runs).sum()), sum(cell.n_not_made for cell in coverage.cells)
        n_early = sum(len(cell.open_runs) for cell in coverage.cells)
        inside = int(completed["iterations"].between(*RANGES[table.paper]).sum())
        medians = completed.groupby("method", sort=False)["iterations"].agg(["min", "median", "max"])
        evidence = "; ".join(
            f"{str(name).upper()} {row['min']:g} to {row['max']:g}, median {row['median']:g}"
            for name, row in medians.iterrows()
        )
        evidence += f"; stopped at a limit: {counted(limits, 'run')}" if limits else ""
        extreme = f"{medians['min'].min():g} to {medians['max'].max():g}" if len(medians) else ""
        total, n_open = coverage.n_runs - limits + n_early, n_early + not_made
        return decided_by_share(inside, total, evidence, unit="run", normally=True, extreme=extreme, n_open=n_open)

    coverage = printed_cells(records, (table,), "cost", ("dg", "sm"), ("iterations",), bounds=True)
    return decided_on(coverage, judge)


@claim_on(
    "A fixed point of ISM satisfies the second-order conditions.",
    BOTH,
    "Theorem 1; Eq. 49",
    lambda records: printed_cells(records, SUPERVISED, "cost", _CONVERGING, ("optimality", "eigengap"), bounds=True),
)
def second_order(coverage: Coverage) -> Finding:
    """Count the stationary ends of any solver that are fixed points of ISM; at least 30 are needed.

    A fixed point is stationary to 1e-6 and spans leading eigenvectors of Phi there (eigengap above 0). Its smallest
    curvature, as the referee evaluated it exactly (``optimality``), must not be negative. A run that was stopped before
    the paper's limits, at no such point, might have ended at one: it is open, unless its problem is too large for the
    referee to evaluate a curvature. The theorem's own condition, a large enough eigengap, is not tested: its constant
    is not in the text at hand.
    """
    runs = coverage.runs
    stationary = runs[runs["optimality"].isin(["second_order", "saddle"])].dropna(subset=["eigengap"])
    fixed, others = (stationary[(stationary["eigengap"] > 0) == is_fixed] for is_fixed in (True, False))
    good = int((fixed["optimality"] == "second_order").sum())
    saddles = int((others["optimality"] == "saddle").sum())
    if len(fixed) < LEAST_POINTS:
        return undecided(f"{LEAST_POINTS} fixed points whose curvature was evaluated; there are {len(fixed)}")
    evidence = f"curvature not negative at {good} of {len(fixed)} fixed points"
    note = f"Left out: {len(others)} stationary ends that are no fixed points of ISM, {saddles} of them saddles; "
    note += "ends that are not stationary; and those whose curvature was not evaluated."
    least = fixed["curvature"].min() if "curvature" in fixed else None
    extreme = "" if pd.isna(least) else f"curvature at least {least:.0e}"
    n_open = sum(
        len(cell.open_runs.difference(fixed.index)) + cell.n_not_made for cell in coverage.cells if _is_evaluated(cell)
    )
    total = len(fixed) + n_open
    return decided_by_share(good, total, evidence, note, "fixed point", extreme=extreme, n_open=n_open)


def _is_evaluated(cell: OwnCell) -> bool:
    """Return whether the referee evaluates curvatures of the cell's problem; true where its size is not recorded."""
    sizes = [cell.runs[name].max() for name in ("n_features", "n_components") if name in cell.runs]
    if len(sizes) < 2 or pd.isna(sizes).any():
        return True
    n_features, q = sizes
    return bool(0 < (n_features - q) * q <= DENSE_DIMENSION)


@claim_on(
    "Stopping when eigenvalues settle works well.",
    NEURIPS,
    "Appendix Q",
    lambda records: printed_cells(records, SUPERVISED, "cost", _OF_ISM, ("cost", "stationarity")),
)
def eigenvalue_stopping(coverage: Coverage) -> Finding:
    """Count the supervised runs of ``ism`` that are stationary to 1e-2 and less than 1 % above ``ism_converged``."""
    places = [cells for cells in coverage.places().values() if set(_OF_ISM) <= set(cells)]
    numbers = [_stopped_by_rule(*(cells[name] for name in _OF_ISM)) for cells in places]
    stationarity, gaps = np.concatenate(numbers).T if numbers else np.zeros((2, 0))
    still, near = stationarity <= STATIONARY, gaps < NEAR
    n_runs, worst = sum(cells["ism"].n_runs for cells in places), stationarity.max(initial=0.0)
    evidence = f"stationary to {STATIONARY:g} in {still.sum()} of {counted(n_runs, 'run')} (at worst {worst:.2g}), "
    evidence += f"cost less than {NEAR:.0%} above the converged one in {near.sum()}"
    extreme, good = f"stationary to {worst:.2g} at worst", int((still & near).sum())
    return decided_by_share(good, n_runs, evidence, unit="run", normally=True, extreme=extreme)


def _stopped_by_rule(ours: OwnCell, converged: OwnCell) -> Floats:
    """Return stationarity and relative cost above the converged run, of the runs that have both."""
    best = converged.runs[converged.runs["status"] == str(Status.CONVERGED)].set_index("run")["cost"].dropna()
    numbers = pd.concat([ours.numbers("stationarity"), ours.numbers("cost"), best], axis=1, join="inner").to_numpy(
        float
    )
    return np.column_stack([numbers[:, 0], relative_gaps(numbers[:, 1], numbers[:, 2])])


@claim_on(
    "Leading eigenvectors of Phi_0 are the start to choose, so that random ones are not needed.",
    BOTH,
    "Theorem 3",
    lambda records: experiment_cells(records, _START, _START_CELLS, (Split.FOLDS, FOLDS), ("cost", "iterations")),
)
def start_of_ism(coverage: Coverage) -> Finding:
    """Count the runs on Wine and Cancer that end no higher from Phi_0 than from a random projection."""
    pairs = pairs_of(coverage, "cost", "ism", (_RANDOM,))
    gaps = np.concatenate([np.zeros(0), *(relative_gaps(pair.ours, pair.theirs) for pair in pairs)])
    n_runs = sum(pair.rival.n_runs for pair in pairs)
    lower, higher = int((gaps < -TIE).sum()), int((gaps > TIE).sum())
    medians = [
        pd.concat([pd.Series(dtype=float), *(cell.numbers("iterations") for cell in coverage.of(method))]).median()
        for method in ("ism", _RANDOM)
    ]
    evidence = f"lower in {lower}, tied in {len(gaps) - lower - higher}, higher in {higher} of "
    evidence += f"{counted(n_runs, 'run')}; median iterations {medians[0]:g} against {medians[1]:g}"
    note = "Both stop when eigenvalues settle, which is not always where the cost does."
    return decided_by_share(len(gaps) - higher, n_runs, evidence, note, "run", extreme=at_most_higher(gaps))
