"""Tests of claims on how projections of ISM classify and cluster, on its kernels, on Omega and on the rule of q.

Keyword arguments are those of claims.toml.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import counted
from kdrbench.suite.findings.claim_rows import (
    Coverage,
    Lane,
    OwnCell,
    Records,
    decided_in_lanes,
    decided_on,
    lanes_of,
    printed_cells,
    timed_cells,
)
from kdrbench.suite.findings.finding import (
    DECISIONS,
    Decision,
    Finding,
    Side,
    decided_by_share,
    decided_by_sides,
    factor,
    listed,
    share_of,
    side_of,
    smallest_shown,
    undecided,
)
from kdrbench.suite.findings.solver_claims import Tables, pairs_of
from kdrbench.suite.reports.protocol import printed_components
from kdrbench.suite.reports.records import Metric
from kdrbench.suite.reports.tables.labels import dataset_label, kernel_label, method_label

LOST = "for missing or failed runs"
# Half a unit of the last digit that the papers print of a share.
LEVEL = 5e-4
# Cells by kernel or method.
Cells = Mapping[str, OwnCell]


def accuracy_above(records: Records, *, tables: Tables, least: float) -> Finding:
    """Take ISM's mean over the ten test folds of each cell; the note says what comes out by training samples."""

    def judge(coverage: Coverage) -> Finding:
        means = {cell.name: cell.mean() for cell in coverage.cells}
        known = {name: mean for name, mean in means.items() if mean is not None}
        below = [
            f"{name} " + (f"{known[name]:.1%}" if name in known else f"lost {LOST}")
            for name in means
            if known.get(name, 0.0) < least
        ]
        above = len(means) - len(below)
        evidence = f"{share_of(above, len(means), 'cell')} reach {100 * least:.0f} % on test folds"
        evidence += f"; below: {listed(below)}" if below else ""
        note, fitted = "", [cell.mean("train_accuracy") for cell in coverage.cells if "train_accuracy" in cell.runs]
        if on_fitted := [mean for mean in fitted if mean is not None]:
            share = share_of(sum(mean >= least for mean in on_fitted), len(on_fitted), "cell")
            note = f"On training samples {share} do."
        extreme = f"at least {min(known.values()):.1%}" if known else ""
        power = smallest_shown((cell.interval("quality") for cell in coverage.cells), lambda width: f"{width:.3f}")
        return decided_by_share(above, len(means), evidence, note, extreme=extreme, power=power)

    return decided_on(printed_cells(records, tables, Metric.ACCURACY, ("ism",), ("quality",)), judge)


class _Best(NamedTuple):
    """Whether a candidate is best or level on a data set, in words where it is not, by how much, and the intervals."""

    side: Side
    text: str
    behind: float
    intervals: list[tuple[float, float]]


def _best(cells: Cells, ours: str, sign: int, label: Callable[[str], str], text: str) -> _Best:
    """Compare a candidate with all others of a data set, run by run; a higher mean is better, or lower for sign -1."""
    lost = [label(name) for name, cell in cells.items() if not cell.complete("quality")]
    own = cells[ours]
    if not own.complete("quality") or lost:
        of = f" of {', '.join(lost)}" if own.complete("quality") else ""
        return _Best(Side.FAILS, f" {LOST}{of}", 0.0, [])
    gaps = {name: cell.difference(own, "quality") for name, cell in cells.items() if name != ours}
    ahead = {name: np.array([sign * gap[0], *sorted(sign * gap[1:])]) for name, gap in gaps.items() if gap is not None}
    best = max(ahead, key=lambda name: float(ahead[name][0]))
    behind = float(ahead[best][0])
    intervals = [(float(low), float(high)) for _, low, high in ahead.values()]
    if behind <= LEVEL:
        return _Best(Side.HOLDS, "", behind, intervals)
    # Some other one is clearly ahead, or none is.
    fails = any(mean > LEVEL and low > 0.0 for mean, low, _ in ahead.values())
    words = text.format(best=label(best), theirs=cells[best].mean(), ours=own.mean())
    return _Best(Side.FAILS if fails else Side.UNCLEAR, words, behind, intervals)


