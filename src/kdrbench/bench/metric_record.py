"""The row that every learner, variant and split of the KPCA trick leaves, and the table of all rows."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import get_type_hints

from kdrbench.bench.record import RecordError
from kdrbench.files import write_text
from kdrbench.solvers.status import Status

METRIC_SCHEMA_VERSION = 1
# Data set, split, learner, variant.
MetricAxes = tuple[str, int, str, str]


@dataclass(frozen=True)
class MetricRecord:
    """One learner in one variant on one split; ``None`` where it left no such number.

    ``tuning_*`` are the seconds that chose the kernel (by cross validation or alignment; none for ``plain``),
    ``learning_*`` those of coordinates, learning and 1-NN with it. What methods share counts for each of them.
    ``split_wall_s`` and ``memory_mib`` are those of the process that made all methods of the split. ``status`` is
    ``converged`` for a method that came to its end, else what stopped it. ``kernel`` is in words, sigma as the paper
    scales it. ``test_selected`` holds the test accuracies of all candidates, as a list in JSON, or nothing.
    """

    schema_version: int
    dataset: str
    split: int
    learner: str
    variant: str
    status: str
    message: str
    accuracy: float | None
    tuning_cpu_s: float | None
    tuning_wall_s: float | None
    learning_cpu_s: float | None
    learning_wall_s: float | None
    kernel: str
    n_coordinates: int
    test_selected: str
    n_train: int
    n_test: int
    n_features: int
    n_folds: int
    seed: int
    split_wall_s: float
    memory_mib: float
    time_limit_s: float
    memory_limit_mib: float
    cores: str
    load: float
    started_at: str
    batch_sha256: str
    data_sha256: str
    kdrbench_version: str
    python_version: str
    numpy_version: str
    scipy_version: str
    scikit_learn_version: str
    pymanopt_version: str
    blas: str
    blas_threads: int
    processor: str
    machine: str
    git_commit: str
    git_dirty: bool | None
    lock_sha256: str

    @property
    def axes(self) -> MetricAxes:
        """What names the row."""
        return self.dataset, self.split, self.learner, self.variant

    def to_json(self) -> str:
        """Return the record as one line of JSON."""
        return json.dumps(asdict(self), separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_json(cls, line: str) -> MetricRecord:
        """Read one line; raises ``RecordError`` when a column is missing, unknown or of the wrong type."""
        try:
            values = json.loads(line)
        except json.JSONDecodeError as error:
            raise RecordError(f"not a line of JSON: {line[:80]!r}") from error
        hints = get_type_hints(cls)
        if not isinstance(values, dict) or values.get("schema_version") != METRIC_SCHEMA_VERSION:
            raise RecordError(
                f"a record of the KPCA trick must have schema version {METRIC_SCHEMA_VERSION}, got {line[:80]!r}; "
                "delete the results folder it lies in and run again"
            )
        if differing := set(hints) ^ set(values):
            raise RecordError(f"the record's columns differ from the schema in: {', '.join(sorted(differing))}")
        for name, value in values.items():
            allowed = hints[name] | int if hints[name] in (float, float | None) else hints[name]
            if not isinstance(value, allowed):
                raise RecordError(f"column {name} holds {value!r}, which is not of type {hints[name]}")
        if values["status"] not in set(Status):
            raise RecordError(f"unknown status {values['status']!r}; allowed: {', '.join(Status)}")
        return cls(**values)


def read_metric_records(path: Path) -> list[MetricRecord]:
    """Read a file of records; an unfinished last line (a writer that was killed) is left out."""
    if not path.exists():
        return []
    return [MetricRecord.from_json(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def merge_metric_records(paths: Iterable[Path], expected: Sequence[MetricAxes], table: Path) -> list[MetricRecord]:
    """Write all records as one CSV table in the order of ``expected`` and return them.

    Raises ``RecordError`` when a row is missing, double or not expected: a table never has silent holes.
    """
    found: dict[MetricAxes, MetricRecord] = {}
    for path in paths:
        for record in read_metric_records(path):
            if record.axes in found:
                raise RecordError(f"row {record.axes} stands twice in the results, the second time in {path}")
            found[record.axes] = record
    missing = [axes for axes in expected if axes not in found]
    if missing:
        raise RecordError(f"{len(missing)} row(s) have no record, the first is {missing[0]}; run the workflow again")
    if extra := set(found) - set(expected):
        raise RecordError(f"{len(extra)} record(s) belong to no row of the configuration, one is {min(extra)}")
    records = [found[axes] for axes in expected]
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, [field.name for field in fields(MetricRecord)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(record) for record in records)
    write_text(table, buffer.getvalue())
    return records
