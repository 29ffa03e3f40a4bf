"""A matrix of solvers by data sets and kernels: how soon and how near each came to the best known cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from kdrbench.errors import counted
from kdrbench.suite.findings.nearness import COARSE, FINE, column, ratios
from kdrbench.suite.findings.outcome import LIMITS, WITHOUT_RESULT, stopped
from kdrbench.suite.paired import holm, signed_rank_p
from kdrbench.suite.reports.records import REFERENCE
from kdrbench.suite.reports.tables import numbers
from kdrbench.suite.reports.tables.labels import FIRST_SOLVE, by_method, dataset_label, kernel_label, method_label
from kdrbench.suite.reports.tables.significance import SIGNIFICANT
from kdrbench.suite.systems.ikdr.paired_tests import FEWEST_PAIRS, without_ties

# Ratios up to this are printed as 1.
_LEAST = 1.005
_TIMES_OF_REFERENCE = "they come from another machine"
MATRIX_MEANS = (
    "Of each solver, on each data set and kernel: the time to within 1e-6 of the best known cost as a multiple of the "
    "least that any solver needed (median over runs, first solve; a dash where half of the runs or more never came "
    "there), the same to within 1e-2; in how many runs it came within 1e-6; the median distance of its final cost "
    "above the best known one, relative; and how often its final cost is below / equal to / above that of the solver "
    "in the first row, with p of Wilcoxon's signed ranks corrected by Holm over the solvers (six pairs or more). "
    "Bold: within 1e-6 in all runs and the least time, where times count."
)
DISTURBED = (
    "Times of these runs were disturbed (cores were shared, or not as fast as for other methods): their ratios are an "
    "indication only."
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
        count = sum(standing.solver.endswith(REFERENCE) for standing in self.overall)
        of_them = counted(count, "method")
        return f"No times are compared of {of_them} of the reference: {_TIMES_OF_REFERENCE}." if count else ""

    def is_best(self, cell: Standing) -> bool:
        """Whether a cell came within 1e-6 in all runs, none of them stopped, and in the least time that counts."""
        quickest = cell.fine_ratio is not None and cell.fine_ratio <= _LEAST
        return quickest and cell.fine == cell.runs and not cell.fine_stopped and cell.timed > 0 and not self.disturbed

    def cell(self, solver: str, dataset: str, kernel: str) -> Standing | None:
        """Return a cell, or ``None`` where the solver was not run."""
        axes = (solver, dataset, kernel)
        return next((cell for cell in self.cells if (cell.solver, cell.dataset, cell.kernel) == axes), None)


def matrix_of(experiment: str, near: pd.DataFrame, controls: Collection[str] = ()) -> Matrix | None:
    """Return the matrix of an experiment's rows of :func:`.nearness.nearness`; ``None`` for fewer than two solvers."""
    near = ratios(near[~near["method"].isin(list(controls))])
    solvers = by_method(list(dict.fromkeys(map(str, near["method"]))))
    if len(solvers) < 2 or near["gap"].isna().all():
        return None
    overall = [_standing(solver, "", "", near[near["method"] == solver]) for solver in solvers]
    overall.sort(key=lambda standing: (-standing.share, standing.fine_ratio or np.inf))
    places = tuple(near[["dataset", "kernel"]].drop_duplicates().itertuples(index=False, name=None))
    cells = [cell for place in places for cell in corrected(list(_cells(near, place, solvers, overall[0].solver)))]
    return Matrix(experiment, places, tuple(solvers), tuple(overall), tuple(cells), bool(near["disturbed"].any()))


