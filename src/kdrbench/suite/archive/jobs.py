"""The jobs of an experiment in one folder of a packed record: their rows, with the points and arrays of their runs."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kdrbench.errors import DamagedError, visible
from kdrbench.suite.archive.arrays import NOT_STORED, Arrays, read_arrays
from kdrbench.suite.archive.folder import NAME, ROWS, PackedFolder
from kdrbench.suite.archive.part import Part
from kdrbench.suite.archive.traces import Points, Run, read_traces, run_of
from kdrbench.suite.engine.record import Record
from kdrbench.suite.experiments.merged_tables import read_merged
from kdrbench.suite.systems import build_stage

_JOB = re.compile(rf"{NAME}(?:/{NAME}){{1,8}}")
_ARRAY = re.compile(r"(?P<cell>.*)/[^/]+_(?P<run>[0-9]+)")


@dataclass
class Job:
    """What a job leaves: rows, the lines of its trace, and arrays by name."""

    records: list[Record] = field(default_factory=list)
    lines: list[dict[str, Any]] = field(default_factory=list)
    arrays: Arrays = field(default_factory=dict)

    @property
    def not_stored(self) -> int:
        """How many of its arrays the record does not store."""
        return sum(f"/{NOT_STORED}_" in name for name in self.arrays)

    @property
    def points(self) -> Points:
        """The points of its trace by run."""
        points: Points = {}
        for line in self.lines:
            points.setdefault((line["cell"], line["run"]), []).append(line)
        return points

    def without(self, runs: Collection[Run]) -> Job:
        """Return the job without these runs."""
        return Job(
            [record for record in self.records if run_of(record) not in runs],
            [line for line in self.lines if (line["cell"], line["run"]) not in runs],
            {name: array for name, array in self.arrays.items() if _run_of_array(name) not in runs},
        )

    def joined(self, other: Job) -> Job:
        """Return the job with the runs of another."""
        return Job(self.records + other.records, self.lines + other.lines, self.arrays | other.arrays)


Jobs = dict[str, Job]


def rows_of(jobs: Mapping[str, Job]) -> list[Record]:
    """Return the rows of all jobs."""
    return [record for job in jobs.values() for record in job.records]


def without(jobs: Jobs, runs: Collection[Run]) -> Jobs:
    """Return the jobs without these runs; those without any row keep their place."""
    return {path: job.without(runs) for path, job in jobs.items()} if runs else jobs


def read_jobs(packed: PackedFolder, experiment: str, system: str, part: Part | None = None) -> Jobs:
    """Return by path the jobs of an experiment in a folder, or those with rows of the ``part``.

    Raises ``RecordError`` or ``DamagedError`` for a fault in rows, traces or arrays.
    """
    jobs: Jobs = {}
    for record in read_rows(packed, experiment, system, part):
        jobs.setdefault(_job(record, experiment), Job()).records.append(record)
    lines, arrays = read_traces(packed, experiment), read_arrays(packed, experiment)
    if part is None:
        _check_rows(packed, jobs, lines, "a trace")
        _check_rows(packed, jobs, arrays, "arrays")
    for path, job in jobs.items():
        job.lines, job.arrays = lines.get(path, []), arrays.get(path, {})
    return jobs


def _check_rows(packed: PackedFolder, jobs: Jobs, found: Iterable[str], what: str) -> None:
    if others := sorted(set(found) - set(jobs)):
        raise DamagedError(f"{packed.place} has {what} of {visible(others[0][:100])!r}, a job without rows")


def read_rows(packed: PackedFolder, name: str, system: str, part: Part | None = None) -> list[Record]:
    """Return the rows of an experiment in a folder, or those of the ``part``."""
    if f"{name}.csv" not in packed.names(ROWS):
        return []
    with tempfile.TemporaryDirectory(prefix="kdrbench-") as folder:
        table = Path(folder, f"{name}.csv")
        table.write_bytes(packed.content(f"{ROWS}/{name}.csv"))
        records = list(read_merged(table, build_stage(system).record, part.has if part else None))
    if others := {record.experiment for record in records} - {name}:
        raise DamagedError(f"{packed.place} has a row of {visible(min(others)[:100])!r} among those of {name}")
    return records


def _job(record: Record, experiment: str) -> str:
    """Return the path of a row's job, which is that of its trace."""
    job, dot, ending = record.provenance.trace_file.rpartition(".")
    if f"{dot}{ending}" != ".jsonl" or not _JOB.fullmatch(job) or not job.startswith(f"{experiment}/"):
        raise DamagedError(
            f"a row of {experiment} names the trace {visible(record.provenance.trace_file[:100])!r}, which is no job's"
        )
    return job


def _run_of_array(name: str) -> Run | None:
    named = _ARRAY.fullmatch(name)
    return (named["cell"], int(named["run"])) if named else None
