"""What runs leave, packed: the traces of an experiment thinned, and each value of its arrays once.

Figures show the lowest cost so far above the best known, (F - F*) / |F*|, against time or calls of oracles, all on
logarithmic axes. Of consecutive points whose time, gap and calls are the same to half a percent, the first and the last
are kept, so no drawn step moves by more. Gaps are taken above the run's own lowest cost: log(F - F*) differs less for
every lower F*. Always kept, as they were measured, are the first, the last and the best point, and the first within
each accuracy that tables and profiles ask for. Of the others time is rounded down to six digits, cost up to four digits
of its gap, and stationarity to four.

Projections are in float32, of large ones the first runs alone. An experiment has a table that names each of its arrays,
and a file for each type of numbers, in which values follow each other. Those that an earlier experiment has are in its
file alone, and the line names it. What is not stored has a line without a place: whoever reads the record can say so.
"""

from __future__ import annotations

import io
import math
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdrbench.status import Status
from kdrbench.suite.archive.folder import ARRAYS, TRACES, PackedFolder, Writer
from kdrbench.suite.engine.publish import array_place
from kdrbench.suite.engine.recomputed import NOT_STORED
from kdrbench.suite.engine.record import Record
from kdrbench.suite.engine.run_files import array_of
from kdrbench.suite.systems.league.system import COMPARED_MAPS

# A cell, as traces and arrays name it, and the number of a run.
Run = tuple[str, int]
# By run the points of a job, as publishing writes them.
Points = dict[Run, list[dict[str, Any]]]
# The best cost known of a problem (experiment, data set, kernel and run), of those that were seen and others.
BestKnown = Callable[[tuple[str, str, str, int], Iterable[float]], float]
Array = NDArray[np.float64]
_OF_POINTS = ("job", "cell", "run", "time_s", "cost", "stationarity", "calls")
_NUMBERS = _OF_POINTS[3:6]
# The accuracies to which reports ask for the time that a run needed.
ACCURACIES = (1e-2, 1e-4, 1e-6)
# Half a percent, in decades; below the others figures show rounding, or nothing.
SIDE, _SMALLEST_GAP, _SMALLEST_TIME = math.log10(1.005), 1e-12, 1e-9
# Numbers of more digits than this are not rounded: double precision has too few to tell.
_MOST_SCALED, _SLACK = 1e12, 1e-3
Arrays = dict[str, NDArray[Any]]
# Of each cell's projections, in bytes of float32, what is stored at most beside those of the first run.
MOST_OF_A_CELL = 14 * 1024
_OF_ARRAYS = ("job", "name", "type", "stored", "shape", "begin", "of")
# By type and values of an array: the experiment in whose file they are, and where they begin.
Places = dict[tuple[str, bytes], tuple[str, int]]
_PROJECTION = re.compile(r"(?P<cell>.*/)(?P<kind>projection(?:_[0-9]+)?)_(?P<run>[0-9]+)")
_PLACEHOLDER = re.compile(rf"(?P<cell>.*/){NOT_STORED}_(?P<run>[0-9]+)")


@dataclass
class Job:
    """What a job leaves: rows, the points of its trace by run, and arrays by name."""

    records: list[Record] = field(default_factory=list)
    points: Points = field(default_factory=dict)
    arrays: Arrays = field(default_factory=dict)

    @property
    def not_stored(self) -> int:
        """How many projections of its runs the record does not store."""
        return sum(array.size for name, array in self.arrays.items() if f"/{NOT_STORED}_" in name)

    def without(self, runs: Collection[Run]) -> Job:
        """Return the job without these runs."""
        gone = arrays_of(self.arrays, runs)
        return Job(
            [record for record in self.records if run_of(record) not in runs],
            {run: points for run, points in self.points.items() if run not in runs},
            {name: array for name, array in self.arrays.items() if name not in gone},
        )

    def joined(self, other: Job) -> Job:
        """Return the job with the runs of another."""
        return Job(self.records + other.records, self.points | other.points, self.arrays | other.arrays)


