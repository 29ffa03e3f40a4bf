"""The traces of an experiment, packed: a line for each point that is kept.

Figures show the lowest cost so far above the best known, (F - F*) / |F*|, against time or calls of oracles, all on
logarithmic axes. Of consecutive points whose time, gap and calls are the same to half a percent, the first and the last
are kept, so no drawn step moves by more. Gaps are taken above the run's own lowest cost: log(F - F*) differs less for
every lower F*. Always kept, as they were measured, are the first, the last and the best point, and the first within
each accuracy that tables and profiles ask for. Of the others time is rounded down to six digits, cost up to four digits
of its gap, and stationarity to four.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import DamagedError, in_words
from kdrbench.status import Status
from kdrbench.suite.archive.folder import TRACES, PackedFolder, Writer
from kdrbench.suite.engine.record import Record

# A cell, as traces and arrays name it, and the number of a run.
Run = tuple[str, int]
# By run the points of a job, as publishing writes them.
Points = dict[Run, list[dict[str, Any]]]
# The rows of a job and its points.
Made = tuple[Sequence[Record], Points]
# The best cost known of a problem (experiment, data set, kernel and run), of those that were seen and others.
BestKnown = Callable[[tuple[str, str, str, int], Iterable[float]], float]
Array = NDArray[np.float64]
_COLUMNS = ("job", "cell", "run", "time_s", "cost", "stationarity", "calls")
_NUMBERS = _COLUMNS[3:6]
# The accuracies to which reports ask for the time that a run needed.
ACCURACIES = (1e-2, 1e-4, 1e-6)
# Half a percent, in decades; below the others figures show rounding, or nothing.
SIDE, _SMALLEST_GAP, _SMALLEST_TIME = math.log10(1.005), 1e-12, 1e-9
# Numbers of more digits than this are not rounded: double precision has too few to tell.
_MOST_SCALED, _SLACK = 1e12, 1e-3


@dataclass(frozen=True)
class Trace:
    """The points of a run: seconds, cost, stationarity, and calls of oracles, NaN where they are not counted."""

    time: Array
    cost: Array
    stationarity: Array
    calls: Array

    @classmethod
    def of(cls, points: Sequence[Mapping[str, Any]]) -> Trace:
        """Return the trace of points as publishing writes them."""
        calls = [math.nan if point.get("calls") is None else float(point["calls"]) for point in points]
        columns = [*([float(point[name]) for point in points] for name in _NUMBERS), calls]
        return cls(*(np.array(column, dtype=np.float64) for column in columns))

    def thinned(self, lowest: float, *, drawn: bool) -> Trace:
        """Return the trace with fewer points: where no figure is ``drawn``, those alone that decide numbers.

        ``lowest`` is the best cost known of the run's problem.
        """
        if not self.time.size:
            return self
        exact = self._always_kept(lowest)
        made = Trace(
            np.where(exact, self.time, _rounded(self.time, self.time, 6)),
            np.where(exact, self.cost, _rounded(self.cost, self.cost - self.cost.min(), 4, up=True)),
            np.where(exact, self.stationarity, _rounded(self.stationarity, self.stationarity, 4)),
            self.calls,
        )
        kept = exact | made._ends_of_squares() if drawn else exact
        return Trace(made.time[kept], made.cost[kept], made.stationarity[kept], made.calls[kept])

    def _always_kept(self, lowest: float) -> NDArray[np.bool_]:
        kept = np.zeros(self.time.size, dtype=bool)
        kept[[0, -1, int(self.cost.argmin())]] = True
        # Curves begin where time does.
        for seen in (np.arange(self.time.size), np.flatnonzero(self.time > 0)):
            kept[seen[:1]] = True
            for accuracy in ACCURACIES:
                kept[seen[self.cost[seen] <= lowest + accuracy * abs(lowest)][:1]] = True
        return kept

    def coordinates(self, lowest: float) -> Array:
        """Return log10 of time, gap above ``lowest`` and calls, 3 x points."""
        gap = (np.minimum.accumulate(self.cost) - lowest) / max(abs(lowest), np.finfo(float).tiny)
        calls = np.maximum(np.nan_to_num(self.calls, nan=1.0), 1.0)
        columns = [np.maximum(self.time, _SMALLEST_TIME), np.maximum(gap, _SMALLEST_GAP), calls]
        return np.asarray(np.log10(np.array(columns, dtype=np.float64)))

    def _ends_of_squares(self) -> NDArray[np.bool_]:
        """Return the first and the last of consecutive points in one square of sides ``SIDE``."""
        squares = np.floor(self.coordinates(float(self.cost.min())) / SIDE)
        changes = np.any(np.diff(squares, axis=1) != 0, axis=0)
        return np.asarray(np.concatenate([[True], changes]) | np.concatenate([changes, [True]]))


def _rounded(values: Array, sizes: Array, digits: int, *, up: bool = False) -> Array:
    """Return values rounded down, or ``up``, to ``digits`` of numbers of these sizes; kept where the size is zero."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scale = 10.0 ** (digits - 1 - np.floor(np.log10(sizes)))
        scaled = values * scale
        rounds = np.isfinite(scaled) & (np.abs(scaled) < _MOST_SCALED) & (scale >= 1)
        # What was rounded before is not moved by the rounding of the product.
        whole = np.ceil(scaled - _SLACK) if up else np.floor(scaled + _SLACK)
        return np.where(rounds, whole / scale, values)


