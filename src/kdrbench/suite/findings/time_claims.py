"""Claims on the time of ISM beside its rivals and baselines, and on how it grows (NeurIPS 2019 and ISM+).

Times are first solves that nothing disturbed. How they grow is decided by series of made data, which are this project's
own: the papers do not name theirs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kdrbench.errors import counted
from kdrbench.suite.findings.claim_rows import (
    BOTH,
    CONVERGED_RIVALS,
    NEURIPS,
    PLUS,
    PLUS_5,
    PLUS_6,
    RIVALS,
    TABLE_4,
    TABLE_4_CLUSTERS,
    TIME_COLUMNS,
    Coverage,
    Records,
    claim_on,
    decided_on,
    timed_cells,
)
from kdrbench.suite.findings.finding import (
    Finding,
    claim,
    decided_by_share,
    decision_of,
    listed,
    only_decision,
    reached,
    undecided,
)
from kdrbench.suite.findings.outcome import steady_times, stopped
from kdrbench.suite.findings.solver_claims import PairOfCells, endings, pairs_of
from kdrbench.suite.reports.tables.labels import dataset_label, method_label
from kdrbench.suite.systems.ikdr.size_series import (
    ALL_PAIRS,
    LETTERS,
    MANY_SAMPLES,
    PowerLaw,
    SizeSeries,
    fit_power_law,
    size_series,
)

_TIMED = (TABLE_4, TABLE_4_CLUSTERS, PLUS_5, PLUS_6)
_BASELINES = ("lda", "pca_svm")
# "As fast as", in words of ours: within a factor of ten.
FASTER, AS_FAST = 1e5, 10.0
# How near an exponent must come, and how wide an interval may be to say anything.
NEAR_EXPONENT, _WIDEST = 0.25, 1.0


@claim("ISM is up to 10^5 times faster than DG, SM, GM and ISM of 2018.", BOTH, "Table 4; Tables 5 and 6")
def times_faster(records: Records) -> Finding:
    """Take the largest ratio of mean first solves in a cell, rivals as published.

    A rival that was stopped gives a lower bound of its ratio. Undecided where none reaches 10^5 and some are such
    bounds. Where ISM itself was stopped, the ratio is bounded from above, or not at all: such a cell confirms nothing,
    and leaves the claim undecided where its ratio might change the decision.
    """
    rivals = (*RIVALS, "ism_2018")
    coverage = timed_cells(records, _TIMED, ("ism", *rivals), bounds=True)
    known = _with_ratio(coverage, "ism", rivals)
    pairs = [pair for pair in known if pair.ours_ended]

    def judge(_: Coverage) -> Finding:
        if not pairs:
            return undecided("first solves of ism, which came to its end, and of its rivals in the same runs")
        best, median = max(pairs, key=lambda pair: pair.ratio), float(np.median([pair.ratio for pair in pairs]))
        evidence = f"first solves: at most {factor(best.ratio)} times ({best.rival.name}), median {factor(median)} of "
        evidence += counted(len(pairs), "cell")
        if bounded := sum(not pair.ended for pair in pairs):
            evidence += f"; lower bounds, since runs were stopped at their limit: {counted(bounded, 'ratio')}"
        if len(known) > len(pairs):
            evidence += f"; left out: {counted(len(known) - len(pairs), 'cell')} in which ISM itself was stopped"
        most = max(math.inf if stopped(pair.rival.runs).any() else pair.ratio for pair in known)
        possible = {decision_of(reached(ratio, least=FASTER)) for ratio in (best.ratio, max(best.ratio, most))}
        return Finding(only_decision(possible), evidence, _fair_ratio(records), f"{factor(best.ratio)} times")

    return decided_on(coverage, judge)


def _fair_ratio(records: Records) -> str:
    """Say how the same ratio comes out between solvers run to the same accuracy."""
    fair = timed_cells(records, _TIMED, ("ism_converged", *CONVERGED_RIVALS), bounds=True)
    ratios = [pair.ratio for pair in _with_ratio(fair, "ism_converged", CONVERGED_RIVALS) if pair.ours_ended]
    if not ratios:
        return "Converged rivals have no records."
    words = (
        "All solvers share one vectorised oracle here. Run to the same accuracy, rivals take "
        f"{factor(min(ratios))} to {factor(max(ratios))} times ISM's first solve, median {factor(np.median(ratios))}."
    )
    return f"{words} {endings(fair.of(*CONVERGED_RIVALS))}".strip()


def _with_ratio(coverage: Coverage, solver: str, rivals: Sequence[str]) -> list[PairOfCells]:
    pairs = pairs_of(coverage, "time_s", solver, rivals)
    return [pair for pair in pairs if len(pair.ours) and pair.ours.mean() > 0]


def factor(ratio: float) -> str:
    """Return a ratio in two digits, or whole with its thousands apart."""
    return f"{ratio:.2g}" if ratio < 100 else f"{ratio:,.0f}"


@claim_on(
    "ISM is as fast as PCA and LDA.",
    PLUS,
    "Table 5",
    lambda records: timed_cells(records, (PLUS_5,), ("ism", *_BASELINES)),
)
def as_fast_as_baselines(coverage: Coverage) -> Finding:
    """Count the data sets on which its first solve takes at most ten times theirs."""
    seconds = {(cell.dataset, cell.method): float(cell.numbers("time_s").mean()) for cell in coverage.cells}
    ratios = {
        (dataset, name): seconds[dataset, "ism"] / seconds[dataset, name]
        for dataset in dict.fromkeys(dataset for dataset, _ in seconds)
        for name in _BASELINES
        if {(dataset, "ism"), (dataset, name)} <= {*seconds} and seconds[dataset, name] > 0
    }
    slower = [
        f"{dataset_label(dataset)} {factor(ratio)} times {method_label(name)}"
        for (dataset, name), ratio in ratios.items()
        if ratio > AS_FAST
    ]
    within = len(ratios) - len(slower)
    evidence = f"first solves within ten times the baseline's in {within} of {counted(len(ratios), 'case')}"
    evidence += f"; {listed(slower)}" if slower else ""
    note = "A baseline's time is that of its whole fit, ISM's that of the projection."
    extreme = f"at most {factor(max(ratios.values()))} times" if ratios else ""
    return decided_by_share(within, len(ratios), evidence, note, "case", extreme=extreme)


def series_of(records: Records) -> list[SizeSeries]:
    """Return the series over size of undisturbed first solves; none where the records do not hold these apart."""
    runs = records.runs
    if runs.empty or not {*TIME_COLUMNS, "iterations"} <= set(runs.columns):
        return []
    clean = steady_times(runs)
    return [] if clean.empty else size_series(clean, records.config)


@claim("The disparity of times between ISM and its rivals grows with the number of features.", NEURIPS, "Table 4")
def disparity_grows(records: Records) -> Finding:
    """Fit the rival's time over ISM's against d: the 95 % interval of the exponent must be above 0.

    Stopped runs enter no ratio.
    """
    series = [one for one in series_of(records) if one.axis == "n_features" and one.evaluation == ALL_PAIRS]
    ours = next((one for one in series if one.method == "ism"), None)
    laws = {
        one.method: law
        for one in series
        if ours is not None and one.place == ours.place and one.method in RIVALS
        if (law := _law_of_ratio(one, ours)) is not None
    }
    evidence = "; ".join(
        f"{method_label(name)} d^{law.exponent:.2f} ({law.low:.2f} to {law.high:.2f})" for name, law in laws.items()
    )
    if missing := [method_label(name) for name in RIVALS if name not in laws]:
        note = f"Of what is there: {evidence}." if evidence else ""
        return undecided(f"first solves of ISM and {', '.join(missing)} at three numbers of features", note)
    growing = sum(law.low > 0 for law in laws.values())
    extreme = f"at least d^{min(law.exponent for law in laws.values()):.2f}"
    return decided_by_share(growing, len(laws), f"ratio of times: {evidence}", unit="rival", extreme=extreme)


def _law_of_ratio(theirs: SizeSeries, ours: SizeSeries) -> PowerLaw | None:
    seconds = dict(ours.ended)
    points = [(size, time / seconds[size]) for size, time in theirs.ended if size in seconds]
    return fit_power_law([size for size, _ in points], [ratio for _, ratio in points])


@claim("Time grows as n^2 for every solver, with like slopes.", NEURIPS, "Figure 1b")
def quadratic_time(records: Records) -> Finding:
    """Fit the series over all pairs of samples.

    It holds for a solver if the 95 % interval of its exponent comes within 0.25 of 2, and the exponent within 0.25 of
    the middle of all. Undecided if ISM or a rival was not run, if some solver ended at fewer than three sizes of 1000
    or more, below which a run is made of calls, or if its interval is wider than 1.
    """
    in_n = [one for one in series_of(records) if one.axis == "n_train"]
    pairs = [one for one in in_n if one.evaluation == ALL_PAIRS]
    if not pairs:
        return undecided("first solves of a scaling experiment that sums over all pairs, at three sizes or more")
    evidence, others = "; ".join(map(_slope, pairs)), [_slope(one) for one in in_n if one.evaluation != ALL_PAIRS]
    note = f"With the library's own evaluation, which needs no pairs: {'; '.join(others)}." if others else ""
    if missing := [method_label(name) for name in ("ism", *RIVALS) if name not in {one.method for one in pairs}]:
        return undecided(f"first solves of {', '.join(missing)} that sum over all pairs: {evidence}", note)
    laws = [law for one in pairs if (law := one.law) is not None and _says_something("n_train", law)]
    if len(laws) < len(pairs):
        sizes = f"sizes enough, of {MANY_SAMPLES:g} and more, for an exponent of every solver"
        return undecided(f"{sizes}: {evidence}", note)
    exponents = [law.exponent for law in laws]
    middle = 0.5 * (min(exponents) + max(exponents))
    like = sum(comes_near(law, 2.0) and abs(law.exponent - middle) <= NEAR_EXPONENT for law in laws)
    extreme = f"n^{min(exponents):.2f} to n^{max(exponents):.2f}"
    return decided_by_share(like, len(laws), evidence, note, "solver", extreme=extreme)


@claim(
    "An iteration costs n^2 in samples and at most d in features; in components q^2 for the rivals, less for ISM.",
    PLUS,
    "Table 4",
)
def complexity(records: Records) -> Finding:
    """Fit the exponents of an iteration: 2 in n for all; at most 1 in d; in q 2 for the rivals, at most 1 for ISM.

    It holds for an exponent of 2 if the 95 % interval comes within 0.25 of it, and for one of at most 1 if it is not
    above 1.25. Every solver must have all three.
    """
    laws = {
        (one.axis, one.method): law
        for one in series_of(records)
        if one.evaluation == ALL_PAIRS
        if (law := one.law_of_an_iteration) is not None and _says_something(one.axis, law)
    }
    wanted = [(axis, method) for axis in LETTERS for method in ("ism", *RIVALS)]
    known = {place: laws[place] for place in wanted if place in laws}
    evidence = "; ".join(_exponent(*place, law) for place, law in known.items())
    if missing := [
        f"{LETTERS[axis]} of {method_label(method)}" for axis, method in wanted if (axis, method) not in laws
    ]:
        note = f"Of what is there: {evidence}." if evidence else ""
        return undecided(f"an iteration's first solves at three sizes of {', '.join(missing)}", note)
    holding = sum(
        comes_near(law, 2.0)
        if axis == "n_train" or (axis == "n_components" and method != "ism")
        else law.exponent <= 1 + NEAR_EXPONENT
        for (axis, method), law in known.items()
    )
    largest = {axis: max(law.exponent for (one, _), law in known.items() if one == axis) for axis in LETTERS}
    extreme = "at most " + ", ".join(f"{LETTERS[axis]}^{exponent:.2f}" for axis, exponent in largest.items())
    return decided_by_share(holding, len(known), evidence, unit="exponent", extreme=extreme)


def _says_something(axis: str, law: PowerLaw) -> bool:
    """Return whether the interval is narrow enough, and a law in n is of sizes at which sums take the time."""
    return law.high - law.low <= _WIDEST and (axis != "n_train" or law.smallest >= MANY_SAMPLES)


def comes_near(law: PowerLaw, exponent: float) -> bool:
    """Return whether the interval comes near an exponent."""
    return law.low <= exponent + NEAR_EXPONENT and law.high >= exponent - NEAR_EXPONENT


def _slope(one: SizeSeries) -> str:
    if one.law is None:
        return f"{method_label(one.method)} ended at {counted(len(one.ended), 'size')}"
    return _exponent(one.axis, one.method, one.law)


def _exponent(axis: str, method: str, law: PowerLaw) -> str:
    return f"{method_label(method)} {LETTERS[axis]}^{law.exponent:.2f} (95 %: {law.low:.2f} to {law.high:.2f})"
