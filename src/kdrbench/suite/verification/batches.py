"""The rows of a batch beside what is computed again of its runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from numpy.typing import NDArray

from kdrbench.datasets import Dataset
from kdrbench.datasets.prepared import load_defined
from kdrbench.errors import DamagedError, DataError, InputError
from kdrbench.suite.archive.arrays import NOT_STORED
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.verification import large, league, optima
from kdrbench.suite.verification.bookkeeping import Finding, to_number
from kdrbench.suite.verification.described import SUPERVISED
from kdrbench.suite.verification.number import Number
from kdrbench.suite.verification.record import ARRAYS, Record, Row
from kdrbench.suite.verification.runs import RunToVerify
from kdrbench.suite.verification.samples import samples_of
from kdrbench.suite.verification.traces import of_trace

LEAGUE = "league"
# Systems of which numbers are computed again.
COMPUTED = (optima.IKDR, optima.ATLAS, LEAGUE)
Placed = list[tuple[str, Row]]


@dataclass
class Verification:
    """What was verified: how many ``rows``, how many ``numbers`` were computed again, what was not and why.

    ``stale`` counts by reason the rows of earlier revisions than the present code has, which no audit has attested.
    """

    rows: int = 0
    numbers: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    stale: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)

    def add(self, other: Verification) -> None:
        """Add what was verified elsewhere."""
        self.rows += other.rows
        self.numbers += other.numbers
        self.left_out += other.left_out
        self.stale += other.stale
        self.findings += other.findings


@dataclass(frozen=True)
class ArraysOfRuns:
    """What the runs of a batch left, of these ``kinds``, read once."""

    record: Record
    batch: Batch
    kinds: tuple[str, ...] = ARRAYS
    _read: dict[str, dict[int, dict[str, NDArray[Any]]]] = field(default_factory=dict)

    def of(self, row: Row) -> dict[str, NDArray[Any]]:
        """Return the arrays of a row's run by kind; ``DamagedError`` where they cannot be read."""
        name = row["trace_file"]
        if name not in self._read:
            self._read[name] = self.record.arrays_of(row, self.batch.cell_name, self.batch.runs, self.kinds)
        return self._read[name].get(int(row["run"]), {})


def marks_out_of_place(rows: Placed, left: ArraysOfRuns) -> Iterator[Finding]:
    """Yield the runs of a cell whose projection is said not to be stored, and should be.

    Of a cell those of the first runs are stored, that of the first always.
    """
    before, said = left.batch.runs[0] != 0, ""
    for place, row in sorted(rows, key=lambda one: int(one[1]["run"])):
        try:
            arrays = left.of(row)
        except DamagedError:
            # Found already.
            continue
        if NOT_STORED in arrays:
            if before:
                said = said or place
            else:
                yield Finding(place, "projection", "said not to be stored", "stored, as that of a cell's first run is")
            before = True
        elif "projection" in arrays:
            if said:
                yield Finding(said, "projection", "said not to be stored", f"stored, as the later one of {place} is")
                said = ""
            before = True


