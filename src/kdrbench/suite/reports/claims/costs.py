"""Claims on the cost at which ISM and its rivals end (NeurIPS 2019 and ISM+), and how two methods are compared.

Methods are compared run by run; a difference of costs below 1e-6 is a tie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kdrbench.errors import counted
from kdrbench.suite.paired import corrected_t_p
from kdrbench.suite.reports.claims.claim import Claim, Decision, Found, Records, decided_by_share, listed, share_of
from kdrbench.suite.reports.claims.coverage import Coverage, OwnCell, decided_on, printed_cells
from kdrbench.suite.reports.claims.printed_tables import (
    CONVERGED_RIVALS,
    PLUS_5,
    PLUS_6,
    RIVALS,
    TABLE_4,
    TABLE_4_CLUSTERS,
    PrintedTable,
)
from kdrbench.suite.reports.tables.cells import COMPLETED
from kdrbench.suite.reports.tables.labels import is_converged, method_label
from kdrbench.suite.reports.tables.significance import SIGNIFICANT

_SUPERVISED, _CLUSTERS = (TABLE_4, PLUS_5), (TABLE_4_CLUSTERS, PLUS_6)
# Test samples for one training sample of ten folds.
_TEST_SHARE = 1.0 / 9.0
# A smaller difference of two costs, relative to the second, is a tie.
TIE = 1e-6


@dataclass(frozen=True)
class PairOfCells:
    """Numbers of one solver and a ``rival`` in one place, on the runs that both have.

    ``complete`` says whether these are all runs of the protocol, ``ended`` where both came to their own end,
    ``ours_ended`` where the solver did. ``is_open`` says that one of them was stopped before the paper's limits.
    """

    rival: OwnCell
    ours: NDArray[np.float64]
    theirs: NDArray[np.float64]
    complete: bool
    ended: NDArray[np.bool_]
    ours_ended: NDArray[np.bool_]
    is_open: bool

    @property
    def gap(self) -> float:
        """How far our mean is above the rival's, relative to it."""
        return float(relative_gaps(np.array([self.ours.mean()]), np.array([self.theirs.mean()]))[0])


