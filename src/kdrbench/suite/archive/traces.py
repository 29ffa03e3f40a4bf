"""The traces of an experiment, packed: a line for each point that is kept."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kdrbench.errors import DamagedError, in_words
from kdrbench.status import Status
from kdrbench.suite.archive.folder import TRACES, PackedFolder, Writer
from kdrbench.suite.archive.thinning import Ranges, Trace, thinned
from kdrbench.suite.engine.record import Record

# A cell, as traces and arrays name it, and the number of a run.
Run = tuple[str, int]
# By run the points of a job, as publishing writes them.
Points = dict[Run, list[dict[str, Any]]]
# The best cost known of a problem (experiment, data set, kernel and run), of those that were seen and others.
BestKnown = Callable[[tuple[str, str, str, int], Iterable[float]], float]
# The rows of a job and its points.
Made = tuple[Sequence[Record], Points]
_COLUMNS = ("job", "cell", "run", "time_s", "cost", "stationarity", "calls")
_NUMBERS = _COLUMNS[3:6]


@dataclass(frozen=True)
class _Run:
    """A run's trace with what its figure needs: its panel, and its problem, which runs of other methods share."""

    job: str
    cell: str
    number: int
    trace: Trace
    panel: tuple[Any, ...]
    problem: tuple[Any, ...]
    counts: bool
    cost: float | None


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
    whole: bool,
) -> None:
    """Write the traces of an experiment's jobs, thinned unless ``whole``; ``drawn`` says whether figures show them.

    Those of the jobs ``beside`` them are in the same figures, and written elsewhere.
    """
    if not any(points for _, points in jobs.values()):
        return
    if whole:
        lines = [
            (job, cell, run, *(point.get(name) for name in _COLUMNS[3:]))
            for job, (_, by_run) in jobs.items()
            for (cell, run), points in by_run.items()
            for point in points
        ]
    else:
        runs, others = ([run for job in of.items() for run in _runs(*job)] for of in (jobs, beside))
        lines = list(_thinned_lines(runs, others, known, drawn=drawn))
    writer.table(f"{TRACES}/{experiment}.csv", _COLUMNS, lines)


def _runs(job: str, of_job: Made) -> Iterator[_Run]:
    records, by_run = of_job
    of_run = {run_of(record): record for record in records}
    for (cell, number), points in by_run.items():
        made, trace = of_run.get((cell, number)), _trace(points)
        kernel, cost = getattr(made, "kernel", None), getattr(made, "cost", None)
        panel = (made.dataset, kernel) if made and kernel else (cell,)
        problem = (made.experiment, *panel, number) if made and kernel else (cell, number)
        counts = made is not None and made.status != Status.FAILED
        yield _Run(job, cell, number, trace, panel, problem, counts, cost)


def _trace(points: Sequence[Mapping[str, Any]]) -> Trace:
    columns = [[float(point[name]) for point in points] for name in _NUMBERS]
    calls = [math.nan if point.get("calls") is None else float(point["calls"]) for point in points]
    return Trace(*(np.array(column) for column in (*columns, calls)))


def _thinned_lines(
    runs: Sequence[_Run], beside: Sequence[_Run], known: BestKnown, *, drawn: bool
) -> Iterator[tuple[Any, ...]]:
    lowest = _lowest([*runs, *beside], known)
    panels = defaultdict[tuple[Any, ...], list[_Run]](list)
    for run in (*runs, *beside):
        panels[run.panel].append(run)
    ranges = {
        panel: Ranges.of([one.trace for one in group], [lowest[one.problem] for one in group]) if drawn else None
        for panel, group in panels.items()
    }
    for run in runs:
        kept = thinned(run.trace, ranges[run.panel], lowest[run.problem])
        columns = (kept.time.tolist(), kept.cost.tolist(), kept.stationarity.tolist(), kept.calls.tolist())
        for time, cost, stationarity, calls in zip(*columns, strict=True):
            yield run.job, run.cell, run.number, time, cost, stationarity, None if math.isnan(calls) else int(calls)


def _lowest(runs: Iterable[_Run], known: BestKnown) -> dict[tuple[Any, ...], float]:
    """Return by problem the best cost known: failed runs decide nothing where there are others."""
    seen = defaultdict[tuple[Any, ...], list[float]](list)
    spare = defaultdict[tuple[Any, ...], list[float]](list)
    for run in runs:
        found = [run.trace.lowest, *([] if run.cost is None else [run.cost])]
        (seen if run.counts else spare)[run.problem] += found
    problems = {**spare, **seen}
    return {problem: known(problem, costs) if len(problem) == 4 else min(costs) for problem, costs in problems.items()}


def read_traces(packed: PackedFolder, experiment: str) -> dict[str, list[dict[str, Any]]]:
    """Return by job the lines of its trace as publishing writes them.

    Raises ``DamagedError`` for a line that is no point.
    """
    if f"{experiment}.csv" not in packed.names(TRACES):
        return {}
    jobs = defaultdict[str, list[dict[str, Any]]](list)
    for number, line in enumerate(packed.rows(f"{TRACES}/{experiment}.csv"), 2):
        try:
            numbers = {name: float(line[name]) for name in _NUMBERS}
            calls = int(line["calls"]) if line["calls"] else None
            point = {"cell": line["cell"], "run": int(line["run"]), **numbers, "calls": calls}
        except (KeyError, ValueError) as error:
            raise DamagedError(
                f"{packed.place}: line {number} of {TRACES}/{experiment}.csv is no point ({in_words(error)})"
            ) from error
        jobs[line["job"]].append(point)
    return jobs
