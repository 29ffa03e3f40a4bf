"""Tests of claims on how projections of ISM classify and cluster, on its kernels, on Omega and on the rule of q.

Cells and keyword arguments are those of claims.toml.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import counted
from kdrbench.suite.findings.claim_rows import (
    LOST,
    Coverage,
    OwnCell,
    Records,
    Tables,
    decided_in_lanes,
    decided_on,
    lanes_of,
    printed_cells,
    timed_cells,
)
from kdrbench.suite.findings.finding import (
    Decision,
    Finding,
    decided_by_cases,
    decided_by_share,
    factor,
    share_of,
    side_of,
    smallest_shown,
    undecided,
)
from kdrbench.suite.paired import corrected_t_interval
from kdrbench.suite.reports.protocol import printed_components
from kdrbench.suite.reports.records import Metric
from kdrbench.suite.reports.tables.labels import dataset_label, kernel_label, method_label
from kdrbench.suite.reports.tables.significance import share_tested

# Half a unit of the last digit that the papers print of a share.
LEVEL = 5e-4
# Cells by kernel or method.
Cells = Mapping[str, OwnCell]


def accuracy_above(coverage: Coverage, *, least: float) -> Finding:
    """Take ISM's mean over the ten test folds of each cell; the note says what comes out by training samples."""
    means = {cell.name: cell.mean() for cell in coverage.cells}
    cases = [
        (f"{name} ({LOST if mean is None else f'{mean:.1%}'})", _at_least(mean, least)) for name, mean in means.items()
    ]
    fitted = [cell.mean("train_accuracy") for cell in coverage.cells]
    on_fitted = [mean >= least for mean in fitted if mean is not None]
    note = f"On training samples {share_of(sum(on_fitted), len(on_fitted), 'cell')} do." if on_fitted else ""
    lowest = min((mean for mean in means.values() if mean is not None), default=None)
    extreme = "" if lowest is None else f"at least {lowest:.1%}"
    intervals = [
        corrected_t_interval(values, share_tested(cell.runs))
        for cell in coverage.cells
        if len(values := cell.numbers("quality"))
    ]
    return decided_by_cases(cases, extreme=extreme, note=note, power=smallest_shown(intervals))


def _at_least(mean: float | None, least: float) -> Decision:
    return Decision.CONTRADICTED if mean is None or mean < least else Decision.CONFIRMED


@dataclass(frozen=True)
class _Best:
    """Whether a candidate is best or level on a data set, in words where it is not, by how much, and the intervals."""

    decision: Decision
    words: str = ""
    behind: float = 0.0
    intervals: Sequence[tuple[float, float]] = ()


def _best(cells: Cells, ours: str, sign: int, label: Callable[[str], str], text: str) -> _Best:
    """Compare a candidate with all others of a data set, run by run; a higher mean is better, or lower for sign -1."""
    if lost := [label(name) for name, cell in cells.items() if cell.mean() is None]:
        return _Best(Decision.CONTRADICTED, f", {LOST} of {', '.join(lost)}")
    gaps = {name: cell.difference(cells[ours], "quality") for name, cell in cells.items() if name != ours}
    ahead = {name: np.array([sign * gap[0], *sorted(sign * gap[1:])]) for name, gap in gaps.items() if gap is not None}
    best = max(ahead, key=lambda name: float(ahead[name][0]))
    behind, intervals = float(ahead[best][0]), [(float(low), float(high)) for _, low, high in ahead.values()]
    words = text.format(best=label(best), theirs=cells[best].mean(), ours=cells[ours].mean())
    # Some other one is clearly ahead, or none is.
    fails = any(mean > LEVEL and low > 0.0 for mean, low, _ in ahead.values())
    decision = Decision.CONTRADICTED if fails else Decision.INDISTINCT
    return _Best(Decision.CONFIRMED if behind <= LEVEL else decision, words, behind, intervals)


def _decided_by_best(results: Mapping[str, _Best], points: bool, *, normally: bool = False) -> Finding:
    behind = max((result.behind for result in results.values()), default=0.0)
    extreme = f"at most {100 * behind:.1f} points higher" if points else f"at most {behind:.3f} behind"
    power = smallest_shown(interval for result in results.values() for interval in result.intervals)
    cases = [(f"{name}{result.words}", result.decision) for name, result in results.items()]
    extreme = extreme if behind >= LEVEL else ""
    return decided_by_cases(cases, "data set", normally=normally, extreme=extreme, power=power)


def best_method(coverage: Coverage, *, lower: bool = False, normally: bool = False) -> Finding:
    """Count the data sets on which no rival has a better mean quality than ISM, on the rows that were fitted."""
    number = ".1%" if lower else ".3f"
    text = f", {{ours:{number}}} against {{theirs:{number}}} of {{best}}"
    by_data: dict[tuple[str, str], dict[str, OwnCell]] = {}
    for cell in coverage.cells:
        by_data.setdefault((cell.source, cell.dataset), {})[cell.method] = cell
    results = {
        dataset_label(dataset): _best(cells, coverage.methods[0], -1 if lower else 1, method_label, text)
        for (_, dataset), cells in by_data.items()
        if coverage.methods[0] in cells and len(cells) > 1
    }
    return _decided_by_best(results, lower, normally=normally)


