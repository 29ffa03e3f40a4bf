"""From a folder of results to a packed record, or to a layer over one: what of each experiment there is.

A submission, the packed rows of somebody's own solver, becomes a layer over a record that was made by the same rules.
Nothing that it names is loaded: its rows, traces and projections are read as data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kdrbench import __version__
from kdrbench.errors import DamagedError, InputError, counted, in_words
from kdrbench.suite.archive import template
from kdrbench.suite.archive.folder import ARRAYS, CHARTS, CONFIGURATION, LICENCE, OTHERS, README, ROWS, TRACES, Writer
from kdrbench.suite.archive.layers import PackedRecord, read_rows, rows_of, without
from kdrbench.suite.archive.run_data import (
    MOST_OF_A_CELL,
    ArrayWriter,
    BestKnown,
    Job,
    Jobs,
    Places,
    Points,
    arrays_of,
    run_of,
    write_traces,
)
from kdrbench.suite.csv_files import csv_text
from kdrbench.suite.engine.grid import Grid
from kdrbench.suite.engine.provenance import EVIDENCE
from kdrbench.suite.engine.publish import JobFiles, merged_lines, read_points
from kdrbench.suite.engine.record import Record, read_records
from kdrbench.suite.engine.run_files import arrays_in
from kdrbench.suite.engine.system import Config
from kdrbench.suite.experiments.results import was_disturbed
from kdrbench.suite.systems import SYSTEMS
from kdrbench.suite.systems.ikdr.config import is_redrawn

# Files of solvers that were submitted.
SUBMITTED = "submitted"
# What else of a results folder is kept: findings of plug-ins, best known solutions, and these.
_OTHERS = (("checks", ".json"), ("optima", ".npz"), (SUBMITTED, ".py"))
# Keys of an experiment that say what is run, and not by which rules.
_METHODS = ("solvers", "baselines")
_AGAIN = "run `kdrbench submit` again with the rules of the record"
_ANOTHER = "pack another record: name a folder for it with --out, without --layer"


@dataclass(frozen=True)
class Packing:
    """What is packed: the ``results`` of a ``grid``, and how.

    ``known`` gives the best cost known of a problem. ``charts`` are the figures, as JSON by name, that could not be
    drawn from the record alone. ``licence`` is that of the record, a word of the SPDX list, ``origin`` what its README
    says first. With a record ``below``, a layer over it is packed, of what it lacks.
    """

    grid: Grid
    results: Path
    known: BestKnown
    charts: Mapping[str, str] = field(default_factory=dict)
    licence: str = ""
    origin: str = ""
    below: PackedRecord | None = None

    def write(self, place: Path) -> dict[str, Any]:
        """Write the record into an empty folder and return its manifest; the same results give the same bytes.

        Raises ``InputError`` where no job of the configuration has ended, and where a layer would hold nothing.
        """
        writer, places = Writer(place), Places()
        self._add(writer, CONFIGURATION, self.grid.to_json().encode())
        made: dict[str, Jobs] = {}
        counts: dict[str, dict[str, Any]] = {}
        for name in self.grid.experiments:
            fresh, below = self._compared(name)
            if fresh or rows_of(below):
                made[name], counts[name] = fresh, self._experiment(writer, name, fresh, below, places)
        if not made:
            raise InputError(
                f"{self.results} holds no finished job of this configuration: run the workflow, or name its folder"
            )
        for name, text in sorted(self.charts.items()):
            self._add(writer, f"{CHARTS}/{name}.json", text.encode())
        for folder, ending in _OTHERS:
            for path in sorted((self.results / folder).glob(f"*{ending}")):
                self._add(writer, f"{OTHERS}/{folder}-{path.name}", path.read_bytes())
        for path in self._evidence([row for fresh in made.values() for row in rows_of(fresh)]):
            self._add(writer, f"{OTHERS}/{EVIDENCE}-{path.name}", path.read_bytes())
        complete = set(made) == set(self.grid.experiments) and all(one["complete"] for one in counts.values())
        about: dict[str, Any] = {"kdrbench_version": __version__, "complete": complete, "experiments": counts}
        if self.below is not None:
            return writer.finish(about | self._of_layer(writer, self.below, made, counts), {})
        about["licence"] = self.licence
        texts = {
            README: self.origin + _readme(about, writer.n_bytes),
            LICENCE: template("LICENSE").format(word=self.licence),
        }
        return writer.finish(about, texts)

    def _of_layer(
        self, writer: Writer, below: PackedRecord, made: Mapping[str, Jobs], counts: Mapping[str, dict[str, Any]]
    ) -> dict[str, Any]:
        """Return what the manifest of a layer says beside that of a record."""
        there = below.manifest["experiments"]
        if lost := [name for name in there if name not in made]:
            raise InputError(f"{below.place} has rows of {lost[0]}, which the configuration does not run; {_ANOTHER}")
        if not writer.n_bytes:
            raise InputError(f"{self.results} holds nothing that {below.place} lacks; no layer is written")
        return {
            "rows": sum(len(rows_of(fresh)) for fresh in made.values()),
            "jobs": sum(map(len, made.values())),
            "experiments": {name: one for name, one in counts.items() if one != there.get(name)},
        }

    def _evidence(self, rows: Iterable[Record]) -> list[Path]:
        """Return the files that say with which modules and packages the rows were made, where they are there."""
        made = {row.provenance for row in rows}
        names = {f"code-{one.code_id}.json" for one in made} | {f"env-{one.env_id}.json" for one in made}
        return [path for name in sorted(names) if (path := self.results / EVIDENCE / name).is_file()]

    def _add(self, writer: Writer, name: str, content: bytes) -> None:
        if self.below is None or not self.below.has(name, content):
            writer.add(name, content)

    def _experiment(self, writer: Writer, name: str, fresh: Jobs, below: Jobs, places: Places) -> dict[str, Any]:
        """Write the ``fresh`` runs of an experiment, and return what there is of it with the jobs ``below``."""
        bundles, fresh_rows = self.grid.bundles(name), rows_of(fresh)
        rows = [*rows_of(below), *fresh_rows]
        lines = merged_lines(rows)
        not_stored = sum(job.not_stored for job in below.values())
        if fresh:
            table = lines[-len(fresh_rows) :]
            writer.add(f"{ROWS}/{name}.csv", csv_text(table[0], (line.values() for line in table)).encode())
            not_stored += self._write_runs(writer, name, fresh, below, places)
        there = {row.axes for row in rows}
        n_jobs = sum(all(axes in there for batch in bundle.batches for axes in batch.axes) for bundle in bundles)
        return counts_of(lines, n_jobs, len(bundles) - n_jobs, not_stored)

    def _compared(self, name: str) -> tuple[Jobs, Jobs]:
        """Return the runs of ended jobs that are not below, and the jobs below without the runs that they supersede."""
        system = self.grid.config["experiments"][name]["system"]
        if system not in SYSTEMS:
            raise InputError(
                f"experiment {name} is of a system of its own, {system}: what its rows mean only its "
                "code says, which a packed record does not hold; leave it out of `run`"
            )
        ended = dict(self._ended(name))
        if self.below is None or name not in self.below.manifest["experiments"]:
            return ended, {}
        jobs, wanted = self.below.jobs(name, system), self.grid.expected([name])
        there = {row.axes for row in rows_of(jobs)}
        # A row that a layer has superseded is no newer one where it is still in the results.
        known = {_measured(row) for part in self.below.parts for row in read_rows(part, name, system)}
        rows = rows_of(ended)
        newer = {run_of(row) for row in rows if row.axes not in there or _measured(row) not in known}
        fresh, below = without(ended, set(map(run_of, rows)) - newer), without(jobs, newer)
        if any(wanted.get(row.axes) != row.provenance.definition_sha256 for row in rows_of(below)):
            raise InputError(f"{self.below.place} has runs of {name} that are no longer asked for; {_ANOTHER}")
        return {path: job for path, job in fresh.items() if job.records}, below

    def _write_runs(self, writer: Writer, name: str, fresh: Jobs, below: Jobs, places: Places) -> int:
        """Write the traces and arrays of the fresh jobs, and return how many projections are not stored."""
        arrays = ArrayWriter(name, places)
        for path, job in fresh.items():
            files, runs = JobFiles.of(self.results, path), set(map(run_of, job.records))
            job.points = {run: points for run, points in _points(files.traces).items() if run in runs}
            arrays.add(path, arrays_of(arrays_in(files.findings) or {}, runs))
        drawn = not is_redrawn(self.grid.config["experiments"][name])
        write_traces(writer, name, fresh, self.known, beside=below, drawn=drawn)
        arrays.write(writer)
        return arrays.n_left_out

    def _ended(self, name: str) -> Iterator[tuple[str, Job]]:
        """Yield by path the jobs of an experiment whose rows are those that the configuration asks for."""
        for bundle in self.grid.bundles(name):
            files = JobFiles.of(self.results, bundle.path)
            if not all(path.is_file() for path in (files.records, files.traces, files.findings)):
                continue
            records = read_records(files.records, self.grid.system(bundle.experiment).record)
            wanted = {axes: batch.definition_sha256 for batch in bundle.batches for axes in batch.axes}
            if {record.axes: record.provenance.definition_sha256 for record in records} == wanted:
                yield bundle.path, Job(records)


def check_licence(word: str) -> None:
    """Raise ``InputError`` unless the word can be one of the SPDX list, which has new ones each year."""
    if not re.fullmatch(r"[A-Za-z0-9.+-]{1,64}", word):
        raise InputError(f"--licence is {word!r}; it must be a word of the SPDX list, such as CC-BY-4.0 or CC0-1.0")


def counts_of(lines: Sequence[Mapping[str, Any]], n_jobs: int, n_missing: int, not_stored: int) -> dict[str, Any]:
    """Return how many rows and jobs there are of an experiment, and how they were made; ``lines`` are its table."""
    return {
        "rows": len(lines),
        "jobs": n_jobs,
        "jobs_missing": n_missing,
        "complete": not n_missing,
        "timed": sum(line["timed"] for line in lines),
        "disturbed": sum(was_disturbed({name: str(value) for name, value in line.items()}) for line in lines),
        "uncommitted": sum(bool(line["git_dirty"]) for line in lines),
        "projections_not_stored": not_stored,
    }


def _measured(row: Record) -> Record:
    """Return a row without the job that it was made in: how runs are split into jobs changes no number."""
    return replace(row, provenance=replace(row.provenance, trace_file=""))


def _points(path: Path) -> Points:
    try:
        return read_points(path)
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedError(f"{path} is no trace ({in_words(error)}); make its job again") from error


def _readme(manifest: Mapping[str, Any], n_bytes: int) -> str:
    """Return the README of a record with this manifest and ``n_bytes`` of files."""
    missing = sum(counts["jobs_missing"] for counts in manifest["experiments"].values())
    not_complete = f"It is not complete: {counted(missing, 'job')} of its experiments, or others of them, are missing."
    return template("README").format(
        size=n_bytes / 1e6,
        version=manifest["kdrbench_version"],
        state="It is complete." if manifest["complete"] else not_complete,
        licence=manifest["licence"],
        most=MOST_OF_A_CELL / 1024,
    )


def submitted_solvers(record: PackedRecord, submission: PackedRecord) -> list[str]:
    """Return the names of the solvers of a submission, which need not be new to the record.

    Raises ``InputError`` unless the record has all its runs, and the submission all of its own: by the rules of the
    record, on the same data, and by no name of its base.
    """
    place = submission.place
    if not record.manifest["complete"]:
        raise InputError(f"{record.place} lacks runs of its own solvers; start the workflow and pack it again")
    if len(submission.parts) > 1 or not submission.manifest["complete"]:
        raise InputError(f"{place} lacks runs or has layers, which no submission does; {_AGAIN}")
    ours, theirs = _rules_of(record), _rules_of(submission)
    if differing := [key for key, rule in ours.items() if theirs[key] != rule]:
        raise InputError(f"{place} was made by other rules than {record.place}: {', '.join(differing)}; {_AGAIN}")
    known, rows = _rows_of(record), _rows_of(submission)
    if others := sorted(_data_of(rows) - _data_of(known)):
        raise InputError(f"{place} has rows of other data than {record.place}: {others[0][0]}; {_AGAIN}")
    names = _solvers_of(submission.config)
    if taken := sorted(set(names) & set(_solvers_of(PackedRecord(record.place, record.parts[:1]).config))):
        raise InputError(f"{taken[0]!r} is a solver of {record.place} itself; rename the file and submit it again")
    if rows <= known:
        raise InputError(f"{place} holds nothing that {record.place} lacks; no layer is written")
    return names


def write_submission(record: PackedRecord, submission: PackedRecord, place: Path) -> None:
    """Write the layer of a submission over a record into an empty folder; errors as of :func:`submitted_solvers`."""
    writer, config = Writer(place), _joined(record.config, submission.config, submitted_solvers(record, submission))
    writer.add(CONFIGURATION, json.dumps(config, separators=(",", ":")).encode())
    for folder in (ROWS, TRACES, ARRAYS, OTHERS):
        for name in (f"{folder}/{file}" for file in submission.names(folder)):
            writer.add(name, submission.content(name))
    # The record as it is with the layer, of which every file is read here.
    after = PackedRecord(record.place, (*record.parts, *submission.parts))
    counts = {}
    for name in config["run"]:
        jobs = after.jobs(name, config["experiments"][name]["system"])
        not_stored = sum(job.not_stored for job in jobs.values())
        counts[name] = counts_of(merged_lines(rows_of(jobs)), len(jobs), 0, not_stored)
    writer.finish({"kdrbench_version": __version__, "complete": True, "experiments": counts}, {})


def _rules_of(record: PackedRecord) -> dict[str, Any]:
    """Return by key what has to be equal for solvers that are shown together."""
    config = record.config
    experiments = {name: config["experiments"][name] for name in config["run"]}
    kernels = {name: config["kernels"][name] for one in experiments.values() for name in one.get("kernels", ())}
    shared = {key: config.get(key) for key in ("name", "seed", "limits", "timing")}
    return shared | {
        "kernels": kernels,
        "licence": record.base.manifest.get("licence"),
        "experiments": {
            name: {key: rule for key, rule in one.items() if key not in _METHODS} for name, one in experiments.items()
        },
    }


def _rows_of(record: PackedRecord) -> set[Record]:
    """Return all rows, those that a layer has superseded as well."""
    systems = {name: record.config["experiments"][name]["system"] for name in record.config["run"]}
    return {row for part in record.parts for name, system in systems.items() for row in read_rows(part, name, system)}


def _data_of(rows: set[Record]) -> set[tuple[str, str]]:
    return {(row.dataset, row.provenance.data_sha256) for row in rows}


def _solvers_of(config: Config) -> list[str]:
    return list(dict.fromkeys(name for one in config["run"] for name in config["experiments"][one]["solvers"]))


def _joined(below: Config, submitted: Config, names: list[str]) -> dict[str, Any]:
    """Return the configuration of a record that runs the solvers of a submission, too."""
    experiments = {name: below["experiments"][name] for name in below["run"]}
    joined = {
        name: {**one, "solvers": list(dict.fromkeys([*one["solvers"], *submitted["experiments"][name]["solvers"]]))}
        for name, one in experiments.items()
    }
    solvers = below["solvers"] | {name: submitted["solvers"][name] for name in names}
    return {**below, "solvers": solvers, "experiments": joined}
