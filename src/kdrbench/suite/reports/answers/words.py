"""The numbers of a matrix as a cell shows them, and what they mean."""

from __future__ import annotations

from kdrbench.errors import counted
from kdrbench.suite.reports.answers.matrix import Standing
from kdrbench.suite.reports.answers.solvers import factor
from kdrbench.suite.reports.tables import numbers
from kdrbench.suite.reports.tables.labels import FIRST_SOLVE, dataset_label, kernel_label, method_label

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
