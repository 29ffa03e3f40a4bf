"""Tests of claims on ISM: costs, runs, times and their growth; how its projections classify and cluster; its kernels.

Methods are compared run by run; a difference of costs below 1e-6 is a tie. Times are first solves that nothing
disturbed. How they grow is decided by series of made data, which are this project's own: the papers do not name theirs.
Cells and keyword arguments are those of claims.toml.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kdrbench.errors import counted
from kdrbench.solvers.registry import eigengap_components
from kdrbench.suite.findings.claim_rows import (
    LOST,
    CellPair,
    Coverage,
    OwnCell,
    Place,
    Records,
    Tables,
    authors_cells,
    decided_in_lanes,
    decided_on,
    lanes_of,
    printed_cells,
    timed_cells,
)
from kdrbench.suite.findings.finding import (
    CONFIRMED,
    CONTRADICTED,
    INDISTINCT,
    MOSTLY,
    UNDECIDED,
    WORST_FIRST,
    Case,
    Decision,
    Finding,
    decided,
    decided_by_rows,
    decision_of,
    factor,
    kept_if,
    only_decision,
    reached,
    share_of,
    side_of,
    smallest_shown,
    undecided,
)
from kdrbench.suite.findings.outcome import clean_times, steady_times, stopped
from kdrbench.suite.findings.pairwise import TIE
from kdrbench.suite.paired import corrected_t_interval
from kdrbench.suite.reports.protocol import printed_components
from kdrbench.suite.reports.records import Metric
from kdrbench.suite.reports.tables.labels import dataset_label, kernel_label, method_label
from kdrbench.suite.reports.tables.significance import share_tested
from kdrbench.suite.systems.ikdr.size_series import (
    ALL_PAIRS,
    LETTERS,
    PowerLaw,
    SizeSeries,
    fit_power_law,
    size_series,
)

# In per cent, what is higher by more than a tie.
_HIGHER: dict[str, Any] = {"extreme": "at most {most:.2g} % higher", "above": 100 * TIE}


def runs_hold(coverage: Coverage, **declared: Any) -> Finding:
    """Count the runs of all cells in which a claim holds, see :func:`.decided_by_rows`."""
    return decided_by_rows(coverage.rows, **declared)


def pairs_hold(coverage: Coverage, **declared: Any) -> Finding:
    """Count the runs of a solver in which a claim holds beside its rival's."""
    if not coverage.pairs("cost"):
        return undecided("cells of both")
    return decided_by_rows(coverage.paired_rows, **declared)


def lower_cost(coverage: Coverage) -> Finding:
    """Count the cells of a rival in which ISM's mean cost is lower or tied; contradicted if it is lower nowhere."""
    cases = [pair.higher for pair in coverage.pairs("cost")]
    finding = decided(cases, shown="{:.2g} %", **_HIGHER)
    if finding.decision is CONTRADICTED or any(case.number < -100 * TIE for case in cases):
        return finding
    # Open cells may turn out lower.
    if any(case.decision is UNDECIDED for case in cases):
        return replace(finding, decision=UNDECIDED)
    return replace(finding, decision=CONTRADICTED, measure=f"lower in {share_of(0, len(cases), 'cell')}")


def lowest_cost(coverage: Coverage) -> Finding:
    """Count the cells in which no rival is lower."""
    places: dict[Place, list[Case]] = {}
    for pair in coverage.pairs("cost"):
        places.setdefault(pair.rival.place, []).append(pair.higher)
    return decided([_worst(cases) for cases in places.values()], **_HIGHER)


def _worst(cases: Sequence[Case]) -> Case:
    """Return the case that decides several, with the largest of their numbers."""
    worst = min(cases, key=lambda case: WORST_FIRST.index(case.decision))
    highest = max((case.number for case in cases if case.number > 0.0), default=math.nan)
    return Case(worst.decision, worst.name, highest)


