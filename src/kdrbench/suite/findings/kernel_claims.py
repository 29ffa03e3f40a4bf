"""Tests of claims on learned kernels: the KPCA trick (Chatpatanasiri 2010), low-rank kernels (Kulis et al. 2006).

Of the KPCA trick ten data sets, three learners, 40 splits and figures. A learner without an accuracy for every split of
a data set that was run counts as lost; one of which a limit stopped a split is open, and so is a setting of a figure.
Of low-rank kernels, Digits on 317 samples decide, with five draws of the constraints or more; gyrB is not public: what
comes out on its substitute is a note, and its claims stay undecided. A run without a number is lost, but for those that
a limit stopped or that were not made: these are open. Keyword arguments are those of claims.toml.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from kdrbench.errors import counted
from kdrbench.status import Status
from kdrbench.suite.findings.claim_rows import Records
from kdrbench.suite.findings.finding import (
    CONFIRMED,
    CONTRADICTED,
    MOSTLY,
    UNDECIDED,
    Decision,
    Finding,
    decided_by_rows,
    decision_of,
    listed,
    only_decision,
    share_of,
    side_of,
    undecided,
)
from kdrbench.suite.findings.ism_claims import decided_by_exponents, factor_text
from kdrbench.suite.findings.outcome import clean_times, is_open
from kdrbench.suite.paired import corrected_t_interval
from kdrbench.suite.reports.tables.labels import dataset_label, learner_name, low_rank_label
from kdrbench.suite.reports.tables.published_numbers import published_numbers
from kdrbench.suite.systems.ikdr.size_series import PowerLaw, fit_power_law
from kdrbench.suite.systems.kpca_figures.figures import beside_kpca
from kdrbench.suite.systems.kpca_trick.cells import FIGURE_DATA, PAPER, TABLES

SPLITS = 40
PLAIN, CROSS_VALIDATED, ALIGNED = "plain", "cross_validated", "aligned"
# What is varied in the figures of both tricks, and the values that must be there.
_SETTINGS = {"degree": (2, 3, 4, 5), "n": (50, 100, 150), "k": (1, 2, 3, 4, 5)}
VARIED: Mapping[int, Mapping[str, Sequence[int]]] = {3: {"sigma": ()}, 4: _SETTINGS, 5: _SETTINGS}
# Of Figure 2: made sets, and the degrees of the plain learner and of the kernel.
MADE_SETS, DEGREES = ("disc-and-ring", "cone"), (1.0, 2.0)
SMALLEST_GAIN = 1e-9
_CELL = ["dataset", "learner"]


def _rows(kpca: pd.DataFrame, *variants: str) -> pd.DataFrame:
    """Return the rows of the KPCA trick on the paper's learners and splits, each once."""
    chosen = kpca["learner"].isin(TABLES) & kpca["variant"].isin(variants) & (kpca["run"] < SPLITS)
    return kpca[chosen].drop_duplicates([*_CELL, "variant", "run"])


def _cells(kpca: pd.DataFrame, *variants: str) -> tuple[pd.DataFrame, str]:
    """Return the mean accuracy of each variant in the paper's 30 cells, NaN where a split has none; what is missing."""
    datasets = sorted({axes["dataset"] for axes in published_numbers(paper=PAPER)})
    index = pd.MultiIndex.from_product([datasets, TABLES], names=_CELL)
    rows, columns = _rows(kpca, *variants), list(variants)
    groups = rows.groupby([*_CELL, "variant"])
    means = groups["accuracy"].mean().where(groups["accuracy"].count() == SPLITS).unstack("variant")
    opened = rows.assign(open=is_open(rows)).groupby(_CELL)["open"].any()
    cells = means.reindex(index=index, columns=columns).astype(float)
    made = groups["run"].nunique().unstack("variant").reindex(index=index, columns=columns).fillna(0)
    splits = made.min(axis=1).groupby("dataset").min().astype(int)
    short = [
        f"{dataset_label(str(name))} has {count} of {SPLITS} splits" for name, count in splits.items() if count < SPLITS
    ]
    missing = f"{listed(short)} (kpca_trick.csv)" if short else ""
    return cells.assign(open=opened.reindex(index, fill_value=False)), missing


def _names(index: pd.Index, variant: str = PLAIN) -> str:
    return listed([f"{dataset_label(data)} {learner_name(learner, variant).upper()}" for data, learner in index])


