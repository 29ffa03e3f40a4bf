"""Tests of claims on how ISM and its rivals solve problems: costs, iterations, starts, fixed points, and time.

Methods are compared run by run; a difference of costs below 1e-6 is a tie. Times are first solves that nothing
disturbed. How they grow is decided by series of made data, which are this project's own: the papers do not name theirs.
Cells and keyword arguments are those of claims.toml.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from kdrbench.errors import counted
from kdrbench.solvers.geometry.curvature import DENSE_DIMENSION
from kdrbench.status import Status
from kdrbench.suite.findings.claim_rows import (
    FOLDS,
    CellPair,
    Coverage,
    OwnCell,
    Place,
    Records,
    Tables,
    authors_cells,
    cells_of,
    decided_on,
    timed_cells,
    without_early,
)
from kdrbench.suite.findings.finding import (
    WORST_FIRST,
    Decision,
    Finding,
    decided_by_cases,
    decided_by_share,
    decision_of,
    factor,
    listed,
    only_decision,
    reached,
    sentence,
    share_of,
    side_of,
    smallest_shown,
    undecided,
)
from kdrbench.suite.findings.outcome import clean_times, ended, steady_times, stopped
from kdrbench.suite.findings.pairwise import TIE, relative_gaps
from kdrbench.suite.reports.records import Split
from kdrbench.suite.reports.tables.labels import dataset_label, method_label
from kdrbench.suite.systems.ikdr.size_series import (
    ALL_PAIRS,
    LETTERS,
    PowerLaw,
    SizeSeries,
    fit_power_law,
    size_series,
)


def lower_cost(coverage: Coverage) -> Finding:
    """Count the cells of a rival in which ISM's mean cost is lower or tied; contradicted if it is lower nowhere."""
    pairs = coverage.pairs("cost")
    whole = [pair for pair in pairs if pair.is_complete and not pair.is_open]
    percent = ((100 * low, 100 * high) for low, high in (pair.interval for pair in whole))
    power, extreme = smallest_shown(percent, "{:.2g} %"), _at_most_higher(pairs)
    finding = decided_by_cases([(pair.name, pair.lower) for pair in pairs], extreme=extreme, power=power)
    if not pairs or any(pair.gap < -TIE for pair in whole):
        return finding
    if not any(pair.is_open for pair in pairs):
        return replace(finding, decision=Decision.CONTRADICTED, measure=f"lower in {share_of(0, len(pairs), 'cell')}")
    # Open cells may turn out lower.
    is_contradicted = finding.decision is Decision.CONTRADICTED
    return finding if is_contradicted else replace(finding, decision=Decision.UNDECIDED)


def _at_most_higher(pairs: Sequence[CellPair]) -> str:
    """Return by how much the worst complete cell is above its rival's cost, ties left out; empty where none is."""
    largest = max((pair.gap for pair in pairs if pair.is_complete and not pair.is_open), default=0.0)
    return f"at most {100 * largest:.2g} % higher" if largest > TIE else ""


def lowest_cost(coverage: Coverage) -> Finding:
    """Count the cells in which no rival is lower."""
    pairs = coverage.pairs("cost")
    worst: dict[Place, tuple[str, Decision]] = {}
    for pair in sorted(pairs, key=lambda pair: WORST_FIRST.index(pair.lower)):
        worst.setdefault(pair.rival.place, (pair.name, pair.lower))
    return decided_by_cases(list(worst.values()), extreme=_at_most_higher(pairs))


def few_iterations(coverage: Coverage, *, fewer_than: int) -> Finding:
    """Count the runs that ended by the rule of ISM after fewer iterations; a lost one is none of these.

    Alternations are left out, whose iterations are over many solves.
    """
    runs, n_runs = coverage.runs, coverage.n_runs
    counts = runs.loc[runs["status"] == str(Status.CONVERGED), "iterations"].dropna()
    if counts.empty:
        return undecided("iterations of runs that ended by the rule")
    few, extreme = int((counts < fewer_than).sum()), f"at most {counts.max():g}"
    evidence = f"fewer than {fewer_than} in {share_of(few, n_runs, 'run')}, median {counts.median():g}"
    return decided_by_share(few, n_runs, evidence, unit="run", normally=True, extreme=extreme)