def _standing(solver: str, dataset: str, kernel: str, rows: pd.DataFrame) -> Standing:
    counts, gap, reached = Counter(map(str, rows["status"])), rows["gap"].median(), rows[column("reached", FINE)]
    return Standing(
        solver,
        dataset,
        kernel,
        runs=len(rows),
        coarse=int(rows[column("reached", COARSE)].sum()),
        fine=int(reached.sum()),
        timed=int(rows[column("ratio", FINE)].notna().sum()),
        coarse_ratio=_median(rows[column("ratio", COARSE)]),
        fine_ratio=_median(rows[column("ratio", FINE)]),
        gap=None if np.isnan(gap) else float(gap),
        fine_stopped=int((reached & stopped(rows)).sum()),
        endings=tuple((status, counts[status]) for status in (*LIMITS, *WITHOUT_RESULT) if counts[status]),
    )


def _median(ratios: pd.Series) -> float | None:
    """Return the median where more than half of the ratios are finite."""
    known = np.sort(ratios.dropna().to_numpy(dtype=float))
    if not known.size or not np.isfinite(known[known.size // 2]):
        return None
    return float(np.median(known))


def _cells(near: pd.DataFrame, place: tuple[str, str], solvers: list[str], reference: str) -> Iterator[Standing]:
    """Yield the standings of a place with final costs against the reference's, tied within 1e-6 of each other."""
    dataset, kernel = place
    here = near[(near["dataset"] == dataset) & (near["kernel"] == kernel)]
    costs = here.assign(cost=here["cost"].astype(float).where(here["gap"].notna()))
    costs = costs.pivot(index="run", columns="method", values="cost").reindex(columns=solvers)
    for solver in solvers:
        rows = here[here["method"] == solver]
        if rows.empty:
            continue
        standing = _standing(solver, dataset, kernel, rows)
        if solver == reference:
            yield standing
            continue
        both = costs[[solver, reference]].dropna().to_numpy(dtype=float)
        gained = without_ties(both[:, 1], both[:, 0])
        wins, losses = int((gained > 0).sum()), int((gained < 0).sum())
        p = signed_rank_p(gained) if len(gained) >= FEWEST_PAIRS else None
        yield replace(standing, wins=wins, losses=losses, ties=len(gained) - wins - losses, p=p)


def corrected(cells: list[Standing]) -> Iterator[Standing]:
    """Yield the cells of a place with p values that Holm's rule corrects over them."""
    p_values = iter(holm([cell.p for cell in cells if cell.p is not None]))
    for cell in cells:
        yield cell if cell.p is None else replace(cell, p=next(p_values))


def factor(ratio: float) -> str:
    """Return a ratio in three significant digits, without a power of ten."""
    return f"{ratio:.3g}" if ratio < 1000 else f"{ratio:.0f}"


def ratio_text(ratio: float | None) -> str:
    """Return a multiple of the least time, or a dash."""
    return "\u2013" if ratio is None else f"{factor(ratio)}\u00d7"


def gap_text(gap: float | None) -> str:
    """Return a relative distance, or a dash."""
    return "\u2013" if gap is None else numbers.gap(gap)


def wins_text(standing: Standing) -> str:
    """Return wins, ties and losses as "0/10/0", or nothing for the reference."""
    counts = (standing.wins, standing.ties, standing.losses)
    return "/".join(map(str, counts)) if any(counts) else ""


def meaning(standing: Standing, reference: str) -> str:
    """Return a cell of a matrix in sentences, for a reader who points at it."""
    where = f" on {dataset_label(standing.dataset)}, {kernel_label(standing.kernel)} kernel" if standing.dataset else ""
    parts = [
        f"{method_label(standing.solver)}{where}: within 1e-2 of the best known cost in {standing.coarse} and within "
        f"1e-6 in {standing.fine} of {counted(standing.runs, 'run')}",
        f"times ({FIRST_SOLVE}) compared over {counted(standing.timed, 'run')}",
        f"median final cost {gap_text(standing.gap)} above the best known one, relative",
    ]
    if wins_text(standing):
        p = "" if standing.p is None else f", p = {standing.p:.2g}"
        parts.append(f"{wins_text(standing)} wins/ties/losses against {method_label(reference)}{p}")
    parts += [f"{count} ended at {status.replace('_', ' ')}" for status, count in standing.endings]
    return "; ".join(parts) + "."
