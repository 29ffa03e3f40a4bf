"""Tests of claims on the time of ISM beside its rivals and baselines, and on how it grows (NeurIPS 2019 and ISM+).

Times are first solves that nothing disturbed. How they grow is decided by series of made data, which are this project's
own: the papers do not name theirs. Keyword arguments are those of claims.toml.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kdrbench.errors import counted
from kdrbench.suite.findings.claim_rows import (
    TIME_COLUMNS,
    CellPair,
    Coverage,
    PrintedTable,
    Records,
    authors_cells,
    decided_on,
    timed_cells,
)
from kdrbench.suite.findings.finding import (
    Decision,
    Finding,
    decided_by_cases,
    decision_of,
    factor,
    only_decision,
    reached,
    side_of,
    undecided,
)
from kdrbench.suite.findings.outcome import clean_times, steady_times, stopped
from kdrbench.suite.reports.tables.labels import dataset_label, method_label
from kdrbench.suite.systems.ikdr.size_series import (
    ALL_PAIRS,
    LETTERS,
    PowerLaw,
    SizeSeries,
    fit_power_law,
    size_series,
)

Tables = Sequence[PrintedTable]


def times_faster(records: Records, *, tables: Tables, rivals: Sequence[str], least: float, uncertain: float) -> Finding:
    """Take the largest ratio of mean first solves in a cell, first by the authors' code.

    There, runs that shared their cores count with times that may be wrong by a factor ``uncertain``. A rival that was
    stopped gives a lower bound of its ratio, and the note says the limit that would decide. Where ISM itself was
    stopped, the ratio is bounded from above, or not at all.
    """
    authors = authors_cells(records, tables, ("ism", *rivals), ("time_s",))
    converged = [f"{name}_converged" for name in rivals if name != "ism_2018"]
    published = timed_cells(records, tables, ("ism", *rivals), bounds=True)
    fair = timed_cells(records, tables, ("ism_converged", *converged), bounds=True)
    lanes = {
        "by the authors' code": _with_ratio(authors, "ism", rivals),
        "as published": _with_ratio(published, "ism", rivals),
        "converged": _with_ratio(fair, "ism_converged", converged),
    }
    ratios = "; ".join(f"{name}, {words}" for name, pairs in lanes.items() if (words := _ratios_in_short(pairs, least)))
    note = f"{ratios[0].upper()}{ratios[1:]}." if ratios else ""
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


def _with_ratio(coverage: Coverage, solver: str, rivals: Sequence[str]) -> list[CellPair]:
    pairs = coverage.pairs("time_s", solver, rivals)
    return [pair for pair in pairs if len(pair.ours) and pair.ours.mean() > 0]


def days_and_seconds(
    records: Records, *, tables: Tables, dataset: str, rival: str, rival_least_s: float, most_s: float, uncertain: float
) -> Finding:
    """Compare the time of ISM on a data set with ``most_s``, and that of a rival with ``rival_least_s``."""
    cells = authors_cells(records, tables, ("ism", rival), ("time_s",)).cells
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


def as_fast(records: Records, *, tables: Tables, rivals: Sequence[str], most: float) -> Finding:
    """Compare the means of first solves on each data set: ISM's over each baseline's, with its 95 % interval."""

    def judge(coverage: Coverage) -> Finding:
        own = {cell.dataset: cell for cell in coverage.of("ism").cells}
        cells = [cell for cell in coverage.of(*rivals).cells if cell.dataset in own]
        cases, ratios = [], []
        for pair in (CellPair(own[cell.dataset], cell, "time_s") for cell in cells):
            if len(pair.ours) and pair.theirs.min() > 0:
                ratios.append(1.0 / pair.ratio)
                name = f"{method_label(pair.rival.method)} on {dataset_label(pair.rival.dataset)}"
                cases.append((f"{name} ({factor(ratios[-1])} times)", side_of(*_interval_of_ratio(pair), most=most)))
        return decided_by_cases(cases, "case", extreme=f"at most {factor(max(ratios))} times" if ratios else "")

    return decided_on(timed_cells(records, tables, ("ism", *rivals)), judge)


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
    runs enter no law. Every method must have all laws. Only records that hold repeated solves apart have first solves.
    """
    runs = records.runs
    runs = steady_times(runs) if {*TIME_COLUMNS, "iterations"} <= set(runs) else runs[:0]
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
