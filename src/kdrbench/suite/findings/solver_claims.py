"""Tests of claims on how ISM and its rivals solve problems: costs, iterations, starts, fixed points, Omega.

Methods are compared run by run; a difference of costs below 1e-6 is a tie. Keyword arguments are those of claims.toml.
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
    FOLDS,
    Coverage,
    Lane,
    OwnCell,
    PrintedTable,
    Records,
    decided_in_lanes,
    decided_on,
    experiment_cells,
    lanes_of,
    printed_cells,
    without_early,
)
from kdrbench.suite.findings.finding import (
    Decision,
    Finding,
    Side,
    decided_by_share,
    decided_by_sides,
    listed,
    share_of,
    side_of,
    smallest_shown,
    undecided,
)
from kdrbench.suite.findings.outcome import ended, stopped
from kdrbench.suite.findings.pairwise import TIE, relative_gaps
from kdrbench.suite.reports.records import Split
from kdrbench.suite.reports.tables.labels import dataset_label, kernel_label

Tables = Sequence[PrintedTable]
_WORST_FIRST = (Side.FAILS, Side.OPEN, Side.UNCLEAR, Side.HOLDS)


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
    def side(self) -> Side:
        """Whether ours is lower or tied; a cost at which a run was stopped is not where its method ends."""
        if self.is_open:
            return Side.OPEN
        if not self.is_complete or not self.has_ended():
            return Side.FAILS
        return Side.HOLDS if abs(self.gap) <= TIE else side_of(*self.interval, most=TIE)

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


def lower_cost(records: Records, *, tables: Tables, rivals: Sequence[str]) -> Finding:
    """Count the cells of a rival in which ISM's mean cost is lower or tied; contradicted if it is lower nowhere."""
    return decided_in_lanes(lanes_of(records, tables, "cost", rivals, ("cost",)), _judge_costs)


def _judge_costs(lane: Lane) -> Finding:
    pairs = pairs_of(lane.cells, "cost", lane.solver, lane.rivals)
    sides = [pair.side for pair in pairs]
    whole = [pair for pair in pairs if pair.is_complete and not pair.is_open]
    lower = sum(pair.gap < -TIE for pair in whole)
    higher = sorted((pair for pair in whole if pair.gap > TIE), key=lambda pair: -pair.gap)
    evidence = f"lower in {lower} of {counted(len(pairs), 'cell')}, tied in {len(whole) - lower - len(higher)}"
    evidence += f", higher in {len(higher)}" + (f": {listed([pair.words for pair in higher])}" if higher else "")
    if lost := [pair.rival.name for pair in pairs if not pair.is_complete and not pair.is_open]:
        evidence += f"; {len(lost)} lost for missing or failed runs: {listed(lost)}"
    if n_stopped := sum(not pair.has_ended(pair.solver, pair.rival) for pair in whole):
        how = "compared here by their last iterate: there the claim does not hold"
        evidence += f"; runs were stopped in {n_stopped}, {how}"
    power = smallest_shown((pair.interval for pair in whole), lambda width: f"{100 * width:.2g} %")
    found = decided_by_sides(sides, evidence, extreme=at_most_higher(whole), power=power)
    if pairs and lower + sides.count(Side.OPEN) == 0 and not found.is_undecided:
        return replace(found, decision=Decision.CONTRADICTED, measure=f"lower in {share_of(0, len(pairs), 'cell')}")
    # With open cells that turn out tied or higher it is lower nowhere.
    is_open = lower == 0 and found.decision is not Decision.CONTRADICTED
    return replace(found, decision=Decision.UNDECIDED) if is_open else found


def at_most_higher(pairs: Sequence[CellPair]) -> str:
    """Return by how much the worst complete cell is above its rival's cost, ties left out; empty where none is."""
    largest = max((pair.gap for pair in pairs if pair.is_complete and not pair.is_open), default=0.0)
    return f"at most {100 * largest:.2g} % higher" if largest > TIE else ""


