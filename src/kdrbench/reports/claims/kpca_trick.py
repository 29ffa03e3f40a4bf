"""Claims on kernels chosen for metric learners, and on both tricks (Chatpatanasiri et al. 2010).

Only the paper's ten data sets with its 40 splits decide, and the data of its figures. Of a data set that was run, a
learner without an accuracy for every split counts as lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

import pandas as pd

from kdrbench.errors import counted
from kdrbench.reports.claims.claim import (
    Claim,
    Decision,
    Found,
    Records,
    decided_by_share,
    decision_of,
    listed,
    reached,
    share_of,
    undecided,
)
from kdrbench.reports.claims.deciding_rows import (
    VARIED,
    means_of,
    missing_settings,
    missing_splits,
    of_figure,
    papers_rows,
)
from kdrbench.reports.figures.kpca_figures import beside_kpca
from kdrbench.reports.tables.cells import clean_times
from kdrbench.reports.tables.kpca_cells import FIGURE_DATA, TABLES
from kdrbench.reports.tables.labels import dataset_label

PLAIN, CROSS_VALIDATED, ALIGNED = "plain", "cross_validated", "aligned"
# What the printed tables give: cells that cross-validated and aligned kernels win, and those lost by the
# latter.
WON, WON_ALIGNED, LOST_ALIGNED = 28, 24, 2
# Half a printed digit of an accuracy, and what is close.
_READS_THE_SAME, CLOSE = 0.005, 0.02
QUICKER = 10.0
# From here on K is singular to rounding: rank and ridge decide.
ILL_CONDITIONED = 1e13
SAME_PLANE = 1e-6
# Of Figure 2: made sets and learners, and what failing and succeeding is.
MADE_SETS = ("disc-and-ring", "cone")
FAILS, SUCCEEDS, DEGREES = 0.85, 0.95, (1.0, 2.0)
_TABLES_FILE, _FIGURES_FILE = "(kpca_trick.csv)", "(kpca_figures.csv)"


def kernel_versions_win(records: Records) -> Found:
    """Decide "the versions by the KPCA trick beat the plain learners in 28 of 30 cells".

    By mean accuracies over the splits, rounded to two digits as the tables print them: the kernel chosen by cross
    validation against the learner without one. So counted, the published tables themselves give 28.
    """
    means = means_of(records.kpca, PLAIN, CROSS_VALIDATED)
    found = _wins(records.kpca, means, CROSS_VALIDATED, WON, len(means))
    if found.decision is Decision.UNDECIDED:
        return found
    return Found(found.decision, found.evidence, _chosen_on_the_test_set(records.kpca, means), found.measure)


def aligned_versions_win(records: Records) -> Found:
    """Decide "aligned kernels win 24, draw 4 and lose 2 of 30", counted in the same way on the printed tables."""
    return _wins(records.kpca, means_of(records.kpca, PLAIN, ALIGNED), ALIGNED, WON_ALIGNED, LOST_ALIGNED)


def _wins(kpca: pd.DataFrame, means: pd.DataFrame, variant: str, won_printed: int, lost_printed: int) -> Found:
    """Return a decision: confirmed with as many wins, and as few losses, as printed; mostly with 80 % of the wins."""
    gains = (means[variant].round(2) - means[PLAIN].round(2)).round(4)
    won, level = int((gains > 0).sum()), int((gains == 0).sum())
    lost = len(gains) - won - level
    evidence = f"won {won}, level {level}, lost {lost} of {counted(len(gains), 'cell')}"
    if names := _names(gains[~(gains >= 0)].index):
        evidence += f"; lost: {listed(names)}"
    if missing := missing_splits(kpca, PLAIN, variant):
        known = means.dropna()
        ahead = int((known[variant].round(2) > known[PLAIN].round(2)).sum())
        return undecided(f"{missing} {_TABLES_FILE}; of {len(known)} complete cells {ahead} are won")
    decision = decision_of(reached(won, least=won_printed))
    if decision is Decision.CONFIRMED and lost > lost_printed:
        decision = Decision.MOSTLY
    return Found(decision, evidence, "", f"won {share_of(won, len(gains), 'cell')}; lost {lost}")


def _chosen_on_the_test_set(kpca: pd.DataFrame, means: pd.DataFrame) -> str:
    """Say what comes out when sigma is chosen by the accuracy on the test set, which is no way to choose it."""
    if "test_selected" not in kpca:
        return ""
    rows = kpca[(kpca["variant"] == CROSS_VALIDATED) & (kpca["test_selected"].fillna("") != "")]
    if rows.empty:
        return ""
    best = [max(json.loads(text)) for text in rows["test_selected"]]
    tuned = rows.assign(best=best).groupby(["dataset", "learner"], sort=False)["best"].mean().round(2)
    plain = means[PLAIN].reindex(tuned.index).round(2)
    won = int((tuned - plain > 0.001).sum())
    return f"With the kernel that is best on the test set itself, {won} of {len(tuned)} are won."


def cross_validated_slightly_better(records: Records) -> Found:
    """Decide "cross-validated kernels are slightly better than aligned ones" by the mean difference over the 30 cells.

    Confirmed between half a printed digit (.005) and .02; the printed tables give .010.
    """
    if missing := missing_splits(records.kpca, CROSS_VALIDATED, ALIGNED):
        return undecided(f"{missing} {_TABLES_FILE}")
    gains = _gains(records.kpca)
    better, worse = int((gains.round(2) > 0).sum()), int((gains.round(2) < 0).sum())
    evidence = f"{gains.mean():+.3f} in the mean of {counted(len(gains), 'cell')}, better in {better}, worse in {worse}"
    decision = decision_of(reached(float(gains.mean()), least=_READS_THE_SAME, most=CLOSE))
    return Found(decision, evidence, "The printed tables give +0.010.", f"{gains.mean():+.3f}")


def aligned_come_close(records: Records) -> Found:
    """Decide "aligned kernels come close to cross-validated ones, in minutes instead of hours".

    Confirmed if the mean accuracy over all cells is at most 0.02 lower and choosing the kernel takes at most a tenth of
    the time, by splits that were timed on cores of their own without drift.
    """
    if missing := missing_splits(records.kpca, CROSS_VALIDATED, ALIGNED):
        return undecided(f"{missing} {_TABLES_FILE}")
    timed = papers_rows(clean_times(records.kpca), CROSS_VALIDATED, ALIGNED)
    spent = timed.pivot_table(index=["dataset", "learner"], columns="variant", values="tuning_wall_s", aggfunc="mean")
    if not {CROSS_VALIDATED, ALIGNED} <= set(spent.columns) or not spent[ALIGNED].sum() > 0:
        return undecided(f"tuning times of both kinds of kernels that nothing disturbed {_TABLES_FILE}")
    spent, gains = spent.dropna(), _gains(records.kpca)
    ratio = float(spent[CROSS_VALIDATED].sum() / spent[ALIGNED].sum())
    evidence = (
        f"accuracy {-gains.mean():+.3f} against cross-validated kernels over {counted(len(gains), 'cell')}; "
        f"choosing takes {spent[ALIGNED].sum():.3g} s against {spent[CROSS_VALIDATED].sum():.3g} s for a split of "
        f"{counted(len(spent), 'cell')}"
    )
    decision = decision_of(min(reached(float(gains.mean()), most=CLOSE), reached(ratio, least=QUICKER)))
    return Found(decision, evidence, "", f"{-gains.mean():+.3f}; {ratio:.3g} times as quick")


def same_plane(records: Records) -> Found:
    """Decide "both tricks find the same plane" (Figure 3): distances to 1e-6 of the largest, and equal accuracies."""
    rows = of_figure(records.tricks, 3)
    both = beside_kpca(rows) if not rows.empty else rows
    if both.empty:
        return undecided(f"Figure 3 on {_labels(FIGURE_DATA[3])} {_FIGURES_FILE}")
    disagreement = float(both["disagreement"].fillna(float("inf")).max())
    apart = float((both["accuracy"] - both["accuracy_kpca"]).abs().fillna(1.0).max())
    evidence = f"distances differ by {disagreement:.1e} of the largest, accuracies by {apart:.3f}"
    decision = decision_of(min(reached(disagreement, most=SAME_PLANE), reached(apart, most=0.0)))
    return Found(decision, evidence, "", f"{disagreement:.1e}; accuracies {apart:.3f}")


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
    holds = (both[1.0] <= FAILS) & (both[2.0] >= SUCCEEDS)
    evidence = f"plain at most {both[1.0].max():.2f}, degree 2 at least {both[2.0].min():.2f}"
    extreme = f"plain {both[1.0].max():.2f}, degree 2 {both[2.0].min():.2f}"
    return decided_by_share(int(holds.sum()), len(both), evidence, unit="case", extreme=extreme)


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
    regular = apart[~beyond]
    if regular.empty:
        return undecided(f"kernels of condition {ILL_CONDITIONED:g} or less, among {len(points)}")
    evidence = f"accuracies differ by at most {regular.max():.3f} up to condition {ILL_CONDITIONED:g}"
    if beyond.any():
        differ = int((apart[beyond] > _READS_THE_SAME).sum())
        evidence += f", beyond it by up to {apart[beyond].max():.3f} (in {differ} of {int(beyond.sum())})"
    return decided_by_share(
        int((regular <= _READS_THE_SAME).sum()),
        len(regular),
        evidence,
        unit="setting",
        extreme=f"at most {regular.max():.3f}",
    )


def _gains(kpca: pd.DataFrame) -> pd.Series:
    """Return the accuracy of cross-validated kernels less that of aligned ones; a cell without either is left out."""
    means = means_of(kpca, CROSS_VALIDATED, ALIGNED).dropna()
    return means[CROSS_VALIDATED] - means[ALIGNED]


def _labels(names: Iterable[str]) -> str:
    return " and ".join(map(dataset_label, names))


def _names(index: pd.Index) -> list[str]:
    return [f"{dataset_label(str(dataset))} {str(learner).upper()}" for dataset, learner in index]


_WHERE = "Tables 1 to 3"
_TEXTS = (
    (kernel_versions_win, "The KPCA trick's versions beat the plain learners in 28 of 30 cells.", _WHERE),
    (
        aligned_versions_win,
        "With aligned kernels 24 cells are won, 4 level and 2 lost against the plain learners.",
        _WHERE,
    ),
    (cross_validated_slightly_better, "Cross-validated kernels are slightly better than aligned ones.", _WHERE),
    (aligned_come_close, "Aligned kernels come close to cross-validated ones, in minutes instead of hours.", _WHERE),
    (kernels_succeed, "Where plain learners fail, kernels of degree 2 succeed.", "Figure 2"),
    (same_plane, "Both tricks find the same plane.", "Figure 3"),
    (tricks_agree, "The kernel trick and the KPCA trick agree unless K is ill-conditioned.", "Figures 4 and 5"),
)
CLAIMS: tuple[Claim, ...] = tuple(
    Claim(decide.__name__, words, "KPCA trick 2010", where, decide) for decide, words, where in _TEXTS
)
