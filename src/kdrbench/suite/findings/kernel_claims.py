"""Claims on the KPCA trick (Chatpatanasiri et al. 2010) and on low-rank kernels (Kulis, Sustik, Dhillon 2006).

KPCA trick: a learner without an accuracy for every split of a data set that was run counts as lost; one of which a
limit stopped a split is open, and so is a setting of a figure. Low-rank kernels: Digits decide; what comes out on the
stand-in of gyrB is a note. A run without a number is lost, but for those that a limit stopped or that were not made.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

import pandas as pd

from kdrbench.errors import counted
from kdrbench.status import Status
from kdrbench.suite.findings.claim_rows import (
    KPCA,
    LOW_RANKS,
    SET,
    STAND_IN,
    VARIED,
    Records,
    by_draws,
    gyrb_rows,
    means_of,
    met,
    missing_settings,
    missing_splits,
    of_dataset,
    of_figure,
    on_gyrb,
    open_cells,
    papers_digits,
    papers_rows,
    solvable,
)
from kdrbench.suite.findings.finding import (
    Decision,
    Finding,
    claim,
    decided_by_share,
    decision_of,
    listed,
    only_decision,
    open_in_words,
    reached,
    share_of,
    undecided,
)
from kdrbench.suite.findings.outcome import clean_times, has_columns, is_open
from kdrbench.suite.findings.time_claims import NEAR_EXPONENT, comes_near
from kdrbench.suite.reports.tables.labels import dataset_label, learner_name
from kdrbench.suite.systems.ikdr.size_series import PowerLaw, fit_large
from kdrbench.suite.systems.kpca_figures.figures import beside_kpca
from kdrbench.suite.systems.kpca_trick.cells import FIGURE_DATA, TABLES

PLAIN, CROSS_VALIDATED, ALIGNED = "plain", "cross_validated", "aligned"
# What the printed tables give: cells that cross-validated and aligned kernels win, and those lost by the latter.
WON, WON_ALIGNED, LOST_ALIGNED = 28, 24, 2
# What is close, of an accuracy, and half a printed digit of it.
CLOSE, READS_THE_SAME = 0.02, 0.005
QUICKER = 10.0
# From here on K is singular to rounding: rank and ridge decide.
ILL_CONDITIONED, SAME_PLANE = 1e13, 1e-6
# Of Figure 2: made sets and learners, and what failing and succeeding is.
MADE_SETS = ("disc-and-ring", "cone")
FAILS, SUCCEEDS, DEGREES = 0.85, 0.95, (1.0, 2.0)
EXACT = ("burg", "von_neumann")
# DefiniteBoost by its published bound, and with other steps; it is compared among kernels of trace one.
TRACE_ONE = "von_neumann_trace"
BOOST, OTHER_STEPS = "definite_boost", ("definite_boost_exact", "definite_boost_own_range")
# "Far fewer", "the same" and "comparable", in numbers of ours.
FAR_FEWER, SAME, CLOSE_NMI = 10.0, 1e-3, 0.05
MOST_SWEEPS, MOST_CONSTRAINTS = 600, 1000
_LARGE_RANK, _RISING = 100.0, 0.8
_NMI = "nmi_ten_starts"
_TABLES_FILE, _FIGURES_FILE, _FILE = "(kpca_trick.csv)", "(kpca_figures.csv)", "(low_rank.csv)"


@claim("The KPCA trick's versions beat the plain learners in 28 of 30 cells.", KPCA, "Tables 1 to 3")
def kernel_versions_win(records: Records) -> Finding:
    """Compare mean accuracies over the splits, rounded to two digits as the tables print them.

    The kernel is that chosen by cross validation. So counted, the published tables themselves give 28.
    """
    means = means_of(records.kpca, PLAIN, CROSS_VALIDATED)
    found = _wins(records.kpca, means, CROSS_VALIDATED, WON, len(means))
    return found if found.is_undecided else found.with_note(_chosen_on_the_test_set(records.kpca, means))


@claim("With aligned kernels 24 cells are won, 4 level and 2 lost against the plain learners.", KPCA, "Tables 1 to 3")
def aligned_versions_win(records: Records) -> Finding:
    """Count in the same way, on the printed tables as well."""
    return _wins(records.kpca, means_of(records.kpca, PLAIN, ALIGNED), ALIGNED, WON_ALIGNED, LOST_ALIGNED)


def _wins(kpca: pd.DataFrame, means: pd.DataFrame, variant: str, won_printed: int, lost_printed: int) -> Finding:
    """Return a decision: confirmed with as many wins, and as few losses, as printed; mostly with 80 % of the wins."""
    rounded, opened = means.round(2), means.index.isin(open_cells(kpca, PLAIN, variant))
    if missing := missing_splits(kpca, PLAIN, variant):
        known = rounded.dropna()
        ahead = int((known[variant] > known[PLAIN]).sum())
        return undecided(f"{missing} {_TABLES_FILE}; of {len(known)} complete cells {ahead} are won")
    gains, n_open = (rounded[variant] - rounded[PLAIN]).round(4)[~opened], int(opened.sum())
    won, level = int((gains > 0).sum()), int((gains == 0).sum())
    lost = len(gains) - won - level
    evidence = f"won {won}, level {level}, lost {lost} of {counted(len(means), 'cell')}"
    if names := _names(gains[~(gains >= 0)].index, variant):
        evidence += f"; lost: {listed(names)}"

    def decision(wins: int, losses: int) -> Decision:
        by_wins = decision_of(reached(wins, least=won_printed))
        return Decision.MOSTLY if by_wins is Decision.CONFIRMED and losses > lost_printed else by_wins

    # At best all that are open are won, at worst all are lost.
    decided = only_decision({decision(won + n_open, lost), decision(won, lost + n_open)})
    measure = f"won {share_of(won, len(means), 'cell')}; lost {lost}" + (f", and {n_open} open" if n_open else "")
    return Finding(decided, evidence + open_in_words(n_open, "cell"), "", measure)


def _chosen_on_the_test_set(kpca: pd.DataFrame, means: pd.DataFrame) -> str:
    """Say what comes out when sigma is chosen by the accuracy on the test set, which is no way to choose it."""
    if "test_selected" not in kpca:
        return ""
    rows = kpca[(kpca["variant"] == CROSS_VALIDATED) & (kpca["test_selected"].fillna("") != "")]
    if rows.empty:
        return ""
    best = [max(json.loads(text)) for text in rows["test_selected"]]
    tuned = rows.assign(best=best).groupby(["dataset", "learner"], sort=False)["best"].mean().round(2)
    won = int((tuned - means[PLAIN].reindex(tuned.index).round(2) > 0.001).sum())
    return f"With the kernel that is best on the test set itself, {won} of {len(tuned)} are won."


@claim("Cross-validated kernels are slightly better than aligned ones.", KPCA, "Tables 1 to 3")
def cross_validated_slightly_better(records: Records) -> Finding:
    """Take the mean difference over the 30 cells: confirmed between half a printed digit (.005) and .02."""
    if missing := _missing_means(records.kpca):
        return undecided(f"{missing} {_TABLES_FILE}")
    gains = _gains(records.kpca)
    better, worse = int((gains.round(2) > 0).sum()), int((gains.round(2) < 0).sum())
    mean = f"{gains.mean():+.3f}"
    evidence = f"{mean} in the mean of {counted(len(gains), 'cell')}, better in {better}, worse in {worse}"
    decision = decision_of(reached(float(gains.mean()), least=READS_THE_SAME, most=CLOSE))
    return Finding(decision, evidence, "The printed tables give +0.010.", mean)


@claim("Aligned kernels come close to cross-validated ones, in minutes instead of hours.", KPCA, "Tables 1 to 3")
def aligned_come_close(records: Records) -> Finding:
    """Compare mean accuracies, at most 0.02 lower, and the times of choosing the kernel, at most a tenth.

    Times are of splits that were timed on cores of their own without drift.
    """
    if missing := _missing_means(records.kpca):
        return undecided(f"{missing} {_TABLES_FILE}")
    timed = papers_rows(clean_times(records.kpca), CROSS_VALIDATED, ALIGNED)
    spent = timed.pivot_table(index=["dataset", "learner"], columns="variant", values="tuning_wall_s", aggfunc="mean")
    if not {CROSS_VALIDATED, ALIGNED} <= set(spent.columns) or not spent[ALIGNED].sum() > 0:
        return undecided(f"tuning times of both kinds of kernels that nothing disturbed {_TABLES_FILE}")
    seconds, gains = spent.dropna().sum(), _gains(records.kpca)
    ratio, lower = float(seconds[CROSS_VALIDATED] / seconds[ALIGNED]), f"{-gains.mean():+.3f}"
    evidence = (
        f"accuracy {lower} against cross-validated kernels over {counted(len(gains), 'cell')}; choosing takes "
        f"{seconds[ALIGNED]:.3g} s against {seconds[CROSS_VALIDATED]:.3g} s for a split of "
        f"{counted(len(spent.dropna()), 'cell')}"
    )
    decision = decision_of(min(reached(float(gains.mean()), most=CLOSE), reached(ratio, least=QUICKER)))
    return Finding(decision, evidence, "", f"{lower}; {ratio:.3g} times as quick")


def _missing_means(kpca: pd.DataFrame) -> str:
    """Say which splits of both kinds of kernels are missing, or were stopped at a limit; empty if none."""
    if missing := missing_splits(kpca, CROSS_VALIDATED, ALIGNED):
        return missing
    limited = open_cells(kpca, CROSS_VALIDATED, ALIGNED)
    return f"splits that were not stopped at a limit, of {listed(_names(limited))}" if len(limited) else ""


def _gains(kpca: pd.DataFrame) -> pd.Series:
    """Return the accuracy of cross-validated kernels less that of aligned ones; a cell without either is left out."""
    means = means_of(kpca, CROSS_VALIDATED, ALIGNED).dropna()
    return means[CROSS_VALIDATED] - means[ALIGNED]


def _names(index: pd.Index, variant: str = PLAIN) -> list[str]:
    return [f"{dataset_label(str(data))} {learner_name(str(learner), variant).upper()}" for data, learner in index]


@claim("Where plain learners fail, kernels of degree 2 succeed.", KPCA, "Figure 2")
def kernels_succeed(records: Records) -> Finding:
    """Count made sets and learners with accuracies of at most .85 and at least .95 along the leading direction."""
    rows = records.tricks
    if not rows.empty:
        rows = rows[(rows["figure"] == 2) & rows["dataset"].isin(MADE_SETS)]
        tried = rows[rows["series"].isin(TABLES) & rows["value"].isin(DEGREES)]
    n_wanted = len(MADE_SETS) * len(TABLES) * len(DEGREES)
    if rows.empty or len(tried.groupby(["dataset", "series", "value"])) < n_wanted:
        return undecided(f"Figure 2 with {', '.join(map(str.upper, TABLES))} on {_labels(MADE_SETS)} {_FIGURES_FILE}")
    both = rows.pivot_table(index=["dataset", "series"], columns="value", values="accuracy", dropna=False)
    plain, squared = (both.reindex(columns=list(DEGREES))[degree] for degree in DEGREES)
    opened = both.index.isin(tried[is_open(tried)].set_index(["dataset", "series"]).index)
    holds = (plain <= FAILS) & (squared >= SUCCEEDS) & ~opened
    evidence = f"plain at most {plain.max():.2f}, degree 2 at least {squared.min():.2f}"
    extreme = f"plain {plain.max():.2f}, degree 2 {squared.min():.2f}"
    n_open = int(opened.sum())
    return decided_by_share(int(holds.sum()), len(both), evidence, unit="case", extreme=extreme, n_open=n_open)


@claim("Both tricks find the same plane.", KPCA, "Figure 3")
def same_plane(records: Records) -> Finding:
    """Compare distances, to 1e-6 of the largest, and accuracies, which must be equal."""
    rows = of_figure(records.tricks, 3)
    both = beside_kpca(rows) if not rows.empty else rows
    if both.empty:
        return undecided(f"Figure 3 on {_labels(FIGURE_DATA[3])} {_FIGURES_FILE}")
    opened = _either_open(both)
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
    return Finding(decision, evidence + open_in_words(n_open, "setting"), "", measure)


@claim("The kernel trick and the KPCA trick agree unless K is ill-conditioned.", KPCA, "Figures 4 and 5")
def tricks_agree(records: Records) -> Finding:
    """Compare accuracies of KDNE: where K's condition number is at most 1e13, to less than half a printed digit (.005).

    Over the paper's data, degrees, n and k of both figures, and each way to solve the kernel trick.
    """
    parts = {figure: of_figure(records.tricks, figure) for figure in (4, 5)}
    lacking = {figure: missing_settings(rows, figure) for figure, rows in parts.items()}
    if missing := [f"Figure {figure}: {words}" for figure, words in lacking.items() if words]:
        return undecided(f"{'; '.join(missing)} {_FIGURES_FILE}")
    points = beside_kpca(pd.concat([rows[rows["varied"].isin(VARIED)] for rows in parts.values()]))
    apart, beyond = (points["accuracy"] - points["accuracy_kpca"]).abs(), points["condition"] > ILL_CONDITIONED
    opened = _either_open(points) & ~beyond
    regular, n_open = apart[~beyond & ~opened], int(opened.sum())
    if regular.empty:
        return undecided(f"kernels of condition {ILL_CONDITIONED:g} or less, among {len(points)}")
    extreme = f"at most {regular.max():.3f}"
    evidence = f"accuracies differ by {extreme} up to condition {ILL_CONDITIONED:g}"
    if beyond.any():
        differ = int((apart[beyond] > READS_THE_SAME).sum())
        evidence += f", beyond it by up to {apart[beyond].max():.3f} (in {differ} of {int(beyond.sum())})"
    n_agreeing, total = int((regular <= READS_THE_SAME).sum()), len(regular) + n_open
    return decided_by_share(n_agreeing, total, evidence, unit="setting", extreme=extreme, n_open=n_open)


def _either_open(points: pd.DataFrame) -> pd.Series:
    """Return which points of :func:`.beside_kpca` had a run, by either trick, that a limit stopped."""
    return pd.Series(is_open(points) | is_open(points, "status_kpca"), points.index)


def _labels(names: Iterable[str]) -> str:
    return " and ".join(map(dataset_label, names))


@claim("Burg and von Neumann take time linear in n and quadratic in r.", LOW_RANKS)
@by_draws
def cost_of_projections(records: Records) -> Finding:
    """Fit the time of a solve over n (rank and constraints fixed) and of a projection over r (n and constraints fixed).

    Confirmed if no exponent in n is above 1.25 and the 95 % interval of each in r comes within 0.25 of 2. Laws in r
    are fitted from rank 100 on where there are three such ranks: below, time is that of calls.
    """
    table = clean_times(records.low_rank)
    if not has_columns(table, "method", "n_samples", "rank", "n_constraints", "time_s", "projections"):
        return undecided(f"times of low-rank solves by size and rank {_FILE}")
    done = table[(table["projections"] > 0) & (table["status"] == str(Status.CONVERGED))]
    done = done.assign(step_s=done["time_s"] / done["projections"])
    laws = {}
    for method in EXACT:
        of_method = done[done["method"] == method]
        laws[f"{method} n"] = law_along(of_method, "n_samples", "rank", "time_s", 0.0)
        laws[f"{method} r"] = law_along(of_method, "rank", "n_samples", "step_s", _LARGE_RANK)
    fitted = {name: law for name, law in laws.items() if law is not None}
    evidence = "; ".join(f"{name}^{law.exponent:.2f} ({law.low:.2f} to {law.high:.2f})" for name, law in fitted.items())
    if missing := [name for name in laws if name not in fitted]:
        return undecided(f"times at three sizes of {', '.join(missing)} {_FILE}" + (f"; {evidence}" if fitted else ""))
    holding = sum(
        law.exponent <= 1 + NEAR_EXPONENT if name.endswith(" n") else comes_near(law, 2.0)
        for name, law in fitted.items()
    )
    largest = {axis: max(law.exponent for name, law in fitted.items() if name.endswith(f" {axis}")) for axis in "nr"}
    extreme = "at most " + ", ".join(f"{axis}^{exponent:.2f}" for axis, exponent in largest.items())
    return decided_by_share(holding, len(fitted), evidence, unit="exponent", extreme=extreme)


def law_along(table: pd.DataFrame, axis: str, other: str, column: str, least: float) -> PowerLaw | None:
    """Return the law along the longest series in which only ``axis`` differs, from ``least`` on where enough are."""
    groups = [group for _, group in table.dropna(subset=[column]).groupby([other, "n_constraints"], sort=False)]
    if not groups:
        return None
    means = max(groups, key=lambda group: group[axis].nunique()).groupby(axis)[column].median()
    return fit_large(means.index.astype(float).tolist(), means.astype(float).tolist(), least)


def _beside_trace_one(rows: pd.DataFrame, method: str, column: str) -> pd.DataFrame:
    """Return a column of von Neumann with trace one (``ours``) and of a method (``theirs``) on the same constraints.

    ``status`` is that of the method, and ``is_open`` says that a limit stopped one of the two.
    """
    if not has_columns(rows, "method", "status", column, *SET):
        return pd.DataFrame(columns=["ours", "theirs", "status", "is_open"])
    constrained = rows[rows["n_constraints"] > 0].set_index(SET)
    ours = constrained.loc[constrained["method"] == TRACE_ONE, [column, "status"]].set_axis(
        ["ours", "our_status"], axis=1
    )
    theirs = constrained.loc[constrained["method"] == method, [column, "status"]].rename(columns={column: "theirs"})
    both = ours.join(theirs, how="inner")
    return both.assign(is_open=is_open(both) | is_open(both, "our_status"))


def _ratios_of_sweeps(rows: pd.DataFrame, method: str) -> tuple[pd.Series, int, int]:
    """Return the sweeps of a method over those of von Neumann with trace one, how many are lower bounds, and are open.

    Those that are open have no ratio.
    """
    both = _beside_trace_one(rows, method, "sweeps")
    # Sweeps at which the method was stopped are a lower bound.
    opened = is_open(both, "our_status") | (is_open(both) & ~(both["theirs"] > 0))
    both = both[(both["ours"] > 0) & (both["theirs"] > 0) & ~opened]
    return both["theirs"] / both["ours"], int((both["status"] != str(Status.CONVERGED)).sum()), int(opened.sum())


@claim("Exact projections need far fewer sweeps than DefiniteBoost (gyrB).", LOW_RANKS)
@by_draws
def fewer_sweeps(records: Records) -> Finding:
    """Compare kernels of trace one on the same constraints, to the same KKT residual: ten times fewer in the median.

    DefiniteBoost by its published symmetric bound. A run of it that did not converge gives a lower bound.
    """
    rows = gyrb_rows(records)
    ratios, unfinished, n_open = _ratios_of_sweeps(rows, BOOST)
    if ratios.empty:
        return undecided(f"sweeps of {TRACE_ONE} and of {BOOST} on the same constraints {_FILE}")
    median = float(ratios.median())
    measure = f"{median:,.3g} times as many"
    evidence = f"DefiniteBoost needs {measure} in the median of {counted(len(ratios), 'set')}"
    evidence += f", a lower bound in {unfinished}" if unfinished else ""
    for method in OTHER_STEPS:
        others, _, _ = _ratios_of_sweeps(rows, method)
        evidence += "" if others.empty else f"; {method} {others.median():.3g} times"
    decision = decision_of(reached(median, least=FAR_FEWER))
    if n_open or (unfinished and decision is not Decision.CONFIRMED):
        decision = Decision.UNDECIDED
    return on_gyrb(rows, Finding(decision, evidence + open_in_words(n_open, "set"), "", measure))


@claim("Von Neumann and DefiniteBoost end at the same kernel (gyrB).", LOW_RANKS)
@by_draws
def same_kernel(records: Records) -> Finding:
    """Count the sets of constraints for which both end within .001 of the exact kernel."""
    rows = gyrb_rows(records)
    sets = _beside_trace_one(rows, BOOST, "reference_distance")
    both, opened = sets[["ours", "theirs"]], sets["is_open"]
    if opened.all():
        return undecided(f"kernels of {TRACE_ONE} and of {BOOST} on the same constraints {_FILE}")
    n_same, n_open = int(((both <= SAME).all(axis=1) & ~opened).sum()), int(opened.sum())
    evidence = f"at most {both['ours'].max():.1e} and {both['theirs'].max():.1e} from the exact kernel"
    extreme = f"at most {both[~opened].max().max():.1e}"
    return on_gyrb(rows, decided_by_share(n_same, len(both), evidence, unit="set", extreme=extreme, n_open=n_open))


@claim("Never more than 600 sweeps are needed, up to 1000 constraints.", LOW_RANKS)
@by_draws
def few_sweeps(records: Records) -> Finding:
    """Count the solves of Burg and von Neumann on Digits.

    Sets that have no solution say nothing: of these the constraints are missed by more than 5 % in the end.
    """
    words = _sweeps_in_words(of_dataset(records, STAND_IN))
    rows, note = papers_digits(records), f"On the stand-in of gyrB: {words}" if words else ""
    if not has_columns(rows, "sweeps", "n_constraints", "method"):
        return undecided(f"sweeps of Burg and von Neumann on Digits {_FILE}", note)
    solves = rows[rows["method"].isin(EXACT) & (rows["n_constraints"] > 0)]
    solved = met(solves)
    evidence = f"{_sweeps_in_words(solves)}; of {counted(len(solves), 'solve')} {len(solves) - len(solved)} miss their "
    evidence += "constraints"
    completed = solved[~is_open(solved)]
    few, n_open = int((completed["sweeps"] <= MOST_SWEEPS).sum()), len(solved) - len(completed)
    if few == len(completed) and (completed.empty or completed["n_constraints"].max() < MOST_CONSTRAINTS):
        return undecided(f"{MOST_CONSTRAINTS} constraints on Digits that can be met; {evidence}", note)
    extreme = f"at most {completed['sweeps'].max():.0f} sweeps"
    return decided_by_share(few, len(solved), evidence, note, unit="solve", extreme=extreme, n_open=n_open)


def _sweeps_in_words(rows: pd.DataFrame) -> str:
    if not has_columns(rows, "sweeps", "n_constraints", "method"):
        return ""
    solved = met(rows[rows["method"].isin(EXACT) & (rows["n_constraints"] > 0)])
    most = solved.groupby("method", sort=False)["sweeps"].max().dropna()
    if most.empty:
        return "no constraints were met"
    return "at most " + " and ".join(f"{count:.0f} sweeps ({method})" for method, count in most.items())


@claim("The learned kernel classifies better than the kernel whose distances it was given (gyrB).", LOW_RANKS)
@by_draws
def better_than_target(records: Records) -> Finding:
    """Compare mean accuracies of 5-NN with the most constraints of each experiment, for Burg and von Neumann."""
    rows = gyrb_rows(records)
    if not has_columns(rows, "method", "accuracy", "target_accuracy", *SET):
        return undecided(f"accuracies of learned kernels and of the kernel asked for {_FILE}")
    gains, n_open = {}, 0
    for (experiment, method), group in rows[rows["method"].isin(EXACT)].groupby(["experiment", "method"], sort=False):
        most = group[group["n_constraints"] == group["n_constraints"].max()]
        if is_open(most).any():
            n_open += 1
            continue
        ours, theirs = float(most["accuracy"].mean()), float(most["target_accuracy"].mean())
        gains[f"{experiment}, {method}: {ours:.3f} against {theirs:.3f}"] = ours - theirs
    if not gains:
        return undecided(f"accuracies of Burg and von Neumann {_FILE}")
    better, total, extreme = sum(gain > 0 for gain in gains.values()), len(gains) + n_open, min(gains.values())
    evidence, least = "; ".join(gains), f"at least {extreme:+.3f}"
    return on_gyrb(rows, decided_by_share(better, total, evidence, unit="comparison", extreme=least, n_open=n_open))


@claim("NMI rises with constraints.", LOW_RANKS)
@by_draws
def agreement_rises(records: Records) -> Finding:
    """Count the curves of Burg and von Neumann on Digits that rise, by the best of ten k-means starts.

    NMI must be higher with the most than with the fewest, and rise with the number (Spearman's correlation 0.8).
    """
    curves, others = _rising(papers_digits(records)), _rising(of_dataset(records, STAND_IN))
    note = f"On the stand-in of gyrB: {'; '.join(others)}." if others else ""
    if not curves:
        return undecided(f"NMI at three numbers of constraints on Digits {_FILE}", note)
    n_open, n_rising = (sum(rises is ends for rises in curves.values()) for ends in (None, True))
    return decided_by_share(n_rising, len(curves), "; ".join(curves), note, unit="curve", n_open=n_open)


def _rising(rows: pd.DataFrame) -> dict[str, bool | None]:
    """Return the ends of each curve in words, and whether it rises; numbers with few solvable sets are left out.

    ``None`` for a curve of which a draw was stopped at a limit.
    """
    if not has_columns(rows, "method", "experiment", "n_constraints", _NMI):
        return {}
    curves: dict[str, bool | None] = {}
    for (experiment, method), group in solvable(rows).groupby(["experiment", "method"], sort=False):
        if method not in EXACT:
            continue
        means = group.groupby("n_constraints")[_NMI].mean().dropna().sort_index()
        if is_open(group).any():
            curves[f"{experiment}, {method}: open"] = None
        elif len(means) >= 3:
            correlation = float(pd.Series(means.index).corr(means.reset_index(drop=True), method="spearman"))
            rises = bool(means.iloc[-1] > means.iloc[0] and correlation >= _RISING)
            curves[f"{experiment}, {method}: {means.iloc[0]:.2f} to {means.iloc[-1]:.2f}"] = rises
    return curves


@claim("Both divergences do comparably well.", LOW_RANKS)
@by_draws
def divergences_comparable(records: Records) -> Finding:
    """Count the numbers of constraints on Digits with accuracies within .02 and NMI within .05 of each other."""
    rows = papers_digits(records)
    if not has_columns(rows, "method", "accuracy", _NMI, *SET):
        return undecided(f"accuracy and NMI of Burg and von Neumann on Digits {_FILE}")
    rows = solvable(rows[(rows["n_constraints"] > 0) & rows["method"].isin(EXACT)])
    means = rows.groupby(["n_constraints", "method"])[["accuracy", _NMI]].mean().unstack("method")
    if means.empty or not set(EXACT) <= set(means["accuracy"].columns):
        return undecided(f"accuracy and NMI of both divergences on Digits {_FILE}")
    opened = means.index.isin(rows.loc[is_open(rows), "n_constraints"])
    if opened.all():
        return undecided(f"accuracy and NMI on Digits of runs that were not stopped at a limit {_FILE}")
    accuracy, nmi = ((means[name][EXACT[0]] - means[name][EXACT[1]]).abs()[~opened] for name in ("accuracy", _NMI))
    n_close, n_open = int(((accuracy <= CLOSE) & (nmi <= CLOSE_NMI)).sum()), int(opened.sum())
    evidence = f"accuracies at most {accuracy.max():.3f} apart, NMI {nmi.max():.2f}"
    unit = "constraint count"
    return decided_by_share(n_close, len(means), evidence, unit=unit, extreme=evidence, n_open=n_open)


@claim("The rank of the kernel is kept.", LOW_RANKS)
@by_draws
def rank_kept(records: Records) -> Finding:
    """Compare the numerical rank of the factor on Digits at the end with that at the start."""
    rows = papers_digits(records)
    there = has_columns(rows, "learned_rank", "rank", "method", "n_constraints")
    learned = met(rows[rows["method"].isin(EXACT) & (rows["n_constraints"] > 0)]) if there else rows.iloc[:0]
    if learned.empty:
        return undecided(f"ranks of learned kernels on Digits {_FILE}")
    opened = is_open(learned)
    if opened.all():
        return undecided(f"ranks of kernels on Digits whose learning was not stopped at a limit {_FILE}")
    first, least = f"{learned['rank'].max():.0f}", f"{learned['learned_rank'].min():.0f}"
    n_kept, n_open = int(((learned["learned_rank"] == learned["rank"]) & ~opened).sum()), int(opened.sum())
    evidence, extreme = f"rank {first} at the start, {least} or more at the end", f"at least {least} of {first}"
    return decided_by_share(n_kept, len(learned), evidence, unit="kernel", extreme=extreme, n_open=n_open)