def times_faster(coverage: Coverage, *, least: float, uncertain: float) -> Finding:
    """Take the largest ratio of mean first solves in a cell.

    Times of runs that shared their cores may be wrong by a factor ``uncertain``. A rival that was stopped gives a lower
    bound of its ratio, and the measure says the limit that would decide. Where ISM itself was stopped, the ratio is
    bounded from above, or not at all.
    """
    known = [pair for pair in coverage.pairs("time_s") if pair.numbers["ours"].mean() > 0]
    pairs = [pair for pair in known if pair.has_ended(pair.solver)]
    if not pairs:
        return undecided("first solves of ism, which came to its end, and of its rivals in the same runs")
    best, ratios = max(pairs, key=lambda pair: pair.ratio), [pair.ratio for pair in pairs]
    words = f"{factor(best.ratio)} times (from {factor(min(ratios))}, median {factor(float(np.median(ratios)))})"
    bounds = [least * pair.numbers["ours"].mean() for pair in pairs if stopped(pair.rival.runs).any()]
    if bounds:
        words += f", lower bounds in {counted(len(bounds), 'cell')}, which a limit of {max(bounds):.2g} s decides"
    evidence = f"the largest of {best.rival.name}"
    if len(known) > len(pairs):
        evidence += f"; left out: {counted(len(known) - len(pairs), 'cell')} in which ISM itself was stopped"
    is_clean = len(clean_times(runs := coverage.rows)) == len(runs)
    wrong_by = 1.0 if is_clean else uncertain
    most = max(math.inf if stopped(pair.rival.runs).any() else pair.ratio for pair in known)
    possible = {best.ratio / wrong_by, max(best.ratio, most) * wrong_by}
    decision = only_decision({decision_of(reached(ratio, least=least)) for ratio in possible})
    power = "" if is_clean else f"wrong by at most a factor of {wrong_by:g}, since runs shared their cores"
    return Finding(decision, evidence, "", words, power)


def days_and_seconds(
    records: Records, *, tables: Tables, dataset: str, rival: str, rival_least_s: float, most_s: float, uncertain: float
) -> Finding:
    """Compare the time of ISM on a data set with ``most_s``, and that of a rival with ``rival_least_s``."""
    cells = authors_cells(records, tables, ("ism", rival)).cells
    here = {cell.method: cell for cell in cells if cell.dataset == dataset}
    if not {"ism", rival} <= set(here) or stopped(here["ism"].runs).any():
        return undecided(f"runs of ISM and of {method_label(rival)} by the authors' code on {dataset_label(dataset)}")
    ours, theirs = (here[name].numbers("time_s").mean() for name in ("ism", rival))
    longest = math.inf if stopped(here[rival].runs).any() else theirs * uncertain
    sides = {
        side_of(ours / uncertain, ours * uncertain, most=most_s),
        side_of(theirs / uncertain, longest, least=rival_least_s),
    }
    times = f"ISM {ours:.2g} s, {method_label(rival)} {theirs:.2g} s"
    evidence = f"{times} on {dataset_label(dataset)}, both with one vectorised oracle; the paper's hours are those of "
    evidence += "sums over pairs in loops of Python"
    return Finding(
        min(sides, key=WORST_FIRST.index), evidence, "", times, f"times may be wrong by a factor of {uncertain:g}"
    )


def as_fast(coverage: Coverage, *, most: float) -> Finding:
    """Compare the means of first solves on each data set: ISM's over each baseline's, with its 95 % interval."""
    own = {cell.dataset: cell for cell in coverage.cells if cell.method == "ism"}
    others = [cell for cell in coverage.cells if cell.method != "ism" and cell.dataset in own]
    cases = []
    for pair in (CellPair(own[cell.dataset], cell, "time_s") for cell in others):
        if pair.numbers["theirs"].min() > 0:
            times, spread = 1.0 / pair.ratio, _spread_of_ratio(pair.numbers)
            name = f"{method_label(pair.rival.method)} on {dataset_label(pair.rival.dataset)} ({factor(times)} times)"
            cases.append(Case(side_of(times / spread, times * spread, most=most), name, times))
    return decided(cases, "case", extreme="at most {most:.2g} times")


