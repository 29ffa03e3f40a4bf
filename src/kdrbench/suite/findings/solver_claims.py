"""Claims on how ISM and its rivals solve problems (NeurIPS 2019 and ISM+): costs, iterations, starts, fixed points.

Methods are compared run by run; a difference of costs below 1e-6 is a tie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

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
    Claim,
    Decision,
    Finding,
    decided_by_share,
    listed,
    share_of,
    undecided,
)
from kdrbench.suite.findings.outcome import ended, stopped
from kdrbench.suite.findings.pairwise import TIE, relative_gaps
from kdrbench.suite.paired import corrected_t_p
from kdrbench.suite.reports.records import Split
from kdrbench.suite.reports.tables.labels import dataset_label, is_converged, kernel_label, method_label
from kdrbench.suite.reports.tables.significance import SIGNIFICANT

SUPERVISED, CLUSTERS = (TABLE_4, PLUS_5), (TABLE_4_CLUSTERS, PLUS_6)
# Test samples for one training sample of ten folds.
_TEST_SHARE = 1.0 / 9.0
FEWER_THAN = 5
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
_ISM_VARIANTS = ("ism", "ism_converged")
Floats = NDArray[np.float64]


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
    def ours(self) -> Floats:
        """The solver's numbers."""
        return self._numbers.to_numpy(float)[:, 0]

    @property
    def theirs(self) -> Floats:
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

    @property
    def holds(self) -> bool:
        """Whether ours is lower or tied; a cost at which a run was stopped is not where its method ends."""
        return self.is_complete and self.has_ended() and self.gap <= TIE

    @property
    def ratio(self) -> float:
        """How many times the mean of ours the rival's mean is."""
        return float(self.theirs.mean() / self.ours.mean())

    @property
    def words(self) -> str:
        """The rival's cell, and by how much ours is above it."""
        return f"{self.rival.name} by {100 * self.gap:.2g} %" if self.is_complete else self.rival.name


def pairs_of(coverage: Coverage, column: str, solver: str, rivals: Sequence[str]) -> list[CellPair]:
    """Return each cell of a rival beside the solver's in the same place."""
    return [
        CellPair(methods[solver], methods[rival], column)
        for methods in coverage.places().values()
        for rival in rivals
        if solver in methods and rival in methods
    ]


def endings(cells: Sequence[OwnCell]) -> str:
    """Return how many final projections the referee found to be saddles or not stationary; empty if none or unknown."""
    known = [str(end) for cell in cells if "optimality" in cell.runs for end in cell.runs["optimality"].dropna()]
    texts = {"saddle": "end on a saddle", "not_stationary": "are not stationary"}
    counts = " and ".join(f"{known.count(kind)} {text}" for kind, text in texts.items() if kind in known)
    names = list(dict.fromkeys(cell.method for cell in cells))
    methods = "converged rivals" if all(map(is_converged, names)) else ", ".join(map(method_label, names))
    return f"Of the {counted(len(known), 'run')} of {methods}, {counts}." if counts else ""


@dataclass(frozen=True)
class CostRace:
    """The cells of some tables in which a solver ends at lower cost than its rivals, by means over all runs."""

    tables: tuple[PrintedTable, ...]
    solver: str
    rivals: tuple[str, ...]

    def cells(self, records: Records) -> Coverage:
        """Return the cells of the solver and its rivals, those among them that were stopped too early."""
        return printed_cells(records, self.tables, "cost", (self.solver, *self.rivals), ("cost",), bounds=True)

    def decide(self, records: Records) -> Finding:
        """Count the cells in which the solver is lower or tied; contradicted if it is lower nowhere."""
        return decided_on(self.cells(records), self._judge)

    def _judge(self, coverage: Coverage) -> Finding:
        pairs = pairs_of(coverage, "cost", self.solver, self.rivals)
        whole = [pair for pair in pairs if pair.is_complete and not pair.is_open]
        n_open, lower = sum(pair.is_open for pair in pairs), sum(pair.gap < -TIE for pair in whole)
        higher = sorted((pair for pair in whole if pair.gap > TIE), key=lambda pair: -pair.gap)
        evidence = f"lower in {lower} of {counted(len(pairs), 'cell')}, tied in {len(whole) - lower - len(higher)}"
        evidence += f", higher in {len(higher)}" + (f": {listed([pair.words for pair in higher])}" if higher else "")
        if lost := [pair.rival.name for pair in pairs if not pair.is_complete and not pair.is_open]:
            evidence += f"; {len(lost)} lost for missing or failed runs: {listed(lost)}"
        if n_stopped := sum(not pair.has_ended() for pair in whole):
            how = "compared here by their last iterate: there the claim does not hold"
            evidence += f"; runs were stopped in {n_stopped}, {how}"
        evidence += _intervals(whole)
        holding, worst = sum(pair.holds for pair in whole), at_most_higher(whole)
        found = decided_by_share(holding, len(pairs), evidence, extreme=worst, n_open=n_open)
        if pairs and lower + n_open == 0:
            return Finding(Decision.CONTRADICTED, evidence, measure=f"lower in {share_of(0, len(pairs), 'cell')}")
        # With open cells that turn out tied or higher it is lower nowhere.
        is_open = lower == 0 and found.decision is not Decision.CONTRADICTED
        return replace(found, decision=Decision.UNDECIDED) if is_open else found