def run_of(record: Record) -> Run:
    """Return the run that a row is of."""
    return "/".join((record.dataset, *(str(getattr(record, name)) for name in record.CELL))), record.run


def write_traces(
    writer: Writer,
    experiment: str,
    jobs: Mapping[str, Made],
    known: BestKnown,
    *,
    beside: Mapping[str, Made],
    drawn: bool,
) -> None:
    """Write the thinned traces of an experiment's jobs; ``drawn`` says whether figures show them.

    Jobs ``beside`` them solve the same problems, and are written elsewhere.
    """
    if not any(points for _, points in jobs.values()):
        return
    lowest = _lowest([*jobs.values(), *beside.values()], known)
    lines: list[tuple[Any, ...]] = []
    for job, (rows, by_run) in jobs.items():
        row_of = {run_of(row): row for row in rows}
        for run, points in by_run.items():
            kept = Trace.of(points).thinned(lowest[_problem(run, row_of.get(run))], drawn=drawn)
            columns = (kept.time.tolist(), kept.cost.tolist(), kept.stationarity.tolist(), kept.calls.tolist())
            for *numbers, calls in zip(*columns, strict=True):
                lines.append((job, *run, *numbers, None if math.isnan(calls) else int(calls)))
    writer.table(f"{TRACES}/{experiment}.csv", _COLUMNS, lines)


def _problem(run: Run, row: Any) -> tuple[Any, ...]:
    """Return the problem of a run, which runs of other methods share where it has a kernel."""
    kernel = getattr(row, "kernel", None)
    return (row.experiment, row.dataset, kernel, run[1]) if kernel else run


def _lowest(jobs: Iterable[Made], known: BestKnown) -> dict[tuple[Any, ...], float]:
    """Return by problem the best cost known: failed runs decide nothing where there are others."""
    seen = defaultdict[tuple[Any, ...], list[float]](list)
    spare = defaultdict[tuple[Any, ...], list[float]](list)
    for rows, by_run in jobs:
        row_of: dict[Run, Any] = {run_of(row): row for row in rows}
        for run, points in by_run.items():
            row = row_of.get(run)
            cost = getattr(row, "cost", None)
            costs = [float(point["cost"]) for point in points] + ([] if cost is None else [cost])
            (seen if row and row.status != Status.FAILED else spare)[_problem(run, row)] += costs
    problems = {**spare, **seen}
    return {problem: known(problem, costs) if len(problem) == 4 else min(costs) for problem, costs in problems.items()}


def read_traces(packed: PackedFolder, experiment: str) -> dict[str, Points]:
    """Return by job the points of its trace.

    Raises ``DamagedError`` for a line that is no point.
    """
    if f"{experiment}.csv" not in packed.names(TRACES):
        return {}
    jobs = defaultdict[str, Points](lambda: defaultdict(list))
    for number, line in enumerate(packed.rows(f"{TRACES}/{experiment}.csv"), 2):
        try:
            numbers = {name: float(line[name]) for name in _NUMBERS}
            calls = int(line["calls"]) if line["calls"] else None
            jobs[line["job"]][line["cell"], int(line["run"])].append({**numbers, "calls": calls})
        except (KeyError, ValueError) as error:
            raise DamagedError(
                f"{packed.place}: line {number} of {TRACES}/{experiment}.csv is no point ({in_words(error)})"
            ) from error
    return jobs
