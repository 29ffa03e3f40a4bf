"""Claims on low-rank kernels (Kulis, Sustik, Dhillon 2006).

Digits decide, on the paper's 317 samples, with five draws of the constraints or more. The data of gyrB are not to be
had: what the paper says of them is undecided. What comes out on a stand-in is a note. A run without a number is lost,
but for those that a limit stopped or that were not made: they are open.
"""

from __future__ import annotations

import pandas as pd

from kdrbench.errors import counted
from kdrbench.status import Status
from kdrbench.suite.reports.claims.claim import (
    LACKING,
    Claim,
    Decision,
    Found,
    Records,
    decided_by_share,
    undecided,
)
from kdrbench.suite.reports.claims.deciding_rows import (
    SET,
    STAND_IN,
    by_draws,
    has_columns,
    is_open,
    met,
    of_dataset,
    papers_digits,
    solvable,
)
from kdrbench.suite.reports.claims.growth import law_along
from kdrbench.suite.reports.claims.gyrb import EXACT, FILE, better_than_target, fewer_sweeps, same_kernel
from kdrbench.suite.reports.clean_times import clean_times

# "Comparable", in numbers of ours.
CLOSE_ACCURACY, CLOSE_NMI = 0.02, 0.05
MOST_SWEEPS, MOST_CONSTRAINTS = 600, 1000
_NEAR, _LARGE_RANK, _RISING = 0.25, 100.0, 0.8
_NMI = "nmi_ten_starts"


def cost_of_projections(records: Records) -> Found:
    """Decide "Burg and von Neumann scale linearly in n and quadratically in r".

    By power laws of the time of a solve over n (rank and constraints fixed) and of a projection over r (n and
    constraints fixed): confirmed if no exponent in n is above 1.25 and the 95 % interval of each in r comes within
    0.25 of 2. Laws in r are fitted from rank 100 on where there are three such ranks: below, time is that of calls.
    """
    table = clean_times(records.low_rank)
    if not has_columns(table, "method", "n_samples", "rank", "n_constraints", "time_s", "projections"):
        return undecided(f"times of low-rank solves by size and rank {FILE}")
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
        return undecided(f"times at three sizes of {', '.join(missing)} {FILE}" + (f"; {evidence}" if fitted else ""))
    linear = sum(law.exponent <= 1 + _NEAR for name, law in fitted.items() if name.endswith(" n"))
    square = sum(law.low <= 2 + _NEAR and law.high >= 2 - _NEAR for name, law in fitted.items() if name.endswith(" r"))
    largest = {axis: max(law.exponent for name, law in fitted.items() if name.endswith(f" {axis}")) for axis in "nr"}
    extreme = ", ".join(f"{axis}^{exponent:.2f}" for axis, exponent in largest.items())
    return decided_by_share(linear + square, len(fitted), evidence, unit="exponent", extreme=f"at most {extreme}")


def agreement_rises(records: Records) -> Found:
    """Decide "NMI rises with constraints" on Digits, for Burg and von Neumann, by the best of ten k-means starts.

    It must be higher with the most than with the fewest, and rise with the number (Spearman's correlation 0.8).
    """
    ours, others = _rising(papers_digits(records)), _rising(of_dataset(records, STAND_IN))
    note = f"On the stand-in of gyrB: {'; '.join(others)}." if others else ""
    n_open = sum(rises is None for rises in ours.values())
    if not ours:
        return Found(Decision.UNDECIDED, f"{LACKING}NMI at three numbers of constraints on Digits {FILE}", note)
    n_rising = sum(rises is True for rises in ours.values())
    return decided_by_share(n_rising, len(ours), "; ".join(ours), note, unit="curve", n_open=n_open)


def _rising(rows: pd.DataFrame) -> dict[str, bool | None]:
    """Return the ends of each curve in words, and whether it rises; numbers with few solvable sets are left out.

    ``None`` for a curve of which a draw was stopped at a limit.
    """
    if not has_columns(rows, "method", "experiment", "n_constraints", _NMI):
        return {}
    found: dict[str, bool | None] = {}
    for (experiment, method), group in solvable(rows).groupby(["experiment", "method"], sort=False):
        means = group.groupby("n_constraints")[_NMI].mean().dropna().sort_index()
        if method in EXACT and is_open(group).any():
            found[f"{experiment}, {method}: open"] = None
            continue
        if len(means) < 3 or method not in EXACT:
            continue
        correlation = float(pd.Series(means.index).corr(means.reset_index(drop=True), method="spearman"))
        rises = means.iloc[-1] > means.iloc[0] and correlation >= _RISING
        found[f"{experiment}, {method}: {means.iloc[0]:.2f} to {means.iloc[-1]:.2f}"] = bool(rises)
    return found


