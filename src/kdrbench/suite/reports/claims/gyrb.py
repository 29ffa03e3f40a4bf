"""Claims on the data set gyrB (Kulis, Sustik, Dhillon 2006).

Its data are not to be had: what comes out on a stand-in is a note. A draw that a limit stopped is open.
"""

from __future__ import annotations

from kdrbench.errors import counted
from kdrbench.suite.reports.claims.claim import (
    Decision,
    Found,
    Records,
    decided_by_share,
    decision_of,
    open_in_words,
    reached,
    undecided,
)
from kdrbench.suite.reports.claims.deciding_rows import (
    SET,
    TRACE_ONE,
    beside_trace_one,
    gyrb_rows,
    has_columns,
    is_open,
    on_gyrb,
    ratios_of_sweeps,
)

EXACT = ("burg", "von_neumann")
# DefiniteBoost by its published bound, and with other steps.
BOOST = "definite_boost"
OTHER_STEPS = ("definite_boost_exact", "definite_boost_own_range")
# "Far fewer" and "the same", in numbers of ours.
FAR_FEWER, SAME = 10.0, 1e-3
FILE = "(low_rank.csv)"


def fewer_sweeps(records: Records) -> Found:
    """Decide "exact projections need far fewer sweeps than DefiniteBoost": ten times fewer in the median (gyrB).

    Both among kernels of trace one, on the same constraints, to the same KKT residual, DefiniteBoost by its published
    symmetric bound. A run of it that did not converge gives a lower bound.
    """
    rows = gyrb_rows(records)
    ratios, unfinished, n_open = ratios_of_sweeps(rows, BOOST)
    if ratios.empty:
        return undecided(f"sweeps of {TRACE_ONE} and of {BOOST} on the same constraints {FILE}")
    median = float(ratios.median())
    evidence = f"DefiniteBoost needs {median:,.3g} times as many in the median of {counted(len(ratios), 'set')}"
    evidence += f", a lower bound in {unfinished}" if unfinished else ""
    for method in OTHER_STEPS:
        others, _, _ = ratios_of_sweeps(rows, method)
        if not others.empty:
            evidence += f"; {method} {others.median():.3g} times"
    decision = decision_of(reached(median, least=FAR_FEWER))
    if n_open or (unfinished and decision is not Decision.CONFIRMED):
        decision = Decision.UNDECIDED
    evidence += open_in_words(n_open, "set")
    return on_gyrb(rows, Found(decision, evidence, "", f"{median:,.3g} times as many"))


def same_kernel(records: Records) -> Found:
    """Decide "von Neumann and DefiniteBoost end at the same kernel": both within .001 of the exact one (gyrB)."""
    rows = gyrb_rows(records)
    sets = beside_trace_one(rows, BOOST, "reference_distance")
    both, opened = sets[["ours", "theirs"]], sets["is_open"]
    if opened.all():
        return undecided(f"kernels of {TRACE_ONE} and of {BOOST} on the same constraints {FILE}")
    holds = (both <= SAME).all(axis=1) & ~opened
    evidence = f"at most {both['ours'].max():.1e} and {both['theirs'].max():.1e} from the exact kernel"
    return on_gyrb(
        rows,
        decided_by_share(
            int(holds.sum()),
            len(both),
            evidence,
            unit="set",
            extreme=f"at most {both[~opened].max().max():.1e}",
            n_open=int(opened.sum()),
        ),
    )


def better_than_target(records: Records) -> Found:
    """Decide "the learned kernel classifies better than the one whose distances it was given" (gyrB).

    By the mean accuracy of 5-NN with the most constraints of each experiment, for Burg and von Neumann.
    """
    rows = gyrb_rows(records)
    if not has_columns(rows, "method", "accuracy", "target_accuracy", *SET):
        return undecided(f"accuracies of learned kernels and of the kernel asked for {FILE}")
    parts, holding, gains, n_open = [], 0, [], 0
    for (experiment, method), group in rows[rows["method"].isin(EXACT)].groupby(["experiment", "method"], sort=False):
        most = group[group["n_constraints"] == group["n_constraints"].max()]
        if is_open(most).any():
            n_open += 1
            continue
        ours, theirs = float(most["accuracy"].mean()), float(most["target_accuracy"].mean())
        holding += int(ours > theirs)
        gains.append(ours - theirs)
        parts.append(f"{experiment}, {method}: {ours:.3f} against {theirs:.3f}")
    if not parts:
        return undecided(f"accuracies of Burg and von Neumann {FILE}")
    return on_gyrb(
        rows,
        decided_by_share(
            holding,
            len(parts) + n_open,
            "; ".join(parts),
            unit="comparison",
            extreme=f"at least {min(gains):+.3f}",
            n_open=n_open,
        ),
    )
