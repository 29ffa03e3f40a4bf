"""The claim on what fixed points of ISM are, by curvatures that the referee evaluated."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from kdrbench.solvers.geometry.curvature import DENSE_DIMENSION
from kdrbench.status import Status
from kdrbench.suite.reports.claims.claim import Found, Records, decided_by_share, undecided
from kdrbench.suite.reports.claims.coverage import OwnCell, decided_on, printed_cells
from kdrbench.suite.reports.claims.printed_tables import CONVERGED_RIVALS, PLUS_5, TABLE_4

# A theorem is not confirmed by a handful of cases.
LEAST_POINTS = 30


def at_limits(runs: pd.DataFrame) -> pd.Series:
    """Return which runs ended at a limit of time or memory."""
    return runs["status"].isin([str(Status.TIME_LIMIT), str(Status.MEMORY_LIMIT)])


def open_runs(cells: Iterable[OwnCell]) -> pd.Index:
    """Return the rows of runs that ended at a limit in cells that were stopped before the paper's limits."""
    early = [cell.runs for cell in cells if cell.stopped_early]
    return pd.Index([]).append([runs.index[at_limits(runs)] for runs in early])


def second_order(records: Records) -> Found:
    """Decide "a fixed point of ISM satisfies the second-order conditions", of every stationary end of any solver.

    At least 30 fixed points are asked for. A fixed point is stationary to 1e-6 and spans leading eigenvectors of Phi
    there (eigengap above 0). Its smallest curvature, as the referee evaluated it exactly (``optimality``), must not be
    negative. A run that was stopped before the paper's limits, at no such point, might have ended at one: it is open,
    unless its problem is too large for the referee to evaluate a curvature.
    The theorem's own condition, a large enough eigengap, is not tested: its constant is not in the text at hand, and
    the smallest one that suffices is defined by the curvature itself.
    """
    columns = ("optimality", "eigengap")
    methods = ("ism", "ism_converged", *CONVERGED_RIVALS)
    coverage = printed_cells(records, (TABLE_4, PLUS_5), "cost", methods, columns, bounds=True)

    def judge() -> Found:
        runs = pd.concat([cell.runs for cell in coverage.cells])
        stationary = runs[runs["optimality"].isin(["second_order", "saddle"])].dropna(subset=["eigengap"])
        fixed = stationary[stationary["eigengap"] > 0]
        good = int((fixed["optimality"] == "second_order").sum())
        others = stationary[stationary["eigengap"] <= 0]
        saddles = int((others["optimality"] == "saddle").sum())
        if len(fixed) < LEAST_POINTS:
            return undecided(f"{LEAST_POINTS} fixed points whose curvature was evaluated; there are {len(fixed)}")
        evidence = f"curvature not negative at {good} of {len(fixed)} fixed points"
        note = f"Left out: {len(others)} stationary ends that are no fixed points of ISM, {saddles} of them saddles; "
        note += "ends that are not stationary; and those whose curvature was not evaluated."
        least = fixed["curvature"].min() if "curvature" in fixed else None
        extreme = "" if pd.isna(least) else f"curvature at least {least:.0e}"
        cells = [cell for cell in coverage.cells if _is_evaluated(cell)]
        n_open = len(open_runs(cells).difference(fixed.index)) + sum(cell.n_not_made for cell in cells)
        total = len(fixed) + n_open
        return decided_by_share(good, total, evidence, note, "fixed point", extreme=extreme, n_open=n_open)

    return decided_on(coverage, judge)


def _is_evaluated(cell: OwnCell) -> bool:
    """Return whether the referee evaluates curvatures of the cell's problem; true where its size is not recorded."""
    sizes = [cell.runs[name].max() for name in ("n_features", "n_components") if name in cell.runs]
    if len(sizes) < 2 or pd.isna(sizes).any():
        return True
    n_features, q = sizes
    return bool(0 < (n_features - q) * q <= DENSE_DIMENSION)