def divergences_comparable(records: Records) -> Found:
    """Decide "both divergences do comparably well" on Digits: accuracy within .02 and NMI within .05 of each other."""
    rows = papers_digits(records)
    if not has_columns(rows, "method", "accuracy", _NMI, *SET):
        return undecided(f"accuracy and NMI of Burg and von Neumann on Digits {FILE}")
    rows = solvable(rows[(rows["n_constraints"] > 0) & rows["method"].isin(EXACT)])
    means = rows.groupby(["n_constraints", "method"])[["accuracy", _NMI]].mean().unstack("method")
    if means.empty or not set(EXACT) <= set(means["accuracy"].columns):
        return undecided(f"accuracy and NMI of both divergences on Digits {FILE}")
    apart = {name: (means[name][EXACT[0]] - means[name][EXACT[1]]).abs() for name in ("accuracy", _NMI)}
    opened = means.index.isin(rows.loc[is_open(rows), "n_constraints"])
    if opened.all():
        return undecided(f"accuracy and NMI on Digits of runs that were not stopped at a limit {FILE}")
    apart = {name: differences[~opened] for name, differences in apart.items()}
    holds = (apart["accuracy"] <= CLOSE_ACCURACY) & (apart[_NMI] <= CLOSE_NMI)
    evidence = f"accuracies at most {apart['accuracy'].max():.3f} apart, NMI {apart[_NMI].max():.2f}"
    n_open = int(opened.sum())
    return decided_by_share(
        int(holds.sum()), len(means), evidence, unit="constraint count", extreme=evidence, n_open=n_open
    )


def rank_kept(records: Records) -> Found:
    """Decide "the rank of the kernel is kept" on Digits, by the numerical rank of the factor at the end."""
    rows = papers_digits(records)
    there = has_columns(rows, "learned_rank", "rank", "method", "n_constraints")
    learned = met(rows[rows["method"].isin(EXACT) & (rows["n_constraints"] > 0)]) if there else rows.iloc[:0]
    if learned.empty:
        return undecided(f"ranks of learned kernels on Digits {FILE}")
    opened = is_open(learned)
    if opened.all():
        return undecided(f"ranks of kernels on Digits whose learning was not stopped at a limit {FILE}")
    kept = learned["learned_rank"] == learned["rank"]
    evidence = f"rank {learned['rank'].max():.0f} at the start, {learned['learned_rank'].min():.0f} or more at the end"
    extreme = f"at least {learned['learned_rank'].min():.0f} of {learned['rank'].max():.0f}"
    n_kept, n_open = int((kept & ~opened).sum()), int(opened.sum())
    return decided_by_share(n_kept, len(kept), evidence, unit="kernel", extreme=extreme, n_open=n_open)


def few_sweeps(records: Records) -> Found:
    """Decide "never more than 600 sweeps, up to 1000 constraints" by Burg and von Neumann on Digits.

    Sets that have no solution say nothing: of these the constraints are missed by more than 5 % in the end.
    """
    note = _sweeps_in_words(of_dataset(records, STAND_IN), "On the stand-in of gyrB: ")
    rows = papers_digits(records)
    if not has_columns(rows, "sweeps", "n_constraints", "method"):
        return Found(Decision.UNDECIDED, f"{LACKING}sweeps of Burg and von Neumann on Digits {FILE}", note)
    asked = rows[rows["method"].isin(EXACT) & (rows["n_constraints"] > 0)]
    solved = met(asked)
    evidence = (
        f"{_sweeps_in_words(asked, '')}; of {counted(len(asked), 'solve')} "
        f"{len(asked) - len(solved)} miss their constraints"
    )
    n_open, ended = int(is_open(solved).sum()), solved[~is_open(solved)]
    few = int((ended["sweeps"] <= MOST_SWEEPS).sum())
    if few == len(ended) and (ended.empty or ended["n_constraints"].max() < MOST_CONSTRAINTS):
        missing = f"{MOST_CONSTRAINTS} constraints on Digits that can be met"
        return Found(Decision.UNDECIDED, f"{LACKING}{missing}; {evidence}", note)
    extreme = f"at most {ended['sweeps'].max():.0f} sweeps"
    return decided_by_share(few, len(solved), evidence, note, unit="solve", extreme=extreme, n_open=n_open)


def _sweeps_in_words(rows: pd.DataFrame, start: str) -> str:
    if not has_columns(rows, "sweeps", "n_constraints", "method"):
        return ""
    most = (
        met(rows[rows["method"].isin(EXACT) & (rows["n_constraints"] > 0)])
        .groupby("method", sort=False)["sweeps"]
        .max()
        .dropna()
    )
    if most.empty:
        return f"{start}no constraints were met"
    return f"{start}at most " + " and ".join(f"{count:.0f} sweeps ({method})" for method, count in most.items())


_PAPER = "Low-rank kernels 2006"
_TEXTS = (
    (cost_of_projections, "Burg and von Neumann take time linear in n and quadratic in r."),
    (fewer_sweeps, "Exact projections need far fewer sweeps than DefiniteBoost (gyrB)."),
    (same_kernel, "Von Neumann and DefiniteBoost end at the same kernel (gyrB)."),
    (few_sweeps, "Never more than 600 sweeps are needed, up to 1000 constraints."),
    (better_than_target, "The learned kernel classifies better than the kernel whose distances it was given (gyrB)."),
    (agreement_rises, "NMI rises with constraints."),
    (divergences_comparable, "Both divergences do comparably well."),
    (rank_kept, "The rank of the kernel is kept."),
)
CLAIMS: tuple[Claim, ...] = tuple(Claim(one.__name__, words, _PAPER, "", by_draws(one)) for one, words in _TEXTS)