def versions_win(records: Records, *, variant: str, least_won: int, most_lost: int) -> Finding:
    """Compare mean accuracies over the splits, rounded to two digits as the tables print them, with the plain learner.

    Confirmed with as many wins, and as few losses, as printed; mostly so with 80 % of the wins.
    """
    cells, missing = _cells(records.kpca, PLAIN, variant)
    if missing:
        return undecided(missing)
    gains = (cells[variant].round(2) - cells[PLAIN].round(2)).round(4)[~cells["open"]]
    won, level, n_open = int((gains > 0).sum()), int((gains == 0).sum()), int(cells["open"].sum())
    lost = len(gains) - won - level

    def decision(wins: int, losses: int) -> Decision:
        by_wins = decision_of(wins / least_won)
        return MOSTLY if by_wins is CONFIRMED and losses > most_lost else by_wins

    # At best all that are open are won, at worst all are lost.
    possible = {decision(won + n_open, lost), decision(won, lost + n_open)}
    measure = f"won {share_of(won, len(cells), 'cell')}; level {level}; lost {lost}; open {n_open}"
    evidence = f"lost: {_names(gains[~(gains >= 0)].index, variant) or 'none'}"
    return Finding(only_decision(possible), evidence, "", measure, "means are compared to 0.01")


def _gains(kpca: pd.DataFrame) -> tuple[pd.Series, str]:
    """Return by cell the gain of cross-validated kernels over aligned ones, and which splits are missing."""
    cells, missing = _cells(kpca, CROSS_VALIDATED, ALIGNED)
    if cells["open"].any():
        missing = missing or f"splits that were not stopped at a limit, of {_names(cells.index[cells['open']])}"
    return (cells[CROSS_VALIDATED] - cells[ALIGNED]).dropna(), missing


def slightly_better(records: Records, *, most: float) -> Finding:
    """Take the mean gain of cross-validated over aligned kernels over the 30 cells, with its 95 % interval."""
    gains, missing = _gains(records.kpca)
    if missing:
        return undecided(missing)
    mean, (low, high) = f"{gains.mean():+.3f}", corrected_t_interval(gains, 0.0)
    evidence = f"{mean} in the mean of {counted(len(gains), 'cell')}, better in {int((gains.round(2) > 0).sum())}"
    # Better by the interval, slightly by the mean.
    decision = side_of(low, high, least=SMALLEST_GAIN) if gains.mean() <= most else CONTRADICTED
    return Finding(decision, evidence, "", mean, f"95 %: {low:+.3f} to {high:+.3f}")


def close_and_quick(records: Records, *, most: float, quicker: float) -> Finding:
    """Compare mean accuracies, by the 95 % interval of aligned kernels' loss, and the times of choosing the kernel.

    Times are of splits that were timed on cores of their own without drift.
    """
    gains, missing = _gains(records.kpca)
    timed = _rows(clean_times(records.kpca), CROSS_VALIDATED, ALIGNED)
    spent = timed.pivot_table(index=_CELL, columns="variant", values="tuning_wall_s", aggfunc="mean").dropna()
    if missing or not {CROSS_VALIDATED, ALIGNED} <= set(spent) or not spent[ALIGNED].sum() > 0:
        return undecided(missing or "tuning times of both kinds of kernels that nothing disturbed (kpca_trick.csv)")
    seconds, (low, high) = spent.sum(), corrected_t_interval(gains, 0.0)
    ratio, lower = float(seconds[CROSS_VALIDATED] / seconds[ALIGNED]), f"{-gains.mean():+.3f}"
    evidence = f"accuracy {lower} over {counted(len(gains), 'cell')}; choosing takes {seconds[ALIGNED]:.3g} s against "
    evidence += f"{seconds[CROSS_VALIDATED]:.3g} s for a split of {counted(len(spent), 'cell')}"
    decision, power = side_of(low, high, most=most), f"95 %: {-high:+.3f} to {-low:+.3f}"
    decision = decision_of(ratio / quicker) if decision is CONFIRMED else decision
    return Finding(decision, evidence, "", f"{lower}; {ratio:.3g} times as quick", power)


