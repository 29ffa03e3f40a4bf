"""The rows of a reference beside one's own: a folder of results in which both are, where they solve the same problems.

A problem is data, samples, paradigm, kernel, number of components and seed. Rows of other problems are left out, with
what they differ in as the reason. Methods of the reference are called ``<name>_reference``. Their costs and qualities
are as they were measured. Their times are those of another machine: they are left out, and with them the traces.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from kdrbench.datasets.registry import DatasetEntry, load_registry
from kdrbench.errors import InputError
from kdrbench.files import write_bytes, write_text
from kdrbench.suite.archive import check_there, is_packed, place_of
from kdrbench.suite.archive.folder import CONFIGURATION
from kdrbench.suite.archive.layers import record_at
from kdrbench.suite.engine.system import Config
from kdrbench.suite.experiments.results import Results, read_frozen, read_results, write_results
from kdrbench.suite.systems.ikdr.config import REFERENCE
from kdrbench.suite.systems.ikdr.definition import NO_KERNEL, problem_part
from kdrbench.suite.systems.ikdr.system import shared_definition
from kdrbench.suite.systems.registry import DEFAULT, system_name

# What of a folder of results reports read beside its tables.
_LINKED = ("charts", "checks", "data", "optima")
# The folder of the empty traces and findings of the reference: no experiment is called so.
_INCLUDED = ".included"
_TIMES = ("time_s", "cpu_s", "warm_s", "warm_cpu_s", "warm_iqr_s")
_Rows = Callable[[str], Sequence[Any]]


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
    own = read_results(results)
    if own.left_out:
        raise InputError(
            f"{results} has experiments of a system of its own ({', '.join(own.left_out)}), whose rows are not read "
            "beside a reference; run them under a configuration of their own"
        )
    with tempfile.TemporaryDirectory(prefix="kdrbench-") as root:
        theirs, rows_of = _reference(place, Path(root))
        config, left_out = json.loads(json.dumps(own.config)), list[str]()
        records = {name: [*rows] for name, rows in own.records.items()}
        for name in own.config["run"]:
            _link(Path(root), store, name)
            if system_name(own.config["experiments"][name]) == DEFAULT:
                included = _rows_beside(own, name, theirs, rows_of, left_out)
                _name_methods(config, name, included, theirs)
                records[name] += included
        write_results(Path(root), Results(Path(root), {**config, "name": ""}, records))
        yield Path(root), list(dict.fromkeys(left_out))


def _reference(place: Path, root: Path) -> tuple[Config, _Rows]:
    """Return the configuration of a reference, and what reads the rows of an experiment of IKDR: those needed alone."""
    if not is_packed(place):
        results = read_results(place)
        return results.config, lambda name: results.records.get(name, [])
    record = record_at(place)
    write_bytes(root / "reference.json", record.content(CONFIGURATION), durable=False)
    config = read_frozen(root / "reference.json")
    return config, cache(lambda name: record.rows(name, DEFAULT))


def _rows_beside(own: Results, name: str, theirs: Config, rows_of: _Rows, left_out: list[str]) -> list[Any]:
    """Return the reference's rows of the problems of one's own experiment; add to ``left_out`` why there are no more.

    Rows have one's own names of experiments and kernels.
    """
    mine, registry, rows = own.config["experiments"][name], load_registry(), dict[tuple[Any, ...], Any]()
    runs = {row.run for row in own.records[name]}
    hashes = {row.dataset: row.provenance.data_sha256 for row in own.records[name]}
    ikdr = [one for one in theirs["run"] if system_name(theirs["experiments"][one]) == DEFAULT]
    for dataset in mine["datasets"]:
        reasons = list[str]()
        with_it = [one for one in ikdr if dataset in theirs["experiments"][one]["datasets"]]
        # Data of the user's own are not loaded: the hashes of rows tell whether they are the same.
        entry = registry.get(dataset) or replace(registry["wine"], name=dataset, classes={}, content_sha256="")
        for other in with_it:
            kernels, differing = _kernels(own.config, name, theirs, other, entry)
            reasons += [f"{other} on {dataset} with kernel {kernel}: another {what}" for kernel, what in differing]
            for row in rows_of(other) if kernels else ():
                if row.dataset != dataset or row.run not in runs or row.kernel not in kernels:
                    continue
                if row.provenance.data_sha256 != hashes.get(dataset, entry.content_sha256):
                    reasons.append(f"{other} on {dataset}: its rows are of other data")
                    continue
                rows.setdefault((dataset, kernels[row.kernel], row.method, row.run), row)
        if not reasons and not any(key[0] == dataset for key in rows):
            defined = [theirs["experiments"][one] for one in with_it]
            problems = dict.fromkeys(f"{one['paradigm']} with {', '.join(one['kernels'])}" for one in defined)
            reasons = [f"{name} on {dataset}: the record has {'; '.join(problems) or 'no rows of these data'}"]
        left_out += reasons
    return [_renamed(row, name, key[1]) for key, row in rows.items()]


def _kernels(
    config: Config, name: str, theirs: Config, other: str, entry: DatasetEntry
) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Return one's own names of the kernels, by theirs, with which two experiments solve one problem on a data set.

    And the kernels of both with which they solve different ones, with what differs. Where there are equal problems,
    methods without a kernel solve the same one, too.
    """
    here, there = config["experiments"][name], theirs["experiments"][other]
    own = {kernel: _problem(here, entry, config, kernel) for kernel in here["kernels"]}
    problems = {kernel: _problem(there, entry, theirs, kernel) for kernel in there["kernels"]}
    equal = {kernel: [one for one, mine in own.items() if mine == problem] for kernel, problem in problems.items()}
    alike = {kernel: names[0] for kernel, names in equal.items() if names}
    differing = list[tuple[str, str]]()
    if here["paradigm"] == there["paradigm"]:
        for kernel in sorted(set(own) & set(problems) - set(alike)):
            keys = [key for key, value in own[kernel].items() if value != problems[kernel].get(key)]
            differing.append((kernel, ", ".join(keys)))
    return alike | ({NO_KERNEL: NO_KERNEL} if alike else {}), differing