def arrays_of(arrays: Arrays, runs: Collection[Run]) -> Arrays:
    """Return the arrays that some runs left."""
    return {name: array for name, array in arrays.items() if array_place(name)[::2] in runs}


Jobs = dict[str, Job]


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
    jobs: Jobs,
    known: BestKnown,
    *,
    beside: Jobs,
    drawn: bool,
) -> None:
    """Write the thinned traces of an experiment's jobs; ``drawn`` says whether figures show them.

    Jobs ``beside`` them solve the same problems, and are written elsewhere.
    """
    if not any(job.points for job in jobs.values()):
        return
    lowest = _lowest([*jobs.values(), *beside.values()], known)
    lines: list[tuple[Any, ...]] = []
    for path, job in jobs.items():
        row_of = {run_of(row): row for row in job.records}
        for run, points in job.points.items():
            kept = Trace.of(points).thinned(lowest[_problem(run, row_of.get(run))], drawn=drawn)
            columns = (kept.time.tolist(), kept.cost.tolist(), kept.stationarity.tolist(), kept.calls.tolist())
            for *numbers, calls in zip(*columns, strict=True):
                lines.append((path, *run, *numbers, None if math.isnan(calls) else int(calls)))
    writer.table(f"{TRACES}/{experiment}.csv", _OF_POINTS, lines)


def _problem(run: Run, row: Any) -> tuple[Any, ...]:
    """Return the problem of a run, which runs of other methods share where it has a kernel."""
    kernel = getattr(row, "kernel", None)
    return (row.experiment, row.dataset, kernel, run[1]) if kernel else run


def _lowest(jobs: Iterable[Job], known: BestKnown) -> dict[tuple[Any, ...], float]:
    """Return by problem the best cost known: failed runs decide nothing where there are others."""
    seen = defaultdict[tuple[Any, ...], list[float]](list)
    spare = defaultdict[tuple[Any, ...], list[float]](list)
    for job in jobs:
        row_of: dict[Run, Any] = {run_of(row): row for row in job.records}
        for run, points in job.points.items():
            row = row_of.get(run)
            cost = getattr(row, "cost", None)
            costs = [float(point["cost"]) for point in points] + ([] if cost is None else [cost])
            (seen if row and row.status != Status.FAILED else spare)[_problem(run, row)] += costs
    problems = {**spare, **seen}
    return {problem: known(problem, costs) if len(problem) == 4 else min(costs) for problem, costs in problems.items()}


def read_traces(packed: PackedFolder, experiment: str) -> dict[str, Points]:
    """Return by job the points of its trace; ``DamagedError`` for a line that is no point."""
    jobs = defaultdict[str, Points](lambda: defaultdict(list))

    def read(line: Mapping[str, str]) -> None:
        numbers = {name: float(line[name]) for name in _NUMBERS}
        calls = int(line["calls"]) if line["calls"] else None
        jobs[line["job"]][line["cell"], int(line["run"])].append({**numbers, "calls": calls})

    packed.read_lines(f"{TRACES}/{experiment}.csv", read, "is no point")
    return jobs


