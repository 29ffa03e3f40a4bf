"""The optima that are stored beside a record, by which figures compare costs, computed again from their projections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdrbench.datasets import Dataset
from kdrbench.errors import DamagedError, DataError
from kdrbench.suite.engine.grid import Grid
from kdrbench.suite.engine.run_files import UnreadableError, arrays_in
from kdrbench.suite.verification.bookkeeping import Finding, to_number
from kdrbench.suite.verification.large import MOST_SAMPLES
from kdrbench.suite.verification.optima import ATLAS, IKDR, Problem, of_optimum, problem_at, sha256_of
from kdrbench.suite.verification.record import Record, Row

Load = Callable[[str], Dataset]


def of_all_stored(
    record: Record, rows_of: Mapping[str, Sequence[tuple[str, Row]]], load: Load
) -> Iterator[Finding | str]:
    """Yield what is wrong with stored optima, and for each that is not computed again why.

    ``rows_of`` has the rows by batch, ``load`` returns a data set.
    """
    if not (files := sorted((record.results / "optima").glob("*.npz"))):
        return
    charts = [batch for batch in record.grid.batches() if batch.system == ATLAS]
    best = {batch.experiment: dict[str, float]() for batch in charts}
    for batch in charts:
        of_one = best[batch.experiment]
        for _, row in rows_of[batch.path]:
            if (cost := to_number(row["best_cost"])) is not None:
                of_one[row["problem"]] = min(cost, of_one.get(row["problem"], cost))
    problems = _problems(record.grid)
    for path in files:
        yield from of_store(path, best.get(path.stem), problems, load)


def _problems(grid: Grid) -> dict[str, tuple[str, Problem]]:
    """Return the problems of all runs by their hash, each with the name of its data set."""
    batches = [batch for batch in grid.batches() if batch.system in (IKDR, ATLAS)]
    return {sha256_of(batch, run): (batch.dataset, problem_at(batch, run)) for batch in batches for run in batch.runs}


def stored_in(path: Path) -> dict[str, tuple[float, NDArray[Any]]]:
    """Return cost and projection of each problem in a file of stored optima; ``DamagedError`` for any other file."""
    try:
        arrays = arrays_in(path) or {}
    except UnreadableError as error:
        raise DamagedError(f"{path} cannot be read: {error}") from error
    found = {}
    for problem in sorted({name.partition("/")[0] for name in arrays}):
        cost, projection = arrays.get(f"{problem}/cost"), arrays.get(f"{problem}/projection")
        if cost is None or projection is None or cost.shape != () or cost.dtype.kind != "f" or not np.isfinite(cost):
            raise DamagedError(f"{path} has no cost, or no projection, of {problem[:80]!r}")
        found[problem] = float(cost), projection
    return found


def of_store(
    path: Path,
    best: Mapping[str, float] | None,
    problems: Mapping[str, tuple[str, Problem]],
    load: Load,
) -> Iterator[Finding | str]:
    """Yield what is wrong with a file of stored optima, and for each that is not computed again why.

    ``best`` has the lowest cost of each problem in the rows of the atlas of this name, ``None`` where it is not among
    the experiments. ``problems`` are those of all runs by their hash, with the names of their data sets.
    """
    place = f"optima/{path.stem}"
    try:
        stored = stored_in(path)
    except DamagedError as error:
        yield Finding(place, "optima", f"({error})", "readable")
        return
    if best is not None:
        for problem in sorted(best.keys() - stored.keys()):
            yield Finding(f"{place}/{problem[:12]}", "optima", "missing", "stored")
        for problem in sorted(stored.keys() - best.keys()):
            yield Finding(f"{place}/{problem[:12]}", "optima", "of no problem of the atlas", "absent")
    for name, (cost, projection) in stored.items():
        one = f"{place}/{name[:12]}"
        if best is not None and name in best and cost != best[name]:
            yield Finding(one, "cost", repr(cost), f"{best[name]!r}, the lowest in the rows of the atlas")
        if name not in problems:
            yield "stored optima of problems that are not this configuration's"
        elif projection.dtype.kind != "f" or projection.ndim != 2:
            yield Finding(one, "projection", f"{projection.dtype} {projection.shape}", "d x q numbers")
        else:
            yield from _computed(one, cost, projection, *problems[name], load)


def _computed(
    place: str, cost: float, projection: NDArray[Any], dataset: str, problem: Problem, load: Load
) -> Iterator[Finding | str]:
    try:
        data = load(dataset)
    except DataError as error:
        yield Finding(place, "result", f"({error})", "computed again")
        return
    if len(data.features) > MOST_SAMPLES and problem.definition["paradigm"] != "supervised":
        yield f"stored optima of clusterings of more than {MOST_SAMPLES} samples"
    else:
        yield from of_optimum(place, problem, projection, cost, None, data)