def _decided_by_best(results: Mapping[str, _Best], points: bool, *, normally: bool = False) -> Finding:
    sides = [result.side for result in results.values()]
    beaten = [f"{name}{result.text}" for name, result in results.items() if result.side is not Side.HOLDS]
    evidence = f"best or level in {share_of(sides.count(Side.HOLDS), len(sides), 'data set')}"
    evidence += f"; not on {listed(beaten)}" if beaten else ""
    behind = max((result.behind for result in results.values()), default=0.0)
    extreme = f"at most {100 * behind:.1f} points higher" if points else f"at most {behind:.3f} behind"
    intervals = [interval for result in results.values() for interval in result.intervals]
    power = smallest_shown(intervals, lambda width: f"{width:.3f}")
    extreme = extreme if behind >= LEVEL else ""
    return decided_by_sides(sides, evidence, unit="data set", normally=normally, extreme=extreme, power=power)


def best_method(
    records: Records, *, tables: Tables, metric: str, rivals: Sequence[str], lower: bool = False, normally: bool = False
) -> Finding:
    """Count the data sets on which no rival has a better mean quality than ISM, on the rows that were fitted."""
    sign, text = 1, ", {ours:.3f} against {theirs:.3f} of {best}"
    if lower:
        sign, text = -1, ", ISM {ours:.1%} against {theirs:.1%} of {best}"

    def judge(lane: Lane) -> Finding:
        by_data: dict[tuple[str, str], dict[str, OwnCell]] = {}
        for cell in lane.cells.cells:
            by_data.setdefault((cell.source, cell.dataset), {})[cell.method] = cell
        results = {
            dataset_label(dataset): _best(cells, lane.solver, sign, method_label, text)
            for (_, dataset), cells in by_data.items()
            if lane.solver in cells and len(cells) > 1
        }
        return _decided_by_best(results, lower, normally=normally)

    lanes = lanes_of(records, tables, metric, rivals, ("quality",))[:2]
    return decided_in_lanes(lanes, judge)


def best_kernel(records: Records, *, tables: Tables, kernel: str) -> Finding:
    """Count the data sets on which no other kernel has a higher test accuracy."""

    def judge(coverage: Coverage) -> Finding:
        results = {
            dataset_label(dataset): _best(cells, kernel, 1, kernel_label, " by {best}, {theirs:.3f} against {ours:.3f}")
            for (_, dataset), cells in _by_kernel(coverage).items()
            if kernel in cells
        }
        return _decided_by_best(results, False)

    return decided_on(_qualities(records, tables), judge)


def better_kernel(records: Records, *, tables: Tables, kernel: str, than: str) -> Finding:
    """Compare accuracy or NMI: confirmed if clearly better in most cells, mostly if more often better than worse."""

    def judge(coverage: Coverage) -> Finding:
        cases = [cells for cells in _by_kernel(coverage).values() if {kernel, than} <= set(cells)]
        if not cases:
            return undecided("cells of both kernels")
        gaps = [cells[kernel].difference(cells[than], "quality") for cells in cases]
        # A cell that lacks runs is no win.
        sides = [_compared(gap) for gap in gaps]
        better, worse, unclear = (sides.count(side) for side in (Side.HOLDS, Side.FAILS, Side.UNCLEAR))
        level = len(sides) - better - worse - unclear
        evidence = f"better in {better} of {counted(len(cases), 'cell')}, level in {level}, worse in {worse}"
        evidence += f", not distinguishable in {unclear}" if unclear else ""
        possible = {_often(better + more, worse + unclear - more, len(cases)) for more in range(unclear + 1)}
        decision = next(iter(possible)) if len(possible) == 1 else Decision.INDISTINCT
        known = [(float(gap[1]), float(gap[2])) for gap in gaps if gap is not None]
        measure = f"better in {share_of(better, len(cases), 'cell')}; worse in {worse}"
        return Finding(decision, evidence, "", measure, smallest_shown(known, lambda width: f"{width:.3f}"))

    return decided_on(_qualities(records, tables), judge)


def _compared(gap: NDArray[np.float64] | None) -> Side | None:
    """Return whether a difference is clearly above (holds) or below zero; ``None`` where the means are level."""
    if gap is None:
        return Side.FAILS
    if abs(gap[0]) <= LEVEL:
        return None
    return side_of(gap[1], gap[2], least=1e-12)


def _often(better: int, worse: int, total: int) -> Decision:
    if better > total / 2:
        return Decision.CONFIRMED
    return Decision.MOSTLY if better > worse else Decision.CONTRADICTED