def _spread_of_ratio(times: pd.DataFrame) -> float:
    """Return the factor within which a ratio of mean times is known; a time of one run is known within a fifth."""
    logs = np.log(times["ours"] / times["theirs"])
    return 1.2 if len(times) == 1 else math.exp(2.0 * float(logs.std(ddof=1)) / math.sqrt(len(logs)))


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
    evidence = "; ".join(
        f"{method_label(name)} {letter}^{law.exponent:.2f} (95 %: {law.low:.2f} to {law.high:.2f})"
        for (name, letter), law in fitted.items()
    )
    small = [place for place, law in laws.items() if law is None or law.smallest < own[place].get("smallest", 0.0)]
    if small:
        missing = ", ".join(f"{letter} of {method_label(name)}" for name, letter in small)
        known = f"Of what is there: {evidence}." if evidence else ""
        return undecided(f"exponents by {lacking} at three sizes: {missing}", f"{known} {note}".strip())
    exponents = {place: law.exponent for place, law in fitted.items()}
    middle = 0.5 * (min(exponents.values()) + max(exponents.values()))
    cases = [
        Case(_side(law, own[place]) if abs(law.exponent - middle) <= alike else CONTRADICTED)
        for place, law in fitted.items()
    ]
    ranges = pd.Series(exponents).groupby(level=1, sort=False).agg(["min", "max"])
    extreme = ", ".join(f"{letter}^{low:.2f} to {letter}^{high:.2f}" for letter, low, high in ranges.itertuples())
    power = f"exponents are known to within {max(0.5 * (law.high - law.low) for law in fitted.values()):.2f}"
    finding = decided(cases, unit, evidence=evidence, note=note, power=power)
    return replace(finding, measure=f"{finding.measure}; {extreme}")


def _side(law: PowerLaw, region: Mapping[str, Any]) -> Decision:
    least, most = region.get("least", -math.inf), region.get("most", math.inf)
    too_small = region.get("asymptotic") and law.high < least
    return INDISTINCT if too_small else side_of(law.low, law.high, least=least, most=most)


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


# Half a unit of the last digit that the papers print of a share.
LEVEL = 5e-4


def accuracy_above(coverage: Coverage, *, least: float) -> Finding:
    """Take ISM's mean over the ten test folds of each cell; the note says what comes out by training samples."""

    def case(cell: OwnCell) -> Case:
        if (mean := cell.mean()) is None:
            return Case(CONTRADICTED, f"{cell.name} ({LOST})")
        interval = corrected_t_interval(cell.numbers(), share_tested(cell.runs))
        return Case(kept_if(mean >= least), f"{cell.name} ({mean:.1%})", mean, [interval])

    fitted = [mean for cell in coverage.cells if (mean := cell.mean("train_accuracy")) is not None]
    n_above = sum(mean >= least for mean in fitted)
    note = f"On training samples {share_of(n_above, len(fitted), 'cell')} do." if fitted else ""
    return decided([*map(case, coverage.cells)], extreme="at least {least:.1%}", note=note)


def best(coverage: Coverage, *, kernel: str = "", lower: bool = False, normally: bool = False) -> Finding:
    """Count the data sets on which no other has a better mean quality than ISM, or than a ``kernel`` of ISM's."""
    cases, axis, ours = {}, "kernel" if kernel else "method", kernel or "ism"
    label, number = kernel_label if kernel else method_label, ".1%" if lower else ".3f"
    for (_, dataset), cells in _by_data(coverage, axis).items():
        if ours in cells and len(cells) > 1:
            # Of two experiments of the authors' code on a data set the last counts.
            cases[dataset] = _of_best(cells, ours, dataset_label(dataset), -1 if lower else 1, label, number)
    extreme = f"at most {{most:{number}}} behind"
    return decided([*cases.values()], "data set", normally=normally, extreme=extreme, above=LEVEL)


def _of_best(
    cells: Mapping[str, OwnCell], ours: str, name: str, sign: int, label: Callable[[str], str], number: str
) -> Case:
    """Return whether ours is the best cell of a data set, or level; higher is better for sign 1."""
    if lost := [label(other) for other, cell in cells.items() if cell.mean() is None]:
        return Case(CONTRADICTED, f"{name}, {LOST} of {', '.join(lost)}")
    pairs = {other: CellPair(cell, cells[ours]) for other, cell in cells.items() if other != ours}
    # Low, mean and high of how far each other one is ahead.
    ahead = {other: sorted(sign * pair.difference) for other, pair in pairs.items()}
    first = max(ahead, key=lambda other: ahead[other][1])
    words = f"{name}, {cells[ours].mean():{number}} against {cells[first].mean():{number}} of {label(first)}"
    is_behind = any(mean > LEVEL and low > 0.0 for low, mean, _ in ahead.values())
    side = CONFIRMED if ahead[first][1] <= LEVEL else CONTRADICTED if is_behind else INDISTINCT
    return Case(side, words, ahead[first][1], [(low, high) for low, _, high in ahead.values()])