def lowest_cost(records: Records, *, tables: Tables, rivals: Sequence[str]) -> Finding:
    """Count the cells in which no rival is lower."""

    def judge(lane: Lane) -> Finding:
        pairs = pairs_of(lane.cells, "cost", lane.solver, lane.rivals)
        places: dict[tuple[str, str, str], set[Side]] = {}
        for pair in pairs:
            places.setdefault(pair.rival.place, set()).add(pair.side)
        sides = [next(side for side in _WORST_FIRST if side in own) for own in places.values()]
        lost = [pair.words for pair in pairs if pair.side is Side.FAILS]
        evidence = share_of(sides.count(Side.HOLDS), len(sides), "cell") + " have no lower rival"
        evidence += f"; lower or incomplete: {listed(lost)}" if lost else ""
        return decided_by_sides(sides, evidence, extreme=at_most_higher(pairs))

    return decided_in_lanes(lanes_of(records, tables, "cost", rivals, ("cost",)), judge)


def few_iterations(records: Records, *, tables: Tables, fewer_than: int) -> Finding:
    """Count the runs that ended by the rule of ISM after fewer iterations; a lost one is none of these.

    Alternations are left out, whose iterations are over many solves.
    """

    def judge(lane: Lane) -> Finding:
        runs = pd.concat([cell.runs for cell in lane.cells.of(lane.solver)])
        counts = runs.loc[runs["status"] == str(Status.CONVERGED), ["dataset", "kernel", "iterations"]].dropna()
        if counts.empty:
            return undecided("iterations of runs that ended by the rule")
        few, most = int((counts["iterations"] < fewer_than).sum()), counts.iloc[int(counts["iterations"].argmax())]
        n_runs, extreme = sum(cell.n_runs for cell in lane.cells.of(lane.solver)), f"at most {most['iterations']:g}"
        evidence = f"fewer than {fewer_than} in {share_of(few, n_runs, 'run')}, median "
        evidence += f"{counts['iterations'].median():g}, {extreme} ({dataset_label(most['dataset'])}, "
        evidence += f"{kernel_label(most['kernel'])})"
        return decided_by_share(few, n_runs, evidence, unit="run", normally=True, extreme=extreme)

    lanes = lanes_of(records, tables, "time_s", (), ("iterations",))[:2]
    return decided_in_lanes([replace(lane, cells=without_early(lane.cells)) for lane in lanes], judge)


def iterations_within(records: Records, *, tables: Tables, rivals: Sequence[str], least: int, most: int) -> Finding:
    """Count the runs of rivals that took ``least`` to ``most`` iterations.

    Runs that were stopped at the paper's limit have no such number, at an earlier one it is open; those that are lost
    count as outside.
    """

    def judge(lane: Lane) -> Finding:
        coverage = Coverage(tuple(lane.cells.of(*lane.rivals)))
        runs = coverage.runs
        completed = runs[ended(runs)].dropna(subset=["iterations"])
        limits, not_made = int(stopped(runs).sum()), sum(cell.n_not_made for cell in coverage.cells)
        n_early = sum(len(cell.open_runs) for cell in coverage.cells)
        inside = int(completed["iterations"].between(least, most).sum())
        names = completed["method"].str.partition("_")[0]
        ranges = completed.groupby(names, sort=False)["iterations"].agg(["min", "median", "max"])
        evidence = "; ".join(
            f"{str(name).upper()} {row['min']:g} to {row['max']:g}, median {row['median']:g}"
            for name, row in ranges.iterrows()
        )
        evidence += f"; stopped at a limit: {counted(limits, 'run')}" if limits else ""
        extreme = f"{ranges['min'].min():g} to {ranges['max'].max():g}" if len(ranges) else ""
        total, n_open = coverage.n_runs - limits + n_early, n_early + not_made
        return decided_by_share(inside, total, evidence, unit="run", normally=True, extreme=extreme, n_open=n_open)

    return decided_in_lanes(_rivals_alone(records, tables, rivals), judge)


