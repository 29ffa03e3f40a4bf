"""A matrix of solvers by data sets and kernels: how soon and how near each came to the best known cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from kdrbench.errors import counted
from kdrbench.status import Status
from kdrbench.suite.paired import holm, signed_rank_p
from kdrbench.suite.reports.answers.nearness import COARSE, FINE, column, ratios
from kdrbench.suite.reports.records import REFERENCE
from kdrbench.suite.reports.tables.labels import by_method
from kdrbench.suite.reports.tables.paired_tests import FEWEST_PAIRS, without_ties
from kdrbench.suite.reports.tables.significance import SIGNIFICANT

# Ratios up to this are printed as 1.
_LEAST = 1.005
_TIMES_OF_REFERENCE = (
    "they come from another machine. Figures show them scaled by the calibration kernel, and not without a calibration"
)


@dataclass(frozen=True)
class Standing:
    """One solver over the ``runs`` of a cell, or of several.

    ``coarse`` and ``fine`` count the runs that reached the best known cost within 1e-2 and 1e-6. ``coarse_ratio`` and
    ``fine_ratio`` are the medians, over the ``timed`` runs whose times are compared, of the time needed over the least
    that any solver needed, ``None`` where half of them or more did not reach it. ``gap`` is the median of the final
    cost's relative distance from the best known one. ``wins``, ``ties`` and ``losses`` count final costs against those
    of the matrix's reference, with ``p`` of Wilcoxon's signed ranks after Holm's correction over the cells of a place:
    ``None`` for the reference, and for fewer than six pairs. ``endings`` are how the runs ended that were stopped,
    failed or skipped; ``fine_stopped`` counts those of ``fine`` that a limit stopped.
    """

    solver: str
    dataset: str
    kernel: str
    runs: int
    coarse: int
    fine: int
    timed: int
    coarse_ratio: float | None
    fine_ratio: float | None
    gap: float | None
    wins: int = 0
    ties: int = 0
    losses: int = 0
    p: float | None = None
    endings: tuple[tuple[str, int], ...] = ()
    fine_stopped: int = 0

    @property
    def share(self) -> float:
        """The share of runs that reached the best known cost within 1e-6."""
        return self.fine / self.runs if self.runs else 0.0

    @property
    def differs(self) -> bool:
        """Whether the final costs differ from the reference's."""
        return self.p is not None and self.p <= SIGNIFICANT


@dataclass(frozen=True)
class Matrix:
    """The cells of one experiment: ``places`` are its data sets with their kernels.

    ``overall`` are the solvers over all places, the best first: by the share of runs that reached the best known cost
    within 1e-6, then by the ratio of times to it. The first of them is the ``reference``. Controls have no place.
    ``disturbed`` says that no problem has times that count of all solvers: ratios of times are an indication only.
    """

    experiment: str
    places: tuple[tuple[str, str], ...]
    solvers: tuple[str, ...]
    overall: tuple[Standing, ...]
    cells: tuple[Standing, ...]
    disturbed: bool = False

    @property
    def reference(self) -> str:
        """The solver whose final costs the others' are compared with."""
        return self.overall[0].solver

    @property
    def n_runs(self) -> int:
        """How many runs it compares."""
        return sum(cell.runs for cell in self.cells)

    @property
    def untimed_note(self) -> str:
        """Why methods of a reference have no ratio of times; empty where there are none."""
        count = sum(one.solver.endswith(REFERENCE) for one in self.overall)
        of_them = counted(count, "method")
        return f"No times are compared of {of_them} of the reference: {_TIMES_OF_REFERENCE}." if count else ""

    def is_best(self, cell: Standing) -> bool:
        """Whether a cell came within 1e-6 in all runs, none of them stopped, and in the least time that counts."""
        quickest = cell.fine_ratio is not None and cell.fine_ratio <= _LEAST
        return quickest and cell.fine == cell.runs and not cell.fine_stopped and cell.timed > 0 and not self.disturbed

    def cell(self, solver: str, dataset: str, kernel: str) -> Standing | None:
        """Return a cell, or ``None`` where the solver was not run."""
        return next(
            (one for one in self.cells if (one.solver, one.dataset, one.kernel) == (solver, dataset, kernel)), None
        )