def iterations_within(coverage: Coverage, *, least: int, most: int) -> Finding:
    """Count the runs of rivals that took ``least`` to ``most`` iterations.

    Runs that were stopped at the paper's limit have no such number, at an earlier one it is open; those that are lost
    count as outside.
    """
    runs = coverage.runs
    completed = runs[ended(runs)].dropna(subset=["iterations"])
    limits, n_early = int(stopped(runs).sum()), sum(len(cell.open_runs) for cell in coverage.cells)
    n_open = n_early + sum(cell.n_not_made for cell in coverage.cells)
    inside = int(completed["iterations"].between(least, most).sum())
    by_rival = completed.groupby(completed["method"].str.partition("_")[0], sort=False)["iterations"]
    evidence = "; ".join(f"{name.upper()} {counts.min():g} to {counts.max():g}" for name, counts in by_rival)
    evidence += f"; stopped at a limit: {limits}" if limits else ""
    extreme = f"{completed['iterations'].min():g} to {completed['iterations'].max():g}" if len(completed) else ""
    total = coverage.n_runs - limits + n_early
    return decided_by_share(inside, total, evidence, unit="run", normally=True, extreme=extreme, n_open=n_open)


def second_order(coverage: Coverage, *, least_points: int) -> Finding:
    """Count the stationary ends of any solver that are fixed points of ISM.

    A fixed point is stationary to 1e-6 and spans leading eigenvectors of Phi there (eigengap above 0). Its smallest
    curvature, as the referee evaluated it exactly (``optimality``), must not be negative. A run that was stopped before
    the paper's limits, at no such point, might have ended at one: it is open, unless its problem is too large for the
    referee to evaluate a curvature.
    """
    runs = coverage.runs
    stationary = runs[runs["optimality"].isin(["second_order", "saddle"])].dropna(subset=["eigengap"])
    fixed, others = (stationary[(stationary["eigengap"] > 0) == is_fixed] for is_fixed in (True, False))
    if len(fixed) < least_points:
        return undecided(f"{least_points} fixed points whose curvature was evaluated; there are {len(fixed)}")
    good = int((fixed["optimality"] == "second_order").sum())
    saddles = int((others["optimality"] == "saddle").sum())
    note = f"Left out: {len(others)} stationary ends that are no fixed points of ISM, {saddles} of them saddles; "
    note += "ends that are not stationary; and those whose curvature was not evaluated."
    least = fixed["curvature"].min()
    extreme = "" if pd.isna(least) else f"curvature at least {least:.0e}"
    evaluated = [cell for cell in coverage.cells if _is_evaluated(cell)]
    n_open = sum(len(cell.open_runs.difference(fixed.index)) + cell.n_not_made for cell in evaluated)
    evidence = f"curvature not negative at {good} of {len(fixed)} fixed points"
    return decided_by_share(good, len(fixed) + n_open, evidence, note, "fixed point", extreme=extreme, n_open=n_open)


def _is_evaluated(cell: OwnCell) -> bool:
    """Return whether the referee evaluates curvatures of the cell's problem; true where its size is not recorded."""
    n_features, q = cell.runs[["n_features", "n_components"]].astype(float).max()
    return bool(pd.isna(n_features + q) or 0 < (n_features - q) * q <= DENSE_DIMENSION)


def eigenvalue_stopping(coverage: Coverage, *, stationary: float, near: float) -> Finding:
    """Count the runs of ISM that are stationary, and near the cost of a converged run, by its end or bound.

    A run whose converged one was stopped before the paper's limits is open, unless it is not stationary. What decides
    it is a longer run of the converged solver.
    """
    good = n_open = n_runs = 0
    worst, waiting = 0.0, []
    for pair in coverage.pairs("cost"):
        best = pair.rival.runs[pair.rival.runs["status"] == str(Status.CONVERGED)].set_index("run")["cost"]
        stationarity, cost = (pair.solver.numbers(name) for name in ("stationarity", "cost"))
        still, best = stationarity <= stationary, best.reindex(stationarity.index)
        close = relative_gaps(cost.reindex(stationarity.index).to_numpy(), best.to_numpy()) < near
        good, n_runs = good + int((still & close).sum()), n_runs + pair.solver.n_runs
        worst = max(worst, stationarity.max())
        if pair.is_open:
            n_open += int((still & best.isna()).sum())
            waiting.append(f"{pair.rival.name} with more than {pair.rival.runs['time_s'].max():.0f} s a run")
    extreme = f"stationary to {worst:.2g} at worst"
    evidence = f"holds in {share_of(good, n_runs, 'run')}" + (f"; decided by {listed(waiting)}" if waiting else "")
    return decided_by_share(good, n_runs, evidence, unit="run", normally=True, extreme=extreme, n_open=n_open)


