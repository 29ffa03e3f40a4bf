"""The rows of a reference beside one's own: a folder of results in which both are, where they solve the same problems.

A problem is data, samples, paradigm, kernel, number of components and seed. Rows of other problems are left out, with
what they differ in as the reason. Methods of the reference are called ``<name>_reference``. Their costs and qualities
are as they were measured. Their times are from another machine: they are multiplied by

    c / c_reference,   c = the median seconds of the calibration kernel beside one's own runs of the experiment

and c_reference that beside the row. Such a row counts as not timed, so that it enters no bold time, no test of times
and no claim, and its message says by what it was scaled.
"""

from __future__ import annotations

import io
import json
import statistics
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kdrbench.datasets.own import registry_of
from kdrbench.datasets.registry import DatasetEntry
from kdrbench.errors import InputError, visible
from kdrbench.files import write_bytes, write_text
from kdrbench.suite.archive import check_there, is_packed, place_of
from kdrbench.suite.archive.layers import Part
from kdrbench.suite.archive.unpack import opened
from kdrbench.suite.engine.publish import array_name, read_points
from kdrbench.suite.engine.record import Record
from kdrbench.suite.engine.run_files import arrays_in
from kdrbench.suite.engine.system import Config
from kdrbench.suite.experiments.results import (
    CONFIG,
    MERGED,
    Results,
    read_frozen,
    read_results,
    without_code,
    write_results,
)
from kdrbench.suite.systems.ikdr.definition import NO_KERNEL, problem_part
from kdrbench.suite.systems.ikdr.solver_definitions import REFERENCE
from kdrbench.suite.systems.ikdr.system import shared_definition
from kdrbench.suite.systems.registry import DEFAULT, system_name

# What of a folder of results reports read beside its tables.
_LINKED = ("charts", "checks", "data", "optima")
# No experiment is called so.
_INCLUDED = ".included"
_TIMES = ("time_s", "cpu_s", "warm_s", "warm_cpu_s", "warm_iqr_s")
_KINDS = ("projection", "labels", "given")


@contextmanager
def opened_beside(results: Path, store: Path, reference: str) -> Iterator[tuple[Path, list[str]]]:
    """Give a folder of results that holds one's own and those of a reference, and what of the latter is left out.

    ``results`` is one's folder of merged tables, ``store`` that of traces and findings. ``reference`` is a folder, of
    results or a packed record, or the word for that of the papers. The folder is removed when the block ends.

    Raises ``InputError`` where there is no such record, and for systems of one's own, whose rows are not read here.
    """
    place = place_of(reference)
    check_there(place)
    if not (place.is_dir() or is_packed(place)):
        raise InputError(f"there is no reference {place}: name the folder of a record, as `kdrbench pack` writes it")
    mine = read_results(results)
    _check_names(results, mine)
    unpacked = opened(place, wanted=partial(_part_beside, mine))
    with unpacked as folder, tempfile.TemporaryDirectory(prefix="kdrbench-") as root:
        both = _Beside(mine, store, read_results(folder) if folder == place else _read_part(folder))
        if own := both.own.left_out:
            raise InputError(
                f"{results} has experiments of a system of its own ({', '.join(own)}), whose rows are not read beside "
                "a reference; run them under a configuration of their own"
            )
        both.write(Path(root))
        yield Path(root), both.left_out


def _check_names(place: Path, own: Results) -> None:
    """Raise ``InputError`` for a method of one's own with the name of one of the reference, which takes its place."""
    experiments = [own.config["experiments"][name] for name in own.config["run"]]
    named = {name for one in experiments for section in ("solvers", "baselines") for name in one.get(section, [])}
    for name in sorted(name for name in named if str(name).endswith(REFERENCE)):
        raise InputError(
            f"{place} has a method called {visible(name[:100])!r}: names that end in {REFERENCE} are those of the "
            f"record's methods beside one's own; call it {visible(name.removesuffix(REFERENCE)[:100]) or 'mine'}_own "
            "and run it again, or compare without a record"
        )


def _of_ikdr(config: Config) -> list[str]:
    """Return the experiments of IKDR that a configuration runs: rows of no other system are compared."""
    return [name for name in config["run"] if system_name(config["experiments"][name]) == DEFAULT]