@dataclass(frozen=True)
class BatchToVerify:
    """Where the rows of a batch are compared with what their runs left.

    Of more than ``most`` training samples the ``chosen`` runs alone are computed again. ``least`` has by place the
    lowest cost at which runs of the same problem ended. ``missing`` says why data sets cannot be had.
    """

    record: Record
    mirror: str | None
    most: int
    chosen: frozenset[str] = frozenset()
    least: Mapping[str, float] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)

    def of_many(self, rows_of: Mapping[str, Placed]) -> Iterator[tuple[str, float]]:
        """Yield the runs of many samples that can be computed again by blocks, each with about its seconds."""
        for batch in self.record.grid.batches():
            if batch.system == optima.IKDR and not large.obstacle(batch.definition):
                for place, row in rows_of[batch.path]:
                    if (n := int(row["n_train"])) > self.most:
                        yield place, large.seconds_of(batch.definition, n, int(row["n_features"]))

    def verified(self, batch: Batch, rows: Placed) -> Verification:
        """Return what was computed again of these rows."""
        if batch.system in COMPUTED and batch.dataset in self.missing:
            return Verification(left_out=Counter({"rows of data sets that cannot be had": len(rows)}))
        if batch.system == optima.ATLAS:
            return self._atlas(batch, rows)
        if batch.system == optima.IKDR:
            return self._ikdr(batch, rows)
        if batch.system == LEAGUE:
            return self._league(batch, rows)
        return Verification(
            left_out=Counter({f"rows of {batch.system}, a system that is not computed again": len(rows)})
        )

    def _ikdr(self, batch: Batch, rows: Placed) -> Verification:
        result, points = Verification(), {}
        try:
            points = self.record.points(rows[0][1]) if rows else {}
        except DamagedError as error:
            result.findings.append(Finding(batch.path, "trace", str(error), "readable"))
        left = ArraysOfRuns(self.record, batch)
        for place, row in rows:
            own = points.get((batch.cell_name, int(row["run"])), [])
            supervised, least = batch.definition["paradigm"] == SUPERVISED, self.least.get(place)
            result.findings += of_trace(place, row, own, supervised=supervised, least=least)
            self._row(result, batch, place, row, left)
        result.findings += marks_out_of_place(rows, left)
        return result

    def _league(self, batch: Batch, rows: Placed) -> Verification:
        """Return what was computed again of the scores of linear maps."""
        result = Verification()
        left = ArraysOfRuns(self.record, batch, tuple(f"projection_{count}" for (count,) in batch.rows))
        for place, row in rows:
            try:
                fold = league.fold_of(batch.definition, self.data(batch.dataset), int(row["run"]), batch.seed)
                numbers = league.numbers_of(fold, row, left.of(row))
            except (InputError, DamagedError, DataError) as error:
                result.findings.append(Finding(place, "result", f"({error})", "computed again"))
                continue
            result.numbers += len(numbers)
            result.left_out["scores of maps that are not linear, of which nothing is stored"] += (
                row["linear"] == "False"
            )
            result.left_out["runs without a result"] += not row["linear"]
            result.findings += differing(place, row, numbers, league.SCORES if row["linear"] == "True" else ())
        return result

    def _atlas(self, batch: Batch, rows: Placed) -> Verification:
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
        """Return a data set of the record; ``DataError`` where it cannot be had."""
        if name in self.missing:
            raise DataError(self.missing[name])
        definition = self.record.grid.config.get("datasets", {}).get(name, {})
        return _data(name, json.dumps(definition, sort_keys=True), self.mirror)

    def _row(self, result: Verification, batch: Batch, place: str, row: Row, left: ArraysOfRuns) -> None:
        many = int(row["n_train"]) > self.most
        if many and place not in self.chosen:
            what = large.obstacle(batch.definition) or "runs that the budget did not reach,"
            result.left_out[f"{what} of more than {self.most} samples"] += 1
            return
        try:
            run = self._run(batch, row, left.of(row), many)
            numbers = run.numbers()
            if not row["curvature"] and "curvature" not in numbers:
                # The referee knows neither, such as of a kernel that lacks a second derivative.
                numbers.pop("eigengap", None)
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
        result.findings += differing(place, row, numbers, needed)

    def _run(self, batch: Batch, row: Row, arrays: Mapping[str, NDArray[Any]], many: bool) -> RunToVerify:
        run = int(row["run"])
        data = self.data(batch.dataset)
        return RunToVerify(
            batch.definition,
            samples_of(batch.definition, data, run, batch.seed),
            data.labels,
            {labelling.name: labelling.codes for labelling in data.labellings},
            arrays,
            row["uses_degrees"] != "False",
            many,
        )


@lru_cache(maxsize=2)
def _data(name: str, definition: str, mirror: str | None) -> Dataset:
    return load_defined(name, json.loads(definition), mirror)


def differing(
    place: str, row: Row, numbers: dict[str, Number], results: Sequence[str] = ("cost", "quality")
) -> Iterator[Finding]:
    """Yield the numbers of a row that are not those computed again, or that nothing is kept of."""
    for column, number in numbers.items():
        recorded = to_number(row[column])
        if recorded is None or not number.is_near(recorded):
            yield Finding(place, column, row[column], number.in_words())
    for column in results:
        if row[column] and column not in numbers:
            yield Finding(place, column, row[column], "computed again, but its projection or labels are missing")
