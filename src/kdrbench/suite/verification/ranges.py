"""What no number of a row can be, whatever its run: a share above 1, a count below 0, more seconds than its process."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from kdrbench.suite.engine.record import Record, column_types, kinds_of
from kdrbench.suite.verification.bookkeeping import Finding, to_number
from kdrbench.suite.verification.record import Row

# Scores and shares, of which sums are rounded.
_SHARES = frozenset(
    (
        *("quality", "train_accuracy", "test_accuracy", "accuracy", "target_accuracy", "knn_accuracy"),
        *("linear_accuracy", "distance_correlation", "nmi_given", "nmi_one_start", "nmi_ten_starts", "best_quality"),
        *("lowest_quality", "highest_quality"),
        *("share_at_best", "share_near_best", "p_value", "disagreement", "stationarity", "rejected"),
    )
)
_CORRELATIONS = frozenset(("tau", "tau_low", "tau_high"))
# What is a norm, a distance, or above a lowest value.
_NOT_NEGATIVE = frozenset(
    (
        *("feasibility", "condition", "dual_change", "kkt_residual", "largest_violation", "reference_distance"),
        *("median_gap", "largest_gap", "leading_gap", "memory_mib", "memory_limit_mib", "load", "evaluation_s"),
        *("compile_s", "calibration_before_s", "calibration_after_s", "time_limit_s", "budget_s"),
    )
)
# Seconds that a run's process takes in all, and the CPU seconds among them.
_WITHIN_S = ("time_s", "warm_s", "warm_iqr_s", "tuning_wall_s", "learning_wall_s")
_CPU_S = ("cpu_s", "warm_cpu_s", "tuning_cpu_s", "learning_cpu_s")
_ROUNDING = 1e-9
# Seconds of the same clock, added in another order.
_SAME = 1e-9
# The clock of a process and that of its method are read one after the other: the referee's bound.
_CLOCKS_S = 0.1
# Years of a run, pebibytes of memory, and counts, beyond which nothing was measured.
_MOST = 1e12
# Cores of a machine whose runs do not own theirs.
_MOST_CORES = 4096
# An integer that may have any sign.
_SEED = "seed"


def of_ranges(place: str, row: Row, kind: type[Record]) -> Iterator[Finding]:
    """Yield the columns of a row whose numbers are out of range."""
    for column in _counts(kind):  # type: ignore[arg-type]
        yield from _outside(place, row, column, 0.0, _MOST)
    for column in sorted(_SHARES & row.keys()):
        yield from _outside(place, row, column, -_ROUNDING, 1.0 + _ROUNDING)
    for column in sorted(_CORRELATIONS & row.keys()):
        yield from _outside(place, row, column, -1.0 - _ROUNDING, 1.0 + _ROUNDING)
    for column in sorted(_NOT_NEGATIVE & row.keys()):
        # A condition number may be beyond any measure.
        yield from _outside(place, row, column, 0.0, float("inf") if column == "condition" else _MOST)
    yield from _of_seconds(place, row)


@cache
def _counts(kind: type[Record]) -> tuple[str, ...]:
    types = column_types(kind)  # type: ignore[arg-type]
    return tuple(name for name, allowed in types.items() if int in kinds_of(allowed) and name != _SEED)


def _of_seconds(place: str, row: Row) -> Iterator[Finding]:
    """Yield the seconds of a row that are more than its process took; CPU seconds count for each of its cores."""
    yield from _outside(place, row, "wall_s", 0.0, _MOST)
    wall_s = max(0.0, to_number(row["wall_s"]) or 0.0)
    cores = len(row["cores"].split(",")) if row["cores"] else _MOST_CORES
    # A clock that claims more seconds than passed marks its row as unaccounted.
    yield from _outside(place, row, "unclocked_s", -_MOST if row["unaccounted"] == "True" else -_CLOCKS_S, wall_s)
    for column in _WITHIN_S:
        yield from _outside(place, row, column, 0.0, wall_s + _CLOCKS_S)
    for column in _CPU_S:
        yield from _outside(place, row, column, 0.0, cores * wall_s + _CLOCKS_S)
    yield from _of_clocks(place, row, wall_s)


def _of_clocks(place: str, row: Row, wall_s: float) -> Iterator[Finding]:
    """Yield a time that is not what the clocks of its run showed: wall_s less unclocked_s, and less its repeats.

    The least that m repeats can take is half of them, rounded up, at their median. Other rows of a run have times of
    their own, so that one is no more than what the clocks showed.
    """
    seconds, unclocked_s = to_number(row["time_s"]), to_number(row["unclocked_s"])
    # A time without CPU seconds is that of the trace, of a run that left no result.
    if seconds is None or unclocked_s is None or not row["cpu_s"]:
        return
    spare_s, room_s = wall_s - unclocked_s - seconds, _SAME * (wall_s + abs(unclocked_s))
    repeats = int(row.get("repeats") or 0)
    least_s = (repeats + 1) // 2 * (to_number(row.get("warm_s", "")) or 0.0)
    if spare_s < least_s - room_s or ("repeats" in row and not repeats and spare_s > room_s):
        clocked_s = wall_s - unclocked_s - least_s
        yield Finding(place, "time_s", row["time_s"], f"{clocked_s:.6g}{' at most' if repeats else ''}, as clocked")


def _outside(place: str, row: Row, column: str, least: float, most: float) -> Iterator[Finding]:
    number = to_number(row.get(column, ""))
    if number is not None and not least <= number <= most:
        yield Finding(place, column, row[column], f"between {least:.6g} and {most:.6g}")