def best_kernel(coverage: Coverage, *, kernel: str) -> Finding:
    """Count the data sets on which no other kernel has a higher test accuracy."""
    results = {
        dataset_label(dataset): _best(cells, kernel, 1, kernel_label, ", {ours:.3f} against {theirs:.3f} of {best}")
        for (_, dataset), cells in _by_kernel(coverage).items()
        if kernel in cells
    }
    return _decided_by_best(results, False)


def better_kernel(coverage: Coverage, *, kernel: str, than: str) -> Finding:
    """Compare accuracy or NMI: confirmed if clearly better in most cells, mostly if more often better than worse."""
    cases = [cells for cells in _by_kernel(coverage).values() if {kernel, than} <= set(cells)]
    if not cases:
        return undecided("cells of both kernels")
    gaps = [cells[kernel].difference(cells[than], "quality") for cells in cases]
    # A cell that lacks runs is no win.
    sides = [_compared(gap) for gap in gaps]
    better, worse, unclear = (
        sides.count(side) for side in (Decision.CONFIRMED, Decision.CONTRADICTED, Decision.INDISTINCT)
    )
    evidence = f"better in {better} of {counted(len(cases), 'cell')}, worse in {worse}"
    evidence += f", not distinguishable in {unclear}" if unclear else ""
    # Each unclear cell is either of both.
    counts = [(better + more, worse + unclear - more) for more in range(unclear + 1)]
    possible = {
        Decision.CONFIRMED if won > len(cases) / 2 else Decision.MOSTLY if won > lost else Decision.CONTRADICTED
        for won, lost in counts
    }
    decision = possible.pop() if len(possible) == 1 else Decision.INDISTINCT
    power = smallest_shown((float(gap[1]), float(gap[2])) for gap in gaps if gap is not None)
    measure = f"better in {share_of(better, len(cases), 'cell')}; worse in {worse}"
    return Finding(decision, evidence, "", measure, power)


def _compared(gap: NDArray[np.float64] | None) -> Decision | None:
    """Return whether a difference is clearly above (confirmed) or below zero; ``None`` where the means are level."""
    if gap is None:
        return Decision.CONTRADICTED
    return None if abs(gap[0]) <= LEVEL else side_of(gap[1], gap[2], least=1e-12)


def kernels_alike(records: Records, *, tables: Tables, apart: float, times_apart: float) -> Finding:
    """Count the data sets, with and without labels, on which all kernels are within bounds of each other.

    Qualities by the 95 % intervals of all differences, times by the ratio of mean first solves.
    """
    coverage, timed = qualities(records, tables), timed_cells(records, tables, ("ism",))

    def judge(_: Coverage) -> Finding:
        seconds, cases, spreads, ratios = _by_kernel(timed), [], [], []
        for (setting, dataset), cells in _by_kernel(coverage).items():
            name = f"{dataset_label(dataset)}, {setting}"
            means = [mean for cell in cells.values() if (mean := cell.mean()) is not None]
            times = [cell.numbers("time_s").mean() for cell in seconds.get((setting, dataset), {}).values()]
            if len(means) < len(cells) or not times:
                cases.append((f"{name}, {LOST}", Decision.CONTRADICTED))
                continue
            spreads.append(max(means) - min(means))
            ratios.append(max(times) / min(times))
            within = Decision.CONTRADICTED if ratios[-1] > times_apart else _all_within(list(cells.values()), apart)
            cases.append((f"{name}: {spreads[-1]:.3f} apart, times {factor(ratios[-1])} to 1", within))
        extreme = f"at most {max(spreads):.3f} apart, times {factor(max(ratios))} to 1" if spreads else ""
        return decided_by_cases(cases, "case", extreme=extreme)

    missing = tuple(dict.fromkeys(coverage.missing + timed.missing))
    return decided_on(Coverage(coverage.cells, missing), judge)


def _all_within(cells: Sequence[OwnCell], apart: float) -> Decision:
    """Return whether all pairs of cells are within ``apart``, by the 95 % intervals of their differences."""
    gaps = [cell.difference(other, "quality") for number, cell in enumerate(cells) for other in cells[:number]]
    sides = {side_of(gap[1], gap[2], least=-apart, most=apart) for gap in gaps if gap is not None}
    return next((side for side in (Decision.CONTRADICTED, Decision.INDISTINCT) if side in sides), Decision.CONFIRMED)


