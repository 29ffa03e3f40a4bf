"""Runs that are forgotten, so that the workflow makes them again and leaves all others as they are."""

from __future__ import annotations

import shutil
from collections.abc import Container, Iterable
from contextlib import ExitStack
from pathlib import Path

from kdrbench.errors import InputError
from kdrbench.suite.engine.batch import WORKSPACES
from kdrbench.suite.engine.grid import CHEAP
from kdrbench.suite.engine.record import Record
from kdrbench.suite.engine.workspace import ROWS, Workspace, workspace_lock


def forget_runs(results: Path, place: str, runs: Container[int] | None = None, *, known: Iterable[str] = ()) -> None:
    """Remove the workspaces below ``place``, an experiment or experiment/dataset/..., and the files made of them.

    With ``runs`` only these of each cell are forgotten. Files of shared jobs and merged tables go as well: they are
    assembled again from all workspaces. Without workspaces, as of an unpacked record, these jobs are made again whole;
    which places it has the paths of batches in ``known`` tell.

    Raises ``InputError`` when there are no such runs, and ``SupervisionError`` while a process works on one of them.
    """
    parts = Path(place).parts
    folder = results / WORKSPACES / place
    is_known = folder.is_dir() or any(Path(path).parts[: len(parts)] == parts for path in known)
    if not parts or parts[0] == "/" or ".." in parts or not is_known:
        raise InputError(f"{results} holds no runs of {place!r}; see the folders in {results / 'runs'}")
    with ExitStack() as stack:
        for lock in [folder.with_name(f"{folder.name}.lock"), *folder.rglob("*.lock")]:
            if lock.exists():
                stack.enter_context(workspace_lock(lock, lock.with_suffix("")))
        if runs is None:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            for rows in folder.rglob(ROWS):
                Workspace(rows.parent, Record).take_out(runs)
        jobs = (results / "runs" / parts[0]).rglob("*.jsonl")
        below = results.joinpath("runs", *parts)
        made = [path for path in jobs if path.stem == CHEAP or path.with_suffix("").is_relative_to(below)]
        # Snakemake makes a missing file only for what is missing as well.
        tables = [*results.glob("*.csv"), *results.glob("*/*.csv"), *results.glob(f"**/merged/{parts[0]}.csv")]
        for path in [*made, *tables]:
            path.unlink(missing_ok=True)
