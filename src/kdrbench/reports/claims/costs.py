"""Claims on cost and time of ISM against its rivals (NeurIPS 2019 and ISM+)."""

from __future__ import annotations

import numpy as np

from kdrbench.reports.claims.claim import (
    RIVALS,
    Decision,
    Found,
    PairOfCells,
    Records,
    beside,
    confirmed_if,
    listed,
    undecided,
)
from kdrbench.reports.tables.labels import method_label
from kdrbench.reports.tables.paired_tests import paired_tests
from kdrbench.reports.tables.size_series import ALL_PAIRS, SizeSeries, size_series

# Costs that differ by less read the same in print.
LEVEL = 1e-3
CONVERGED_RIVALS = tuple(f"{name}_converged" for name in RIVALS)
FASTER = 1e5
# How near 2 an interval must come, how far apart solvers may be, and how wide an interval may be to say anything.
_NEAR, _LIKE, _WIDEST = 0.25, 0.5, 1.0


def lower_cost(records: Records) -> Found:
    """Decide "ISM ends at lower cost than DG, SM and GM" by their published variants.

    In every cell the mean cost over the folds of both is compared; within 0.1 % it counts as level. Confirmed if ISM is
    nowhere higher and somewhere lower.
    """
    published = _lower_cost(records, "ism", RIVALS)
    converged = _lower_cost(records, "ism", CONVERGED_RIVALS)
    if published.decision is Decision.CONFIRMED and converged.decision is Decision.CONTRADICTED:
        note = (
            f"It holds only against the published defaults of the rivals; against converged ones: {converged.evidence}"
        )
        return Found(published.decision, published.evidence, note)
    return published


def lower_cost_than_converged(records: Records) -> Found:
    """Decide the same against rivals that were run to a relative stationarity of 1e-6."""
    plain = _lower_cost(records, "ism", CONVERGED_RIVALS)
    fair = _lower_cost(records, "ism_converged", CONVERGED_RIVALS)
    if plain.decision is Decision.UNDECIDED or fair.decision is Decision.UNDECIDED:
        return plain
    return Found(plain.decision, plain.evidence, f"ISM run to the same stationarity: {fair.evidence}")


def _lower_cost(records: Records, solver: str, rivals: tuple[str, ...]) -> Found:
    cells = beside(records.solved, "cost", solver, rivals)
    if not cells:
        return undecided(f"costs of {solver} and of {', '.join(rivals)} on the same folds")
    gaps = [_gap(cell) for cell in cells]
    higher = [cell.name for cell, gap in zip(cells, gaps, strict=True) if gap > LEVEL]
    lower = sum(gap < -LEVEL for gap in gaps)
    evidence = f"lower in {lower} of {len(cells)} cells, level in {len(cells) - lower - len(higher)}"
    evidence += f", higher in {len(higher)}" + (f" (most by {max(gaps):.1%}): {listed(higher)}" if higher else "")
    stopped = sum(not cell.ended.all() for cell in cells)
    if stopped:
        evidence += f"; runs were stopped in {stopped} of them and count with their last iterate"
    return confirmed_if(not higher and lower > 0, f"{evidence}; {_tested(records, solver, rivals)}")


def _gap(cell: PairOfCells) -> float:
    """Return how far our mean cost is above the rival's, relative to it."""
    theirs = float(cell.theirs.mean())
    return (float(cell.ours.mean()) - theirs) / max(abs(theirs), np.finfo(float).tiny)


def _tested(records: Records, solver: str, rivals: tuple[str, ...]) -> str:
    """Say what the paired tests over folds find."""
    tests = paired_tests(records.solved, pairs=[(solver, rival) for rival in rivals], metrics=("cost",))
    if not tests:
        return "no cell has enough folds for a test"
    lower = sum(test.lower == solver for test in tests)
    higher = sum(test.differs for test in tests) - lower
    return f"by Wilcoxon's test over folds (Holm) lower in {lower} and higher in {higher} of {len(tests)} cells"


