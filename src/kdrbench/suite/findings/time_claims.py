"""Claims on the time of ISM beside its rivals and baselines, and on how it grows (NeurIPS 2019 and ISM+).

Times are first solves that nothing disturbed. How they grow is decided by series of made data, which are this project's
own: the papers do not name theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

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
from kdrbench.suite.findings.solver_claims import CellPair, endings, pairs_of
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
    pairs = [pair for pair in known if pair.has_ended(pair.solver)]

    def judge(_: Coverage) -> Finding:
        if not pairs:
            return undecided("first solves of ism, which came to its end, and of its rivals in the same runs")
        best, median = max(pairs, key=lambda pair: pair.ratio), float(np.median([pair.ratio for pair in pairs]))
        evidence = f"first solves: at most {factor(best.ratio)} times ({best.rival.name}), median {factor(median)} of "
        evidence += counted(len(pairs), "cell")
        if bounded := sum(not pair.has_ended() for pair in pairs):
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
    ratios = [
        pair.ratio for pair in _with_ratio(fair, "ism_converged", CONVERGED_RIVALS) if pair.has_ended(pair.solver)
    ]
    if not ratios:
        return "Converged rivals have no records."
    words = (
        "All solvers share one vectorised oracle here. Run to the same accuracy, rivals take "
        f"{factor(min(ratios))} to {factor(max(ratios))} times ISM's first solve, median {factor(np.median(ratios))}."
    )
    return f"{words} {endings(fair.of(*CONVERGED_RIVALS))}".strip()


def _with_ratio(coverage: Coverage, solver: str, rivals: Sequence[str]) -> list[CellPair]:
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


# Exponents by method and the letter of the size in which time grows; ``None`` where none could be fitted.
Laws = Mapping[tuple[str, str], PowerLaw | None]


def decided_by_exponents(
    laws: Laws,
    holds: Callable[[str, str, PowerLaw], bool],
    lacking: str,
    unit: str = "exponent",
    *,
    is_clear: Callable[[str, PowerLaw], bool] = lambda letter, law: True,
    bound: str = "at most",
    note: str = "",
) -> Finding:
    """Return a claim on exponents, decided by the share for which it ``holds``; undecided unless all are there.

    Also undecided where one is not clear. ``bound`` is that of the measure: "at most", "at least" or "range".
    """
    fitted = {place: law for place, law in laws.items() if law is not None}
    evidence = "; ".join(exponent_text(method_label(name), letter, law) for (name, letter), law in fitted.items())
    missing = [
        f"{letter} of {method_label(name)}"
        for (name, letter), law in laws.items()
        if law is None or not is_clear(letter, law)
    ]
    if missing:
        known = f"Of what is there: {evidence}." if evidence else ""
        return undecided(f"exponents by {lacking} at three sizes: {', '.join(missing)}", f"{known} {note}".strip())
    n_holding = sum(holds(name, letter, law) for (name, letter), law in fitted.items())
    return decided_by_share(n_holding, len(fitted), evidence, note, unit, extreme=_extreme(fitted, bound))


def _extreme(fitted: Mapping[tuple[str, str], PowerLaw], bound: str) -> str:
    exponents: dict[str, list[float]] = {}
    for (_, letter), law in fitted.items():
        exponents.setdefault(letter, []).append(law.exponent)
    if bound == "range":
        return ", ".join(f"{letter}^{min(each):.2f} to {letter}^{max(each):.2f}" for letter, each in exponents.items())
    choose = max if bound == "at most" else min
    return f"{bound} " + ", ".join(f"{letter}^{choose(each):.2f}" for letter, each in exponents.items())


def exponent_text(name: str, letter: str, law: PowerLaw) -> str:
    """Return an exponent with its interval."""
    return f"{name} {letter}^{law.exponent:.2f} (95 %: {law.low:.2f} to {law.high:.2f})"


def comes_near(law: PowerLaw, exponent: float) -> bool:
    """Return whether the interval comes near an exponent."""
    return law.low <= exponent + NEAR_EXPONENT and law.high >= exponent - NEAR_EXPONENT


def _is_clear(letter: str, law: PowerLaw) -> bool:
    """Return whether the interval is narrow enough, and a law in n is of sizes at which sums take the time."""
    return law.high - law.low <= _WIDEST and (letter != "n" or law.smallest >= MANY_SAMPLES)


@claim("The disparity of times between ISM and its rivals grows with the number of features.", NEURIPS, "Table 4")
def disparity_grows(records: Records) -> Finding:
    """Fit the rival's time over ISM's against d: the 95 % interval of the exponent must be above 0.

    Stopped runs enter no ratio.
    """
    in_d = {
        series.method: series
        for series in series_of(records)
        if (series.axis, series.evaluation) == ("n_features", ALL_PAIRS)
    }
    laws = {(name, "d"): _law_of_ratio(in_d.get(name), in_d.get("ism")) for name in RIVALS}
    lacking = "ratios of first solves to those of ISM"
    return decided_by_exponents(laws, lambda *place: place[2].low > 0, lacking, "rival", bound="at least")


def _law_of_ratio(theirs: SizeSeries | None, ours: SizeSeries | None) -> PowerLaw | None:
    if theirs is None or ours is None or theirs.place != ours.place:
        return None
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
    in_n = [series for series in series_of(records) if series.axis == "n_train"]
    laws = dict.fromkeys((name, "n") for name in ("ism", *RIVALS))
    laws |= {(series.method, "n"): series.law for series in in_n if series.evaluation == ALL_PAIRS}
    exponents = [law.exponent for law in laws.values() if law is not None]
    middle = 0.5 * (min(exponents) + max(exponents)) if exponents else math.nan
    own = [(series.method, series.law) for series in in_n if series.evaluation != ALL_PAIRS and series.law is not None]
    texts = "; ".join(exponent_text(method_label(name), "n", law) for name, law in own)
    return decided_by_exponents(
        laws,
        lambda name, letter, law: comes_near(law, 2.0) and abs(law.exponent - middle) <= NEAR_EXPONENT,
        f"first solves that sum over all pairs of {MANY_SAMPLES:g} samples and more",
        "solver",
        is_clear=_is_clear,
        bound="range",
        note=f"With the library's own evaluation, which needs no pairs: {texts}." if texts else "",
    )


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
    fitted = {
        (series.method, LETTERS[series.axis]): series.law_of_an_iteration
        for series in series_of(records)
        if series.evaluation == ALL_PAIRS
    }
    laws = {(name, letter): fitted.get((name, letter)) for letter in LETTERS.values() for name in ("ism", *RIVALS)}

    def holds(name: str, letter: str, law: PowerLaw) -> bool:
        is_quadratic = letter == "n" or (letter == "q" and name != "ism")
        return comes_near(law, 2.0) if is_quadratic else law.exponent <= 1 + NEAR_EXPONENT

    return decided_by_exponents(laws, holds, "an iteration's first solves", is_clear=_is_clear)
