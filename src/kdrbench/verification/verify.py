"""Verify a record: its bookkeeping, and every number that can be computed again from the data."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from joblib import Parallel, delayed

from kdrbench.bench.batch import Batch
from kdrbench.datasets import Dataset
from kdrbench.datasets.prepared import load_defined
from kdrbench.errors import DamagedError, DataError, InputError
from kdrbench.stages import build_stage
from kdrbench.verification import large, optima
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
from kdrbench.verification.store import of_all_stored

# Seconds of all runs of many samples together.
BUDGET_S = 300.0
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


def verify(
    record: Record,
    *,
    mirror: str | None = None,
    n_jobs: int = 1,
    most: int = large.MOST_SAMPLES,
    budget_s: float = BUDGET_S,
    seed: int = 0,
) -> Verification:
    """Compare every row of a record with its definition, its trace, and what is computed again from raw data.

    Of supervised runs of more than ``most`` training samples cost and stationarity alone are computed again, of as many
    as about ``budget_s`` seconds allow, in an order drawn by ``seed``. Clusterings of that size, and rows of other
    systems than IKDR and its atlas, keep their numbers unverified. What is left out is counted by reason. ``mirror`` is
    where data are looked for first.

    Raises ``InputError`` or ``DamagedError`` where configuration or tables cannot be read.
    """
    total, rows_of = Verification(), defaultdict[str, _Placed](list)
    for system, rows in record.rows().items():
        total.add(_bookkeeping(record, system, rows, rows_of))
    ask = _Batch(record, mirror, most)
    ask = replace(ask, chosen=frozenset(large.within_budget(ask.of_many(rows_of), seed, budget_s)))
    jobs = [(batch, rows_of[batch.path]) for batch in record.grid.batches()]
    for part in Parallel(n_jobs=n_jobs)(delayed(ask.verified)(*job) for job in jobs):
        total.add(part)
    for finding in of_all_stored(record, rows_of, ask.data):
        if isinstance(finding, str):
            total.left_out[finding] += 1
        else:
            total.findings.append(finding)
    return total


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
    chosen: frozenset[str] = frozenset()

    def of_many(self, rows_of: Mapping[str, _Placed]) -> Iterator[tuple[str, float]]:
        """Yield the runs of many samples that can be computed again by blocks, each with about its seconds."""
        for batch in self.record.grid.batches():
            if batch.system == optima.IKDR and not large.obstacle(batch.definition):
                for place, row in rows_of[batch.path]:
                    if (n := int(row["n_train"])) > self.most:
                        yield place, large.seconds_of(batch.definition, n, int(row["n_features"]))

    def verified(self, batch: Batch, rows: _Placed) -> Verification:
        """Return what was computed again of these rows."""
        result = Verification()
        if batch.system == optima.ATLAS:
            return self._atlas(batch, rows)
        if batch.system != optima.IKDR:
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
        many = int(row["n_train"]) > self.most
        if many and place not in self.chosen:
            what = large.obstacle(batch.definition) or "runs that the budget did not reach,"
            result.left_out[f"{what} of more than {self.most} samples"] += 1
            return
        try:
            run = self._run(batch, row, many)
            numbers = run.numbers()
        except (InputError, DamagedError, DataError) as error:
            result.findings.append(Finding(place, "result", f"({error})", "computed again"))
            return
        result.numbers += len(numbers)
        result.left_out["runs without a result"] += not numbers
        result.left_out[f"accuracies and curvatures of runs of more than {self.most} samples"] += many
        result.left_out["projections that the record does not store"] += run.is_left_out
        unseen = bool(row["curvature"]) and not many and bool(numbers) and "curvature" not in numbers
        result.left_out["curvatures in tangent spaces of many dimensions"] += unseen and not run.is_left_out
        needed = () if run.is_left_out else ("cost",) if many else ("cost", "quality")
        result.findings += _differing(place, row, numbers, needed)

    def _run(self, batch: Batch, row: Row, many: bool) -> RunToVerify:
        run = int(row["run"])
        data = self.data(batch.dataset)
        return RunToVerify(
            batch.definition,
            samples_of(batch.definition, data, run, batch.seed),
            data.labels,
            {labelling.name: labelling.codes for labelling in data.labellings},
            self.record.arrays(row, batch.cell_name, run),
            row["uses_degrees"] != "False",
            many,
        )


@lru_cache(maxsize=2)
def _data(name: str, definition: str, mirror: str | None) -> Dataset:
    return load_defined(name, json.loads(definition), mirror)


def _differing(
    place: str, row: Row, numbers: dict[str, Number], results: Sequence[str] = ("cost", "quality")
) -> Iterator[Finding]:
    """Yield the numbers of a row that are not those computed again, or that nothing is kept of."""
    for column, number in numbers.items():
        recorded = to_number(row[column])
        if recorded is None or not abs(recorded - number.value) <= number.allowed:
            yield Finding(place, column, row[column], f"{number.value!r} within {number.allowed:.1e}")
    for column in results:
        if row[column] and column not in numbers:
            yield Finding(place, column, row[column], "computed again, but its projection or labels are missing")
