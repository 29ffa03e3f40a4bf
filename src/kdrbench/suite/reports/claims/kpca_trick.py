"""Claims on kernels chosen for metric learners, and on both tricks (Chatpatanasiri et al. 2010).

Only the paper's ten data sets with its 40 splits decide, and the data of its figures. Of a data set that was run, a
learner without an accuracy for every split counts as lost. One of which a limit stopped a split is open.
"""

from __future__ import annotations

import json

import pandas as pd

from kdrbench.errors import counted
from kdrbench.suite.reports.claims.claim import (
    Claim,
    Decision,
    Found,
    Records,
    decision_of,
    listed,
    open_in_words,
    reached,
    share_of,
    undecided,
)
from kdrbench.suite.reports.claims.deciding_rows import means_of, missing_splits, open_cells, papers_rows
from kdrbench.suite.reports.claims.kpca_figures import READS_THE_SAME, kernels_succeed, same_plane, tricks_agree
from kdrbench.suite.reports.clean_times import clean_times
from kdrbench.suite.reports.tables.labels import dataset_label, learner_name

PLAIN, CROSS_VALIDATED, ALIGNED = "plain", "cross_validated", "aligned"
# What the printed tables give: cells that cross-validated and aligned kernels win, and those lost by the
# latter.
WON, WON_ALIGNED, LOST_ALIGNED = 28, 24, 2
# What is close, of an accuracy.
CLOSE = 0.02
QUICKER = 10.0
_TABLES_FILE = "(kpca_trick.csv)"


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
    is_open = means.index.isin(open_cells(kpca, PLAIN, variant))
    n_open = int(is_open.sum())
    gains = (means[variant].round(2) - means[PLAIN].round(2)).round(4)[~is_open]
    won, level = int((gains > 0).sum()), int((gains == 0).sum())
    lost = len(gains) - won - level
    evidence = f"won {won}, level {level}, lost {lost} of {counted(len(means), 'cell')}"
    if names := _names(gains[~(gains >= 0)].index, variant):
        evidence += f"; lost: {listed(names)}"
    if missing := missing_splits(kpca, PLAIN, variant):
        known = means.dropna()
        ahead = int((known[variant].round(2) > known[PLAIN].round(2)).sum())
        return undecided(f"{missing} {_TABLES_FILE}; of {len(known)} complete cells {ahead} are won")
    # At best all that are open are won, at worst all are lost.
    ends = ((won + n_open, lost), (won, lost + n_open))
    decisions = {_of_wins(wins, losses, won_printed, lost_printed) for wins, losses in ends}
    decision = decisions.pop() if len(decisions) == 1 else Decision.UNDECIDED
    measure = f"won {share_of(won, len(means), 'cell')}; lost {lost}" + (f", and {n_open} open" if n_open else "")
    return Found(decision, evidence + open_in_words(n_open, "cell"), "", measure)


def _of_wins(won: int, lost: int, won_printed: int, lost_printed: int) -> Decision:
    decision = decision_of(reached(won, least=won_printed))
    return Decision.MOSTLY if decision is Decision.CONFIRMED and lost > lost_printed else decision


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
    if missing := _missing_means(records.kpca):
        return undecided(f"{missing} {_TABLES_FILE}")
    gains = _gains(records.kpca)
    better, worse = int((gains.round(2) > 0).sum()), int((gains.round(2) < 0).sum())
    evidence = f"{gains.mean():+.3f} in the mean of {counted(len(gains), 'cell')}, better in {better}, worse in {worse}"
    decision = decision_of(reached(float(gains.mean()), least=READS_THE_SAME, most=CLOSE))
    return Found(decision, evidence, "The printed tables give +0.010.", f"{gains.mean():+.3f}")


def aligned_come_close(records: Records) -> Found:
    """Decide "aligned kernels come close to cross-validated ones, in minutes instead of hours".

    Confirmed if the mean accuracy over all cells is at most 0.02 lower and choosing the kernel takes at most a tenth of
    the time, by splits that were timed on cores of their own without drift.
    """
    if missing := _missing_means(records.kpca):
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


def _missing_means(kpca: pd.DataFrame) -> str:
    """Say which splits of both kinds of kernels are missing, or were stopped at a limit; empty if none."""
    if missing := missing_splits(kpca, CROSS_VALIDATED, ALIGNED):
        return missing
    stopped = open_cells(kpca, CROSS_VALIDATED, ALIGNED)
    return f"splits that were not stopped at a limit, of {listed(_names(stopped))}" if len(stopped) else ""


def _gains(kpca: pd.DataFrame) -> pd.Series:
    """Return the accuracy of cross-validated kernels less that of aligned ones; a cell without either is left out."""
    means = means_of(kpca, CROSS_VALIDATED, ALIGNED).dropna()
    return means[CROSS_VALIDATED] - means[ALIGNED]


def _names(index: pd.Index, variant: str = PLAIN) -> list[str]:
    return [f"{dataset_label(str(one))} {learner_name(str(learner), variant).upper()}" for one, learner in index]


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