def times_faster(records: Records) -> Found:
    """Decide "up to 10^5 times faster" by the largest ratio of mean times in a cell, rivals as published.

    A rival that was stopped gives a lower bound of its ratio. Undecided where none reaches 10^5 and some are bounds.
    """
    cells = beside(records.solved, "time_s", "ism", (*RIVALS, "ism_2018"))
    cells = [cell for cell in cells if cell.ours.mean() > 0]
    if not cells:
        return undecided("times of ism and of its rivals as published on the same folds")
    ratios = [float(cell.theirs.mean() / cell.ours.mean()) for cell in cells]
    best = int(np.argmax(ratios))
    bounded = [cell for cell in cells if not cell.ended.all()]
    evidence = (
        f"at most {_factor(ratios[best])} times ({cells[best].name}), median {_factor(np.median(ratios))} of "
        f"{len(cells)} cells"
    )
    if bounded:
        evidence += f"; {len(bounded)} ratios are lower bounds, since runs were stopped at their limit"
    note = _fair_ratio(records)
    if ratios[best] >= FASTER:
        return Found(Decision.CONFIRMED, evidence, note)
    return Found(Decision.UNDECIDED if bounded else Decision.CONTRADICTED, evidence, note)


def _fair_ratio(records: Records) -> str:
    """Say how the same ratio comes out between solvers run to the same accuracy."""
    fair = beside(records.solved, "time_s", "ism_converged", CONVERGED_RIVALS)
    ratios = [float(cell.theirs.mean() / cell.ours.mean()) for cell in fair if cell.ours.mean() > 0]
    if not ratios:
        return "Converged rivals have no records."
    return (
        "All solvers share one vectorised oracle here. Run to the same accuracy, rivals take "
        f"{_factor(min(ratios))} to {_factor(max(ratios))} times ISM's time, median {_factor(np.median(ratios))}."
    )


def _factor(ratio: float) -> str:
    """Return a ratio in two digits, or whole with its thousands apart."""
    return f"{ratio:.2g}" if ratio < 100 else f"{ratio:,.0f}"


def quadratic_time(records: Records) -> Found:
    """Decide "time grows as n^2 for every solver, with like slopes" by the series over all pairs of samples.

    Confirmed if the 95 % interval of each solver's exponent comes within 0.25 of 2 and exponents lie within 0.5 of each
    other; undecided if some solver ended at fewer than three sizes or its interval is wider than 1.
    """
    if records.runs.empty:
        return undecided("runs of a scaling experiment (results/ikdr.csv)")
    series = [one for one in size_series(records.runs, records.config) if one.axis == "n_train"]
    pairs = [one for one in series if one.evaluation == ALL_PAIRS]
    if not pairs:
        return undecided("runs of a scaling experiment that sums over all pairs, at three sizes or more")
    laws = [(one.method, one.law) for one in pairs]
    evidence = "; ".join(_slope(one) for one in pairs)
    if any(law is None or law.high - law.low > _WIDEST for _, law in laws):
        return Found(
            Decision.UNDECIDED, f"too few sizes for an exponent of every solver: {evidence}", _factored(series)
        )
    fitted = [law for _, law in laws if law is not None]
    near = all(law.low <= 2 + _NEAR and law.high >= 2 - _NEAR for law in fitted)
    exponents = [law.exponent for law in fitted]
    return confirmed_if(near and max(exponents) - min(exponents) <= _LIKE, evidence, _factored(series))


def _slope(one: SizeSeries) -> str:
    law = one.law
    if law is None:
        return f"{method_label(one.method)} ended at {len(one.ended)} sizes"
    return f"{method_label(one.method)} n^{law.exponent:.2f} (95 %: {law.low:.2f} to {law.high:.2f})"


def _factored(series: list[SizeSeries]) -> str:
    others = [_slope(one) for one in series if one.evaluation != ALL_PAIRS]
    return f"With the library's own evaluation, which needs no pairs: {'; '.join(others)}." if others else ""
