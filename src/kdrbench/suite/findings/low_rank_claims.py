"""Tests of claims on low-rank kernels (Kulis, Sustik, Dhillon 2006).

Digits on 317 samples decide, with five draws of the constraints or more; gyrB is not public: what comes out on its
substitute is a note, and its claims stay undecided. A run without a number is lost, but for those that a limit stopped
or that were not made: these are open. Keyword arguments are those of claims.toml.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from kdrbench.errors import counted
from kdrbench.status import Status
from kdrbench.suite.findings.claim_rows import Records
from kdrbench.suite.findings.finding import (
    WORST_FIRST,
    Decision,
    Finding,
    decided_by_cases,
    decided_by_rows,
    decision_of,
    listed,
    open_in_words,
    reached,
    side_of,
    smallest_shown,
    undecided,
)
from kdrbench.suite.findings.outcome import clean_times, is_open
from kdrbench.suite.findings.solver_claims import decided_by_exponents
from kdrbench.suite.paired import corrected_t_interval
from kdrbench.suite.systems.ikdr.size_series import PowerLaw, fit_large

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


def rows_of(table: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Return the rows of a data set, else of its substitute; of Digits those on as many samples as the paper takes."""
    rows = table[table["dataset"] == dataset]
    if dataset == DIGITS:
        return rows[rows["n_samples"] == DIGITS_SAMPLES]
    return rows if len(rows) else table[table["dataset"] == STAND_IN]


def decided_by_data(records: Records, test: Test, *, dataset: str) -> Finding:
    """Return the claim that a test decides by the rows of a data set.

    Sets of too few draws are left out. On the substitute of gyrB nothing is decided: what comes out there is a note.
    """
    table, left_out = _of_enough_draws(records.low_rank)
    rows = rows_of(table, dataset)
    lacking = undecided(f"runs of all solvers on {dataset} that were not stopped at a limit (low_rank.csv)")
    finding = (test(rows) if len(rows) else None) or lacking
    if (rows["dataset"] == STAND_IN).any():
        note = f"There it would be {finding.decision}: {finding.evidence}."
        evidence = "on the stand-in: gyrB is not public"
        finding = Finding(Decision.UNDECIDED, evidence, note, finding.measure, finding.power)
    return finding.with_note(left_out) if finding.is_undecided else finding