def kernels_alike(records: Records, *, tables: Tables, apart: float, times_apart: float) -> Finding:
    """Count the data sets, with and without labels, on which all kernels are within bounds of each other.

    Qualities by the 95 % intervals of all differences, times by the ratio of mean first solves.
    """
    coverage, timed = _qualities(records, tables), timed_cells(records, tables, ("ism",))

    def judge(_: Coverage) -> Finding:
        seconds, sides, unlike, spreads, ratios = _by_kernel(timed), [], [], [], []
        for (setting, dataset), cells in _by_kernel(coverage).items():
            name = f"{dataset_label(dataset)}, {setting}"
            means = [cell.mean() for cell in cells.values()]
            times = [cell.numbers("time_s").mean() for cell in seconds.get((setting, dataset), {}).values()]
            if None in means or not times:
                sides.append(Side.FAILS)
                unlike.append(f"{name}, lost {LOST}")
                continue
            spreads.append(max(mean for mean in means if mean) - min(mean for mean in means if mean is not None))
            ratios.append(max(times) / min(times))
            side = Side.FAILS if ratios[-1] > times_apart else _all_within(list(cells.values()), apart)
            sides.append(side)
            if side is not Side.HOLDS:
                unlike.append(f"{name}: {spreads[-1]:.3f} apart, times {factor(ratios[-1])} to 1")
        evidence = f"alike in {share_of(sides.count(Side.HOLDS), len(sides), 'case')}" if sides else "no case has both"
        evidence += "".join(f"; {text}" for text in unlike)
        extreme = f"at most {max(spreads):.3f} apart, times {factor(max(ratios))} to 1" if spreads else ""
        return decided_by_sides(sides, evidence, unit="case", extreme=extreme)

    missing = tuple(dict.fromkeys(coverage.missing + timed.missing))
    return decided_on(Coverage(coverage.cells, missing), judge)


def _all_within(cells: Sequence[OwnCell], apart: float) -> Side:
    """Return whether all pairs of cells are within ``apart``, by the 95 % intervals of their differences."""
    pairs = [(first, second) for place, first in enumerate(cells) for second in cells[:place]]
    gaps = [first.difference(second, "quality") for first, second in pairs]
    sides = {side_of(gap[1], gap[2], least=-apart, most=apart) for gap in gaps if gap is not None}
    return next((side for side in (Side.FAILS, Side.UNCLEAR) if side in sides), Side.HOLDS)


def clusters_comparable(records: Records, *, tables: Tables, rivals: Sequence[str], apart: float) -> Finding:
    """Count the cells in which ISM's NMI is at most ``apart`` below that of each rival, and those where it is quickest.

    Both must hold. Times are those of methods as published, which nothing disturbed; a cell that lacks one is open.
    """

    def judge(lane: Lane) -> Finding:
        pairs = [pair for pair in pairs_of(lane.cells, "quality", lane.solver, lane.rivals) if pair.is_complete]
        sides = [Side.HOLDS if pair.ours.mean() >= pair.theirs.mean() - apart else Side.FAILS for pair in pairs]
        behind = max((float(pair.theirs.mean() - pair.ours.mean()) for pair in pairs), default=0.0)
        evidence = f"NMI comparable in {share_of(sides.count(Side.HOLDS), len(sides), 'cell')}"
        return decided_by_sides(sides, evidence, extreme=f"at most {behind:.3f} behind")

    found = decided_in_lanes(lanes_of(records, tables, Metric.NMI, rivals, ("quality",))[:2], judge)
    timed = timed_cells(records, tables, ("ism", *rivals), bounds=True)
    pairs = pairs_of(timed, "time_s", "ism", rivals)
    needed = pairs_of(lanes_of(records, tables, "time_s", rivals, ())[1].cells, "time_s", "ism", rivals)
    quickest = sum(pair.ratio >= 1.0 for pair in pairs)
    times = decided_by_share(
        quickest, len(needed), f"quickest in {quickest} of {len(needed)}", n_open=len(needed) - len(pairs)
    )
    if found.is_undecided or times.is_undecided:
        return found if found.is_undecided else times.with_note(found.note)
    order = list(Decision)
    weaker = max(found.decision, times.decision, key=order.index)
    return replace(found, decision=weaker, evidence=f"{found.evidence}; {times.evidence}")


