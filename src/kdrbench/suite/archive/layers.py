"""A packed record as its base and the layers over it, the jobs that each folder of it holds, and how it is unpacked.

A layer holds the runs whose rows were measured after those below, and the files that changed. It is never written
again: of each run the rows of the newest layer count, and with them its points and arrays. What a layer's manifest says
of an experiment holds for the record as of that layer.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from kdrbench.errors import DamagedError, InputError, in_words, visible
from kdrbench.files import locked, replacing, write_bytes, write_text
from kdrbench.suite.archive import BASE, LAYERS, MANIFEST, check_there, is_packed, parts_of
from kdrbench.suite.archive.folder import CHARTS, CONFIGURATION, NAME, OTHERS, ROWS, PackedFolder
from kdrbench.suite.archive.run_data import Job, Jobs, Run, read_arrays, read_traces, run_of
from kdrbench.suite.engine.identity import ATTESTATIONS
from kdrbench.suite.engine.publish import JobFiles, merged_lines, write_table
from kdrbench.suite.engine.record import Record, record_json
from kdrbench.suite.engine.system import Config
from kdrbench.suite.experiments.results import CONFIG, MERGED, read_frozen, read_merged, write_systems
from kdrbench.suite.systems import SYSTEMS, build_system, system_name

# Where a record is unpacked within the folder that it becomes.
_UNPACKING = ".unpacking"
_JOB = re.compile(rf"({NAME}(?:/{NAME}){{1,8}})\.jsonl")


def rows_of(jobs: Mapping[str, Job]) -> list[Record]:
    """Return the rows of all jobs."""
    return [record for job in jobs.values() for record in job.records]


def without(jobs: Jobs, runs: Collection[Run]) -> Jobs:
    """Return the jobs without these runs; those without any row keep their place."""
    return {path: job.without(runs) for path, job in jobs.items()} if runs else jobs


def read_rows(packed: PackedFolder, name: str, system: str) -> list[Record]:
    """Return the rows of an experiment in a folder."""
    if f"{name}.csv" not in packed.names(ROWS):
        return []
    table = f"{ROWS}/{name}.csv"
    return list(read_merged(packed.place / table, build_system(system).record, packed.content(table)))


def _read_jobs(packed: PackedFolder, experiment: str, system: str, *, rows_alone: bool) -> Jobs:
    """Return by path the jobs of an experiment in a folder."""
    jobs: Jobs = {}
    for record in read_rows(packed, experiment, system):
        trace = _JOB.fullmatch(record.provenance.trace_file)
        if not trace:
            name = visible(record.provenance.trace_file[:100])
            raise DamagedError(f"a row of {experiment} names the trace {name!r}, which is no job's")
        jobs.setdefault(trace[1], Job()).records.append(record)
    if not rows_alone:
        points, arrays = read_traces(packed, experiment), read_arrays(packed, experiment)
        for path, job in jobs.items():
            job.points, job.arrays = points.get(path, {}), arrays.get(path, {})
    return jobs


@dataclass(frozen=True)
class PackedRecord:
    """The packed record in a folder, made of ``parts``: its base, and its layers from the oldest to the newest."""

    place: Path
    parts: tuple[PackedFolder, ...]

    @property
    def base(self) -> PackedFolder:
        """The folder of the record, which its layers lie below."""
        return self.parts[0]

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What the record says of itself: whether it is complete, and the counts of each experiment."""
        experiments = {name: one for part in self.parts for name, one in part.manifest["experiments"].items()}
        for name in experiments:
            if not any(f"{name}.csv" in part.names(ROWS) for part in self.parts):
                raise DamagedError(f"{self.place / MANIFEST} has no rows of the experiment {name}")
        return {"complete": self.parts[-1].manifest.get("complete"), "experiments": experiments}

    @cached_property
    def config(self) -> Config:
        """The configuration; ``DamagedError`` for one whose names are none. ``read_frozen`` checks the rest of it."""
        try:
            config = json.loads(self.content(CONFIGURATION).decode("utf-8"))
            if not all(re.fullmatch(NAME, name) for name in [str(config.get("name") or "x"), *config["run"]]):
                raise ValueError("its name, or that of an experiment, is none")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DamagedError(f"{self.place} has no configuration ({in_words(error)})") from error
        return dict(config)

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in one of the record's folders."""
        return sorted({name for part in self.parts for name in part.names(folder)})

    def has(self, name: str, content: bytes) -> bool:
        """Return whether the record has a file with this content."""
        return any(name in part.manifest["files"] for part in self.parts) and self.content(name) == content

    def content(self, name: str) -> bytes:
        """Return the content of a file of the newest layer that has it; ``DamagedError`` as of a single folder."""
        return next((part for part in reversed(self.parts) if name in part.manifest["files"]), self.base).content(name)

    def rows(self, experiment: str, system: str) -> list[Record]:
        """Return the newest row of each run of an experiment; ``RecordError`` or ``DamagedError`` for a fault."""
        return rows_of(self.jobs(experiment, system, rows_alone=True))

    def jobs(self, experiment: str, system: str, *, rows_alone: bool = False) -> Jobs:
        """Return by path the jobs of an experiment: of each run the newest rows.

        The points and arrays of a run are those of the job that its rows name; with ``rows_alone`` they are not read.
        Raises ``RecordError`` or ``DamagedError`` for a fault in rows, traces or arrays.
        """
        jobs: Jobs = {}
        for folder in self.parts:
            newer = _read_jobs(folder, experiment, system, rows_alone=rows_alone)
            jobs = without(jobs, set(map(run_of, rows_of(newer))))
            for path, job in newer.items():
                jobs[path] = jobs.get(path, Job()).joined(job)
        return {path: job for path, job in jobs.items() if job.records}


def record_at(place: Path) -> PackedRecord:
    """Return the packed record in a folder, or as of one of its layers; ``InputError`` where none is."""
    check_there(place)
    if not is_packed(place):
        raise InputError(f"{place} is no packed record; `kdrbench pack` makes one of a folder of results")
    return PackedRecord(place, tuple(map(PackedFolder, parts_of(place))))


def new_layer(record: PackedRecord, name: str) -> Path:
    """Return the folder for a layer over a record; ``InputError`` unless its name sorts after those that are there."""
    if not re.fullmatch(NAME, name) or name == BASE:
        raise InputError(f"{visible(name[:100])!r} is no name of a layer: use letters, digits, - and _, as 2026-12-01")
    newest = record.parts[-1].place.name
    if len(record.parts) > 1 and name <= newest:
        raise InputError(f"{record.place} has the layer {newest}: name one that sorts after it")
    return record.place / LAYERS / name


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
