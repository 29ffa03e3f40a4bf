"""Claims of the KPCA trick (Chatpatanasiri et al. 2010), from results/kpca_trick.csv."""

from __future__ import annotations

import json

import pandas as pd

from kdrbench.reports.claims.claim import Found, Records, confirmed_if, listed, undecided
from kdrbench.reports.figures.kpca_figures import KERNEL_TRICK
from kdrbench.reports.tables.labels import dataset_label

PLAIN, CROSS_VALIDATED, ALIGNED = "plain", "cross_validated", "aligned"
# Ten data sets and three learners, and the cells that the paper's tables give to the kernel versions.
CELLS, WON = 30, 28
CLOSE = 0.02
WELL_CONDITIONED, AGREE = 1e7, 1e-4
QUICKER = 10.0
_FIGURE = 5


def kernel_versions_win(records: Records) -> Found:
    """Decide "the KPCA trick's versions beat the plain ones in 28 of 30".

    By mean accuracies over the splits, rounded to two digits as the tables print them: the kernel chosen by cross
    validation against the learner without one. So counted, the published tables themselves give 28.
    """
    means = _means(records.kpca, "accuracy")
    if means.empty or not {PLAIN, CROSS_VALIDATED} <= set(means.columns):
        return undecided("accuracies of plain and cross-validated learners (results/kpca_trick.csv)")
    both = means[[PLAIN, CROSS_VALIDATED]].dropna().round(2)
    gains = both[CROSS_VALIDATED] - both[PLAIN]
    won, level = int((gains > 0.001).sum()), int((gains.abs() <= 0.001).sum())
    evidence = f"won {won}, level {level}, lost {len(gains) - won - level} of {len(gains)} cells"
    if lost := _names(gains[gains < -0.001].index):
        evidence += f"; lost: {listed(lost)}"
    if len(gains) < CELLS:
        return undecided(
            f"{CELLS - len(gains)} of the {CELLS} cells (results/kpca_trick.csv); of the others {evidence}"
        )
    return confirmed_if(won >= WON, evidence, _chosen_on_the_test_set(records.kpca, means))


def _chosen_on_the_test_set(kpca: pd.DataFrame, means: pd.DataFrame) -> str:
    """Say what comes out when sigma is chosen by the accuracy on the test set, which is no way to choose it."""
    rows = kpca[kpca["variant"] == CROSS_VALIDATED]
    rows = rows[rows["test_selected"].notna()] if "test_selected" in rows else rows.iloc[:0]
    if rows.empty:
        return ""
    best = [max(json.loads(text)) for text in rows["test_selected"]]
    tuned = rows.assign(best=best).groupby(["dataset", "learner"], sort=False)["best"].mean().round(2)
    plain = means[PLAIN].reindex(tuned.index).round(2)
    won = int((tuned - plain > 0.001).sum())
    return f"With the kernel that is best on the test set itself, {won} of {len(tuned)} are won."


def aligned_come_close(records: Records) -> Found:
    """Decide "aligned kernels come close to cross-validated ones at minutes instead of hours".

    Confirmed if the mean accuracy over all cells is at most 0.02 lower and choosing the kernel takes at most a tenth of
    the time.
    """
    means = _means(records.kpca, "accuracy")
    seconds = _means(records.kpca, "tuning_wall_s")
    if means.empty or not {CROSS_VALIDATED, ALIGNED} <= set(means.columns):
        return undecided("accuracies of cross-validated and aligned kernels (results/kpca_trick.csv)")
    both = means[[CROSS_VALIDATED, ALIGNED]].dropna()
    spent = seconds.reindex(index=both.index, columns=[CROSS_VALIDATED, ALIGNED]).dropna()
    if both.empty or spent.empty or not spent[ALIGNED].sum() > 0:
        return undecided("accuracies and tuning times of both on the same data (results/kpca_trick.csv)")
    loss = float((both[CROSS_VALIDATED] - both[ALIGNED]).mean())
    ratio = float(spent[CROSS_VALIDATED].sum() / spent[ALIGNED].sum())
    evidence = (
        f"accuracy {both[ALIGNED].mean():.3f} against {both[CROSS_VALIDATED].mean():.3f} over {len(both)} cells; "
        f"choosing takes {spent[ALIGNED].sum():.3g} s against {spent[CROSS_VALIDATED].sum():.3g} s for a split of all, "
        f"a ratio of {ratio:.3g}"
    )
    return confirmed_if(loss <= CLOSE and ratio >= QUICKER, evidence)


def tricks_agree(records: Records) -> Found:
    """Decide "the kernel trick and the KPCA trick agree unless K is ill-conditioned", by KDNE's squared distances.

    Confirmed if wherever the condition number is at most 1e7 they disagree by no more than 1e-4 of the largest.
    Rounding errors of a generalised eigenproblem grow as eps times its condition.
    """
    points = _kernel_trick(records.tricks)
    if points.empty:
        return undecided("disagreements of both tricks (results/kpca_figures.csv, Figure 5)")
    regular = points[points["condition"] <= WELL_CONDITIONED]
    rest = points.drop(regular.index)
    if regular.empty:
        return undecided(f"kernels of condition {WELL_CONDITIONED:g} or less, among {len(points)}")
    evidence = f"up to condition {WELL_CONDITIONED:g} distances differ by at most {regular['disagreement'].max():.1e} "
    evidence += f"({len(regular)} kernels)"
    if not rest.empty:
        evidence += f", beyond it by up to {rest['disagreement'].max():.1e} ({len(rest)})"
    return confirmed_if(bool((regular["disagreement"] <= AGREE).all()), evidence)


def _means(kpca: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return means over splits: a line for each data set and learner, a column for each variant."""
    if kpca.empty or column not in kpca:
        return pd.DataFrame()
    return kpca.pivot_table(index=["dataset", "learner"], columns="variant", values=column, aggfunc="mean", sort=False)


def _names(index: pd.Index) -> list[str]:
    return [f"{dataset_label(str(dataset))} {str(learner).upper()}" for dataset, learner in index]


def _kernel_trick(tricks: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of Figure 5 in which the kernel trick was solved."""
    if tricks.empty:
        return tricks
    return tricks[(tricks["figure"] == _FIGURE) & tricks["method"].isin(KERNEL_TRICK)].dropna(subset=["disagreement"])