def _of_enough_draws(table: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return the rows with enough draws of the constraints, and which were left out, in words."""
    draws = table.groupby(["experiment", "method", "n_constraints"])["run"].transform("nunique")
    fewest = draws[draws < DRAWS].groupby(table["experiment"], sort=False).min()
    names = [f"{name} ({count})" for name, count in fewest.items()]
    left_out = f"Left out, with fewer than {DRAWS} draws of the constraints: {listed(names)}." if names else ""
    return table[draws >= DRAWS], left_out


def exact_solves(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the solves of Burg and von Neumann under constraints."""
    return rows[rows["method"].isin(EXACT) & (rows["n_constraints"] > 0)]


def met(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the solves whose constraints are met in the end, and those that left no number."""
    return rows[~(rows["largest_violation"] > MET)]


def solvable(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of those experiments and numbers of constraints of which at least half the sets are met."""
    missed = (rows["largest_violation"] > MET).groupby([rows["experiment"], rows["n_constraints"]]).transform("mean")
    return rows[missed <= 0.5]


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
        laws[method, "n"] = law_along(rows, "n_samples", "rank", "time_s", 0.0)
        laws[method, "r"] = law_along(rows, "rank", "n_samples", "step_s", _LARGE_RANK)
    return decided_by_exponents(laws, regions, "times (low_rank.csv)", note=left_out if None in laws.values() else "")


def law_along(table: pd.DataFrame, axis: str, other: str, column: str, least: float) -> PowerLaw | None:
    """Return the law along the longest series in which only ``axis`` differs, from ``least`` on where enough are."""
    groups = [group for _, group in table.dropna(subset=[column]).groupby([other, "n_constraints"], sort=False)]
    if not groups:
        return None
    means = max(groups, key=lambda group: group[axis].nunique()).groupby(axis)[column].median()
    return fit_large(means.index.astype(float).tolist(), means.astype(float).tolist(), least)


def _beside_trace_one(rows: pd.DataFrame, method: str, column: str) -> pd.DataFrame:
    """Return a column of von Neumann with trace one (``ours``) and of a method (``theirs``) on the same constraints.

    ``status`` is that of the method; ``ours_open`` and ``theirs_open`` say which a limit stopped.
    """
    constrained = rows[rows["n_constraints"] > 0]
    constrained = constrained.assign(open=is_open(constrained)).set_index(SET)
    ours, theirs = (
        constrained.loc[constrained["method"] == name, [column, "open", "status"]] for name in (TRACE_ONE, method)
    )
    names = {column: "theirs", "open": "theirs_open"}
    ours = ours.drop(columns="status").rename(columns={column: "ours", "open": "ours_open"})
    return ours.join(theirs.rename(columns=names), how="inner")


def _sweep_ratios(rows: pd.DataFrame, method: str) -> tuple[pd.Series, int, int]:
    """Return the sweeps of a method over those of von Neumann with trace one, how many are lower bounds, and are open.

    Sweeps at which the method was stopped are a lower bound; those that are open have no ratio.
    """
    both = _beside_trace_one(rows, method, "sweeps")
    opened = both["ours_open"] | (both["theirs_open"] & ~(both["theirs"] > 0))
    known = both[(both["ours"] > 0) & (both["theirs"] > 0) & ~opened]
    return known["theirs"] / known["ours"], int((known["status"] != str(Status.CONVERGED)).sum()), int(opened.sum())


def fewer_sweeps(rows: pd.DataFrame, *, least: float) -> Finding | None:
    """Compare kernels of trace one on the same constraints, to the same KKT residual, by the median of the ratio.

    DefiniteBoost by its published symmetric bound. A run of it that did not converge gives a lower bound.
    """
    ratios, unfinished, n_open = _sweep_ratios(rows, BOOST)
    if ratios.empty:
        return None
    median = float(ratios.median())
    measure = f"{median:,.3g} times as many"
    evidence = f"DefiniteBoost needs {measure} in the median of {counted(len(ratios), 'set')}"
    evidence += f", a lower bound in {unfinished}" if unfinished else ""
    for method in OTHER_STEPS:
        others, _, _ = _sweep_ratios(rows, method)
        evidence += "" if others.empty else f"; {method} {others.median():.3g} times"
    decision = decision_of(reached(median, least=least))
    if n_open or (unfinished and decision is not Decision.CONFIRMED):
        decision = Decision.UNDECIDED
    power = f"quartiles {ratios.quantile(0.25):,.3g} and {ratios.quantile(0.75):,.3g}"
    return Finding(decision, evidence + open_in_words(n_open, "set"), "", measure, power)


def same_kernel(rows: pd.DataFrame, *, most: float) -> Finding | None:
    """Count the sets of constraints for which both end near the exact kernel."""
    both = _beside_trace_one(rows, BOOST, "reference_distance")
    opened, distances = both["ours_open"] | both["theirs_open"], both[["ours", "theirs"]]
    if opened.all():
        return None
    evidence = f"at most {distances['ours'].max():.1e} and {distances['theirs'].max():.1e} from the exact kernel"
    extreme = f"at most {distances[~opened].max().max():.1e}"
    return decided_by_rows((distances <= most).all(axis=1), opened, evidence, "set", extreme)


def few_sweeps(rows: pd.DataFrame, *, most: int, constraints: int) -> Finding:
    """Count the solves of Burg and von Neumann.

    Sets that have no solution say nothing: of these the constraints are missed by more than 5 % in the end.
    """
    solves = exact_solves(rows)
    solved = met(solves)
    largest = solved.groupby("method", sort=False)["sweeps"].max().dropna()
    evidence = "at most " + " and ".join(f"{count:.0f} sweeps ({method})" for method, count in largest.items())
    evidence += f"; of {counted(len(solves), 'solve')} {len(solves) - len(solved)} miss their constraints"
    opened = is_open(solved)
    few, completed = solved["sweeps"] <= most, solved[~opened]
    if few[~opened].all() and (completed.empty or completed["n_constraints"].max() < constraints):
        return undecided(f"{constraints} constraints that can be met; {evidence}")
    return decided_by_rows(few, opened, evidence, "solve", f"at most {completed['sweeps'].max():.0f} sweeps")


def few_trace_evaluations(rows: pd.DataFrame, *, most: float) -> Finding | None:
    """Count the solves of von Neumann whose mean number of trace evaluations a projection is small; one has a mean."""
    solves = rows[(rows["method"] == "von_neumann") & (rows["projections"] > 0)]
    if solves.empty:
        return None
    means, opened = solves["trace_evaluations"] / solves["projections"], is_open(solves)
    extreme = f"at most {means[~opened].max():.2g} in the mean of a solve"
    return decided_by_rows(means <= most, opened, f"{extreme}, median {means[~opened].median():.2g}", "solve", extreme)


def better_than_target(rows: pd.DataFrame) -> Finding | None:
    """Compare mean accuracies of 5-NN with the most constraints of each experiment, for Burg and von Neumann."""
    cases, gains = [], []
    for (experiment, method), group in rows[rows["method"].isin(EXACT)].groupby(["experiment", "method"], sort=False):
        most = group[group["n_constraints"] == group["n_constraints"].max()]
        if is_open(most).any():
            cases.append(("", Decision.UNDECIDED))
            continue
        ours, theirs = float(most["accuracy"].mean()), float(most["target_accuracy"].mean())
        gains.append(ours - theirs)
        decision = Decision.CONFIRMED if ours > theirs else Decision.CONTRADICTED
        cases.append((f"{experiment}, {method}: {ours:.3f} against {theirs:.3f}", decision))
    if not gains:
        return None
    evidence = "; ".join(name for name, _ in cases if name)
    return decided_by_cases(cases, "comparison", evidence=evidence, extreme=f"at least {min(gains):+.3f}")


def agreement_rises(rows: pd.DataFrame, *, correlation: float) -> Finding | None:
    """Count the curves of NMI, by the best of ten k-means starts, that rise: at their ends and with Spearman's rank."""
    cases, kept = [], solvable(rows)
    for (experiment, method), group in kept[kept["method"].isin(EXACT)].groupby(["experiment", "method"], sort=False):
        means = group.groupby("n_constraints")[_NMI].mean().dropna().sort_index()
        if is_open(group).any():
            cases.append((f"{experiment}, {method}: open", Decision.UNDECIDED))
        elif len(means) >= 3:
            ranks = float(pd.Series(means.index).corr(means.reset_index(drop=True), method="spearman"))
            rises = means.iloc[-1] > means.iloc[0] and ranks >= correlation
            decision = Decision.CONFIRMED if rises else Decision.CONTRADICTED
            cases.append((f"{experiment}, {method}: {means.iloc[0]:.2f} to {means.iloc[-1]:.2f}", decision))
    return decided_by_cases(cases, "curve", evidence="; ".join(name for name, _ in cases)) if cases else None


def divergences_comparable(rows: pd.DataFrame, *, apart: float, nmi_apart: float) -> Finding | None:
    """Count the numbers of constraints with accuracy and NMI near each other, by 95 % intervals over common draws."""
    rows = solvable(exact_solves(rows))
    opened = set(rows.loc[is_open(rows), "n_constraints"])
    wide = rows.set_index([*SET, "method"])[["accuracy", _NMI]].unstack("method")
    if wide.empty or not set(EXACT) <= set(wide["accuracy"].columns):
        return None
    cases, intervals, largest = [], [], {"accuracy": 0.0, _NMI: 0.0}
    for count, group in wide.groupby("n_constraints"):
        if count in opened:
            cases.append(("", Decision.UNDECIDED))
            continue
        own = set()
        for name, bound in (("accuracy", apart), (_NMI, nmi_apart)):
            differences = (group[name][EXACT[0]] - group[name][EXACT[1]]).dropna()
            low, high = corrected_t_interval(differences, 0.0) if len(differences) else (np.nan, np.nan)
            own.add(side_of(low, high, least=-bound, most=bound))
            largest[name] = max(largest[name], abs(float(differences.mean())))
            intervals.append((low, high))
        cases.append(("", min(own, key=WORST_FIRST.index)))
    if not intervals:
        return None
    evidence = f"accuracies at most {largest['accuracy']:.3f} apart, NMI {largest[_NMI]:.2f}"
    power = smallest_shown(intervals)
    return decided_by_cases(cases, "constraint count", evidence=evidence, extreme=evidence, power=power)


def rank_kept(rows: pd.DataFrame) -> Finding | None:
    """Compare the numerical rank of the factor with that at the start: equal for Burg, not above for von Neumann."""
    learned = met(exact_solves(rows))
    opened = is_open(learned)
    if opened.all():
        return None
    is_burg = learned["method"] == "burg"
    kept = np.where(is_burg, learned["learned_rank"] == learned["rank"], learned["learned_rank"] <= learned["rank"])
    evidence = f"{int(is_burg.sum())} of Burg, {int((~is_burg).sum())} of von Neumann"
    return decided_by_rows(kept, opened, evidence, "kernel")