def matrix_of(experiment: str, near: pd.DataFrame, controls: Collection[str] = ()) -> Matrix | None:
    """Return the matrix of an experiment's rows of :func:`.nearness.nearness`; ``None`` for fewer than two solvers."""
    near = ratios(near[~near["method"].isin(list(controls))])
    solvers = by_method(list(dict.fromkeys(map(str, near["method"]))))
    if len(solvers) < 2 or near["gap"].isna().all():
        return None
    overall = [_standing(solver, "", "", near[near["method"] == solver]) for solver in solvers]
    overall.sort(key=lambda one: (-one.share, np.inf if one.fine_ratio is None else one.fine_ratio))
    places = tuple(near[["dataset", "kernel"]].drop_duplicates().itertuples(index=False, name=None))
    cells = [cell for place in places for cell in _corrected(list(_cells(near, place, solvers, overall[0].solver)))]
    disturbed = bool(near["disturbed"].any())
    return Matrix(experiment, places, tuple(solvers), tuple(overall), tuple(cells), disturbed)


def _standing(solver: str, dataset: str, kernel: str, rows: pd.DataFrame) -> Standing:
    counts = Counter(map(str, rows["status"]))
    stopped = (Status.TIME_LIMIT, Status.MEMORY_LIMIT, Status.FAILED, Status.SKIPPED)
    gap, at_limit = rows["gap"].median(), rows["status"].astype(str).isin([*map(str, stopped[:2])])
    return Standing(
        solver,
        dataset,
        kernel,
        runs=len(rows),
        coarse=int(rows[column("reached", COARSE)].sum()),
        fine=int(rows[column("reached", FINE)].sum()),
        timed=int(rows[column("ratio", FINE)].notna().sum()),
        coarse_ratio=_median(rows[column("ratio", COARSE)]),
        fine_ratio=_median(rows[column("ratio", FINE)]),
        gap=None if np.isnan(gap) else float(gap),
        fine_stopped=int((rows[column("reached", FINE)] & at_limit).sum()),
        endings=tuple((str(status), counts[str(status)]) for status in stopped if counts[str(status)]),
    )


def _median(ratios: pd.Series) -> float | None:
    """Return the median where more than half of the ratios are finite."""
    known = np.sort(ratios.dropna().to_numpy(dtype=float))
    if not known.size or not np.isfinite(known[known.size // 2]):
        return None
    return float(np.median(known))


def _cells(near: pd.DataFrame, place: tuple[str, str], solvers: list[str], reference: str) -> Iterator[Standing]:
    dataset, kernel = place
    here = near[(near["dataset"] == dataset) & (near["kernel"] == kernel)]
    costs = here.assign(cost=here["cost"].astype(float).where(here["gap"].notna()))
    costs = costs.pivot(index="run", columns="method", values="cost").reindex(columns=solvers)
    for solver in solvers:
        rows = here[here["method"] == solver]
        if len(rows):
            yield _against(_standing(solver, dataset, kernel, rows), costs, reference)


def _against(standing: Standing, costs: pd.DataFrame, reference: str) -> Standing:
    """Count final costs against the reference's; costs within 1e-6 of each other are tied."""
    if standing.solver == reference:
        return standing
    both = costs[[standing.solver, reference]].dropna().to_numpy(dtype=float)
    gained = without_ties(both[:, 1], both[:, 0])
    wins, losses = int((gained > 0).sum()), int((gained < 0).sum())
    p = signed_rank_p(gained) if len(gained) >= FEWEST_PAIRS else None
    return replace(standing, wins=wins, losses=losses, ties=len(gained) - wins - losses, p=p)


def _corrected(cells: list[Standing]) -> Iterator[Standing]:
    corrected = iter(holm([cell.p for cell in cells if cell.p is not None]))
    for cell in cells:
        yield cell if cell.p is None else replace(cell, p=next(corrected))