@dataclass
class ArrayWriter:
    """The arrays of one experiment beside those in ``places``."""

    experiment: str
    places: Places
    n_left_out: int = 0
    _lines: list[tuple[Any, ...]] = field(default_factory=list)
    _values: dict[str, list[NDArray[Any]]] = field(default_factory=lambda: defaultdict(list))
    _sizes: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _of_cells: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def add(self, job: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Add the arrays of a job; those of a cell come in the order of its runs."""
        for name, array in arrays.items():
            projection, placeholder = _PROJECTION.fullmatch(name), _PLACEHOLDER.fullmatch(name)
            if projection and array.dtype == np.float64:
                array = array.astype(np.float32)
            left_out = [name] if projection and self._is_too_much(projection, array) else []
            if placeholder:
                left_out = [f"{placeholder['cell']}{kind}_{placeholder['run']}" for kind in array.ravel()]
            self.n_left_out += len(left_out)
            self._lines += [(job, absent, *[""] * 5) for absent in left_out]
            if not left_out:
                self._lines.append((job, name, type_name(array.dtype), *self._store(array)))

    def _is_too_much(self, name: re.Match[str], array: NDArray[Any]) -> bool:
        """Return whether a projection is too much for its cell, whose runs come in their order."""
        sizes = self._of_cells[name["cell"] + name["kind"]]
        sizes.append(array.nbytes)
        fewest = 1 if name["kind"] == "projection" else COMPARED_MAPS
        return len(sizes) > fewest and sum(sizes) > MOST_OF_A_CELL

    def _store(self, array: NDArray[Any]) -> tuple[str, str, int, str]:
        """Return the type of the values, their shape, and where they begin in the file of another, if not in ours."""
        flat = _smallest(array.ravel())
        kind = type_name(flat.dtype)
        key = kind, flat.tobytes()
        if key not in self.places:
            self.places[key] = self.experiment, self._sizes[kind]
            self._sizes[kind] += flat.size
            self._values[kind].append(flat)
        of, begin = self.places[key]
        return kind, "x".join(map(str, array.shape)), begin, "" if of == self.experiment else of

    def write(self, writer: Writer) -> None:
        """Write the table and the values."""
        if not self._lines:
            return
        writer.table(f"{ARRAYS}/{self.experiment}.csv", _OF_ARRAYS, self._lines)
        for kind, values in sorted(self._values.items()):
            buffer = io.BytesIO()
            np.save(buffer, np.concatenate(values), allow_pickle=False)
            writer.add(f"{ARRAYS}/{self.experiment}.{kind}.npy", buffer.getvalue())


def read_arrays(packed: PackedFolder, experiment: str) -> dict[str, Arrays]:
    """Return by job the arrays of an experiment; one that is not stored has another in its place that says so.

    Raises ``DamagedError`` for a line that names no array of the record.
    """
    jobs: dict[str, Arrays] = defaultdict(dict)

    def read(line: Mapping[str, str]) -> None:
        of_job, (name, array) = jobs[line["job"]], _array(packed, experiment, line)
        is_more = f"/{NOT_STORED}_" in name and name in of_job
        of_job[name] = np.concatenate([of_job[name], array]) if is_more else array

    packed.read_lines(f"{ARRAYS}/{experiment}.csv", read, "names no array")
    return jobs


def _array(packed: PackedFolder, experiment: str, line: Mapping[str, str]) -> tuple[str, NDArray[Any]]:
    """Return the name of an array and the array."""
    if not line["stored"]:
        if not (name := _PROJECTION.fullmatch(line["name"])):
            raise ValueError(f"{line['name'][:100]} is not stored")
        return f"{name['cell']}{NOT_STORED}_{name['run']}", np.array([name["kind"]])
    file = f"{ARRAYS}/{line['of'] or experiment}.{line['stored']}.npy"
    if file not in packed.values:
        packed.values[file] = array_of(packed.content(file), file)
    sizes, begin = line["shape"].rstrip("F"), int(line["begin"])
    shape = tuple(map(int, sizes.split("x"))) if sizes else ()
    flat = packed.values[file][begin : begin + math.prod(shape)].astype(np.dtype(line["type"]), casting="safe")
    return line["name"], flat.reshape(shape, order="F" if line["shape"].endswith("F") else "C")


def type_name(dtype: np.dtype[Any]) -> str:
    """Return how files name a type: f4, f8, i1, U12."""
    return dtype.str.lstrip("<>|=")


def _smallest(flat: NDArray[Any]) -> NDArray[Any]:
    """Return integers in the smallest signed type that holds them; anything else as it is."""
    if flat.dtype.kind != "i" or not flat.size:
        return flat
    # A negative number needs a signed type, and ~most as many bits as most.
    return flat.astype(np.min_scalar_type(min(flat.min(), ~flat.max())))