@dataclass(frozen=True)
class _Pair:
    """One's own experiment ``name`` and one of the reference, of a data set that both may have."""

    mine: Config
    name: str
    theirs: Config
    their_name: str
    entry: DatasetEntry | None

    def kernels(self) -> dict[str, str]:
        """Return one's own names of the kernels, by theirs, with which both solve the same problem.

        Where there are any, methods without a kernel solve the same problem, too.
        """
        here, there = self.mine["experiments"][self.name], self.theirs["experiments"][self.their_name]
        if self.entry is None or self.entry.name not in there["datasets"]:
            return {}
        own = {kernel: _problem(here, self.entry, self.mine, kernel) for kernel in here["kernels"]}
        alike: dict[str, str] = {}
        for kernel in there["kernels"]:
            wanted = _problem(there, self.entry, self.theirs, kernel)
            names = [name for name, problem in own.items() if problem == wanted]
            alike |= {kernel: names[0]} if names else {}
        return alike | ({NO_KERNEL: NO_KERNEL} if alike else {})

    def differences(self) -> Iterator[tuple[str, str]]:
        """Yield the kernels of both with which they solve different problems, and in what these differ."""
        here, there = self.mine["experiments"][self.name], self.theirs["experiments"][self.their_name]
        if self.entry is None or self.entry.name not in there["datasets"] or here["paradigm"] != there["paradigm"]:
            return
        for kernel in sorted(set(there["kernels"]) & set(here["kernels"]) - set(self.kernels())):
            own, other = _problem(here, self.entry, self.mine, kernel), _problem(there, self.entry, self.theirs, kernel)
            yield kernel, ", ".join(key for key in own if own[key] != other.get(key))


def _problem(experiment: Config, entry: DatasetEntry, config: Config, kernel: str) -> dict[str, Any]:
    definition = {**shared_definition(experiment, entry), "kernel": dict(config["kernels"][kernel])}
    return {**problem_part(definition), "seed": config["seed"]}


def _part_beside(own: Results, theirs: Config) -> Part:
    """Return what of a record may be beside one's own rows; to unpack all of it takes many times as long."""
    registry = registry_of(own.config)
    rows = [row for name in _of_ikdr(own.config) for row in own.records[name]]
    datasets = frozenset(row.dataset for row in rows)
    alike = {
        their_name
        for their_name in _of_ikdr(theirs)
        for name in _of_ikdr(own.config)
        if any(_Pair(own.config, name, theirs, their_name, registry.get(one)).kernels() for one in datasets)
    }
    return Part(frozenset(alike), datasets, frozenset(str(row.run) for row in rows))


def _read_part(folder: Path) -> Results:
    """Return the results in a folder that holds a part of a record, whose configuration runs the rest too."""
    config = read_frozen(folder / CONFIG)
    if not any((folder / MERGED).glob("*.csv")):
        return Results(folder, config, {})
    read = read_results(folder)
    return replace(read, config={**read.config, "run": config["run"]})


@dataclass
class _Beside:
    """One's ``own`` results, whose traces and findings lie below ``store``, and ``theirs``, those of a reference.

    ``left_out`` says which problems are not compared, and why.
    """

    own: Results
    store: Path
    theirs: Results
    left_out: list[str] = field(default_factory=list)
    _explained: set[str] = field(default_factory=set)

    def write(self, folder: Path) -> None:
        """Write a folder of results that holds both."""
        config = json.loads(json.dumps(self.own.config))
        records = {name: [*rows] for name, rows in self.own.records.items()}
        for name in config["run"]:
            for kind in ("traces", "findings"):
                (folder / kind / _INCLUDED).mkdir(parents=True, exist_ok=True)
                if (source := self.store / kind / name).is_dir():
                    (folder / kind / name).symlink_to(source.absolute())
            if system_name(config["experiments"][name]) == DEFAULT:
                included = _Included(name, folder, self.theirs.place)
                for row, kernel in self._of_same_problems(name):
                    included.add(row, kernel, _calibration(records[name]))
                self._explain(name, {row.dataset for row in included.rows})
                records[name] += included.finish(config, self.theirs.config)
        for part in _LINKED:
            if (self.store / part).is_dir():
                (folder / part).symlink_to((self.store / part).absolute())
        config["name"] = ""
        write_results(folder, Results(folder, config, records))

    def _of_same_problems(self, name: str) -> Iterator[tuple[Any, str]]:
        """Yield the reference's rows of the problems of one's own experiment, each with one's name of its kernel."""
        mine, registry = self.own.config, registry_of(self.own.config)
        numbers = {row.run for row in self.own.records[name]}
        seen: set[tuple[Any, ...]] = set()
        for theirs in _of_ikdr(self.theirs.config):
            rows: list[Any] = self.theirs.records.get(theirs, [])
            for dataset in mine["experiments"][name]["datasets"]:
                pair = _Pair(mine, name, self.theirs.config, theirs, registry.get(dataset))
                kernels = pair.kernels()
                for kernel, differing in pair.differences():
                    self._leave_out(dataset, f"{theirs} on {dataset} with kernel {kernel}: another {differing}")
                for row in rows:
                    key = dataset, kernels.get(row.kernel), row.method, row.run
                    if row.dataset != dataset or row.run not in numbers or key[1] is None or key in seen:
                        continue
                    if row.provenance.data_sha256 != registry[dataset].content_sha256:
                        self._leave_out(dataset, f"{theirs} on {dataset}: its rows are of other data")
                        continue
                    seen.add(key)
                    yield row, key[1]

    def _explain(self, name: str, there: set[str]) -> None:
        """Say of data sets of which no row is included why, where it is not said yet."""
        defined = [self.theirs.config["experiments"][one] for one in _of_ikdr(self.theirs.config)]
        for dataset in self.own.config["experiments"][name]["datasets"]:
            with_it = [one for one in defined if dataset in one["datasets"]]
            problems = (f"{one['paradigm']} with {', '.join(one['kernels'])}" for one in with_it)
            has = "; ".join(dict.fromkeys(problems)) or "no rows of these data"
            if dataset not in there | self._explained:
                self._leave_out(dataset, f"{name} on {dataset}: the record has {has}")

    def _leave_out(self, dataset: str, reason: str) -> None:
        self._explained.add(dataset)
        if reason not in self.left_out:
            self.left_out.append(reason)


