"""From a packed record to a folder of results, as the workflow leaves them, and the one place that opens a record."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from kdrbench.errors import DamagedError, InputError, visible
from kdrbench.files import locked, replacing, write_bytes, write_text
from kdrbench.suite.archive import check_there, is_packed
from kdrbench.suite.archive.folder import CHARTS, OTHERS
from kdrbench.suite.archive.layers import PackedRecord, record_at, rows_of
from kdrbench.suite.engine.identity import ATTESTATIONS
from kdrbench.suite.engine.publish import JobFiles, merged_lines, write_table
from kdrbench.suite.engine.record import record_json
from kdrbench.suite.engine.system import Config
from kdrbench.suite.experiments.results import CONFIG, MERGED, read_frozen, write_systems
from kdrbench.suite.systems import SYSTEMS, system_name

# Where a record is unpacked within the folder that it becomes.
_UNPACKING = ".unpacking"


@contextmanager
def opened(place: Path, n_jobs: int = 1) -> Iterator[Path]:
    """Give a folder of results: ``place`` itself, or, of a packed record, one that is removed when the block ends.

    That folder has the name of the record, and its configuration runs the experiments of which there are rows. Raises
    ``InputError`` for the record of the papers where it is not there.
    """
    check_there(place)
    if not is_packed(place):
        yield place
        return
    with tempfile.TemporaryDirectory(prefix="kdrbench-", ignore_cleanup_errors=True) as root:
        folder = Path(root, place.absolute().name)
        unpack(record_at(place), folder, to_go_on=False, n_jobs=n_jobs)
        yield folder


def unpack(packed: PackedRecord, results: Path, *, to_go_on: bool = True, n_jobs: int = 1) -> list[str]:
    """Write a folder of results of a packed record, and return the experiments that are complete.

    Snakemake finds the jobs of the record done there, and makes those that are missing. To read the record alone, and
    not ``to_go_on``, the configuration has no name, and merged tables hold what there is.

    Raises ``DamagedError`` or ``RecordError`` for a record with a fault, and ``InputError`` where results are already.
    Nothing is in the folder then: what is unpacked comes into it at the end, the configuration last.
    """
    config = packed.config
    name = str(config.get("name", "")) if to_go_on else ""
    with locked(results / f"{_UNPACKING}.lock"):
        if (results / name / CONFIG).exists() or (results / "runs").exists():
            raise InputError(f"{results} holds results; name a folder that is not there yet, or remove it")
        place = results / _UNPACKING
        shutil.rmtree(place, ignore_errors=True)
        try:
            complete = _unpack(packed, config, place, name, to_go_on=to_go_on, n_jobs=n_jobs)
            _move_into(results, place)
        finally:
            shutil.rmtree(place, ignore_errors=True)
    return complete


def _move_into(results: Path, place: Path) -> None:
    """Move what is in a folder into another, the configuration last; a folder that is new there is moved as it is."""
    for path in sorted(place.iterdir(), key=lambda one: one.name == CONFIG or (one / CONFIG).is_file()):
        target = results / path.name
        if path.is_dir() and target.is_dir():
            _move_into(target, path)
        else:
            path.replace(target)


def _unpack(
    packed: PackedRecord,
    config: Config,
    results: Path,
    name: str,
    *,
    to_go_on: bool,
    n_jobs: int,
) -> list[str]:
    place, experiments = results / name, packed.manifest["experiments"]
    if unknown := sorted(set(experiments) - set(config["run"])):
        raise DamagedError(f"{packed.place} has rows of {unknown[0]}, which its configuration does not run")
    if not to_go_on:
        # What it includes is a place where it was made.
        config = {name: value for name, value in config.items() if name != "include"}
        config |= {"name": "", "run": [name for name in config["run"] if name in experiments]}
    write_text(place / CONFIG, json.dumps(config, indent=2) + "\n", durable=False)
    read_frozen(place / CONFIG)
    complete = [name for name in config["run"] if experiments.get(name, {}).get("complete") is True]
    there = [name for name in config["run"] if name in experiments]
    tables = {name: place / MERGED / f"{name}.csv" for name in (complete if to_go_on else there)}
    Parallel(n_jobs=n_jobs)(
        delayed(_write_experiment)(packed, results, config, name, tables.get(name), to_go_on=to_go_on) for name in there
    )
    write_systems(place, config, tables)
    for folder in (CHARTS, OTHERS):
        for file in packed.names(folder):
            target = f"{CHARTS}/{file}" if folder == CHARTS else file.replace("-", "/", 1)
            write_bytes(results / target, packed.content(f"{folder}/{file}"), durable=False)
    if (attestations := packed.base.place / ATTESTATIONS).is_file():
        write_bytes(results / ATTESTATIONS, attestations.read_bytes(), durable=False)
    return complete


def _write_experiment(
    packed: PackedRecord,
    results: Path,
    config: Config,
    name: str,
    table: Path | None,
    *,
    to_go_on: bool,
) -> None:
    """Write the files of an experiment's jobs, and its ``table`` where it has one."""
    system = system_name(config["experiments"][name])
    if system not in SYSTEMS:
        raise InputError(f"{packed.place} has an experiment of a system of its own, {visible(system[:60])}")
    jobs = packed.jobs(name, system)
    # To compress takes longer than to read, and what is read alone is removed soon.
    save = np.savez_compressed if to_go_on else np.savez
    for path, job in jobs.items():
        files = JobFiles.of(results, path)
        with replacing(files.findings, durable=False) as stream:
            save(stream, allow_pickle=False, **job.arrays)
        lines = [{"cell": cell, "run": run} | one for (cell, run), points in job.points.items() for one in points]
        write_text(files.traces, "".join(f"{json.dumps(line)}\n" for line in lines), durable=False)
        write_text(files.records, "".join(f"{record_json(record)}\n" for record in job.records), durable=False)
    if table:
        write_table(table, merged_lines(rows_of(jobs)))