def relative_gaps(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (ours - theirs) / |theirs|."""
    gaps: NDArray[np.float64] = (ours - theirs) / np.maximum(np.abs(theirs), np.finfo(float).tiny)
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
    ended = pd.concat(
        [
            cell.runs[["run", "status"]].set_index("run")["status"].isin([*map(str, COMPLETED)])
            for cell in (ours, theirs)
        ],
        axis=1,
    )
    numbers = both.to_numpy(float)
    complete = len(both) == theirs.n_runs
    own = ended.loc[both.index].to_numpy(bool)
    is_open = bool(ours.stopped_early or theirs.stopped_early)
    return PairOfCells(theirs, numbers[:, 0], numbers[:, 1], complete, own[:, 0] & own[:, 1], own[:, 0], is_open)


def endings(cells: Sequence[OwnCell]) -> str:
    """Say how many final projections the referee found to be saddles or not stationary; empty if none or unknown."""
    found = [str(one) for cell in cells if "optimality" in cell.runs for one in cell.runs["optimality"].dropna()]
    words = {"saddle": "end on a saddle", "not_stationary": "are not stationary"}
    many = " and ".join(f"{found.count(kind)} {text}" for kind, text in words.items() if kind in found)
    names = list(dict.fromkeys(cell.method for cell in cells))
    who = "converged rivals" if all(map(is_converged, names)) else ", ".join(map(method_label, names))
    return f"Of the {counted(len(found), 'run')} of {who}, {many}." if many else ""


def lower_cost(records: Records) -> Found:
    """Decide "ISM ends at lower cost than DG, SM and GM", rivals as published, in the supervised tables.

    In each cell the means over all runs are compared; differences below 1e-6 are ties. It holds where ISM is lower or
    tied, and is contradicted if ISM is lower nowhere. The note says the same of converged rivals.
    """
    published = _costs(records, _SUPERVISED, "ism", RIVALS)
    converged = _costs(records, _SUPERVISED, "ism", CONVERGED_RIVALS)
    fair = _decided(converged)
    note = "" if fair.decision is Decision.UNDECIDED else f"Against converged rivals: {fair.evidence}."
    found = _decided(published)
    return found if found.decision is Decision.UNDECIDED else Found(found.decision, found.evidence, note, found.measure)


def lower_cost_than_converged(records: Records) -> Found:
    """Decide the same against rivals that were run to a relative stationarity of 1e-6, in all tables.

    The note says where these ended, and what comes out with ISM run to the same stationarity.
    """
    tables = _SUPERVISED + _CLUSTERS
    plain = _costs(records, tables, "ism", CONVERGED_RIVALS)
    fair = _decided(_costs(records, tables, "ism_converged", CONVERGED_RIVALS))
    found = _decided(plain)
    if found.decision is Decision.UNDECIDED:
        return found
    note = f"ISM run to the same stationarity: {fair.evidence}. {endings(plain[0].of(*CONVERGED_RIVALS))}"
    return Found(found.decision, found.evidence, note.strip(), found.measure)


def lowest_among_clusters(records: Records) -> Found:
    """Decide "ISM has the lowest cost of all in unsupervised tables": in each cell no rival as published is lower."""
    coverage, pairs = _costs(records, _CLUSTERS, "ism", RIVALS)

    def judge() -> Found:
        places = dict.fromkeys(pair.rival.place for pair in pairs)
        higher = [pair for pair in pairs if not pair.is_open and not _holds(pair)]
        lost = {pair.rival.place for pair in higher}
        n_open = len({pair.rival.place for pair in pairs if pair.is_open} - lost)
        n_holding = len(places) - len(lost) - n_open
        evidence = share_of(n_holding, len(places), "cell") + " have no lower rival"
        evidence += f"; lower or incomplete: {listed(_named(higher))}" if higher else ""
        return decided_by_share(n_holding, len(places), evidence, extreme=_worst(pairs), n_open=n_open)

    return decided_on(coverage, judge)


def _costs(
    records: Records, tables: Sequence[PrintedTable], solver: str, rivals: Sequence[str]
) -> tuple[Coverage, list[PairOfCells]]:
    coverage = printed_cells(records, tables, "cost", (solver, *rivals), ("cost",), bounds=True)
    return coverage, pairs_of(coverage, "cost", solver, rivals)


def _decided(costs: tuple[Coverage, list[PairOfCells]]) -> Found:
    coverage, pairs = costs
    return decided_on(coverage, lambda: _judge(pairs))


def _judge(pairs: list[PairOfCells]) -> Found:
    """Count the cells in which the first of each pair is lower, tied or higher."""
    whole = [pair for pair in pairs if pair.complete and not pair.is_open]
    n_open = sum(pair.is_open for pair in pairs)
    lower = sum(pair.gap < -TIE for pair in whole)
    higher = sorted((pair for pair in whole if pair.gap > TIE), key=lambda pair: -pair.gap)
    evidence = f"lower in {lower} of {counted(len(pairs), 'cell')}, tied in {len(whole) - lower - len(higher)}"
    evidence += f", higher in {len(higher)}" + (f": {listed(_named(higher))}" if higher else "")
    if lost := [pair.rival.name for pair in pairs if not pair.complete and not pair.is_open]:
        evidence += f"; {len(lost)} lost for missing or failed runs: {listed(lost)}"
    if stopped := sum(not pair.ended.all() for pair in whole):
        evidence += (
            f"; runs were stopped in {stopped}, compared here by their last iterate: there the claim does not hold"
        )
    evidence += _intervals(whole)
    found = decided_by_share(sum(map(_holds, whole)), len(pairs), evidence, extreme=_worst(whole), n_open=n_open)
    if pairs and lower + n_open == 0:
        return Found(Decision.CONTRADICTED, evidence, measure=f"lower in {share_of(0, len(pairs), 'cell')}")
    if lower == 0 and found.decision is not Decision.CONTRADICTED:
        # With open cells that turn out tied or higher it is lower nowhere.
        return replace(found, decision=Decision.UNDECIDED)
    return found


def _worst(pairs: list[PairOfCells]) -> str:
    """Say how far above a rival's cost the worst cell is; empty where none is above."""
    return at_most_higher(np.array([pair.gap for pair in pairs if pair.complete and not pair.is_open]))


def at_most_higher(gaps: NDArray[np.float64]) -> str:
    """Say by how much the largest relative gap is above zero, ties left out; empty where none is."""
    largest = float(gaps.max(initial=0.0))
    return f"at most {100 * largest:.2g} % higher" if largest > TIE else ""


def _holds(pair: PairOfCells) -> bool:
    # A cost at which a run was stopped is not where its method ends.
    return bool(pair.complete and pair.ended.all() and pair.gap <= TIE)


def _intervals(pairs: list[PairOfCells]) -> str:
    """Say in how many cells with folds the 95 % interval of the difference leaves out zero.

    Its variance is that of Nadeau and Bengio (2003), since folds share training rows.
    """
    folds = [pair for pair in pairs if len(pair.ours) > 1]
    if not folds:
        return ""
    clear = [pair for pair in folds if (corrected_t_p(pair.ours - pair.theirs, _TEST_SHARE) or 0.0) <= SIGNIFICANT]
    below = sum(pair.gap < -TIE for pair in clear)
    above = sum(pair.gap > TIE for pair in clear)
    return f"; the 95 % interval of the difference is below zero in {below} and above it in {above} of {len(folds)}"


def _named(pairs: list[PairOfCells]) -> list[str]:
    return [f"{pair.rival.name} by {100 * pair.gap:.2g} %" if pair.complete else pair.rival.name for pair in pairs]


CLAIMS = (
    Claim(
        "lower_cost",
        "ISM ends at lower cost than DG, SM and GM.",
        "NeurIPS 2019, ISM+",
        "Table 4; Table 5",
        lower_cost,
    ),
    Claim(
        "lower_cost_than_converged",
        "ISM ends at lower cost than DG, SM and GM, also where these are run until they converge.",
        "NeurIPS 2019, ISM+",
        "Table 4; Tables 5 and 6",
        lower_cost_than_converged,
    ),
    Claim(
        "lowest_among_clusters",
        "ISM has the lowest cost of all solvers in unsupervised learning.",
        "NeurIPS 2019, ISM+",
        "Table 4; Table 6",
        lowest_among_clusters,
    ),
)