def better_kernel(coverage: Coverage, *, kernel: str, than: str) -> Finding:
    """Compare accuracy or NMI: confirmed if clearly better in most cells, mostly if more often better than worse."""
    cells = [cells for cells in _by_data(coverage, "kernel").values() if {kernel, than} <= set(cells)]
    pairs = [CellPair(each[kernel], each[than]) for each in cells]
    if not pairs:
        return undecided("cells of both kernels")
    sides = [_compared(pair) for pair in pairs]
    better, worse, unclear = map(sides.count, (CONFIRMED, CONTRADICTED, INDISTINCT))
    # Each unclear cell is either of both.
    counts = [(better + more, worse + unclear - more) for more in range(unclear + 1)]
    possible = {CONFIRMED if 2 * won > len(pairs) else MOSTLY if won > lost else CONTRADICTED for won, lost in counts}
    measure = f"better in {share_of(better, len(pairs), 'cell')}; worse in {worse}; unclear in {unclear}"
    power = smallest_shown([tuple(pair.difference[1:]) for pair in pairs if pair.is_complete])
    return Finding(only_decision(possible, INDISTINCT), measure, "", measure, power)


def _compared(pair: CellPair) -> Decision | None:
    """Return whether a kernel is clearly better (confirmed) or worse; ``None`` where the means are level."""
    if not pair.is_complete:
        # A cell that lacks runs is no win.
        return CONTRADICTED
    mean, low, high = pair.difference
    return None if abs(mean) <= LEVEL else side_of(low, high, least=1e-12)


def kernels_alike(records: Records, *, tables: Tables, apart: float, times_apart: float) -> Finding:
    """Count the data sets, with and without labels, on which all kernels are within bounds of each other.

    Qualities by the 95 % intervals of all differences, times by the ratio of mean first solves.
    """
    coverage, timed = qualities(records, tables), timed_cells(records, tables, ("ism",))

    def judge(_: Coverage) -> Finding:
        seconds, cases, slowest = _by_data(timed, "kernel"), [], 1.0
        for (setting, dataset), cells in _by_data(coverage, "kernel").items():
            name, means = f"{dataset_label(dataset)}, {setting}", [cell.mean() for cell in cells.values()]
            times = [cell.numbers("time_s").mean() for cell in seconds.get((setting, dataset), {}).values()]
            if None in means or not times:
                cases.append(Case(CONTRADICTED, f"{name}, {LOST}"))
                continue
            pairs = [CellPair(*pair) for pair in combinations(cells.values(), 2)]
            sides = {side_of(*pair.difference[1:], least=-apart, most=apart) for pair in pairs}
            far, ratio = float(np.ptp(means)), max(times) / min(times)
            sides.add(kept_if(ratio <= times_apart))
            slowest = max(slowest, ratio)
            words = f"{name}: {far:.3f} apart, times {factor(ratio)} to 1"
            cases.append(Case(min(sides, key=WORST_FIRST.index), words, far))
        return decided(cases, "case", extreme=f"at most {{most:.3f}} apart, times {factor(slowest)} to 1")

    missing = tuple(dict.fromkeys(coverage.missing + timed.missing))
    return decided_on(Coverage(coverage.cells, missing), judge)


def clusters_comparable(records: Records, *, tables: Tables, rivals: Sequence[str], apart: float) -> Finding:
    """Count the cells in which ISM's NMI is at most ``apart`` below that of each rival, and those where it is quickest.

    Both must hold. Times are those of methods as published, which nothing disturbed; a cell that lacks one is open.
    """

    def judge(coverage: Coverage) -> Finding:
        pairs = [pair for pair in coverage.pairs("quality") if pair.is_complete]
        cases = [Case(kept_if(-pair.difference[0] <= apart), pair.rival.name, -pair.difference[0]) for pair in pairs]
        return decided(cases, extreme="at most {most:.3f} behind")

    methods = ("ism", *rivals)
    finding = decided_in_lanes(lanes_of(records, tables, Metric.NMI, methods, converged=False), judge)
    pairs = timed_cells(records, tables, methods, bounds=True).pairs("time_s")
    needed = len(printed_cells(records, tables, "time_s", methods, bounds=True).pairs("time_s"))
    cases = [Case(kept_if(pair.ratio >= 1.0), pair.rival.name) for pair in pairs]
    times = decided(cases + [Case(UNDECIDED)] * (needed - len(pairs)))
    if finding.is_undecided:
        return finding
    weaker = max(finding.decision, times.decision, key=list(Decision).index)
    return replace(finding, decision=weaker, evidence=f"NMI {finding.evidence}; the least time {times.evidence}")