def kernels_succeed(records: Records, **declared: Any) -> Finding:
    """Count made sets and learners by the accuracies along the leading direction, ``plain`` and ``squared``."""
    rows = records.tricks[(records.tricks["figure"] == 2) & records.tricks["dataset"].isin(MADE_SETS)]
    rows = rows[rows["series"].isin(TABLES) & rows["value"].isin(DEGREES)]
    groups = rows.assign(open=is_open(rows)).groupby(["dataset", "series", "value"])
    if len(groups) < len(MADE_SETS) * len(TABLES) * len(DEGREES):
        return undecided("Figure 2 with all learners on all made sets (kpca_figures.csv)")
    plain, squared = (groups["accuracy"].mean().xs(degree, level="value") for degree in DEGREES)
    opened = groups["open"].any().groupby(level=[0, 1]).any()
    finding = decided_by_rows(pd.DataFrame({"plain": plain, "squared": squared, "open": opened}), **declared)
    extreme = f"plain at most {plain.max():.2f}, degree 2 at least {squared.min():.2f}"
    return replace(finding, measure=f"{finding.measure}; {extreme}")


def tricks_agree(records: Records, *, figures: Sequence[int], **declared: Any) -> Finding:
    """Count the settings of figures on the paper's data by how far the accuracies of both tricks are ``apart``.

    Over the paper's degrees, n and k of Figures 4 and 5, and each way to solve the kernel trick.
    """
    table, rows, lacking = records.tricks, [], []
    for figure, dataset in [(number, name) for number in figures for name in FIGURE_DATA[number]]:
        own = table[(table["figure"] == figure) & (table["dataset"] == dataset) & table["varied"].isin(VARIED[figure])]
        wanted = {(name, float(value)) for name, values in VARIED[figure].items() for value in values}
        if own.empty or wanted - {*zip(own["varied"], own["value"], strict=True)}:
            lacking.append(f"{dataset_label(dataset)} (Figure {figure})")
        rows.append(own)
    if lacking:
        return undecided(f"all settings of {', '.join(lacking)} (kpca_figures.csv)")
    points = beside_kpca(pd.concat(rows))
    opened = is_open(points) | is_open(points, "status_kpca")
    apart = (points["accuracy"] - points["accuracy_kpca"]).abs()
    return decided_by_rows(points.assign(open=opened, apart=apart), unit="setting", **declared)


DIGITS, STAND_IN = "digits", "gyrb-standin"
# A tenth of the 3165 points of three classes.
DIGITS_SAMPLES = 317
# Axes of a set of constraints.
SET = ["experiment", "n_constraints", "run"]
# Fewer draws of the constraints decide nothing. A set counts as solvable where it is met to this share in the end.
DRAWS, MET = 5, 0.05
EXACT = ("burg", "von_neumann")
# DefiniteBoost by its published bound, and with other steps; it is compared among kernels of trace one.
TRACE_ONE = "von_neumann_trace"
BOOST, OTHER_STEPS = "definite_boost", ("definite_boost_exact", "definite_boost_own_range")
_LARGE_RANK = 100.0
_NMI = "nmi_ten_starts"
# A test of rows; ``None`` where the rows lack what it needs.
Test = Callable[..., Finding | None]


def decided_by_data(records: Records, test: Test, *, dataset: str) -> Finding:
    """Return the claim that a test decides by the rows of a data set; ``met`` says which meet their constraints.

    Sets of too few draws are left out. On the substitute of gyrB nothing is decided: what comes out there is a note.
    """
    table, left_out = _of_enough_draws(records.low_rank)
    table = table.assign(met=~(table["largest_violation"] > MET), open=is_open(table))
    rows = table[(table["dataset"] == dataset) & ((dataset != DIGITS) | (table["n_samples"] == DIGITS_SAMPLES))]
    is_stand_in = rows.empty and dataset != DIGITS
    rows = table[table["dataset"] == STAND_IN] if is_stand_in else rows
    lacking = undecided(f"runs of all solvers on {dataset} that were not stopped at a limit (low_rank.csv)")
    finding = (None if rows.empty else test(rows)) or lacking
    if is_stand_in and len(rows):
        note = f"There it would be {finding.decision}: {finding.evidence}."
        finding = replace(finding, decision=UNDECIDED, evidence="on the stand-in: gyrB is not public", note=note)
    return finding.with_note(left_out) if finding.decision is UNDECIDED else finding