def at_most_higher(pairs: Sequence[CellPair]) -> str:
    """Return by how much the worst complete cell is above its rival's cost, ties left out; empty where none is."""
    largest = max((pair.gap for pair in pairs if pair.is_complete and not pair.is_open), default=0.0)
    return f"at most {100 * largest:.2g} % higher" if largest > TIE else ""


def _intervals(pairs: list[CellPair]) -> str:
    """Return in how many cells with folds the 95 % interval of the difference excludes 0 (Nadeau and Bengio 2003)."""
    folds = [pair for pair in pairs if len(pair.ours) > 1]
    if not folds:
        return ""
    clear = [pair for pair in folds if (corrected_t_p(pair.ours - pair.theirs, _TEST_SHARE) or 0.0) <= SIGNIFICANT]
    below, above = (sum(sign * pair.gap > TIE for pair in clear) for sign in (-1, 1))
    return f"; the 95 % interval of the difference is below zero in {below} and above it in {above} of {len(folds)}"


def _beside_converged(records: Records) -> Finding:
    """Decide by rivals as published in the supervised tables; the note says the same of converged rivals."""
    found = CostRace(SUPERVISED, "ism", RIVALS).decide(records)
    fair = CostRace(SUPERVISED, "ism", CONVERGED_RIVALS).decide(records)
    if found.is_undecided:
        return found
    return replace(found, note="" if fair.is_undecided else f"Against converged rivals: {fair.evidence}.")


def _against_converged(records: Records) -> Finding:
    """Decide by rivals that were run to a relative stationarity of 1e-6, in all tables.

    The note says where these ended, and what comes out with ISM run to the same stationarity.
    """
    race = CostRace(SUPERVISED + CLUSTERS, "ism", CONVERGED_RIVALS)
    found, fair = race.decide(records), replace(race, solver="ism_converged").decide(records)
    if found.is_undecided:
        return found
    note = f"ISM run to the same stationarity: {fair.evidence}. {endings(race.cells(records).of(*CONVERGED_RIVALS))}"
    return replace(found, note=note.strip())


lower_cost = Claim("ISM ends at lower cost than DG, SM and GM.", BOTH, "Table 4; Table 5", _beside_converged)
lower_cost_than_converged = Claim(
    "ISM ends at lower cost than DG, SM and GM, also where these are run until they converge.",
    BOTH,
    "Table 4; Tables 5 and 6",
    _against_converged,
)