def _rivals_alone(records: Records, tables: Tables, rivals: Sequence[str]) -> list[Lane]:
    """Return the first two lanes, of which the second needs no ISM."""
    first, second = lanes_of(records, tables, "cost", rivals, ("iterations",))[:2]
    return [first, replace(second, cells=printed_cells(records, tables, "cost", rivals, ("iterations",), bounds=True))]


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
        good = int((fixed["optimality"] == "second_order").sum())
        saddles = int((others["optimality"] == "saddle").sum())
        if len(fixed) < least_points:
            return undecided(f"{least_points} fixed points whose curvature was evaluated; there are {len(fixed)}")
        evidence = f"curvature not negative at {good} of {len(fixed)} fixed points"
        note = f"Left out: {len(others)} stationary ends that are no fixed points of ISM, {saddles} of them saddles; "
        note += "ends that are not stationary; and those whose curvature was not evaluated."
        least = fixed["curvature"].min() if "curvature" in fixed else None
        extreme = "" if pd.isna(least) else f"curvature at least {least:.0e}"
        evaluated = [cell for cell in coverage.cells if _is_evaluated(cell)]
        n_open = sum(len(cell.open_runs.difference(fixed.index)) + cell.n_not_made for cell in evaluated)
        total = len(fixed) + n_open
        return decided_by_share(good, total, evidence, note, "fixed point", extreme=extreme, n_open=n_open)

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
        pairs = pairs_of(coverage, "cost", "ism", ("ism_converged",))
        sides: list[Side] = []
        worst, n_still, n_near = 0.0, 0, 0
        for pair in pairs:
            best = pair.rival.runs[pair.rival.runs["status"] == str(Status.CONVERGED)].set_index("run")["cost"]
            columns = [pair.solver.numbers("stationarity"), pair.solver.numbers("cost"), best.rename("best")]
            rows = pd.concat(columns, axis=1).reindex(pair.solver.numbers("stationarity").index)
            still = rows["stationarity"] <= stationary
            close = pd.Series(relative_gaps(rows["cost"].to_numpy(), rows["best"].to_numpy()), rows.index) < near
            is_open = still & rows["best"].isna() & pair.is_open
            holding = int((still & close).sum())
            sides += [Side.HOLDS] * holding + [Side.OPEN] * int(is_open.sum())
            sides += [Side.FAILS] * (pair.solver.n_runs - holding - int(is_open.sum()))
            worst, n_still = max(worst, rows["stationarity"].max()), n_still + int(still.sum())
            n_near += int(close.sum())
        evidence = f"stationary to {stationary:g} in {n_still} of {counted(len(sides), 'run')} (at worst {worst:.2g}), "
        evidence += f"cost less than {near:.0%} above the converged one in {n_near}"
        if early := [pair.rival for pair in pairs if pair.is_open]:
            limits = [f"{cell.name} with more than {cell.runs['time_s'].max():.0f} s a run" for cell in early]
            evidence += f"; decided by {listed(limits)}"
        extreme, n_open = f"stationary to {worst:.2g} at worst", sides.count(Side.OPEN)
        good = sides.count(Side.HOLDS)
        return decided_by_share(good, len(sides), evidence, unit="run", normally=True, extreme=extreme, n_open=n_open)

    methods, columns = ("ism", "ism_converged"), ("cost", "stationarity")
    return decided_on(printed_cells(records, tables, "cost", methods, columns, bounds=True), judge)


def start_of_ism(
    records: Records, *, experiment: str, solver: str, random: str, cells: Sequence[Sequence[str]]
) -> Finding:
    """Count the runs that end no higher from Phi_0 than from a random projection."""

    def judge(coverage: Coverage) -> Finding:
        pairs = pairs_of(coverage, "cost", solver, (random,))
        gaps = np.concatenate([np.zeros(0), *(relative_gaps(pair.ours, pair.theirs) for pair in pairs)])
        n_runs = sum(pair.rival.n_runs for pair in pairs)
        lower, higher, largest = int((gaps < -TIE).sum()), int((gaps > TIE).sum()), float(gaps.max(initial=0.0))
        medians = [
            pd.concat([pd.Series(dtype=float), *(cell.numbers("iterations") for cell in coverage.of(method))]).median()
            for method in (solver, random)
        ]
        evidence = f"lower in {lower}, tied in {len(gaps) - lower - higher}, higher in {higher} of "
        evidence += f"{counted(n_runs, 'run')}; median iterations {medians[0]:g} against {medians[1]:g}"
        extreme = f"at most {100 * largest:.2g} % higher" if largest > TIE else ""
        return decided_by_share(len(gaps) - higher, n_runs, evidence, unit="run", extreme=extreme)

    places = [(data, kernel, method) for data, kernel in cells for method in (solver, random)]
    coverage = experiment_cells(records, experiment, places, (Split.FOLDS, FOLDS), ("cost", "iterations"))
    return decided_on(coverage, judge)
