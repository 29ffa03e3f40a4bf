"""Claims on low-rank kernels (Kulis, Sustik, Dhillon 2006).

Digits on 317 samples decide, with five draws of the constraints or more; gyrB is not public: what comes out on its
substitute is a note, and its claims stay undecided. A run without a number is lost, but for those that a limit stopped
or that were not made: these are open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pandas as pd

from kdrbench.errors import counted
from kdrbench.status import Status
from kdrbench.suite.findings.claim_rows import LOW_RANKS, Records
from kdrbench.suite.findings.finding import (
    Claim,
    Decision,
    Finding,
    claim,
    decided_by_rows,
    decided_by_share,
    decision_of,
    listed,
    open_in_words,
    reached,
    undecided,
)
from kdrbench.suite.findings.outcome import clean_times, has_columns, is_open
from kdrbench.suite.findings.time_claims import NEAR_EXPONENT, comes_near, decided_by_exponents
from kdrbench.suite.systems.ikdr.size_series import PowerLaw, fit_large

DIGITS, GYRB, STAND_IN = "digits", "gyrb", "gyrb-standin"
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
# "Far fewer", "the same" and "comparable", in numbers of ours.
FAR_FEWER, SAME, CLOSE, CLOSE_NMI = 10.0, 1e-3, 0.02, 0.05
MOST_SWEEPS, MOST_CONSTRAINTS = 600, 1000
_LARGE_RANK, _RISING = 100.0, 0.8
_NMI = "nmi_ten_starts"

Rows = Callable[[pd.DataFrame], pd.DataFrame]


def rows_of(table: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Return the rows of a data set; of Digits those on as many samples as the paper takes."""
    rows = table[table["dataset"] == dataset] if has_columns(table, "dataset") else table
    if dataset == DIGITS:
        return rows[rows["n_samples"] == DIGITS_SAMPLES] if has_columns(rows, "n_samples") else rows.iloc[:0]
    # Of gyrB, or of its substitute.
    return rows if len(rows) or dataset == STAND_IN else rows_of(table, STAND_IN)


def low_rank_claim(
    words: str,
    dataset: str,
    needs: Sequence[str],
    lacking: str,
    stand_in: Callable[[pd.DataFrame], str] = lambda rows: "",
) -> Callable[[Callable[[pd.DataFrame], Finding]], Claim]:
    """Make a claim of the function that judges the rows of a data set, which ``needs`` some columns.

    Sets of too few draws are left out. On the substitute of gyrB nothing is decided: what comes out there is a note,
    for a claim on Digits in the words of ``stand_in``.
    """

    def decided(judge: Callable[[pd.DataFrame], Finding], records: Records) -> Finding:
        table, left_out = _of_enough_draws(records.low_rank)
        rows = rows_of(table, dataset)
        found = judge(rows) if has_columns(rows, *needs, *SET, "method") else undecided(f"{lacking} (low_rank.csv)")
        if has_columns(rows, "dataset") and (rows["dataset"] == STAND_IN).any():
            note = f"There it would be {found.decision}: {found.evidence}."
            found = Finding(Decision.UNDECIDED, "on the stand-in: gyrB's data are not to be had", note, found.measure)
        elif words_there := stand_in(rows_of(table, STAND_IN)):
            found = found.with_note(f"On the stand-in of gyrB: {words_there}.")
        return found.with_note(left_out) if found.is_undecided else found

    return lambda judge: Claim(words, LOW_RANKS, "", partial(decided, judge))