def _problem(experiment: Config, entry: DatasetEntry, config: Config, kernel: str) -> dict[str, Any]:
    definition = {**shared_definition(experiment, entry), "kernel": dict(config["kernels"][kernel])}
    return {**problem_part(definition), "seed": config["seed"]}


def _renamed(row: Any, experiment: str, kernel: str) -> Any:
    named = {"experiment": experiment, "kernel": kernel, "method": f"{row.method}{REFERENCE}"}
    # Without calibrations: those of another machine, of the same name even, say nothing of one's own cores.
    untimed: dict[str, Any] = {"timed": False, "calibration_before_s": None, "calibration_after_s": None}
    made = replace(row.provenance, **untimed, trace_file=f"{_INCLUDED}/{experiment}.jsonl")
    return replace(row, **named, **dict.fromkeys(_TIMES), message=f"[reference] {row.message}", provenance=made)


def _name_methods(config: dict[str, Any], name: str, rows: Sequence[Any], theirs: Config) -> None:
    """Define the methods of the reference in the configuration, and have the experiment run them."""
    experiment = config["experiments"][name]
    for row in rows:
        section = "baselines" if row.kernel == NO_KERNEL else "solvers"
        definitions: Mapping[str, Any] = theirs.get(section, {})
        config.setdefault(section, {})[row.method] = definitions.get(row.method.removesuffix(REFERENCE), {})
        if row.method not in experiment.setdefault(section, []):
            experiment[section].append(row.method)


def _link(folder: Path, store: Path, name: str) -> None:
    """Link what reports read beside tables into a folder, and write empty traces and findings of the reference."""
    write_text(folder / "traces" / _INCLUDED / f"{name}.jsonl", "", durable=False)
    empty = folder / "findings" / _INCLUDED / f"{name}.npz"
    empty.parent.mkdir(parents=True, exist_ok=True)
    np.savez(empty, allow_pickle=False)
    for part in (f"traces/{name}", f"findings/{name}", *_LINKED):
        if (store / part).is_dir() and not (folder / part).exists():
            (folder / part).symlink_to((store / part).absolute())
