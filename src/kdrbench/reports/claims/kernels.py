"""Claims on learned kernels: of the KPCA trick (Chatpatanasiri et al. 2010) and of low rank (Kulis et al. 2006)."""

from __future__ import annotations

import json

import pandas as pd

from kdrbench.reports.claims.claim import Decision, Found, Records, confirmed_if, listed, undecided
from kdrbench.reports.figures.kpca_figures import KERNEL_TRICK
from kdrbench.reports.tables.labels import dataset_label
from kdrbench.reports.tables.size_series import PowerLaw, fit_large
from kdrbench.status import Status

PLAIN, CROSS_VALIDATED, ALIGNED = "plain", "cross_validated", "aligned"
# Ten data sets and three learners, and the cells that the paper's tables give to the kernel versions.
CELLS, WON = 30, 28
CLOSE = 0.02
WELL_CONDITIONED, AGREE = 1e7, 1e-4
QUICKER = 10.0
_FIGURE = 5
# Of low-rank kernels.
EXACT = ("burg", "von_neumann")
BOOST = "definite_boost"
# "Far fewer", in words of ours.
FAR_FEWER = 10.0
_NEAR = 0.25
_LARGE_RANK = 100.0
_RISING = 0.8
_NMI = "nmi_ten_starts"
_FILE = "(results/low_rank.csv)"


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


def cost_of_projections(records: Records) -> Found:
    """Decide "Burg and von Neumann scale linearly in n and quadratically in r".

    By power laws of the time of a solve over n (rank and constraints fixed) and of a projection over r (n and
    constraints fixed): confirmed if no exponent in n is above 1.25 and the 95 % interval of each in r comes within
    0.25 of 2. Laws in r are fitted from rank 100 on where there are three such ranks: below, time is that of calls.
    """
    table = records.low_rank
    if not _has(table, "method", "n_samples", "rank", "n_constraints", "time_s", "projections"):
        return undecided(f"times of low-rank solves by size and rank {_FILE}")
    done = table[(table["projections"] > 0) & (table["status"] == str(Status.CONVERGED))]
    done = done.assign(step_s=done["time_s"] / done["projections"])
    laws = {}
    for method in EXACT:
        of_method = done[done["method"] == method]
        laws[f"{method} n"] = _law(of_method, "n_samples", "rank", "time_s")
        laws[f"{method} r"] = _law(of_method, "rank", "n_samples", "step_s")
    fitted = {name: law for name, law in laws.items() if law is not None}
    evidence = "; ".join(f"{name}^{law.exponent:.2f} ({law.low:.2f} to {law.high:.2f})" for name, law in fitted.items())
    if missing := [name for name in laws if name not in fitted]:
        return undecided(f"times at three sizes of {', '.join(missing)} {_FILE}" + (f"; {evidence}" if fitted else ""))
    linear = all(law.exponent <= 1 + _NEAR for name, law in fitted.items() if name.endswith(" n"))
    square = all(law.low <= 2 + _NEAR and law.high >= 2 - _NEAR for name, law in fitted.items() if name.endswith(" r"))
    return confirmed_if(linear and square, evidence)


def _law(table: pd.DataFrame, axis: str, other: str, column: str) -> PowerLaw | None:
    """Return the law along the longest series in which only ``axis`` differs."""
    groups = [group for _, group in table.dropna(subset=[column]).groupby([other, "n_constraints"], sort=False)]
    if not groups:
        return None
    longest = max(groups, key=lambda group: group[axis].nunique())
    means = longest.groupby(axis)[column].median()
    least = _LARGE_RANK if axis == "rank" else 0.0
    return fit_large([float(size) for size in means.index], [float(time) for time in means], least)


def fewer_sweeps(records: Records) -> Found:
    """Decide "exact projections need far fewer sweeps than DefiniteBoost": ten times fewer in the median.

    Both on the same constraints. A run of DefiniteBoost that did not converge gives a lower bound of its sweeps.
    """
    table = records.low_rank
    keys = ["experiment", "n_constraints", "run"]
    if not _has(table, "method", "sweeps", "status", *keys) or not _boosts(table):
        return undecided(f"sweeps of von Neumann and of DefiniteBoost on the same constraints {_FILE}")
    counted = table[(table["n_constraints"] > 0) & (table["sweeps"] > 0)]
    ours = counted[counted["method"] == "von_neumann"].set_index(keys)[["sweeps"]]
    theirs = counted[counted["method"].isin(_boosts(table))].set_index(keys)[["method", "sweeps", "status"]]
    both = theirs.merge(ours, left_index=True, right_index=True, suffixes=("", "_ours"))
    if both.empty:
        return undecided(f"sweeps of von Neumann and of DefiniteBoost on the same constraints {_FILE}")
    both["ratio"] = both["sweeps"] / both["sweeps_ours"]
    parts, verdicts = [], []
    for method, group in both.groupby("method", sort=False):
        unfinished = int((group["status"] != str(Status.CONVERGED)).sum())
        parts.append(
            f"{method} needs {group['ratio'].median():.3g} times as many in the median of {len(group)} sets"
            + (f", a lower bound in {unfinished}" if unfinished else "")
        )
        verdicts.append((float(group["ratio"].median()) >= FAR_FEWER, unfinished > 0))
    if all(far for far, _ in verdicts):
        return Found(Decision.CONFIRMED, "; ".join(parts))
    note = "Its bound on eigenvalues decides how many it needs: that of each constraint's own, or a symmetric one."
    open_ones = any(unfinished for far, unfinished in verdicts if not far)
    return Found(Decision.UNDECIDED if open_ones else Decision.CONTRADICTED, "; ".join(parts), note)


def _boosts(table: pd.DataFrame) -> list[str]:
    """Return the variants of DefiniteBoost in the table."""
    return [str(name) for name in table["method"].unique() if str(name).startswith(BOOST)]


def agreement_rises(records: Records) -> Found:
    """Decide "NMI rises with constraints", for each experiment and method, by kernel k-means, best of ten starts.

    It must be higher with the most than with the fewest, and rise with the number (Spearman's correlation 0.8).
    """
    table = records.low_rank
    if not _has(table, "method", "experiment", "n_constraints", _NMI):
        return undecided(f"NMI by number of constraints {_FILE}")
    scored = table.dropna(subset=[_NMI])
    parts, rising = [], []
    for (experiment, method), group in scored.groupby(["experiment", "method"], sort=False):
        means = group.groupby("n_constraints")[_NMI].mean().sort_index()
        if len(means) < 3 or method not in EXACT:
            continue
        correlation = float(pd.Series(means.index).corr(means.reset_index(drop=True), method="spearman"))
        parts.append(f"{experiment}, {method}: {means.iloc[0]:.2f} to {means.iloc[-1]:.2f}")
        rising.append(means.iloc[-1] > means.iloc[0] and correlation >= _RISING)
    if not parts:
        return undecided(f"NMI at three numbers of constraints {_FILE}")
    return confirmed_if(all(rising), f"from the fewest to the most constraints: {'; '.join(parts)}")


def _has(table: pd.DataFrame, *columns: str) -> bool:
    return not table.empty and set(columns) <= set(table.columns)