def _calibration(rows: Iterable[Record]) -> float | None:
    """Return the median seconds of the calibration kernel beside rows; ``None`` where it was not timed."""
    both = [(row.provenance.calibration_before_s, row.provenance.calibration_after_s) for row in rows]
    times = [seconds for pair in both for seconds in pair if seconds]
    return statistics.median(times) if times else None


@dataclass
class _Included:
    """The rows of a reference for one experiment, with their traces and arrays, which lie below ``source``."""

    experiment: str
    folder: Path
    source: Path
    rows: list[Any] = field(default_factory=list)
    _lines: list[str] = field(default_factory=list)
    _arrays: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    _read: dict[str, tuple[Mapping[Any, Any], Mapping[str, Any]]] = field(default_factory=dict)

    def add(self, row: Any, kernel: str, calibration: float | None) -> None:
        """Add a row under one's own name of its kernel, its times scaled to the machine of ``calibration`` seconds."""
        theirs, method = _calibration([row]), f"{row.method}{REFERENCE}"
        scale = calibration / theirs if calibration and theirs else None
        scaling = f"times x {scale:.4g}" if scale else "times not known: no calibration"
        times = {
            name: None if getattr(row, name) is None or not scale else getattr(row, name) * scale for name in _TIMES
        }
        made = replace(row.provenance, timed=False, trace_file=f"{_INCLUDED}/{self.experiment}.jsonl")
        named = {"experiment": self.experiment, "kernel": kernel, "method": method}
        message = f"[reference, {scaling}] {row.message}"
        self.rows.append(replace(row, **named, **times, message=message, provenance=made))
        points, arrays = self._left(row.provenance.trace_file)
        old, new = (f"{row.dataset}/{a}/{b}" for a, b in ((row.kernel, row.method), (kernel, method)))
        if scale:
            for point in points.get((old, row.run), []):
                line = {"cell": new, "run": row.run, **point, "time_s": point["time_s"] * scale}
                self._lines.append(json.dumps(line))
        for kind in _KINDS:
            if (name := array_name(old, kind, row.run)) in arrays:
                self._arrays[array_name(new, kind, row.run)] = arrays[name]

    def _left(self, trace_file: str) -> tuple[Mapping[Any, Any], Mapping[str, Any]]:
        """Return the points and arrays of a job; each file is read once."""
        if trace_file not in self._read:
            # Traces of a configuration with a name are those of all, in the folder above.
            roots = [one for one in (self.source, self.source.parent) if (one / "traces" / trace_file).is_file()]
            if not roots:
                raise InputError(
                    f"{self.source} has rows and not their traces ({visible(trace_file[:100])} is not there); name a "
                    "packed record, or a folder of results that has the folder traces, in itself or beside it"
                )
            findings = (roots[0] / "findings" / trace_file).with_suffix(".npz")
            points = read_points(roots[0] / "traces" / trace_file)
            self._read[trace_file] = points, arrays_in(findings) or {}
        return self._read[trace_file]

    def finish(self, config: dict[str, Any], theirs: Config) -> list[Record]:
        """Write traces and arrays, name the methods in the configuration, and return the rows."""
        traces = self.folder / "traces" / _INCLUDED / f"{self.experiment}.jsonl"
        write_text(traces, "".join(f"{line}\n" for line in self._lines))
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **self._arrays)
        write_bytes(self.folder / "findings" / _INCLUDED / f"{self.experiment}.npz", buffer.getvalue())
        experiment, known = config["experiments"][self.experiment], without_code(theirs)
        for row in self.rows:
            section = "baselines" if row.kernel == NO_KERNEL else "solvers"
            definition = known.get(section, {}).get(row.method.removesuffix(REFERENCE), {})
            config.setdefault(section, {})[row.method] = definition
            if row.method not in experiment.setdefault(section, []):
                experiment[section].append(row.method)
        return self.rows
