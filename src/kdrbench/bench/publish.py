"""The finished files of a job: rows, traces and findings of all its batches; what of them stands when it is made again.

A line of a trace and the name of an array say of which run they are: kernel, solver and fold.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdrbench.bench import claim
from kdrbench.bench.plan import Batch, Bundle
from kdrbench.bench.published import TRACE_KEYS, findings_prefix
from kdrbench.bench.record import RunRecord
from kdrbench.bench.rows import RecordError, parse_row, row_json
from kdrbench.bench.state import BatchFiles
from kdrbench.bench.terms import Terms
from kdrbench.bench.traces import read_array, read_trace
from kdrbench.files import replacing, write_text
from kdrbench.solvers import Status

_Run = tuple[str, str, int]


@dataclass(frozen=True)
class Published:
    """What stands of a batch in its job's files: its rows and traces as they were written, and its arrays."""

    records: list[RunRecord]
    rows: list[str]
    traces: list[str]
    findings: dict[str, NDArray[Any]]


def read_published(bundle: Bundle, files: BatchFiles, terms: Terms) -> dict[str, Published]:
    """Return by path those batches that need not be run again: made for the same batch, with nothing to gain.

    Where a file of the job is missing, of another version or cut off, nothing counts.
    """
    try:
        rows = _rows_by_batch(files)
        traces = {run: list(lines) for run, lines in groupby(_lines(files.traces.read_text("utf-8")), _run_of)}
        findings = _read_findings(files)
    except (OSError, RecordError, ValueError, KeyError, zipfile.BadZipFile):
        return {}
    found = {}
    for batch in bundle.batches:
        lines = rows.get(batch.sha256, [])
        records = [parse_row(line, RunRecord) for line in lines]
        if [record.fold for record in records] != list(batch.folds) or not terms.met_by(records):
            continue
        of_batch = [line for fold in batch.folds for line in traces.get((batch.kernel, batch.solver, fold), [])]
        arrays = {name: findings[name] for name in findings if _of_batch(name, batch)}
        found[batch.path] = Published(records, lines, of_batch, arrays)
    return found


def made(batch: Batch, files: BatchFiles, records: list[RunRecord]) -> Published:
    """Return what a batch has left in its folder of unfinished work, ``records`` being its rows.

    Raises ``RecordError`` unless there is one row for each fold of the batch.
    """
    if [record.fold for record in records] != list(batch.folds):
        raise RecordError(f"{files.state} holds folds {[record.fold for record in records]}, not {list(batch.folds)}")
    traces = [
        json.dumps(dict(zip(TRACE_KEYS, (batch.kernel, batch.solver, fold), strict=True)) | line._asdict())
        for fold in batch.folds
        for line in read_trace(files.run(fold).trace)
    ]
    return Published(records, [row_json(record) for record in records], traces, _arrays(batch, files))


def publish(bundle: Bundle, files: BatchFiles, batches: Mapping[str, Published]) -> list[RunRecord]:
    """Write rows, traces and findings of all batches as whole files, rows last, and drop the state they came from.

    The state of a batch stays where a run was left out: with more budget the batch goes on from there.
    """
    ordered = [batches[batch.path] for batch in bundle.batches]
    _write_lines(files.traces, (line for one in ordered for line in one.traces))
    if files.findings is not None:
        with replacing(files.findings) as stream:
            arrays = {name: array for one in ordered for name, array in one.findings.items()}
            # Without pickled objects, which nobody should have to trust.
            np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
    _write_lines(files.records, (line for one in ordered for line in one.rows))
    for batch in bundle.batches:
        if all(record.status != Status.SKIPPED for record in batches[batch.path].records):
            claim.drop(files.of(batch, bundle).state)
    return [record for one in ordered for record in one.records]


def _of_batch(name: str, batch: Batch) -> bool:
    kind = name.removeprefix(findings_prefix(batch.kernel, batch.solver))
    return kind != name and int(kind.rpartition("_")[2]) in batch.folds


def _arrays(batch: Batch, files: BatchFiles) -> dict[str, NDArray[Any]]:
    """Return what :class:`BatchFiles` says of the arrays to be kept."""
    read = {}
    for fold in batch.folds:
        left = files.run(fold)
        for kind, path in (("projection", left.projection), ("labels", left.predictions), ("given", left.given)):
            read[f"{findings_prefix(batch.kernel, batch.solver)}{kind}_{fold}"] = read_array(path)
    return {name: array for name, array in read.items() if array is not None}


def _rows_by_batch(files: BatchFiles) -> dict[str, list[str]]:
    rows: dict[str, list[str]] = {}
    for line in _lines(files.records.read_text("utf-8")):
        rows.setdefault(parse_row(line, RunRecord).batch_sha256, []).append(line)
    return rows


def _read_findings(files: BatchFiles) -> dict[str, NDArray[Any]]:
    if files.findings is None:
        return {}
    # Opened here: of a file that is none of its kind NumPy would leave it open.
    with files.findings.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
        return dict(archive)


def _lines(text: str) -> list[str]:
    """Return the lines of a whole file; raises ``ValueError`` for one that was cut off."""
    if text and not text.endswith("\n"):
        raise ValueError("the last line is cut off")
    return text.split("\n")[:-1]


def _run_of(line: str) -> _Run:
    point = json.loads(line)
    kernel, solver, fold = (point[key] for key in TRACE_KEYS)
    return kernel, solver, fold


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    write_text(path, "".join(f"{line}\n" for line in lines))