def qualities(records: Records, tables: Tables) -> Coverage:
    """Return ISM's cells of some tables, with the accuracy of those with labels, the NMI of others."""
    metrics = {table: Metric.ACCURACY if table.setting == "supervised" else Metric.NMI for table in tables}
    parts = [printed_cells(records, (table,), metric, ("ism",)) for table, metric in metrics.items()]
    return sum(parts, Coverage())


def _by_data(coverage: Coverage, axis: str) -> dict[tuple[str, str], dict[str, OwnCell]]:
    """Return for each setting and data set its cells by kernel or method."""
    by_data: dict[tuple[str, str], dict[str, OwnCell]] = {}
    for cell in coverage.cells:
        by_data.setdefault((cell.source.rpartition(", ")[2], cell.dataset), {})[getattr(cell, axis)] = cell
    return by_data


def _on_wine(records: Records, tables: Tables, n_components: int) -> list[NDArray[np.float64]]:
    """Return Omega and Phi = X' Omega X at ISM's solution for Wine, Gaussian kernel; nothing where it was not run.

    Omega = Psi - D with Psi = Gamma * K_XW, D its row sums, Gamma = HYY'H, the bandwidth the median distance.
    """
    cells = printed_cells(records, tables, "cost", ("ism",), bounds=True).cells
    if "wine" not in {cell.dataset for cell in cells}:
        return []
    from sklearn.datasets import load_wine
    from sklearn.metrics.pairwise import rbf_kernel
    from sklearn.preprocessing import scale

    from kdrbench.estimators import InterpretableKDR
    from kdrbench.kernels import median_distance

    features, labels = load_wine(return_X_y=True)
    features, classes = scale(features), scale(np.eye(3)[labels], with_std=False)
    projected = InterpretableKDR(n_components).fit_transform(features, labels)
    psi = (classes @ classes.T) * rbf_kernel(projected, gamma=0.5 / median_distance(features) ** 2)
    omega = psi - np.diag(psi.sum(axis=1))
    return [omega, features.T @ omega @ features]


def omega_semidefinite(records: Records, *, tables: Tables, n_components: int) -> Finding:
    """Count the eigenvalues of Omega at ISM's solution that are not negative, where the record has that solution."""
    spectra = [np.linalg.eigvalsh(matrix) for matrix in _on_wine(records, tables, n_components)]
    if not spectra:
        return undecided("a run of ISM on Wine")
    negative, of_phi = (int((values < -1e-9 * abs(values).max()).sum()) for values in spectra)
    omega, phi = map(len, spectra)
    evidence = f"negative are {negative} of {omega} eigenvalues of Omega, {of_phi} of {phi} of Phi, on Wine with the "
    return Finding(kept_if(not negative), f"{evidence}Gaussian kernel", "", f"{negative} of {omega} negative", "exact")


def rule_of_q(records: Records, *, tables: Tables) -> Finding:
    """Compare q with the number of eigenvalues above the largest gap of Phi at a solution.

    Rows hold the gap at their own q alone. The spectrum is made again on the bundled data set; the others are open.
    """
    printed = printed_components(tables[0].paper, tables[0].setting)
    matrices = _on_wine(records, tables, printed["wine"])
    if not matrices:
        return undecided("a run of ISM on Wine")
    chosen = eigengap_components(matrices[1])
    cases = [Case(kept_if(chosen == printed["wine"])), *[Case(UNDECIDED)] * (len(printed) - 1)]
    finding = decided(cases, "case", evidence="of the other data sets rows hold no spectrum")
    return replace(finding, measure=f"{finding.measure}; {chosen} for {printed['wine']} on Wine")