def _of_enough_draws(table: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return the rows with enough draws of the constraints, and which were left out, in words."""
    draws = table.groupby(["experiment", "method", "n_constraints"])["run"].transform("nunique")
    fewest = draws[draws < DRAWS].groupby(table["experiment"], sort=False).min()
    names = [f"{name} ({count})" for name, count in fewest.items()]
    left_out = f"Left out, with fewer than {DRAWS} draws of the constraints: {listed(names)}." if names else ""
    return table[draws >= DRAWS], left_out


def cost_of_projections(records: Records, *, regions: Mapping[str, Mapping[str, Any]]) -> Finding:
    """Fit the time of a solve over n (rank and constraints fixed) and of a projection over r (n and constraints fixed).

    Laws in r are fitted from rank 100 on where there are three such ranks: below, time is that of calls.
    """
    table, left_out = _of_enough_draws(records.low_rank)
    table = clean_times(table)
    done = table[(table["projections"] > 0) & (table["status"] == str(Status.CONVERGED))]
    done = done.assign(step_s=done["time_s"] / done["projections"])
    laws = {}
    for method in EXACT:
        rows = done[done["method"] == method]
        laws[low_rank_label(method), "n"] = law_along(rows, "n_samples", "rank", "time_s", 0.0)
        laws[low_rank_label(method), "r"] = law_along(rows, "rank", "n_samples", "step_s", _LARGE_RANK)
    return decided_by_exponents(laws, regions, "times (low_rank.csv)", note=left_out if None in laws.values() else "")


def law_along(table: pd.DataFrame, axis: str, other: str, column: str, least: float) -> PowerLaw | None:
    """Return the law along the longest series in which only ``axis`` differs, from ``least`` on where enough are."""
    groups = [group for _, group in table.dropna(subset=[column]).groupby([other, "n_constraints"], sort=False)]
    if not groups:
        return None
    medians = max(groups, key=lambda group: group[axis].nunique()).groupby(axis)[column].median()
    return fit_power_law(zip(medians.index.astype(float), medians, strict=True), least)


def _beside_trace_one(rows: pd.DataFrame, method: str) -> pd.DataFrame:
    """Return the rows of von Neumann with trace one beside those of a method (``_theirs``) on the same constraints."""
    constrained = rows[rows["n_constraints"] > 0]
    ours, theirs = (constrained[constrained["method"] == name] for name in (TRACE_ONE, method))
    return ours.merge(theirs, on=SET, suffixes=("", "_theirs"))


def _sweep_ratios(rows: pd.DataFrame, method: str) -> tuple[pd.Series, int, int]:
    """Return the sweeps of a method over von Neumann's with trace one, how many are lower bounds, and are open."""
    both = _beside_trace_one(rows, method)
    has_number = both["sweeps_theirs"] > 0
    is_open = both["open"] | (both["open_theirs"] & ~has_number)
    known = both[(both["sweeps"] > 0) & has_number & ~is_open]
    n_bounds = int((known["status_theirs"] != str(Status.CONVERGED)).sum())
    return known["sweeps_theirs"] / known["sweeps"], n_bounds, int(is_open.sum())


def fewer_sweeps(rows: pd.DataFrame, *, least: float) -> Finding | None:
    """Compare kernels of trace one on the same constraints, to the same KKT residual, by the median of the ratio.

    DefiniteBoost by its published symmetric bound. A run of it that did not converge gives a lower bound.
    """
    ratios, n_bounds, n_open = _sweep_ratios(rows, BOOST)
    if ratios.empty:
        return None
    median = float(ratios.median())
    measure = f"{factor_text(median)} times as many"
    evidence = (
        f"DefiniteBoost needs {measure} in the median of {counted(len(ratios), 'set')} (lower bounds: {n_bounds})"
    )
    others = {method: _sweep_ratios(rows, method)[0] for method in OTHER_STEPS}
    evidence += "".join(
        f"; {low_rank_label(method)} {factor_text(float(each.median()))} times"
        for method, each in others.items()
        if len(each)
    )
    decision = decision_of(median / least)
    if n_open or (n_bounds and decision is not CONFIRMED):
        decision, evidence = UNDECIDED, f"{evidence}; open are {counted(n_open, 'set')}"
    power = f"quartiles {factor_text(float(ratios.quantile(0.25)))} and {factor_text(float(ratios.quantile(0.75)))}"
    return Finding(decision, evidence, "", measure, power)


def same_kernel(rows: pd.DataFrame, **declared: Any) -> Finding:
    """Count the sets of constraints for which DefiniteBoost and von Neumann end near the exact kernel."""
    both = _beside_trace_one(rows, BOOST)
    return decided_by_rows(both.assign(open=both["open"] | both["open_theirs"]), **declared)


def better_than_target(rows: pd.DataFrame) -> Finding | None:
    """Compare mean accuracies of 5-NN with the most constraints of each experiment, for Burg and von Neumann."""
    cases = []
    for (experiment, method), group in rows[rows["method"].isin(EXACT)].groupby(["experiment", "method"], sort=False):
        most = group[group["n_constraints"] == group["n_constraints"].max()]
        ours, theirs = most[["accuracy", "target_accuracy"]].astype(float).mean()
        name = f"{experiment}, {method}: {ours:.3f} against {theirs:.3f}"
        cases.append({"open": most["open"].any(), "name": name, "gain": ours - theirs})
    if not cases:
        return None
    extreme = "at least {least:+.3f}"
    return decided_by_rows(pd.DataFrame(cases), holds="gain > 0", number="gain", unit="comparison", extreme=extreme)


def _solvable(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of those experiments and numbers of constraints of which at least half the sets are met."""
    return rows[rows.groupby(["experiment", "n_constraints"])["met"].transform("mean") >= 0.5]


def agreement_rises(rows: pd.DataFrame, *, correlation: float) -> Finding | None:
    """Count the curves of NMI, by the best of ten k-means starts, that rise: at their ends and with Spearman's rank."""
    cases, kept = [], _solvable(rows)
    for (experiment, method), group in kept[kept["method"].isin(EXACT)].groupby(["experiment", "method"], sort=False):
        means = group.groupby("n_constraints")[_NMI].mean().dropna().sort_index()
        if group["open"].any():
            cases.append({"open": True, "rises": False, "name": f"{experiment}, {method}: open"})
        elif len(means) >= 3:
            ranks = float(pd.Series(means.index).corr(means.reset_index(drop=True), method="spearman"))
            rises = means.iloc[-1] > means.iloc[0] and ranks >= correlation
            name = f"{experiment}, {method}: {means.iloc[0]:.2f} to {means.iloc[-1]:.2f}"
            cases.append({"open": False, "rises": rises, "name": name})
    if not cases:
        return None
    evidence = "; ".join(str(case["name"]) for case in cases)
    return decided_by_rows(pd.DataFrame(cases), holds="rises", unit="curve", evidence=evidence)


def divergences_comparable(rows: pd.DataFrame, *, apart: float, nmi_apart: float) -> Finding | None:
    """Count the numbers of constraints with accuracy and NMI near each other, by 95 % intervals over common draws."""
    rows = _solvable(rows.query("method in @EXACT and n_constraints > 0"))
    is_open = rows.groupby("n_constraints")["open"].any()
    wide = pd.DataFrame(rows.set_index([*SET, "method"])[["accuracy", _NMI]].astype(float).unstack("method"))
    if not set(EXACT) <= set(wide.columns.get_level_values(1)) or is_open.all():
        return None
    differences = pd.DataFrame(wide.xs(EXACT[0], axis=1, level=1) - wide.xs(EXACT[1], axis=1, level=1))
    cases = []
    for count, group in differences.groupby("n_constraints"):
        for name, bound in {"accuracy": apart, _NMI: nmi_apart}.items():
            low, high = (math.nan, math.nan) if is_open[count] else corrected_t_interval(group[name].dropna(), 0.0)
            cases.append({"count": count, "open": is_open[count], "low": low, "high": high, "bound": bound})
    largest = differences.groupby("n_constraints").mean()[~is_open].abs().max()
    evidence = f"accuracies at most {largest['accuracy']:.3f} apart, NMI {largest[_NMI]:.2f}"
    finding = decided_by_rows(
        pd.DataFrame(cases),
        holds="-bound <= low and high <= bound",
        fails="not (low <= bound and high >= -bound)",
        by=["count"],
        unit="constraint count",
        intervals=True,
        evidence=evidence,
    )
    return replace(finding, measure=f"{finding.measure}; {evidence}")
