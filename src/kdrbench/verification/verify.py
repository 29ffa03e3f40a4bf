"""Verify a record: its bookkeeping, and every number that can be computed again from the data."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from joblib import Parallel, delayed

from kdrbench.bench.batch import Batch
from kdrbench.bench.grid import Grid
from kdrbench.datasets import Dataset
from kdrbench.datasets.prepared import load_defined
from kdrbench.errors import DamagedError, DataError, InputError
from kdrbench.stages import build_stage
from kdrbench.verification import optima
from kdrbench.verification.bookkeeping import (
    Finding,
    against_definition,
    against_schema,
    drifts,
    missing_and_double,
    of_itself,
    of_trace,
    place_of,
    to_number,
)
from kdrbench.verification.record import Record, Row
from kdrbench.verification.runs import Number, RunToVerify
from kdrbench.verification.samples import samples_of

# n x n arrays of doubles: 200 MB each.
MOST_SAMPLES = 5000
_IKDR = "ikdr"
_Placed = list[tuple[str, Row]]


@dataclass
class Verification:
    """What was verified: how many ``rows``, how many ``numbers`` were computed again, what was not and why."""

    rows: int = 0
    numbers: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)

    def add(self, other: Verification) -> None:
        """Add what was verified elsewhere."""
        self.rows += other.rows
        self.numbers += other.numbers
        self.left_out += other.left_out
        self.findings += other.findings


def verify(record: Record, *, mirror: str | None = None, n_jobs: int = 1, most: int = MOST_SAMPLES) -> Verification:
    """Compare every row of a record with its definition, its trace, and what is computed again from raw data.

    Runs of more than ``most`` training samples keep their numbers unverified, and are counted; so are the rows
    of other systems than IKDR and its atlas. ``mirror`` is where data are looked for first.

    Raises ``InputError`` or ``DamagedError`` where configuration or tables cannot be read.
    """
    total, rows_of = Verification(), defaultdict[str, _Placed](list)
    for system, rows in record.rows().items():
        total.add(_bookkeeping(record, system, rows, rows_of))
    ask = _Batch(record, mirror, most)
    jobs = [(batch, rows_of[batch.path]) for batch in record.grid.batches()]
    for part in Parallel(n_jobs=n_jobs)(delayed(ask.verified)(*job) for job in jobs):
        total.add(part)
    total.add(_stored(record, rows_of, ask))
    return total


def _stored(record: Record, rows_of: Mapping[str, _Placed], ask: _Batch) -> Verification:
    """Return what is wrong with the optima that are stored beside the record, by which figures compare costs."""
    result, files = Verification(), sorted((record.results / "optima").glob("*.npz"))
    if not files:
        return result
    charts = [batch for batch in record.grid.batches() if batch.system == optima.ATLAS]
    best = {batch.experiment: dict[str, float]() for batch in charts}
    for batch in charts:
        of_one = best[batch.experiment]
        for _, row in rows_of[batch.path]:
            if (cost := to_number(row["best_cost"])) is not None:
                of_one[row["problem"]] = min(cost, of_one.get(row["problem"], cost))
    problems = _problems(record.grid)
    for path in files:
        for finding in optima.of_store(path, best.get(path.stem), problems, ask.data):
            if finding is None:
                result.left_out["stored optima of problems that are not this configuration's"] += 1
            else:
                result.findings.append(finding)
    return result


def _problems(grid: Grid) -> dict[str, tuple[str, optima.Problem]]:
    """Return the problems of all runs by their hash, each with the name of its data set."""
    batches = [batch for batch in grid.batches() if batch.system in (_IKDR, optima.ATLAS)]
    return {
        optima.sha256_of(batch, run): (batch.dataset, optima.problem_at(batch, run))
        for batch in batches
        for run in batch.runs
    }


def _bookkeeping(record: Record, system: str, rows: list[Row], rows_of: dict[str, _Placed]) -> Verification:
    """Return the findings of a table's rows, and sort them by batch into ``rows_of``."""
    grid, kind = record.grid, build_stage(system).record
    axes = kind.axis_names()
    batches = [batch for batch in grid.batches() if batch.system == system]
    by_place = {"/".join(map(str, names)): batch for batch in batches for names in batch.axes}
    traces = {batch.path: f"{bundle.path}.jsonl" for bundle in grid.bundles() for batch in bundle.batches}
    result, placed = Verification(rows=len(rows)), [(place_of(row, axes), row) for row in rows]
    result.findings += missing_and_double((place for place, _ in placed), by_place)
    for place, row in placed:
        if unsound := list(against_schema(place, row, kind)):
            result.findings += unsound
            # Nothing else of this row can be compared.
            continue
        result.findings += of_itself(place, row)
        if (batch := by_place.get(place)) is not None:
            result.findings += against_definition(place, row, batch, grid, traces[batch.path])
            rows_of[batch.path].append((place, row))
    result.findings += drifts(placed)
    return result