def start_of_ism(
    records: Records, *, experiment: str, solver: str, random: str, cells: Sequence[Sequence[str]]
) -> Finding:
    """Count the runs that end no higher from Phi_0 than from a random projection."""

    def judge(coverage: Coverage) -> Finding:
        pairs = coverage.pairs("cost")
        gaps = np.concatenate([np.zeros(0), *(relative_gaps(pair.ours, pair.theirs) for pair in pairs)])
        n_runs, lower, higher = sum(pair.rival.n_runs for pair in pairs), (gaps < -TIE).sum(), int((gaps > TIE).sum())
        evidence = f"lower in {lower}, tied in {len(gaps) - lower - higher}, higher in {higher}"
        largest = float(gaps.max(initial=0.0))
        extreme = f"at most {100 * largest:.2g} % higher" if largest > TIE else ""
        return decided_by_share(len(gaps) - higher, n_runs, evidence, unit="run", extreme=extreme)

    places = [(data, kernel, method) for data, kernel in cells for method in (solver, random)]
    coverage = cells_of(experiment, records.runs, [experiment], places, (Split.FOLDS, FOLDS))
    coverage = replace(coverage, methods=(solver, random))
    return decided_on(without_early(coverage), judge)


def times_faster(records: Records, *, tables: Tables, rivals: Sequence[str], least: float, uncertain: float) -> Finding:
    """Take the largest ratio of mean first solves in a cell, first by the authors' code.

    There, runs that shared their cores count with times that may be wrong by a factor ``uncertain``. A rival that was
    stopped gives a lower bound of its ratio, and the note says the limit that would decide. Where ISM itself was
    stopped, the ratio is bounded from above, or not at all.
    """
    authors = authors_cells(records, tables, ("ism", *rivals))
    converged = [f"{name}_converged" for name in rivals if name != "ism_2018"]
    published = timed_cells(records, tables, ("ism", *rivals), bounds=True)
    fair = timed_cells(records, tables, ("ism_converged", *converged), bounds=True)
    lanes = {
        "by the authors' code": _with_ratio(authors),
        "as published": _with_ratio(published),
        "converged": _with_ratio(fair),
    }
    ratios = "; ".join(f"{name}, {words}" for name, pairs in lanes.items() if (words := _ratios_in_short(pairs, least)))
    note = sentence(ratios) if ratios else ""
    known, *others = lanes.values()
    if authors.cells:
        clean = all(len(clean_times(cell.runs)) == len(cell.runs) for cell in authors.cells)
        return _largest_ratio(known, least, 1.0 if clean else uncertain).with_note(note)
    return decided_on(published, lambda _: _largest_ratio(others[0], least, 1.0)).with_note(note)


def _largest_ratio(known: list[CellPair], least: float, wrong_by: float) -> Finding:
    pairs = [pair for pair in known if pair.has_ended(pair.solver)]
    if not pairs:
        return undecided("first solves of ism, which came to its end, and of its rivals in the same runs")
    best = max(pairs, key=lambda pair: pair.ratio)
    evidence = f"{_ratios_in_short(pairs, least)}; the largest of {best.rival.name}"
    if len(known) > len(pairs):
        evidence += f"; left out: {counted(len(known) - len(pairs), 'cell')} in which ISM itself was stopped"
    most = max(math.inf if stopped(pair.rival.runs).any() else pair.ratio for pair in known)
    possible = {best.ratio / wrong_by, max(best.ratio, most) * wrong_by}
    decision = only_decision({decision_of(reached(ratio, least=least)) for ratio in possible})
    power = f"wrong by at most a factor of {wrong_by:g}, since runs shared their cores" if wrong_by > 1.0 else ""
    return Finding(decision, evidence, "", f"{factor(best.ratio)} times", power)