def _qualities(records: Records, tables: Tables) -> Coverage:
    """Return ISM's cells of some tables, with the accuracy of those with labels, the NMI of others."""
    coverage = Coverage()
    for table in tables:
        metric = Metric.ACCURACY if table.setting == "supervised" else Metric.NMI
        coverage += printed_cells(records, (table,), metric, ("ism",), ("quality",))
    return coverage


def _by_kernel(coverage: Coverage) -> dict[tuple[str, str], dict[str, OwnCell]]:
    """Return cells by kernel for each setting and data set."""
    by_kernel: dict[tuple[str, str], dict[str, OwnCell]] = {}
    for cell in coverage.cells:
        by_kernel.setdefault((cell.source.rpartition(", ")[2], cell.dataset), {})[cell.kernel] = cell
    return by_kernel


def spectrum_on_wine(n_components: int) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Return F, the eigenvalues of Omega and of Phi = X' Omega X at ISM's solution for Wine, Gaussian kernel.

    Omega = Psi - D with Psi = Gamma * K_XW, D its row sums, Gamma = HYY'H, the bandwidth the median distance.
    """
    from sklearn.datasets import load_wine
    from sklearn.preprocessing import StandardScaler

    from kdrbench.estimators import InterpretableKDR
    from kdrbench.kernels import median_distance

    features, labels = load_wine(return_X_y=True)
    features = StandardScaler().fit_transform(features)
    model = InterpretableKDR(n_components).fit(features, labels)
    projected = features @ model.components_.T
    squared = ((projected[:, None] - projected[None]) ** 2).sum(axis=-1)
    centred = np.eye(3)[labels] - np.eye(3)[labels].mean(axis=0)
    psi = (centred @ centred.T) * np.exp(-squared / (2.0 * median_distance(features) ** 2))
    np.fill_diagonal(psi, 0.0)
    omega = psi - np.diag(psi.sum(axis=1))
    return float(model.objective_), np.linalg.eigvalsh(omega), np.linalg.eigvalsh(features.T @ omega @ features)


def omega_semidefinite(records: Records, *, tables: Tables, dataset: str, n_components: int) -> Finding:
    """Count the eigenvalues of Omega at ISM's solution that are not negative, where the record has that solution."""

    def judge(_: OwnCell) -> Finding:
        cost, omega, phi = spectrum_on_wine(n_components)
        negative, of_phi = (int((values < -1e-9 * abs(values).max()).sum()) for values in (omega, phi))
        evidence = f"negative are {negative} of {len(omega)} eigenvalues of Omega, {of_phi} of {len(phi)} of Phi, on "
        evidence += f"{dataset_label(dataset)} with the Gaussian kernel, at a solution of cost {-cost:.1f}"
        return Finding(
            DECISIONS[Side.HOLDS if negative == 0 else Side.FAILS],
            evidence,
            "",
            f"{negative} of {len(omega)} negative",
            "exact",
        )

    return _on_cell(records, tables, dataset, judge)


def rule_of_q(records: Records, *, tables: Tables, dataset: str) -> Finding:
    """Compare q with the number of eigenvalues above the largest gap of Phi at a solution, printed costs' q apart.

    Rows hold the gap at their own q alone. The spectrum is made again on the bundled data set; the others are open.
    """
    printed = printed_components(tables[0].paper, tables[0].setting)

    def judge(_: OwnCell) -> Finding:
        values = spectrum_on_wine(printed[dataset])[2][::-1]
        gaps = (values[:-1] - values[1:])[values[:-1] > 0.0]
        chosen, n_open = 1 + int(np.argmax(gaps)), len(printed) - 1
        evidence = f"{dataset_label(dataset)}: {chosen} for {printed[dataset]}; of the others rows hold no spectrum: a "
        evidence += "run that stores the eigenvalues of Phi at its end decides them"
        extreme = f"{chosen} for {printed[dataset]} on {dataset_label(dataset)}"
        equal = int(chosen == printed[dataset])
        return decided_by_share(equal, len(printed), evidence, unit="case", extreme=extreme, n_open=n_open)

    return _on_cell(records, tables, dataset, judge)


def _on_cell(records: Records, tables: Tables, dataset: str, judge: Callable[[OwnCell], Finding]) -> Finding:
    cells = printed_cells(records, tables, "cost", ("ism",), ("cost",), bounds=True).cells
    own = [cell for cell in cells if cell.dataset == dataset]
    return judge(own[0]) if own else undecided(f"a run of ISM on {dataset_label(dataset)}")
