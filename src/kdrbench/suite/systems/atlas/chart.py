"""Where solvers ended as a chart: the distinct certified optima, and what of them each solver's starts reach."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kdrbench.inference.atlas import distinct_optima, place_of, rank_correlation
from kdrbench.kernels.family import FloatArray
from kdrbench.suite.engine.system import OPTIMA
from kdrbench.suite.systems.atlas.system import ANGLE_DEG, NUMBERS
from kdrbench.suite.systems.ikdr.scores import Optimality

# A cost is near the best if it is above it by at most this share.
NEAR = 1e-3
# Relative costs that agree to this digit are equal, as those of two solves to a stationarity of 1e-6 may be.
_EQUAL_DIGITS = 6
# Clusterings have no second derivative here: theirs are stationary, of first order.
_CERTIFIED = (Optimality.SECOND_ORDER, Optimality.FIRST_ORDER)


@dataclass(frozen=True)
class End:
    """Where a solver ended, and what the exact problem says of it."""

    solver: str
    projection: FloatArray
    cost: float
    optimality: str
    uses_degrees: bool


@dataclass(frozen=True, eq=False)
class EndsChart:
    """The distinct ``optima`` by rising cost with their ``qualities``, and the ``columns`` of each solver's row."""

    optima: list[End]
    qualities: list[float | None]
    shares: Mapping[str, FloatArray]
    columns: Mapping[str, dict[str, Any]]

    def arrays(self) -> dict[str, FloatArray]:
        """Return what a run leaves of its optima, by name; nothing where there are none."""
        if not self.optima:
            return {}
        costs = np.array([one.cost for one in self.optima])
        qualities = np.array([np.nan if quality is None else quality for quality in self.qualities])
        projections = np.array([one.projection for one in self.optima])
        return {OPTIMA: projections, NUMBERS: np.column_stack([costs, qualities, *self.shares.values()])}


def chart_ends(ends: Mapping[str, list[End]], quality_of: Callable[[End], float | None]) -> EndsChart:
    """Return the chart of the ends of each solver, the first of which is that of the papers' start."""
    pool = [end for of_solver in ends.values() for end in of_solver]
    # Clusterings without degrees have another objective: that of most ends counts.
    with_degrees, objectives = _most_use_degrees(pool), [-end.cost for end in pool]
    certified = [end.optimality in _CERTIFIED and end.uses_degrees == with_degrees for end in pool]
    first, reached = distinct_optima([end.projection for end in pool], objectives, certified, ANGLE_DEG)
    qualities = [quality_of(end) for end in pool]
    optima, worth = [pool[number] for number in first], [qualities[number] for number in first]
    shares, columns, begin = {}, {}, 0
    for name, of_solver in ends.items():
        part = slice(begin, begin := begin + len(of_solver))
        # Without the papers' start.
        places = reached[part][1:]
        shares[name] = np.bincount(places[places >= 0], minlength=len(first)) / max(1, len(places))
        columns[name] = {
            "n_ended": len(places),
            "n_certified": int((places >= 0).sum()),
            "n_optima": int((shares[name] > 0).sum()),
            "n_known": len(optima),
            **(_beside_best(optima[0], of_solver) if optima else {}),
            "best_quality": worth[0] if optima else None,
            **_ranked(of_solver[1:], qualities[part][1:]),
        }
    return EndsChart(optima, worth, shares, columns)


def _most_use_degrees(ends: list[End]) -> bool:
    return 2 * sum(end.uses_degrees for end in ends) >= len(ends)


def _beside_best(best: End, ends: list[End]) -> dict[str, Any]:
    """Return how far above the best cost the ends are, and how many are the best optimum."""
    gaps = [(end.cost - best.cost) / abs(best.cost) for end in ends]
    at_best = [place_of(end.projection, [best.projection], ANGLE_DEG) == 0 for end in ends]
    columns: dict[str, Any] = {"best_cost": best.cost}
    if ends:
        columns |= {"leading_gap": gaps[0], "leading_at_best": at_best[0]}
    if len(ends) > 1:
        columns |= {
            "share_at_best": float(np.mean(at_best[1:])),
            "share_near_best": float(np.mean(np.array(gaps[1:]) <= NEAR)),
            "median_gap": float(np.median(gaps[1:])),
            "largest_gap": max(gaps[1:]),
        }
    return columns


def _ranked(ends: list[End], qualities: list[float | None]) -> dict[str, Any]:
    """Return the range of the qualities of ends, and their rank correlation with the costs where both differ.

    Costs are compared of ends that have the objective of most: clusterings without degrees have another.
    """
    with_degrees = _most_use_degrees(ends)
    pairs = [
        (end.cost, one)
        for end, one in zip(ends, qualities, strict=True)
        if one is not None and end.uses_degrees == with_degrees
    ]
    if not pairs:
        return {}
    costs, known = np.array(pairs).T
    columns: dict[str, Any] = {"lowest_quality": float(known.min()), "highest_quality": float(known.max())}
    relative = np.round(costs / abs(costs.min() or 1.0), _EQUAL_DIGITS)
    if (found := rank_correlation(relative, known, np.random.default_rng(0))) is not None:
        columns |= dict(zip(("tau", "tau_low", "tau_high"), found, strict=True))
    return columns