def _ratios_in_short(known: list[CellPair], least: float) -> str:
    """Return the ratios, how many are lower bounds, and the limit of a run that would decide whether they reach it."""
    pairs = [pair for pair in known if pair.has_ended(pair.solver)]
    if not pairs:
        return ""
    ratios = [pair.ratio for pair in pairs]
    words = f"{factor(min(ratios))} to {factor(max(ratios))} times, median {factor(float(np.median(ratios)))}"
    bounded = [pair for pair in pairs if stopped(pair.rival.runs).any()]
    if not bounded:
        return words
    limit = max(least * float(pair.ours.mean()) for pair in bounded)
    return f"{words} (lower bounds in {counted(len(bounded), 'cell')}, which a limit of {limit:.2g} s decides)"


def _with_ratio(coverage: Coverage) -> list[CellPair]:
    return [pair for pair in coverage.pairs("time_s") if len(pair.ours) and pair.ours.mean() > 0]


def days_and_seconds(
    records: Records,
    *,
    tables: Tables,
    dataset: str,
    rival: str,
    rival_least_s: float,
    most_s: float,
    uncertain: float,
) -> Finding:
    """Compare the time of ISM on a data set with ``most_s``, and that of a rival with ``rival_least_s``."""
    cells = authors_cells(records, tables, ("ism", rival)).cells
    here = {cell.method: cell for cell in cells if cell.dataset == dataset}
    if not {"ism", rival} <= set(here) or stopped(here["ism"].runs).any():
        return undecided(f"runs of ISM and of {method_label(rival)} by the authors' code on {dataset_label(dataset)}")
    ours, theirs = (here[name].numbers("time_s").mean() for name in ("ism", rival))
    longest = math.inf if stopped(here[rival].runs).any() else theirs * uncertain
    sides = {
        "ISM": side_of(ours / uncertain, ours * uncertain, most=most_s),
        method_label(rival): side_of(theirs / uncertain, longest, least=rival_least_s),
    }
    times = f"ISM {ours:.2g} s, {method_label(rival)} {theirs:.2g} s"
    evidence = f"{times} on {dataset_label(dataset)}, both with one vectorised oracle; the paper's hours are those of "
    evidence += "sums over pairs in loops of Python"
    power = f"times may be wrong by a factor of {uncertain:g}"
    if Decision.CONTRADICTED in sides.values():
        return Finding(Decision.CONTRADICTED, evidence, "", times, power)
    return decided_by_cases(list(sides.items()), "time", evidence=evidence, power=power)


def as_fast(coverage: Coverage, *, most: float) -> Finding:
    """Compare the means of first solves on each data set: ISM's over each baseline's, with its 95 % interval."""
    own = {cell.dataset: cell for cell in coverage.cells if cell.method == "ism"}
    others = [cell for cell in coverage.cells if cell.method != "ism" and cell.dataset in own]
    cases, ratios = [], []
    for pair in (CellPair(own[cell.dataset], cell, "time_s") for cell in others):
        if len(pair.ours) and pair.theirs.min() > 0:
            ratios.append(1.0 / pair.ratio)
            name = f"{method_label(pair.rival.method)} on {dataset_label(pair.rival.dataset)}"
            cases.append((f"{name} ({factor(ratios[-1])} times)", side_of(*_interval_of_ratio(pair), most=most)))
    return decided_by_cases(cases, "case", extreme=f"at most {factor(max(ratios))} times" if ratios else "")


def _interval_of_ratio(pair: CellPair) -> tuple[float, float]:
    """Return the interval of ISM's mean time over the baseline's; a time of one run is known within a fifth."""
    spread = 1.2
    if len(pair.ours) > 1:
        logs = np.log(pair.ours / pair.theirs)
        spread = math.exp(2.0 * float(logs.std(ddof=1)) / math.sqrt(len(logs)))
    return 1.0 / pair.ratio / spread, spread / pair.ratio


# Exponents by method and the letter of the size in which time grows; ``None`` where none could be fitted.
Laws = Mapping[tuple[str, str], PowerLaw | None]