@dataclass(frozen=True)
class _Batch:
    """Where the rows of a batch are compared with what their runs left."""

    record: Record
    mirror: str | None
    most: int

    def verified(self, batch: Batch, rows: _Placed) -> Verification:
        """Return what was computed again of these rows."""
        result = Verification()
        if batch.system == optima.ATLAS:
            return self._atlas(batch, rows)
        if batch.system != _IKDR:
            result.left_out[f"rows of {batch.system}, a system that is not computed again"] += len(rows)
            return result
        points = {}
        try:
            points = self.record.points(rows[0][1]) if rows else {}
        except DamagedError as error:
            result.findings.append(Finding(batch.path, "trace", str(error), "readable"))
        for place, row in rows:
            own = points.get((batch.cell_name, int(row["run"])), [])
            result.findings += of_trace(place, row, own)
            self._row(result, batch, place, row)
        return result

    def _atlas(self, batch: Batch, rows: _Placed) -> Verification:
        """Return what was computed again of the optima of an atlas' runs."""
        result = Verification()
        for run in batch.runs:
            those = {row["method"]: row for _, row in rows if int(row["run"]) == run}
            if not those:
                continue
            place, first = f"{batch.experiment}/{batch.cell_name}/{run}", next(iter(those.values()))
            if int(first["n_train"]) > self.most:
                result.left_out[f"runs of more than {self.most} samples"] += 1
                continue
            try:
                arrays = self.record.arrays(first, batch.cell_name, run)
                result.findings += optima.of_run(place, batch, those, arrays, self.data(batch.dataset))
                result.numbers += 2 * len(arrays.get("optima", ()))
            except (InputError, DamagedError, DataError) as error:
                result.findings.append(Finding(place, "result", f"({error})", "computed again"))
        return result

    def data(self, name: str) -> Dataset:
        """Return a data set of the record."""
        definition = self.record.grid.config.get("datasets", {}).get(name, {})
        return _data(name, json.dumps(definition, sort_keys=True), self.mirror)

    def _row(self, result: Verification, batch: Batch, place: str, row: Row) -> None:
        if int(row["n_train"]) > self.most:
            result.left_out[f"runs of more than {self.most} samples"] += 1
        else:
            try:
                numbers = self._numbers(batch, row)
            except (InputError, DamagedError, DataError) as error:
                result.findings.append(Finding(place, "result", f"({error})", "computed again"))
                return
            result.numbers += len(numbers)
            result.left_out["runs without a result"] += not numbers
            result.findings += _differing(place, row, numbers)

    def _numbers(self, batch: Batch, row: Row) -> dict[str, Number]:
        run = int(row["run"])
        data = self.data(batch.dataset)
        return RunToVerify(
            batch.definition,
            samples_of(batch.definition, data, run, batch.seed),
            data.labels,
            {labelling.name: labelling.codes for labelling in data.labellings},
            self.record.arrays(row, batch.cell_name, run),
            row["uses_degrees"] != "False",
        ).numbers()


@lru_cache(maxsize=2)
def _data(name: str, definition: str, mirror: str | None) -> Dataset:
    return load_defined(name, json.loads(definition), mirror)


def _differing(place: str, row: Row, numbers: dict[str, Number]) -> Iterator[Finding]:
    """Yield the numbers of a row that are not those computed again, or that nothing is kept of."""
    for column, number in numbers.items():
        recorded = to_number(row[column])
        if recorded is None or not abs(recorded - number.value) <= number.allowed:
            yield Finding(place, column, row[column], f"{number.value!r} within {number.allowed:.1e}")
    for column in ("cost", "quality"):
        if row[column] and column not in numbers:
            yield Finding(place, column, row[column], "computed again, but its projection or labels are missing")
