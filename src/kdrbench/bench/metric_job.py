"""One job of the KPCA trick's tables: the splits of a batch, one supervised process after the other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from typing import Any

from kdrbench.bench.metric_batch import MetricBatch
from kdrbench.bench.metric_record import MetricRecord
from kdrbench.bench.metric_split import run_split
from kdrbench.bench.parts import (
    EndedPart,
    PartFiles,
    Supervision,
    check_data,
    claimed,
    publish,
    run_part,
    shared_columns,
)
from kdrbench.bench.rows import append_rows
from kdrbench.datasets import Dataset
from kdrbench.solvers.status import Status


def run_metric_batch(batch: MetricBatch, dataset: Dataset, around: Supervision, files: PartFiles) -> list[MetricRecord]:
    """Run every split that has no rows yet, then publish all rows as a whole file.

    Rows of an interrupted batch with the same specification and limits are kept. Errors of the bench itself are raised
    and leave no row: only a method's own failure is data.
    """
    check_data(batch, dataset)
    shared = {
        **shared_columns(batch, dataset, around),
        "n_train": batch.n_train,
        "n_test": len(dataset.labels) - batch.n_train,
        "n_features": dataset.features.shape[1],
        "n_folds": batch.n_folds,
    }
    with claimed(batch, MetricRecord, around.limits, files) as done:
        for number in batch.splits:
            if number not in done:
                ended = run_part(partial(_lines, batch, dataset, number), around, files)
                append_rows(files.rows, _rows_of(batch, number, ended, shared))
        return publish(batch, MetricRecord, files)


def _lines(batch: MetricBatch, dataset: Dataset, number: int) -> Iterator[dict[str, Any]]:
    for row in run_split(batch, dataset, number):
        yield asdict(row)


def _rows_of(batch: MetricBatch, number: int, ended: EndedPart, shared: dict[str, Any]) -> list[MetricRecord]:
    """Return a row for each method of a split, whatever became of it."""
    found = {(line["learner"], line["variant"]): line for line in ended.lines}
    columns = {**shared, **ended.columns, "split": number, "split_wall_s": ended.wall_s}
    return [_record(columns, method, found.get(method), ended) for method in batch.methods]


def _record(
    columns: dict[str, Any], method: tuple[str, str], line: dict[str, Any] | None, ended: EndedPart
) -> MetricRecord:
    """Return the method's row; one that had not ended with the split has the split's status."""
    found = line or {}
    status, message = ended.outcome.status, ended.outcome.message
    if line is not None:
        message = line["message"]
        status = Status.FAILED if message else Status.CONVERGED
    tried = found.get("test_selected")
    return MetricRecord(
        schema_version=MetricRecord.SCHEMA_VERSION,
        learner=method[0],
        variant=method[1],
        status=str(status),
        message=message,
        accuracy=found.get("accuracy"),
        tuning_cpu_s=_seconds(found, "tuning", "cpu_s"),
        tuning_wall_s=_seconds(found, "tuning", "wall_s"),
        learning_cpu_s=_seconds(found, "learning", "cpu_s"),
        learning_wall_s=_seconds(found, "learning", "wall_s"),
        kernel=found.get("kernel", ""),
        n_coordinates=found.get("n_coordinates", 0),
        test_selected=json.dumps(tried) if tried else "",
        **columns,
    )


def _seconds(line: dict[str, Any], part: str, clock: str) -> float | None:
    return line[part][clock] if line.get("accuracy") is not None else None