def _of_enough_draws(table: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return the rows with enough draws of the constraints, and which were left out, in words."""
    if not has_columns(table, *SET, "method"):
        return table, ""
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
    return rows[~(rows["largest_violation"] > MET)] if "largest_violation" in rows else rows


def solvable(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of those experiments and numbers of constraints of which at least half the sets are met."""
    if "largest_violation" not in rows or rows.empty:
        return rows
    missed = (rows["largest_violation"] > MET).groupby([rows["experiment"], rows["n_constraints"]]).transform("mean")
    return rows[np.asarray(missed) <= 0.5]


@claim("Burg and von Neumann take time linear in n and quadratic in r.", LOW_RANKS)
def cost_of_projections(records: Records) -> Finding:
    """Fit the time of a solve over n (rank and constraints fixed) and of a projection over r (n and constraints fixed).

    Confirmed if no exponent in n is above 1.25 and the 95 % interval of each in r comes within 0.25 of 2. Laws in r
    are fitted from rank 100 on where there are three such ranks: below, time is that of calls.
    """
    table, left_out = _of_enough_draws(records.low_rank)
    table = clean_times(table)
    if not has_columns(table, "method", "n_samples", "rank", "n_constraints", "time_s", "projections"):
        return undecided("times of low-rank solves by size and rank (low_rank.csv)", left_out)
    done = table[(table["projections"] > 0) & (table["status"] == str(Status.CONVERGED))]
    done = done.assign(step_s=done["time_s"] / done["projections"])
    laws = {}
    for method in EXACT:
        rows = done[done["method"] == method]
        laws[method, "n"] = law_along(rows, "n_samples", "rank", "time_s", 0.0)
        laws[method, "r"] = law_along(rows, "rank", "n_samples", "step_s", _LARGE_RANK)
    return decided_by_exponents(
        laws,
        lambda name, letter, law: comes_near(law, 2.0) if letter == "r" else law.exponent <= 1 + NEAR_EXPONENT,
        "times (low_rank.csv)",
        note=left_out if None in laws.values() else "",
    )


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


@low_rank_claim(
    "Exact projections need far fewer sweeps than DefiniteBoost (gyrB).",
    GYRB,
    ("sweeps", "status"),
    f"sweeps of {TRACE_ONE} and of {BOOST} on the same constraints",
)
def fewer_sweeps(rows: pd.DataFrame) -> Finding:
    """Compare kernels of trace one on the same constraints, to the same KKT residual: ten times fewer in the median.

    DefiniteBoost by its published symmetric bound. A run of it that did not converge gives a lower bound.
    """
    ratios, unfinished, n_open = _sweep_ratios(rows, BOOST)
    if ratios.empty:
        return undecided(f"sweeps of {TRACE_ONE} and of {BOOST} on the same constraints (low_rank.csv)")
    median = float(ratios.median())
    measure = f"{median:,.3g} times as many"
    evidence = f"DefiniteBoost needs {measure} in the median of {counted(len(ratios), 'set')}"
    evidence += f", a lower bound in {unfinished}" if unfinished else ""
    for method in OTHER_STEPS:
        others, _, _ = _sweep_ratios(rows, method)
        evidence += "" if others.empty else f"; {method} {others.median():.3g} times"
    decision = decision_of(reached(median, least=FAR_FEWER))
    if n_open or (unfinished and decision is not Decision.CONFIRMED):
        decision = Decision.UNDECIDED
    return Finding(decision, evidence + open_in_words(n_open, "set"), "", measure)


@low_rank_claim(
    "Von Neumann and DefiniteBoost end at the same kernel (gyrB).",
    GYRB,
    ("reference_distance", "status"),
    f"kernels of {TRACE_ONE} and of {BOOST} on the same constraints",
)
def same_kernel(rows: pd.DataFrame) -> Finding:
    """Count the sets of constraints for which both end within .001 of the exact kernel."""
    both = _beside_trace_one(rows, BOOST, "reference_distance")
    opened, distances = both["ours_open"] | both["theirs_open"], both[["ours", "theirs"]]
    if opened.all():
        return undecided(f"kernels of {TRACE_ONE} and of {BOOST} on the same constraints (low_rank.csv)")
    most = distances.max()
    evidence = f"at most {most['ours']:.1e} and {most['theirs']:.1e} from the exact kernel"
    extreme = f"at most {distances[~opened].max().max():.1e}"
    return decided_by_rows((distances <= SAME).all(axis=1), opened, evidence, "set", extreme)


def _most_sweeps(rows: pd.DataFrame) -> str:
    """Return the most sweeps of each method whose constraints are met."""
    if not has_columns(rows, "sweeps", "n_constraints", "method"):
        return ""
    most = met(exact_solves(rows)).groupby("method", sort=False)["sweeps"].max().dropna()
    if most.empty:
        return "no constraints were met"
    return "at most " + " and ".join(f"{count:.0f} sweeps ({method})" for method, count in most.items())


@low_rank_claim(
    "Never more than 600 sweeps are needed, up to 1000 constraints.",
    DIGITS,
    ("sweeps",),
    "sweeps of Burg and von Neumann on Digits",
    _most_sweeps,
)
def few_sweeps(rows: pd.DataFrame) -> Finding:
    """Count the solves of Burg and von Neumann on Digits.

    Sets that have no solution say nothing: of these the constraints are missed by more than 5 % in the end.
    """
    solves = exact_solves(rows)
    solved = met(solves)
    missed = f"of {counted(len(solves), 'solve')} {len(solves) - len(solved)} miss their constraints"
    evidence, opened = f"{_most_sweeps(solves)}; {missed}", is_open(solved)
    few, completed = solved["sweeps"] <= MOST_SWEEPS, solved[~opened]
    if few[~opened].all() and (completed.empty or completed["n_constraints"].max() < MOST_CONSTRAINTS):
        return undecided(f"{MOST_CONSTRAINTS} constraints on Digits that can be met; {evidence}")
    return decided_by_rows(few, opened, evidence, "solve", f"at most {completed['sweeps'].max():.0f} sweeps")


@low_rank_claim(
    "The learned kernel classifies better than the kernel whose distances it was given (gyrB).",
    GYRB,
    ("accuracy", "target_accuracy"),
    "accuracies of learned kernels and of the kernel asked for",
)
def better_than_target(rows: pd.DataFrame) -> Finding:
    """Compare mean accuracies of 5-NN with the most constraints of each experiment, for Burg and von Neumann."""
    gains, n_open = {}, 0
    for (experiment, method), group in rows[rows["method"].isin(EXACT)].groupby(["experiment", "method"], sort=False):
        most = group[group["n_constraints"] == group["n_constraints"].max()]
        if is_open(most).any():
            n_open += 1
            continue
        ours, theirs = float(most["accuracy"].mean()), float(most["target_accuracy"].mean())
        gains[f"{experiment}, {method}: {ours:.3f} against {theirs:.3f}"] = ours - theirs
    if not gains:
        return undecided("accuracies of Burg and von Neumann (low_rank.csv)")
    better, total, least = sum(gain > 0 for gain in gains.values()), len(gains) + n_open, min(gains.values())
    return decided_by_share(
        better, total, "; ".join(gains), unit="comparison", extreme=f"at least {least:+.3f}", n_open=n_open
    )


def _curves(rows: pd.DataFrame) -> dict[str, bool | None]:
    """Return the ends of each curve of NMI in words, and whether it rises; ``None`` if a limit stopped a draw of it.

    It rises if NMI is higher with the most constraints than with the fewest, and with their number (Spearman's
    correlation 0.8).
    """
    curves: dict[str, bool | None] = {}
    if not has_columns(rows, "method", "experiment", "n_constraints", _NMI):
        return curves
    kept = solvable(rows)
    for (experiment, method), group in kept[kept["method"].isin(EXACT)].groupby(["experiment", "method"], sort=False):
        means = group.groupby("n_constraints")[_NMI].mean().dropna().sort_index()
        if is_open(group).any():
            curves[f"{experiment}, {method}: open"] = None
        elif len(means) >= 3:
            correlation = float(pd.Series(means.index).corr(means.reset_index(drop=True), method="spearman"))
            rises = bool(means.iloc[-1] > means.iloc[0] and correlation >= _RISING)
            curves[f"{experiment}, {method}: {means.iloc[0]:.2f} to {means.iloc[-1]:.2f}"] = rises
    return curves


_NMI_LACKING = "NMI at three numbers of constraints on Digits"


@low_rank_claim("NMI rises with constraints.", DIGITS, (_NMI,), _NMI_LACKING, lambda rows: "; ".join(_curves(rows)))
def agreement_rises(rows: pd.DataFrame) -> Finding:
    """Count the curves of Burg and von Neumann on Digits that rise, by the best of ten k-means starts."""
    curves = _curves(rows)
    if not curves:
        return undecided(f"{_NMI_LACKING} (low_rank.csv)")
    opened = [rises is None for rises in curves.values()]
    return decided_by_rows([bool(rises) for rises in curves.values()], opened, "; ".join(curves), "curve")


@low_rank_claim(
    "Both divergences do comparably well.",
    DIGITS,
    ("accuracy", _NMI),
    "accuracy and NMI of Burg and von Neumann on Digits",
)
def divergences_comparable(rows: pd.DataFrame) -> Finding:
    """Count the numbers of constraints on Digits with accuracies within .02 and NMI within .05 of each other."""
    rows = solvable(exact_solves(rows))
    means = rows.groupby(["n_constraints", "method"])[["accuracy", _NMI]].mean().unstack("method")
    if means.empty or not set(EXACT) <= set(means["accuracy"].columns):
        return undecided("accuracy and NMI of both divergences on Digits (low_rank.csv)")
    opened = means.index.isin(rows.loc[is_open(rows), "n_constraints"])
    if opened.all():
        return undecided("accuracy and NMI on Digits of runs that were not stopped at a limit (low_rank.csv)")
    accuracy, nmi = ((means[name][EXACT[0]] - means[name][EXACT[1]]).abs() for name in ("accuracy", _NMI))
    evidence = f"accuracies at most {accuracy[~opened].max():.3f} apart, NMI {nmi[~opened].max():.2f}"
    close = (accuracy <= CLOSE) & (nmi <= CLOSE_NMI)
    return decided_by_rows(close, opened, evidence, "constraint count", evidence)


@low_rank_claim(
    "The rank of the kernel is kept.", DIGITS, ("learned_rank", "rank"), "ranks of learned kernels on Digits"
)
def rank_kept(rows: pd.DataFrame) -> Finding:
    """Compare the numerical rank of the factor on Digits at the end with that at the start."""
    learned = met(exact_solves(rows))
    opened = is_open(learned)
    if opened.all():
        return undecided("ranks of kernels on Digits whose learning was not stopped at a limit (low_rank.csv)")
    first, least = f"{learned['rank'].max():.0f}", f"{learned['learned_rank'].min():.0f}"
    evidence, extreme = f"rank {first} at the start, {least} or more at the end", f"at least {least} of {first}"
    return decided_by_rows(learned["learned_rank"] == learned["rank"], opened, evidence, "kernel", extreme)
