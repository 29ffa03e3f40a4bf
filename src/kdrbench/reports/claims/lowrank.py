"""Claims of low-rank kernel learning (Kulis, Sustik, Dhillon 2006), from results/lowrank.csv."""

from __future__ import annotations

import pandas as pd

from kdrbench.reports.claims.claim import Decision, Found, Records, confirmed_if, undecided
from kdrbench.reports.power_law import PowerLaw, fit_power_law

EXACT = ("burg", "von_neumann")
BOOST = "definite_boost"
# "Far fewer", in words of ours.
FAR_FEWER = 10.0
_NEAR = 0.25
_RISING = 0.8
_FILE = "(results/lowrank.csv)"


def cost_of_projections(records: Records) -> Found:
    """Decide "Burg and von Neumann scale linearly in n and quadratically in r".

    By power laws of the time of a solve over n (rank and constraints fixed) and of a projection over r (n and
    constraints fixed): confirmed if no exponent in n is above 1.25 and the 95 % interval of each in r comes within
    0.25 of 2.
    """
    table = records.lowrank
    if not _has(table, "method", "n_samples", "rank", "n_constraints", "time_s", "sweeps"):
        return undecided(f"times of low-rank solves by size and rank {_FILE}")
    in_n = {name: _law(table[table["method"] == name], "n_samples", "rank", "time_s") for name in EXACT}
    steps = table.assign(step_s=table["time_s"] / (table["sweeps"] * table["n_constraints"]))
    in_r = {name: _law(steps[steps["method"] == name], "rank", "n_samples", "step_s") for name in EXACT}
    laws = [("n", in_n[name], name) for name in EXACT] + [("r", in_r[name], name) for name in EXACT]
    evidence = "; ".join(
        f"{name} {letter}^{law.exponent:.2f} ({law.low:.2f} to {law.high:.2f})" for letter, law, name in laws if law
    )
    if missing := [f"{name} in {letter}" for letter, law, name in laws if law is None]:
        return undecided(
            f"times at three sizes of {', '.join(missing)} {_FILE}" + (f"; {evidence}" if evidence else "")
        )
    linear = all(law.exponent <= 1 + _NEAR for law in in_n.values() if law)
    square = all(law.low <= 2 + _NEAR and law.high >= 2 - _NEAR for law in in_r.values() if law)
    return confirmed_if(linear and square, evidence)


def _law(table: pd.DataFrame, axis: str, other: str, column: str) -> PowerLaw | None:
    """Return the law along the longest series in which only ``axis`` differs."""
    groups = [group for _, group in table.dropna(subset=[column]).groupby([other, "n_constraints"], sort=False)]
    if not groups:
        return None
    longest = max(groups, key=lambda group: group[axis].nunique())
    means = longest.groupby(axis)[column].median()
    return fit_power_law([float(size) for size in means.index], [float(time) for time in means])


def fewer_sweeps(records: Records) -> Found:
    """Decide "exact projections need far fewer sweeps than DefiniteBoost": ten times fewer in the median.

    Both on the same constraints. A run of DefiniteBoost that did not converge gives a lower bound of its sweeps.
    """
    table = records.lowrank
    keys = ["experiment", "n_constraints", "draw"]
    if not _has(table, "method", "sweeps", "status", *keys) or not {BOOST, "von_neumann"} <= set(table["method"]):
        return undecided(f"sweeps of von Neumann and of DefiniteBoost on the same constraints {_FILE}")
    ours = table[table["method"] == "von_neumann"].set_index(keys)
    theirs = table[table["method"] == BOOST].set_index(keys)
    both = ours[["sweeps"]].merge(
        theirs[["sweeps", "status"]], left_index=True, right_index=True, suffixes=("", "_boost")
    )
    both = both.dropna(subset=["sweeps", "sweeps_boost"])
    if both.empty:
        return undecided(f"sweeps of von Neumann and of DefiniteBoost on the same constraints {_FILE}")
    ratios = both["sweeps_boost"] / both["sweeps"]
    unfinished = int((both["status"] != "converged").sum())
    evidence = f"DefiniteBoost needs {ratios.min():.3g} to {ratios.max():.3g} times as many sweeps, "
    evidence += f"median {ratios.median():.3g} of {len(both)}"
    if unfinished:
        evidence += f"; {unfinished} had not converged, which is a lower bound"
    if ratios.median() >= FAR_FEWER:
        return Found(Decision.CONFIRMED, evidence)
    return Found(Decision.UNDECIDED if unfinished else Decision.CONTRADICTED, evidence)


def agreement_rises(records: Records) -> Found:
    """Decide "NMI rises with constraints", for each experiment and method.

    It must be higher with the most than with the fewest, and rise with the number (Spearman's correlation 0.8).
    """
    table = records.lowrank
    if not _has(table, "method", "experiment", "n_constraints", "nmi"):
        return undecided(f"NMI by number of constraints {_FILE}")
    known = table.dropna(subset=["nmi"])
    parts, rising = [], []
    for (experiment, method), group in known.groupby(["experiment", "method"], sort=False):
        means = group.groupby("n_constraints")["nmi"].mean().sort_index()
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
