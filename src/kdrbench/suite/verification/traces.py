"""What the points of a trace must agree with: the order of time, the row of their run, and the ends of other runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kdrbench.suite.verification.bookkeeping import Finding, to_number
from kdrbench.suite.verification.record import Row

_SHARE = 1e-9
# By which the last stationarity may differ from the row's, as another evaluation of the same point.
_STATIONARY = 1e-6
_CALLS = tuple(
    f"{name}_calls" for name in ("value", "gradient", "value_gradient", "hessian_vector", "hessian", "surrogate")
)


def of_trace(
    place: str, row: Row, points: Sequence[Mapping[str, Any]], *, supervised: bool, least: float | None = None
) -> Iterator[Finding]:
    """Yield what a row and the points of its trace contradict each other in.

    ``supervised`` is what the definition says; the cost of such a run is that of the last point. ``least`` is the
    lowest cost at which runs of its problem ended, where there is one to compare with.
    """
    times = [float(point["time_s"]) for point in points]
    if times != sorted(times):
        yield Finding(place, "trace", "not in the order of time", "in order")
    cost, seconds = to_number(row.get("cost", "")), to_number(row["time_s"])
    if cost is not None and not points:
        yield Finding(place, "trace", "missing", "at least one point, of a run with a cost")
    if not points or cost is None:
        return
    if supervised:
        yield from _of_costs(place, row, points, cost, least)
    yield from _of_steps(place, row, points)
    if seconds is not None and times[-1] > seconds * (1 + _SHARE):
        yield Finding(place, "time_s", row["time_s"], f"at least {times[-1]!r}, the last of the trace")


def _of_costs(
    place: str, row: Row, points: Sequence[Mapping[str, Any]], cost: float, least: float | None
) -> Iterator[Finding]:
    """Yield a last point that is not the row's, and a point below the lowest end of its problem."""
    last, lowest = float(points[-1]["cost"]), min(float(point["cost"]) for point in points)
    if abs(last - cost) > _SHARE * abs(cost):
        yield Finding(place, "cost", row["cost"], f"{last!r}, the last of the trace")
    if least is not None and lowest < least - _SHARE * abs(least):
        yield Finding(
            place, "trace", f"at a cost of {lowest!r}", f"at {least!r} or more, the lowest end of its problem"
        )
    still, recorded = points[-1].get("stationarity"), to_number(row["stationarity"])
    if still is not None and recorded is not None and abs(still - recorded) > _SHARE + _STATIONARY * recorded:
        yield Finding(place, "stationarity", row["stationarity"], f"{still!r}, the last of the trace")


def _of_steps(place: str, row: Row, points: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Yield stationarities that are none, and calls that fall, or are more than the row counts."""
    shares = [point["stationarity"] for point in points if point.get("stationarity") is not None]
    if shares and (min(shares) < 0.0 or max(shares) > 1.0 + _SHARE):
        yield Finding(place, "trace", f"with stationarity {min(shares):.6g} to {max(shares):.6g}", "between 0 and 1")
    calls = [point["calls"] for point in points if point.get("calls") is not None]
    if calls != sorted(calls) or min(calls, default=0) < 0:
        yield Finding(place, "trace", "with calls that fall, or are negative", "rising")
    counted = [row[name] for name in _CALLS if row.get(name)]
    if calls and counted and calls[-1] > sum(map(int, counted)):
        yield Finding(place, "trace", f"with {calls[-1]} calls", f"{sum(map(int, counted))} at most, as the row counts")


def lowest_ends(ends: Iterable[tuple[str, str, float]]) -> dict[str, float]:
    """Return the lowest cost at which runs of each problem ended; ``ends`` are problem, method and cost.

    Problems that one method has solved are left out: its trace may have passed what its end does not have.
    """
    lowest: dict[str, float] = {}
    methods = defaultdict[str, set[str]](set)
    for problem, method, cost in ends:
        lowest[problem] = min(cost, lowest.get(problem, cost))
        methods[problem].add(method)
    return {problem: cost for problem, cost in lowest.items() if len(methods[problem]) > 1}
