"""Runs that are forgotten, so that the workflow makes them again and leaves all others as they are.

What of a job need not be made again is in its workspaces. Those of a record that was unpacked, or that were deleted to
save room, are first made again of the files that were assembled from them.
"""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from kdrbench.errors import DamagedError, InputError, in_words
from kdrbench.files import write_text
from kdrbench.status import Status
from kdrbench.suite.engine.batch import WORKSPACES, Bundle
from kdrbench.suite.engine.grid import CHEAP, Grid
from kdrbench.suite.engine.publish import JobFiles, array_place, read_points
from kdrbench.suite.engine.record import AnyRecord, Record, read_records
from kdrbench.suite.engine.run_files import RunFiles, TraceLine, UnreadableError, arrays_in, save_array
from kdrbench.suite.engine.workspace import ROWS, Workspace, workspace_lock


def forget_runs(results: Path, place: str, runs: Container[int] | None = None) -> None:
    """Remove the workspaces below ``place``, an experiment or experiment/dataset/..., and the files made of them.

    With ``runs`` only these of each cell are forgotten. Files of shared jobs go as well, and the merged tables of
    configurations with this experiment: they are assembled again from all workspaces, which
    :func:`restore_workspaces` makes where they are gone.

    Raises ``InputError`` when there are no such runs, and ``SupervisionError`` while a process works on one of them.
    """
    root, parts = results / WORKSPACES, Path(place).parts
    folder = root / place
    if not folder.is_dir() or not parts or parts[0] == "/" or ".." in parts:
        raise InputError(f"{results} holds no runs of {place!r}; `kdrbench status --all` lists cells with runs")
    with ExitStack() as stack:
        for lock in [folder.with_name(f"{folder.name}.lock"), *folder.rglob("*.lock")]:
            if lock.exists():
                stack.enter_context(workspace_lock(lock, lock.with_suffix("")))
        if runs is None:
            shutil.rmtree(folder)
        else:
            for rows in folder.rglob(ROWS):
                Workspace(rows.parent, Record).take_out(runs)
        for path in (results / "runs" / parts[0]).rglob("*.jsonl"):
            job = path.relative_to(results / "runs").with_suffix("").parts
            if path.stem == CHEAP or job[: len(parts)] == parts:
                path.unlink()
        # Snakemake makes a missing file only for what is missing as well.
        for merged in (*results.glob(f"merged/{parts[0]}.csv"), *results.glob(f"*/merged/{parts[0]}.csv")):
            for path in (merged, *merged.parent.parent.glob("*.csv")):
                path.unlink()


def restore_workspaces(results: Path, grid: Grid, bundles: Iterable[Bundle]) -> None:
    """Give each of these jobs that has ended the workspaces that it lacks, made of its rows, traces and findings.

    What a packed record has thinned or rounded stays so. Raises ``DamagedError`` or ``RecordError`` for files that
    cannot be read, and ``SupervisionError`` while a process works on one of the workspaces.
    """
    for bundle in bundles:
        _restore(bundle, JobFiles.of(results, bundle.path), grid.system(bundle.experiment).record)


def _restore(bundle: Bundle, files: JobFiles, kind: type[AnyRecord]) -> None:
    lacking = [(batch, files.workspace(batch, kind)) for batch in bundle.batches]
    lacking = [(batch, workspace) for batch, workspace in lacking if not workspace.rows.exists()]
    if not lacking or not all(path.is_file() for path in (files.records, files.traces, files.findings)):
        return
    records = {record.axes: record for record in read_records(files.records, kind)}
    arrays = defaultdict[tuple[str, int], dict[str, NDArray[Any]]](dict)
    try:
        traces = {run: [TraceLine(**one) for one in points] for run, points in read_points(files.traces).items()}
        for name, array in (arrays_in(files.findings) or {}).items():
            cell, array_kind, run = array_place(name)
            arrays[cell, run][array_kind] = array
    except (UnreadableError, ValueError, KeyError, TypeError) as error:
        raise DamagedError(
            f"what {files.records} rests on cannot be read ({in_words(error)}); make it again"
        ) from error
    for batch, workspace in lacking:
        if not (rows := [records[axes] for axes in batch.axes if axes in records]):
            continue
        with workspace_lock(workspace.lock, workspace.folder):
            workspace.prepare_for(batch)
            for run, of_run in groupby(rows, key=lambda row: row.run):
                made = list(of_run)
                if all(row.status != Status.SKIPPED for row in made):
                    place = batch.cell_name, run
                    _write_files(workspace.run(run), traces.get(place, []), arrays[place])
                workspace.append(made)


def _write_files(files: RunFiles, trace: Sequence[TraceLine], arrays: Mapping[str, NDArray[Any]]) -> None:
    files.folder.mkdir(parents=True, exist_ok=True)
    write_text(files.trace, "".join(f"{json.dumps(line)}\n" for line in trace), durable=False)
    for kind, array in arrays.items():
        save_array(files.array(kind), array)