def clusters_comparable(records: Records, *, tables: Tables, rivals: Sequence[str], apart: float) -> Finding:
    """Count the cells in which ISM's NMI is at most ``apart`` below that of each rival, and those where it is quickest.

    Both must hold. Times are those of methods as published, which nothing disturbed; a cell that lacks one is open.
    """

    def judge(coverage: Coverage) -> Finding:
        pairs = [pair for pair in coverage.pairs("quality") if pair.is_complete]
        gaps = [float(pair.theirs.mean() - pair.ours.mean()) for pair in pairs]
        cases = [(pair.rival.name, _at_least(apart - gap, 0.0)) for pair, gap in zip(pairs, gaps, strict=True)]
        return decided_by_cases(cases, extreme=f"at most {max(gaps, default=0.0):.3f} behind")

    methods = ("ism", *rivals)
    finding = decided_in_lanes(lanes_of(records, tables, Metric.NMI, methods, converged=False), judge)
    pairs = timed_cells(records, tables, methods, bounds=True).pairs("time_s")
    needed = len(printed_cells(records, tables, "time_s", methods, bounds=True).pairs("time_s"))
    quickest = sum(pair.ratio >= 1.0 for pair in pairs)
    times = decided_by_share(quickest, needed, f"quickest in {quickest} of {needed}", n_open=needed - len(pairs))
    if finding.is_undecided or times.is_undecided:
        return finding if finding.is_undecided else times.with_note(finding.note)
    weaker = max(finding.decision, times.decision, key=list(Decision).index)
    return replace(finding, decision=weaker, evidence=f"NMI {finding.evidence}; {times.evidence}")


def qualities(records: Records, tables: Tables) -> Coverage:
    """Return ISM's cells of some tables, with the accuracy of those with labels, the NMI of others."""
    coverage = Coverage()
    for table in tables:
        metric = Metric.ACCURACY if table.setting == "supervised" else Metric.NMI
        coverage += printed_cells(records, (table,), metric, ("ism",))
    return coverage


def _by_kernel(coverage: Coverage) -> dict[tuple[str, str], dict[str, OwnCell]]:
    """Return cells by kernel for each setting and data set."""
    by_kernel: dict[tuple[str, str], dict[str, OwnCell]] = {}
    for cell in coverage.cells:
        by_kernel.setdefault((cell.source.rpartition(", ")[2], cell.dataset), {})[cell.kernel] = cell
    return by_kernel


def _spectra_on_wine(
    records: Records, tables: Tables, dataset: str, n_components: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return the eigenvalues of Omega and of Phi = X' Omega X at ISM's solution for Wine, Gaussian kernel.

    Omega = Psi - D with Psi = Gamma * K_XW, D its row sums, Gamma = HYY'H, the bandwidth the median distance. ``None``
    where the record has no such solution.
    """
    cells = printed_cells(records, tables, "cost", ("ism",), bounds=True).cells
    if dataset not in {cell.dataset for cell in cells}:
        return None
    from sklearn.datasets import load_wine
    from sklearn.preprocessing import StandardScaler

    from kdrbench.estimators import InterpretableKDR
    from kdrbench.kernels import median_distance

    features, labels = load_wine(return_X_y=True)
    features = StandardScaler().fit_transform(features)
    projected = InterpretableKDR(n_components).fit_transform(features, labels)
    squared = ((projected[:, None] - projected[None]) ** 2).sum(axis=-1)
    centred = np.eye(3)[labels] - np.eye(3)[labels].mean(axis=0)
    psi = (centred @ centred.T) * np.exp(-squared / (2.0 * median_distance(features) ** 2))
    np.fill_diagonal(psi, 0.0)
    omega = psi - np.diag(psi.sum(axis=1))
    return np.linalg.eigvalsh(omega), np.linalg.eigvalsh(features.T @ omega @ features)


def omega_semidefinite(records: Records, *, tables: Tables, dataset: str, n_components: int) -> Finding:
    """Count the eigenvalues of Omega at ISM's solution that are not negative, where the record has that solution."""
    spectra = _spectra_on_wine(records, tables, dataset, n_components)
    if spectra is None:
        return undecided(f"a run of ISM on {dataset_label(dataset)}")
    negative, of_phi = (int((values < -1e-9 * abs(values).max()).sum()) for values in spectra)
    omega, phi = map(len, spectra)
    evidence = f"negative are {negative} of {omega} eigenvalues of Omega, {of_phi} of {phi} of Phi, on "
    evidence += f"{dataset_label(dataset)} with the Gaussian kernel"
    decision = side_of(negative, negative, most=0)
    return Finding(decision, evidence, "", f"{negative} of {omega} negative", "exact")


def rule_of_q(records: Records, *, tables: Tables, dataset: str) -> Finding:
    """Compare q with the number of eigenvalues above the largest gap of Phi at a solution.

    Rows hold the gap at their own q alone. The spectrum is made again on the bundled data set; the others are open.
    """
    printed = printed_components(tables[0].paper, tables[0].setting)
    spectra = _spectra_on_wine(records, tables, dataset, printed[dataset])
    if spectra is None:
        return undecided(f"a run of ISM on {dataset_label(dataset)}")
    values = spectra[1][::-1]
    gaps = (values[:-1] - values[1:])[values[:-1] > 0.0]
    chosen, n_open = 1 + int(np.argmax(gaps)), len(printed) - 1
    extreme = f"{chosen} for {printed[dataset]} on {dataset_label(dataset)}"
    equal, evidence = int(chosen == printed[dataset]), f"{extreme}; of the others rows hold no spectrum"
    return decided_by_share(equal, len(printed), evidence, unit="case", extreme=extreme, n_open=n_open)
