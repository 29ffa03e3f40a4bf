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
    Coverage,
    PrintedTable,
    Records,
    authors_cells,
    decided_on,
    timed_cells,
)
from kdrbench.suite.findings.finding import (
    Finding,
    Side,
    decided_by_sides,
    decision_of,
    factor,
    listed,
    only_decision,
    reached,
    side_of,
    undecided,
)
from kdrbench.suite.findings.outcome import clean_times, steady_times, stopped
from kdrbench.suite.findings.solver_claims import CellPair, pairs_of
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
    stopped gives a lower bound of its ratio, and the limit that would decide is said. Where ISM itself was stopped, the
    ratio is bounded from above, or not at all.
    """
    authors = authors_cells(records, tables, ("ism", *rivals), ("time_s",))
    converged = [f"{name}_converged" for name in rivals if name != "ism_2018"]
    published = timed_cells(records, tables, ("ism", *rivals), bounds=True)
    fair = timed_cells(records, tables, ("ism_converged", *converged), bounds=True)
    words = {
        "by the authors' code": _ratios_in_short(authors, "ism", rivals, least),
        "as published": _ratios_in_short(published, "ism", rivals, least),
        "converged": _ratios_in_short(fair, "ism_converged", converged, least),
    }
    note = "; ".join(f"{name}, {ratios}" for name, ratios in words.items() if ratios)
    note = note[:1].upper() + note[1:]
    note = f"{note}." if note else ""
    if authors.cells:
        pairs, wrong_by = _with_ratio(authors, "ism", rivals), uncertain
        if all(len(clean_times(cell.runs)) == len(cell.runs) for cell in authors.cells):
            wrong_by = 1.0
        return _largest_ratio(pairs, least, wrong_by).with_note(note)
    judged = decided_on(published, lambda _: _largest_ratio(_with_ratio(published, "ism", rivals), least, 1.0))
    return judged.with_note(note) if note else judged


def _largest_ratio(known: list[CellPair], least: float, wrong_by: float) -> Finding:
    pairs = [pair for pair in known if pair.has_ended(pair.solver)]
    if not pairs:
        return undecided("first solves of ism, which came to its end, and of its rivals in the same runs")
    best, median = max(pairs, key=lambda pair: pair.ratio), float(np.median([pair.ratio for pair in pairs]))
    evidence = f"first solves: at most {factor(best.ratio)} times ({best.rival.name}), median {factor(median)} of "
    evidence += counted(len(pairs), "cell")
    if bounded := [pair for pair in pairs if stopped(pair.rival.runs).any()]:
        evidence += f"; {_bounds(bounded, least)}"
    if len(known) > len(pairs):
        evidence += f"; left out: {counted(len(known) - len(pairs), 'cell')} in which ISM itself was stopped"
    most = max(math.inf if stopped(pair.rival.runs).any() else pair.ratio for pair in known)
    possible = {best.ratio / wrong_by, max(best.ratio, most) * wrong_by}
    decision = only_decision({decision_of(reached(ratio, least=least)) for ratio in possible})
    power = f"wrong by at most a factor of {wrong_by:g}, since runs shared their cores" if wrong_by > 1.0 else ""
    return Finding(decision, evidence, "", f"{factor(best.ratio)} times", power)


def _ratios_in_short(coverage: Coverage, solver: str, rivals: Sequence[str], least: float) -> str:
    pairs = [pair for pair in _with_ratio(coverage, solver, rivals) if pair.has_ended(pair.solver)]
    if not pairs:
        return ""
    ratios = [pair.ratio for pair in pairs]
    bounded = [pair for pair in pairs if stopped(pair.rival.runs).any()]
    words = f"{factor(min(ratios))} to {factor(max(ratios))} times, median {factor(np.median(ratios))}"
    return f"{words} ({_bounds(bounded, least)})" if bounded else words


def _bounds(pairs: Sequence[CellPair], least: float) -> str:
    """Return how many ratios are lower bounds, and the limit of a run that would decide whether they reach a number."""
    limit = max(least * float(pair.ours.mean()) for pair in pairs)
    return f"lower bounds in {counted(len(pairs), 'cell')}, which a limit of {limit:.2g} s decides"


def _with_ratio(coverage: Coverage, solver: str, rivals: Sequence[str]) -> list[CellPair]:
    pairs = pairs_of(coverage, "time_s", solver, rivals)
    return [pair for pair in pairs if len(pair.ours) and pair.ours.mean() > 0]


def days_and_seconds(
    records: Records, *, tables: Tables, dataset: str, rival: str, rival_least_s: float, most_s: float, uncertain: float
) -> Finding:
    """Compare the time of ISM on a data set with ``most_s``, and that of a rival with ``rival_least_s``."""
    cells = authors_cells(records, tables, ("ism", rival), ("time_s",)).cells
    seconds = {cell.method: cell.numbers("time_s").mean() for cell in cells if cell.dataset == dataset}
    ended = {cell.method: not stopped(cell.runs).any() for cell in cells if cell.dataset == dataset}
    if not {"ism", rival} <= set(seconds) or not ended["ism"]:
        return undecided(f"runs of ISM and of {method_label(rival)} by the authors' code on {dataset_label(dataset)}")
    longest = seconds[rival] * uncertain if ended[rival] else math.inf
    sides = [
        side_of(seconds["ism"] / uncertain, seconds["ism"] * uncertain, most=most_s),
        side_of(seconds[rival] / uncertain, longest, least=rival_least_s),
    ]
    times = f"ISM {seconds['ism']:.2g} s, {method_label(rival)} {seconds[rival]:.2g} s"
    evidence = f"{times} on {dataset_label(dataset)}, both with one vectorised oracle; the paper's hours are those of "
    evidence += "sums over pairs in loops of Python, which a run of such loops would decide apart"
    found = decided_by_sides(sides, evidence, unit="time", power=f"times may be wrong by a factor of {uncertain:g}")
    return found if Side.FAILS not in sides else Finding(decision_of(0.0), evidence, "", times, found.power)


def as_fast(records: Records, *, tables: Tables, rivals: Sequence[str], most: float) -> Finding:
    """Compare the means of first solves on each data set: ISM's over each baseline's, with its 95 % interval."""

    def judge(coverage: Coverage) -> Finding:
        own = {cell.dataset: cell for cell in coverage.of("ism")}
        pairs = [CellPair(own[cell.dataset], cell, "time_s") for cell in coverage.of(*rivals) if cell.dataset in own]
        ratios = {
            f"{method_label(pair.rival.method)} on {dataset_label(pair.rival.dataset)}": _interval_of_ratio(pair)
            for pair in pairs
            if len(pair.ours) and pair.theirs.min() > 0
        }
        sides = [side_of(low, high, most=most) for _, low, high in ratios.values()]
        slower = [f"{factor(value)} times {name}" for name, (value, low, _) in ratios.items() if low > most]
        evidence = (
            f"within {most:g} times the baseline's in {sides.count(Side.HOLDS)} of {counted(len(ratios), 'case')}"
        )
        evidence += f"; {listed(slower)}" if slower else ""
        extreme = f"at most {factor(max(value for value, *_ in ratios.values()))} times" if ratios else ""
        return decided_by_sides(sides, evidence, unit="case", extreme=extreme)

    return decided_on(timed_cells(records, tables, ("ism", *rivals)), judge)


def _interval_of_ratio(pair: CellPair) -> tuple[float, float, float]:
    """Return ISM's mean time over the baseline's; with one run of each, times are taken to be known within a fifth."""
    value, spread = 1.0 / pair.ratio, 1.2
    if len(pair.ours) > 1:
        logs = np.log(pair.ours / pair.theirs)
        spread = math.exp(2.0 * float(logs.std(ddof=1)) / math.sqrt(len(logs)))
    return value, value / spread, value * spread


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
    evidence = "; ".join(exponent_text(method_label(name), letter, law) for (name, letter), law in fitted.items())
    missing = [
        f"{letter} of {method_label(name)}"
        for (name, letter), law in laws.items()
        if law is None or law.smallest < _region(regions, name, letter).get("smallest", 0.0)
    ]
    if missing:
        known = f"Of what is there: {evidence}." if evidence else ""
        return undecided(f"exponents by {lacking} at three sizes: {', '.join(missing)}", f"{known} {note}".strip())
    exponents = [law.exponent for law in fitted.values()]
    middle = 0.5 * (min(exponents) + max(exponents))
    sides = [
        _side(law, _region(regions, *place)) if abs(law.exponent - middle) <= alike else Side.FAILS
        for place, law in fitted.items()
    ]
    width = max(0.5 * (law.high - law.low) for law in fitted.values())
    power = f"exponents are known to within {width:.2f}"
    return decided_by_sides(sides, evidence, note, unit, extreme=_ranges(fitted), power=power)


def _region(regions: Mapping[str, Mapping[str, Any]], name: str, letter: str) -> Mapping[str, Any]:
    return regions.get(f"{name} {letter}") or regions[letter]


def _side(law: PowerLaw, region: Mapping[str, Any]) -> Side:
    least, most = region.get("least", -math.inf), region.get("most", math.inf)
    if region.get("asymptotic") and law.high < least:
        return Side.UNCLEAR
    return side_of(law.low, law.high, least=least, most=most)


def _ranges(fitted: Mapping[tuple[str, str], PowerLaw]) -> str:
    exponents: dict[str, list[float]] = {}
    for (_, letter), law in fitted.items():
        exponents.setdefault(letter, []).append(law.exponent)
    return ", ".join(f"{letter}^{min(each):.2f} to {letter}^{max(each):.2f}" for letter, each in exponents.items())


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
    series = {(each.method, LETTERS[each.axis]): each for each in series_of(records) if each.evaluation == ALL_PAIRS}

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
