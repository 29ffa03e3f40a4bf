"""The rows of a reference beside one's own: a folder of results in which both are, where they solve the same problems.

A problem is data, samples, paradigm, kernel and number of components. Rows of other problems are left out, and it is
said in what they differ. Methods of the reference are called ``<name>_reference``. Their costs and qualities are as
they were measured. Their times are from another machine: they are multiplied by

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
from kdrbench.errors import InputError, visible
from kdrbench.files import write_bytes, write_text
from kdrbench.suite.archive import check_there, is_packed, place_of
from kdrbench.suite.archive.same_problems import alike_kernels, differing_kernels, of_ikdr, part_beside, read_part
from kdrbench.suite.archive.unpack import opened
from kdrbench.suite.engine.publish import array_name, read_points
from kdrbench.suite.engine.record import Record
from kdrbench.suite.engine.run_files import arrays_in
from kdrbench.suite.engine.stage import Config
from kdrbench.suite.experiments.results import Results, read_results, without_code, write_results
from kdrbench.suite.systems.ikdr.definition import NO_KERNEL
from kdrbench.suite.systems.ikdr.solver_definitions import REFERENCE
from kdrbench.suite.systems.registry import DEFAULT, system_of

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
    unpacked = opened(place, wanted=partial(part_beside, mine))
    with unpacked as folder, tempfile.TemporaryDirectory(prefix="kdrbench-") as root:
        both = Beside(mine, store, read_results(folder) if folder == place else read_part(folder))
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


@dataclass
class Beside:
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
        config = _copied(self.own.config)
        records = {name: [*rows] for name, rows in self.own.records.items()}
        for name in config["run"]:
            self._link(folder, name)
            if system_of(config["experiments"][name]) == DEFAULT:
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

    def _link(self, folder: Path, name: str) -> None:
        for kind in ("traces", "findings"):
            (folder / kind / _INCLUDED).mkdir(parents=True, exist_ok=True)
            if (source := self.store / kind / name).is_dir():
                (folder / kind / name).symlink_to(source.absolute())

    def _of_same_problems(self, name: str) -> Iterator[tuple[Any, str]]:
        """Yield the reference's rows of the problems of one's own experiment, each with one's name of its kernel."""
        mine, registry = self.own.config, registry_of(self.own.config)
        numbers = {row.run for row in self.own.records[name]}
        seen: set[tuple[Any, ...]] = set()
        for theirs in of_ikdr(self.theirs.config):
            rows = self.theirs.records.get(theirs, [])
            for dataset in mine["experiments"][name]["datasets"]:
                both = mine, name, self.theirs.config, theirs, registry.get(dataset)
                kernels = alike_kernels(*both)
                for kernel, differing in differing_kernels(*both):
                    self._leave_out(dataset, f"{theirs} on {dataset} with kernel {kernel}: another {differing}")
                for row in rows:
                    key = dataset, kernels.get(row.kernel), row.method, row.run  # type: ignore[attr-defined]
                    if row.dataset != dataset or row.run not in numbers or key[1] is None or key in seen:
                        continue
                    if row.provenance.data_sha256 != registry[dataset].content_sha256:
                        self._leave_out(dataset, f"{theirs} on {dataset}: its rows are of other data")
                        continue
                    seen.add(key)
                    yield row, key[1]

    def _explain(self, name: str, there: set[str]) -> None:
        """Say of data sets of which no row is included why, where it is not said yet."""
        defined = [self.theirs.config["experiments"][one] for one in of_ikdr(self.theirs.config)]
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


def _copied(config: Config) -> dict[str, Any]:
    copied: dict[str, Any] = json.loads(json.dumps(config))
    return copied


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
    rows: list[Record] = field(default_factory=list)
    _lines: list[str] = field(default_factory=list)
    _arrays: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    _read: dict[str, tuple[Mapping[Any, Any], Mapping[str, Any]]] = field(default_factory=dict)

    def add(self, row: Any, kernel: str, calibration: float | None) -> None:
        """Add a row under one's own name of its kernel, its times scaled to the machine of ``calibration`` seconds."""
        theirs, method = _calibration([row]), f"{row.method}{REFERENCE}"
        scale = calibration / theirs if calibration and theirs else None
        said = f"times x {scale:.4g}" if scale else "times not known: no calibration"
        times = {name: scaled(getattr(row, name), scale) for name in _TIMES}
        made = replace(row.provenance, timed=False, trace_file=f"{_INCLUDED}/{self.experiment}.jsonl")
        named = {"experiment": self.experiment, "kernel": kernel, "method": method}
        message = f"[reference, {said}] {row.message}"
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
        write_text(
            self.folder / "traces" / _INCLUDED / f"{self.experiment}.jsonl", "".join(f"{x}\n" for x in self._lines)
        )
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **self._arrays)
        write_bytes(self.folder / "findings" / _INCLUDED / f"{self.experiment}.npz", buffer.getvalue())
        experiment, known = config["experiments"][self.experiment], without_code(theirs)
        for row in self.rows:
            section = "baselines" if getattr(row, "kernel", "") == NO_KERNEL else "solvers"
            name = str(getattr(row, "method", ""))
            config.setdefault(section, {})[name] = known.get(section, {}).get(name.removesuffix(REFERENCE), {})
            if name not in experiment.setdefault(section, []):
                experiment[section].append(name)
        return self.rows


def scaled(seconds: float | None, scale: float | None) -> float | None:
    """Return seconds on another machine; ``None`` where they are not known."""
    return None if seconds is None or scale is None else seconds * scale
