"""Methods compared run by run: gaps, ratios, wins and sign tests of two, and a matrix of all solvers.

A difference of costs below 1e-6, relative, is a tie. P values are those of Wilcoxon's signed ranks, corrected by Holm.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from kdrbench.errors import counted
from kdrbench.status import Status
from kdrbench.suite.findings.nearness import COARSE, FINE, column, ratios
from kdrbench.suite.findings.outcome import LIMITS, WITHOUT_RESULT, stopped
from kdrbench.suite.paired import holm, signed_rank_p
from kdrbench.suite.reports.records import REFERENCE, Config
from kdrbench.suite.reports.tables import numbers
from kdrbench.suite.reports.tables.labels import FIRST_SOLVE, by_method, dataset_label, kernel_label, labels_of_variants
from kdrbench.suite.reports.tables.significance import SIGNIFICANT
from kdrbench.suite.systems.ikdr.paired_tests import FEWEST_PAIRS, without_ties

# Ratios up to this are printed as 1.
_LEAST = 1.005
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
    def failed(self) -> bool:
        """Whether all runs failed."""
        return self.endings == ((str(Status.FAILED), self.runs),)

    @property
    def differs(self) -> bool:
        """Whether the final costs differ from the reference's."""
        return self.p is not None and self.p <= SIGNIFICANT


@dataclass(frozen=True)
class Matrix:
    """The cells of one experiment: ``places`` are its data sets with their kernels.

    ``overall`` are the solvers over all places, the best first: by the share of runs that reached the best known cost
    within 1e-6, then by the ratio of times to it, then those with a result. The first of them is the ``reference``.
    Controls have no place. ``disturbed`` says that no problem has times that count of all solvers: ratios of times are
    an indication only.
    """

    experiment: str
    places: tuple[tuple[str, str], ...]
    solvers: tuple[str, ...]
    overall: tuple[Standing, ...]
    cells: tuple[Standing, ...]
    disturbed: bool = False
    labels: dict[str, str] = field(default_factory=dict)

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
        if not self.of_reference:
            return ""
        of_them = counted(len(self.of_reference), "method")
        return f"No times are compared of {of_them} of the reference: they come from another machine."

    @property
    def own(self) -> list[Standing]:
        """The solvers of one's own runs, the best first."""
        return [standing for standing in self.overall if not standing.solver.endswith(REFERENCE)]

    @property
    def of_reference(self) -> list[Standing]:
        """The methods of a reference beside them."""
        return [standing for standing in self.overall if standing.solver.endswith(REFERENCE)]

    def is_best(self, cell: Standing) -> bool:
        """Whether a cell came within 1e-6 in all runs, none of them stopped, and in the least time that counts."""
        quickest = cell.fine_ratio is not None and cell.fine_ratio <= _LEAST
        return quickest and cell.fine == cell.runs and not cell.fine_stopped and cell.timed > 0 and not self.disturbed

    def cell(self, solver: str, dataset: str, kernel: str) -> Standing | None:
        """Return a cell, or ``None`` where the solver was not run."""
        axes = (solver, dataset, kernel)
        return next((cell for cell in self.cells if (cell.solver, cell.dataset, cell.kernel) == axes), None)


def matrix_of(
    experiment: str, near: pd.DataFrame, controls: Collection[str] = (), config: Config | None = None
) -> Matrix | None:
    """Return the matrix of an experiment's rows of :func:`.nearness.nearness`; ``None`` for fewer than two solvers."""
    near = ratios(near[~near["method"].isin(list(controls))])
    solvers = by_method(list(dict.fromkeys(map(str, near["method"]))))
    if len(solvers) < 2 or near["gap"].isna().all():
        return None
    overall = [_standing(solver, "", "", near[near["method"] == solver]) for solver in solvers]
    overall.sort(key=lambda one: (-one.share, one.fine_ratio or np.inf, one.gap is None))
    places = tuple(near[["dataset", "kernel"]].drop_duplicates().itertuples(index=False, name=None))
    cells = []
    for dataset, kernel in places:
        here = near[(near["dataset"] == dataset) & (near["kernel"] == kernel)]
        rows = {solver: here[here["method"] == solver] for solver in solvers}
        standings = [_standing(solver, dataset, kernel, own) for solver, own in rows.items() if len(own)]
        cells += _with_tests(standings, here[here["gap"].notna()], overall[0].solver)
    labels, disturbed = labels_of_variants(solvers, config or {}), bool(near["disturbed"].any())
    return Matrix(experiment, places, tuple(solvers), tuple(overall), tuple(cells), disturbed, labels)


def _standing(solver: str, dataset: str, kernel: str, rows: pd.DataFrame) -> Standing:
    counts, reached = Counter(map(str, rows["status"])), rows[column("reached", FINE)]
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
        gap=_median(rows["gap"]),
        fine_stopped=int((reached & stopped(rows)).sum()),
        endings=tuple((status, counts[status]) for status in (*LIMITS, *WITHOUT_RESULT) if counts[status]),
    )


def _median(numbers: pd.Series) -> float | None:
    """Return the median where more than half of the numbers are finite."""
    median = numbers.median()
    return float(median) if np.isfinite(median) else None


def _with_tests(standings: Sequence[Standing], rows: pd.DataFrame, reference: str) -> list[Standing]:
    """Return the standings of a place with final costs against the reference's, and p values over all of them."""
    costs = rows.pivot(index="run", columns="method", values="cost").astype(float)
    both = {one.solver: costs.reindex(columns=[reference, one.solver]).dropna().to_numpy().T for one in standings}
    gains = {solver: without_ties(*pair) for solver, pair in both.items()}
    tested = {name: each for name, each in gains.items() if name != reference and len(each) >= FEWEST_PAIRS}
    p_values = dict(zip(tested, holm([signed_rank_p(each) for each in tested.values()]), strict=True))
    found = []
    for one in standings:
        # The reference is not compared with itself.
        own = gains[one.solver][: None if one.solver != reference else 0]
        wins, losses = int((own > 0).sum()), int((own < 0).sum())
        ties, p = len(own) - wins - losses, p_values.get(one.solver)
        found.append(replace(one, wins=wins, ties=ties, losses=losses, p=p))
    return found


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


def meaning(standing: Standing, matrix: Matrix) -> str:
    """Return a cell of a matrix in sentences, for a reader who points at it."""
    where = f" on {dataset_label(standing.dataset)}, {kernel_label(standing.kernel)} kernel" if standing.dataset else ""
    p, wins = "" if standing.p is None else f", p = {standing.p:.2g}", wins_text(standing)
    parts = [
        f"{matrix.labels[standing.solver]}{where}: within 1e-2 of the best known cost in {standing.coarse} and within "
        f"1e-6 in {standing.fine} of {counted(standing.runs, 'run')}",
        f"times ({FIRST_SOLVE}) compared over {counted(standing.timed, 'run')}",
        f"median final cost {gap_text(standing.gap)} above the best known one, relative",
        wins and f"{wins} wins/ties/losses against {matrix.labels[matrix.reference]}{p}",
        *(f"{count} ended at {status.replace('_', ' ')}" for status, count in standing.endings),
    ]
    return "; ".join(filter(None, parts)) + "."
