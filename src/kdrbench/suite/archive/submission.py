"""A submission, the packed rows of somebody's own solver, as a layer over a record that was made by the same rules.

Nothing that a submission names is loaded: its rows, traces and projections are read as data.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kdrbench import __version__
from kdrbench.errors import InputError
from kdrbench.suite.archive.folder import ARRAYS, CONFIGURATION, OTHERS, ROWS, TRACES, Writer
from kdrbench.suite.archive.layers import PackedRecord, read_rows, rows_of
from kdrbench.suite.archive.pack import counts_of
from kdrbench.suite.engine.publish import merged_lines
from kdrbench.suite.engine.record import Record
from kdrbench.suite.engine.system import Config

# Keys of an experiment that say what is run, and not by which rules.
_METHODS = ("solvers", "baselines")
_AGAIN = "run `kdrbench submit` again with the rules of the record"


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