@claim_on(
    "ISM has the lowest cost of all solvers in unsupervised learning.",
    BOTH,
    "Table 4; Table 6",
    CostRace(CLUSTERS, "ism", RIVALS).cells,
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
    return decided_by_share(n_holding, len(places), evidence, extreme=at_most_higher(pairs), n_open=n_open)


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


def _iterations_within(words: str, paper: str, table: PrintedTable, least: int, most: int) -> Claim:
    """Make a claim on the iterations of DG and SM as published in a table.

    Runs that were stopped at the paper's limit have no such number, at an earlier one it is open; those that are lost
    count as outside.
    """

    def judge(coverage: Coverage) -> Finding:
        runs = coverage.runs
        completed = runs[ended(runs)].dropna(subset=["iterations"])
        limits, not_made = int(stopped(runs).sum()), sum(cell.n_not_made for cell in coverage.cells)
        n_early = sum(len(cell.open_runs) for cell in coverage.cells)
        inside = int(completed["iterations"].between(least, most).sum())
        ranges = completed.groupby("method", sort=False)["iterations"].agg(["min", "median", "max"])
        evidence = "; ".join(
            f"{str(name).upper()} {row['min']:g} to {row['max']:g}, median {row['median']:g}"
            for name, row in ranges.iterrows()
        )
        evidence += f"; stopped at a limit: {counted(limits, 'run')}" if limits else ""
        extreme = f"{ranges['min'].min():g} to {ranges['max'].max():g}" if len(ranges) else ""
        total, n_open = coverage.n_runs - limits + n_early, n_early + not_made
        return decided_by_share(inside, total, evidence, unit="run", normally=True, extreme=extreme, n_open=n_open)

    def cells(records: Records) -> Coverage:
        return printed_cells(records, (table,), "cost", ("dg", "sm"), ("iterations",), bounds=True)

    return claim_on(words, paper, "", cells)(judge)


rivals_iterations = _iterations_within(
    "DG and SM take hundreds to thousands of iterations.", NEURIPS, TABLE_4, 100, 9999
)
rivals_iterations_plus = _iterations_within("DG and SM take 30 to 400 iterations.", PLUS, PLUS_5, 30, 400)


@claim_on(
    "A fixed point of ISM satisfies the second-order conditions.",
    BOTH,
    "Theorem 1; Eq. 49",
    lambda records: printed_cells(
        records, SUPERVISED, "cost", (*_ISM_VARIANTS, *CONVERGED_RIVALS), ("optimality", "eigengap"), bounds=True
    ),
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
    evaluated = [cell for cell in coverage.cells if _is_evaluated(cell)]
    n_open = sum(len(cell.open_runs.difference(fixed.index)) + cell.n_not_made for cell in evaluated)
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
    lambda records: printed_cells(records, SUPERVISED, "cost", _ISM_VARIANTS, ("cost", "stationarity")),
)
def eigenvalue_stopping(coverage: Coverage) -> Finding:
    """Count the supervised runs of ``ism`` that are stationary to 1e-2 and less than 1 % above ``ism_converged``."""
    pairs, known = pairs_of(coverage, "cost", "ism", ("ism_converged",)), [np.zeros((0, 3))]
    for pair in pairs:
        best = pair.rival.runs[pair.rival.runs["status"] == str(Status.CONVERGED)].set_index("run")["cost"].dropna()
        columns = [pair.solver.numbers("stationarity"), pair.solver.numbers("cost"), best]
        known.append(pd.concat(columns, axis=1, join="inner").to_numpy(float))
    stationarity, costs, converged = np.concatenate(known).T
    gaps = relative_gaps(costs, converged)
    still, near = stationarity <= STATIONARY, gaps < NEAR
    n_runs, worst = sum(pair.solver.n_runs for pair in pairs), stationarity.max(initial=0.0)
    evidence = f"stationary to {STATIONARY:g} in {still.sum()} of {counted(n_runs, 'run')} (at worst {worst:.2g}), "
    evidence += f"cost less than {NEAR:.0%} above the converged one in {near.sum()}"
    extreme, good = f"stationary to {worst:.2g} at worst", int((still & near).sum())
    return decided_by_share(good, n_runs, evidence, unit="run", normally=True, extreme=extreme)


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
    lower, higher, largest = int((gaps < -TIE).sum()), int((gaps > TIE).sum()), float(gaps.max(initial=0.0))
    medians = [
        pd.concat([pd.Series(dtype=float), *(cell.numbers("iterations") for cell in coverage.of(method))]).median()
        for method in ("ism", _RANDOM)
    ]
    evidence = f"lower in {lower}, tied in {len(gaps) - lower - higher}, higher in {higher} of "
    evidence += f"{counted(n_runs, 'run')}; median iterations {medians[0]:g} against {medians[1]:g}"
    note = "Both stop when eigenvalues settle, which is not always where the cost does."
    extreme = f"at most {100 * largest:.2g} % higher" if largest > TIE else ""
    return decided_by_share(len(gaps) - higher, n_runs, evidence, note, "run", extreme=extreme)
