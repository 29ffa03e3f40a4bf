"""Claims on Figures 2 to 5 of the KPCA trick, decided on the paper's own data (Chatpatanasiri et al. 2010).

A setting of which a limit stopped a run is open.
"""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from kdrbench.suite.reports.claims.claim import (
    Decision,
    Found,
    Records,
    decided_by_share,
    decision_of,
    open_in_words,
    reached,
    undecided,
)
from kdrbench.suite.reports.claims.deciding_rows import VARIED, is_open, missing_settings, of_figure
from kdrbench.suite.reports.figures.kpca_figures import beside_kpca
from kdrbench.suite.reports.tables.kpca_cells import FIGURE_DATA, TABLES
from kdrbench.suite.reports.tables.labels import dataset_label

# Half a printed digit of an accuracy.
READS_THE_SAME = 0.005
# From here on K is singular to rounding: rank and ridge decide.
ILL_CONDITIONED = 1e13
SAME_PLANE = 1e-6
# Of Figure 2: made sets and learners, and what failing and succeeding is.
MADE_SETS = ("disc-and-ring", "cone")
FAILS, SUCCEEDS, DEGREES = 0.85, 0.95, (1.0, 2.0)
_FIGURES_FILE = "(kpca_figures.csv)"


def same_plane(records: Records) -> Found:
    """Decide "both tricks find the same plane" (Figure 3): distances to 1e-6 of the largest, and equal accuracies."""
    rows = of_figure(records.tricks, 3)
    both = beside_kpca(rows) if not rows.empty else rows
    if both.empty:
        return undecided(f"Figure 3 on {_labels(FIGURE_DATA[3])} {_FIGURES_FILE}")
    opened = _is_open(both)
    n_open, both = int(opened.sum()), both[~opened]
    if both.empty:
        return undecided(f"Figure 3 by runs that were not stopped at a limit {_FIGURES_FILE}")
    disagreement = float(both["disagreement"].fillna(float("inf")).max())
    apart = float((both["accuracy"] - both["accuracy_kpca"]).abs().fillna(1.0).max())
    evidence = f"distances differ by {disagreement:.1e} of the largest, accuracies by {apart:.3f}"
    decision = decision_of(min(reached(disagreement, most=SAME_PLANE), reached(apart, most=0.0)))
    if n_open and decision is not Decision.CONTRADICTED:
        decision = Decision.UNDECIDED
    measure = f"{disagreement:.1e}; accuracies {apart:.3f}"
    return Found(decision, evidence + open_in_words(n_open, "setting"), "", measure)


def kernels_succeed(records: Records) -> Found:
    """Decide "plain learners fail on the made sets, kernels of degree 2 succeed" (Figure 2).

    Failing is an accuracy of at most .85 along the leading direction, succeeding one of at least .95.
    """
    rows = records.tricks
    rows = rows[(rows["figure"] == 2) & rows["dataset"].isin(MADE_SETS)] if not rows.empty else rows
    tried = rows[rows["series"].isin(TABLES) & rows["value"].isin(DEGREES)] if not rows.empty else rows
    if rows.empty or len(tried.groupby(["dataset", "series", "value"])) < len(MADE_SETS) * len(TABLES) * len(DEGREES):
        return undecided(f"Figure 2 with {', '.join(map(str.upper, TABLES))} on {_labels(MADE_SETS)} {_FIGURES_FILE}")
    both = rows.pivot_table(index=["dataset", "series"], columns="value", values="accuracy", dropna=False)
    both = both.reindex(columns=list(DEGREES))
    stopped = tried[is_open(tried)].set_index(["dataset", "series"]).index
    opened = both.index.isin(stopped)
    holds = (both[1.0] <= FAILS) & (both[2.0] >= SUCCEEDS) & ~opened
    evidence = f"plain at most {both[1.0].max():.2f}, degree 2 at least {both[2.0].min():.2f}"
    extreme = f"plain {both[1.0].max():.2f}, degree 2 {both[2.0].min():.2f}"
    n_open = int(opened.sum())
    return decided_by_share(int(holds.sum()), len(both), evidence, unit="case", extreme=extreme, n_open=n_open)


def tricks_agree(records: Records) -> Found:
    """Decide "the kernel trick and the KPCA trick agree unless K is ill-conditioned" by accuracies of KDNE.

    Over the paper's data, degrees, n and k of Figures 4 and 5, and each way to solve the kernel trick: where K's
    condition number is at most 1e13, accuracies differ by less than half a printed digit (.005).
    """
    parts = [of_figure(records.tricks, figure) for figure in (4, 5)]
    if missing := [
        f"Figure {figure}: {words}"
        for figure, rows in zip((4, 5), parts, strict=True)
        if (words := missing_settings(rows, figure))
    ]:
        return undecided(f"{'; '.join(missing)} {_FIGURES_FILE}")
    points = beside_kpca(pd.concat([rows[rows["varied"].isin(VARIED)] for rows in parts]))
    apart = (points["accuracy"] - points["accuracy_kpca"]).abs()
    beyond = points["condition"] > ILL_CONDITIONED
    opened = _is_open(points) & ~beyond
    regular, n_open = apart[~beyond & ~opened], int(opened.sum())
    if regular.empty:
        return undecided(f"kernels of condition {ILL_CONDITIONED:g} or less, among {len(points)}")
    evidence = f"accuracies differ by at most {regular.max():.3f} up to condition {ILL_CONDITIONED:g}"
    if beyond.any():
        differ = int((apart[beyond] > READS_THE_SAME).sum())
        evidence += f", beyond it by up to {apart[beyond].max():.3f} (in {differ} of {int(beyond.sum())})"
    return decided_by_share(
        int((regular <= READS_THE_SAME).sum()),
        len(regular) + n_open,
        evidence,
        unit="setting",
        extreme=f"at most {regular.max():.3f}",
        n_open=n_open,
    )


def _is_open(points: pd.DataFrame) -> pd.Series:
    """Return which points of :func:`.beside_kpca` had a run, by either trick, that a limit stopped."""
    return is_open(points) | is_open(points, "status_kpca")


def _labels(names: Iterable[str]) -> str:
    return " and ".join(map(dataset_label, names))