def decided_by_exponents(
    laws: Laws,
    regions: Mapping[str, Mapping[str, Any]],
    lacking: str,
    unit: str = "exponent",
    *,
    alike: float = math.inf,
    note: str = "",
) -> Finding:
    """Return a claim on exponents, decided by the sides of their 95 % intervals; undecided unless all are there.

    ``regions`` has for each letter ``least``, ``most`` and ``asymptotic``: then an interval below the region says that
    sizes were too small for the law to show. Exponents may be farther than ``alike`` from the middle of all nowhere.
    """
    fitted = {place: law for place, law in laws.items() if law is not None}
    own = {(name, letter): regions.get(f"{name} {letter}") or regions[letter] for name, letter in laws}
    evidence = "; ".join(exponent_text(method_label(name), letter, law) for (name, letter), law in fitted.items())
    missing = [
        f"{letter} of {method_label(name)}"
        for (name, letter), law in laws.items()
        if law is None or law.smallest < own[name, letter].get("smallest", 0.0)
    ]
    if missing:
        known = f"Of what is there: {evidence}." if evidence else ""
        return undecided(f"exponents by {lacking} at three sizes: {', '.join(missing)}", f"{known} {note}".strip())
    exponents = [law.exponent for law in fitted.values()]
    middle = 0.5 * (min(exponents) + max(exponents))
    cases = [
        ("", _side(law, own[place]) if abs(law.exponent - middle) <= alike else Decision.CONTRADICTED)
        for place, law in fitted.items()
    ]
    width = max(0.5 * (law.high - law.low) for law in fitted.values())
    ranges: dict[str, list[float]] = {}
    for (_, letter), law in fitted.items():
        ranges.setdefault(letter, []).append(law.exponent)
    extreme = ", ".join(f"{letter}^{min(each):.2f} to {letter}^{max(each):.2f}" for letter, each in ranges.items())
    power = f"exponents are known to within {width:.2f}"
    return decided_by_cases(cases, unit, evidence=evidence, note=note, extreme=extreme, power=power)


def _side(law: PowerLaw, region: Mapping[str, Any]) -> Decision:
    least, most = region.get("least", -math.inf), region.get("most", math.inf)
    too_small = region.get("asymptotic") and law.high < least
    return Decision.INDISTINCT if too_small else side_of(law.low, law.high, least=least, most=most)


def exponent_text(name: str, letter: str, law: PowerLaw) -> str:
    """Return an exponent with its interval."""
    return f"{name} {letter}^{law.exponent:.2f} (95 %: {law.low:.2f} to {law.high:.2f})"


def exponents(
    records: Records,
    *,
    of: str,
    methods: Sequence[str],
    regions: Mapping[str, Mapping[str, Any]],
    lacking: str,
    unit: str = "exponent",
    alike: float = math.inf,
) -> Finding:
    """Fit time against each size for which ``regions`` has a letter, over all pairs of samples.

    ``of`` is the time of a whole ``run``, that of an ``iteration``, or the ``ratio`` of a run's to that of ISM. Stopped
    runs enter no law. Every method must have all laws.
    """
    runs = steady_times(records.runs) if len(records.runs) else records.runs
    all_series = size_series(runs, records.config) if len(runs) else []
    series = {(each.method, LETTERS[each.axis]): each for each in all_series if each.evaluation == ALL_PAIRS}

    def law(name: str, letter: str) -> PowerLaw | None:
        own, ism = series.get((name, letter)), series.get(("ism", letter))
        if own is None or of == "ratio":
            return _law_of_ratio(own, ism)
        return own.law if of == "run" else own.law_of_an_iteration

    letters = [letter for letter in LETTERS.values() if letter in regions]
    laws = {(name, letter): law(name, letter) for letter in letters for name in methods}
    return decided_by_exponents(laws, regions, lacking, unit, alike=alike)


def _law_of_ratio(theirs: SizeSeries | None, ours: SizeSeries | None) -> PowerLaw | None:
    if theirs is None or ours is None or theirs.place != ours.place:
        return None
    seconds = dict(ours.ended)
    points = [(size, time / seconds[size]) for size, time in theirs.ended if size in seconds]
    return fit_power_law([size for size, _ in points], [ratio for _, ratio in points])
