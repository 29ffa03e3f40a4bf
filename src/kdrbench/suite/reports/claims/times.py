"""Claims on the time of ISM beside its rivals and baselines: first solves that nothing disturbed."""

from __future__ import annotations

import math

import numpy as np

from kdrbench.errors import counted
from kdrbench.suite.reports.claims.claim import (
    Claim,
    Decision,
    Found,
    Records,
    decided_by_share,
    decision_of,
    listed,
    reached,
    undecided,
)
from kdrbench.suite.reports.claims.costs import PairOfCells, endings, pairs_of
from kdrbench.suite.reports.claims.coverage import decided_on, timed_cells
from kdrbench.suite.reports.claims.fixed_points import at_limits
from kdrbench.suite.reports.claims.growth import series_of
from kdrbench.suite.reports.claims.printed_tables import (
    CONVERGED_RIVALS,
    PLUS_5,
    PLUS_6,
    RIVALS,
    TABLE_4,
    TABLE_4_CLUSTERS,
)
from kdrbench.suite.reports.tables.labels import dataset_label, method_label
from kdrbench.suite.reports.tables.size_series import ALL_PAIRS, PowerLaw, SizeSeries, fit_power_law

FASTER = 1e5
# "As fast as", in words of ours: within a factor of ten.
AS_FAST = 10.0
_TABLES = (TABLE_4, TABLE_4_CLUSTERS, PLUS_5, PLUS_6)
_BASELINES = ("lda", "pca_svm")


def times_faster(records: Records) -> Found:
    """Decide "up to 10^5 times faster" by the largest ratio of mean first solves in a cell, rivals as published.

    A rival that was stopped gives a lower bound of its ratio. Undecided where none reaches 10^5 and some
    are such bounds. Where ISM itself was stopped, the ratio is bounded from above, or not at all: such a cell confirms
    nothing, and leaves the claim undecided where its ratio might change the decision.
    """
    coverage = timed_cells(records, _TABLES, ("ism", *RIVALS, "ism_2018"), bounds=True)
    known = [pair for pair in pairs_of(coverage, "time_s", "ism", (*RIVALS, "ism_2018")) if _has_ratio(pair)]
    pairs = [pair for pair in known if pair.ours_ended.all()]
    stopped = [pair for pair in known if not pair.ours_ended.all()]

    def judge() -> Found:
        if not pairs:
            return undecided("first solves of ism, which came to its end, and of its rivals in the same runs")
        best = max(pairs, key=_ratio)
        bounded = sum(not pair.ended.all() for pair in pairs)
        evidence = f"first solves: at most {factor(_ratio(best))} times ({best.rival.name}), median "
        evidence += f"{factor(float(np.median([_ratio(pair) for pair in pairs])))} of {counted(len(pairs), 'cell')}"
        if bounded:
            evidence += f"; lower bounds, since runs were stopped at their limit: {counted(bounded, 'ratio')}"
        if stopped:
            evidence += f"; left out: {counted(len(stopped), 'cell')} in which ISM itself was stopped"
        most = max(math.inf if _rival_stopped(pair) else _ratio(pair) for pair in known)
        decisions = {decision_of(reached(ratio, least=FASTER)) for ratio in (_ratio(best), max(_ratio(best), most))}
        decision = decisions.pop() if len(decisions) == 1 else Decision.UNDECIDED
        return Found(decision, evidence, _fair_ratio(records), f"{factor(_ratio(best))} times")

    return decided_on(coverage, judge)


def _fair_ratio(records: Records) -> str:
    """Say how the same ratio comes out between solvers run to the same accuracy."""
    fair = timed_cells(records, _TABLES, ("ism_converged", *CONVERGED_RIVALS), bounds=True)
    pairs = pairs_of(fair, "time_s", "ism_converged", CONVERGED_RIVALS)
    ratios = [_ratio(pair) for pair in pairs if _has_ratio(pair) and pair.ours_ended.all()]
    if not ratios:
        return "Converged rivals have no records."
    words = "All solvers share one vectorised oracle here. Run to the same accuracy, rivals take "
    words += (
        f"{factor(min(ratios))} to {factor(max(ratios))} times ISM's first solve, median {factor(np.median(ratios))}."
    )
    return f"{words} {endings(fair.of(*CONVERGED_RIVALS))}".strip()


def _has_ratio(pair: PairOfCells) -> bool:
    return len(pair.ours) > 0 and float(pair.ours.mean()) > 0


def _rival_stopped(pair: PairOfCells) -> bool:
    """Return whether some run of the rival did not come to its own end."""
    return bool(at_limits(pair.rival.runs).any())


def _ratio(pair: PairOfCells) -> float:
    return float(pair.theirs.mean() / pair.ours.mean())


def factor(ratio: float) -> str:
    """Return a ratio in two digits, or whole with its thousands apart."""
    return f"{ratio:.2g}" if ratio < 100 else f"{ratio:,.0f}"


def as_fast_as_baselines(records: Records) -> Found:
    """Decide "ISM is as fast as PCA and LDA": on each data set its first solve takes at most ten times theirs."""
    coverage = timed_cells(records, (PLUS_5,), ("ism", *_BASELINES))
    seconds = {(cell.dataset, cell.method): float(cell.numbers("time_s").mean()) for cell in coverage.cells}
    datasets = list(dict.fromkeys(dataset for dataset, _ in seconds))
    pairs = [
        (dataset, name)
        for dataset in datasets
        for name in _BASELINES
        if {(dataset, "ism"), (dataset, name)} <= {*seconds}
    ]

    def judge() -> Found:
        ratios = {pair: seconds[pair[0], "ism"] / seconds[pair] for pair in pairs if seconds[pair] > 0}
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

    return decided_on(coverage, judge)


def disparity_grows(records: Records) -> Found:
    """Decide "the disparity of times grows with d" by the series over features: rival's time over ISM's against d.

    It holds for a rival if the 95 % interval of the ratio's exponent in d is above 0. Stopped runs enter no ratio.
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


CLAIMS = (
    Claim(
        "times_faster",
        "ISM is up to 10^5 times faster than DG, SM, GM and ISM of 2018.",
        "NeurIPS 2019, ISM+",
        "Table 4; Tables 5 and 6",
        times_faster,
    ),
    Claim("as_fast_as_baselines", "ISM is as fast as PCA and LDA.", "ISM+", "Table 5", as_fast_as_baselines),
    Claim(
        "disparity_grows",
        "The disparity of times between ISM and its rivals grows with the number of features.",
        "NeurIPS 2019",
        "Table 4",
        disparity_grows,
    ),
)
