"""What must be true of a record's rows, whatever their numbers: that each is there once, and agrees with the rest."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kdrbench.errors import visible
from kdrbench.status import BY_METHODS
from kdrbench.suite.archive.other_limits import Counts, ended_before
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.grid import Grid
from kdrbench.suite.engine.record import Record, RecordError
from kdrbench.suite.experiments.merged_tables import record_in
from kdrbench.suite.verification.record import Row

_SHARE = 1e-9
# Drift is rounded to four digits.
_DRIFT, _MOST_DRIFT = 5e-5, 0.1
# The referee's bound, with the room that rounding has, and where there is no doubt.
_STATIONARY, _SURELY_NOT = 1e-6, 1.1e-6
_CALIBRATIONS = ("calibration_before_s", "calibration_after_s")
# A column of the figures of the KPCA trick, whose runs compare accuracies and have no time.
_UNTIMED = "series"
_LIMIT = "time_limit_s"
_MOST_LETTERS = 200


@dataclass(frozen=True)
class Finding:
    """A row, or a file, in which something is not as it should be: ``recorded`` is there, ``should_be`` is not."""

    place: str
    column: str
    recorded: str
    should_be: str

    def __str__(self) -> str:
        words = self.place, self.column, self.recorded or "empty", self.should_be
        place, column, recorded, should_be = map(_shortened, words)
        return f"{place}: {column} is {recorded}, should be {should_be}"


def _shortened(words: str) -> str:
    """Return what a stranger may have written as a line shows it."""
    return visible(words if len(words) <= _MOST_LETTERS else f"{words[:_MOST_LETTERS]}...")


def place_of(row: Row, axes: Sequence[str]) -> str:
    """Return what names a row: its axes with slashes between."""
    return "/".join(row[name] for name in axes)


def missing_and_double(places: Iterable[str], expected: Iterable[str]) -> list[Finding]:
    """Return the rows that the configuration asks for and that are missing, and those that are too many."""
    counts, wanted = Counter(places), set(expected)
    found = [Finding(place, "row", "missing", "in the table") for place in sorted(wanted - set(counts))]
    found += [Finding(place, "row", "not asked for", "absent") for place in sorted(set(counts) - wanted)]
    return found + [Finding(place, "row", f"{n} times", "once") for place, n in counts.items() if n > 1]


def against_schema(place: str, row: Row, kind: type[Record]) -> Iterator[Finding]:
    """Yield what no row of a record class may hold: a word in place of a number, NaN, an unknown status."""
    try:
        record_in(row, kind)
    except RecordError as error:
        yield Finding(place, "row", f"none of {kind.__name__}: {error}", "as it was written")


def against_definition(
    place: str, row: Row, batch: Batch, grid: Grid, trace_file: str, other_limits: Collection[str] = ()
) -> Iterator[Finding]:
    """Yield the columns of a row that differ from what the configuration decides.

    A run that ended before both may have one of the ``other_limits`` of time that the record states.
    """
    limits = grid.limits(batch.experiment)
    exact = {
        "definition_sha256": batch.definition_sha256,
        "data_sha256": grid.data_sha256(batch.dataset),
        "trace_file": trace_file,
        "seed": str(batch.seed),
    }
    for column, should_be in exact.items():
        if row[column] != should_be:
            yield Finding(place, column, row[column], should_be)
    numbers = {_LIMIT: limits.time_s, "memory_limit_mib": limits.memory_mib}
    for column, number in numbers.items():
        if to_number(row[column]) != number and not (column == _LIMIT and _is_stated(row, number, other_limits)):
            yield Finding(place, column, row[column], str(number))


def _is_stated(row: Row, limit_s: float, other_limits: Collection[str]) -> bool:
    limit = to_number(row[_LIMIT])
    if limit is None or repr(limit) not in other_limits:
        return False
    return ended_before(row["status"], to_number(row["time_s"]), limit, limit_s)


def of_limits(rows: Sequence[tuple[str, Row]], stated: Mapping[str, Counts]) -> Iterator[Finding]:
    """Yield the experiments of which more rows have another limit of time than the record states."""
    counts = Counter((row["experiment"], repr(to_number(row[_LIMIT]))) for _, row in rows)
    for name, limits in stated.items():
        for limit, count in limits.items():
            if (found := counts[name, limit]) > count:
                yield Finding(name, _LIMIT, f"{limit} in {found} rows", f"in {count}, as the record states")


def of_itself(place: str, row: Row) -> Iterator[Finding]:
    """Yield the columns of a row that contradict each other."""
    yield from _of_calibrations(place, row)
    status, seconds, limit = row["status"], to_number(row["time_s"]), to_number(row["time_limit_s"])
    if seconds is not None and seconds < 0:
        yield Finding(place, "time_s", row["time_s"], "at least 0")
    if status in BY_METHODS and seconds is None and _UNTIMED not in row:
        yield Finding(place, "time_s", row["time_s"], f"the seconds of a run that is {status}")
    if status == "time_limit" and not row["message"]:
        yield Finding(place, "message", "", "what limit was reached")
    if status in BY_METHODS and seconds is not None and limit is not None and seconds >= limit:
        yield Finding(place, "status", status, f"time_limit, of a run with {seconds} of {limit} s")
    if status in BY_METHODS and "iterations" in row and not (row["iterations"] if row["cost"] else row["quality"]):
        yield Finding(place, "status", status, "failed, of a run that counts no iterations")
    if (stationarity := to_number(row.get("stationarity", ""))) is not None and row.get("optimality"):
        said = row["optimality"] == "not_stationary"
        if said is not (stationarity > _STATIONARY) and not _STATIONARY < stationarity <= _SURELY_NOT:
            yield Finding(place, "optimality", row["optimality"], f"that of stationarity {stationarity:.2e}")


def _of_calibrations(place: str, row: Row) -> Iterator[Finding]:
    for column in _CALIBRATIONS:
        if (calibration := to_number(row[column])) is not None and not calibration > 0:
            yield Finding(place, column, row[column], "above 0")
    if len(missing := [column for column in _CALIBRATIONS if not row[column]]) == 1:
        yield Finding(place, missing[0], "", "a time, as the other is; make a run again that was killed between both")


def drifts(rows: Sequence[tuple[str, Row]], cell: Sequence[str]) -> Iterator[Finding]:
    """Yield the rows of one table whose drift is not that of their calibrations, beside those of their problem.

    ``cell`` names the columns of a cell, of which the last is the method.
    """
    shared = ("experiment", "dataset", *cell[:-1], "run", "processor", "blas", "blas_threads")
    groups: dict[tuple[str, ...], set[tuple[float, ...]]] = defaultdict(set)
    for _, row in rows:
        groups[tuple(row[name] for name in shared)].add(_calibrations(row))
    for place, row in rows:
        times = _calibrations(row)
        means = [sum(both) / len(both) for both in groups[tuple(row[name] for name in shared)] if both]
        if not times:
            continue
        ratios = [sum(times) / len(times) / statistics.median(means)]
        if int(row.get("repeats") or 0) == 0:
            ratios.append(times[-1] / times[0])
        drift = max((ratio - 1.0 for ratio in ratios), key=abs)
        recorded = to_number(row["drift"])
        if recorded is None or not abs(recorded - drift) <= _DRIFT * 1.01:
            yield Finding(place, "drift", row["drift"], f"{drift:.4f}")
        elif row["drifted"] != str(abs(drift) > _MOST_DRIFT):
            yield Finding(place, "drifted", row["drifted"], str(abs(drift) > _MOST_DRIFT))


def _calibrations(row: Row) -> tuple[float, ...]:
    both = [to_number(row[column]) for column in _CALIBRATIONS]
    return tuple(seconds for seconds in both if seconds is not None and seconds > 0)


def to_number(word: str) -> float | None:
    """Return the number that a word is; ``None`` for one that is none."""
    try:
        return float(word)
    except ValueError:
        return None
