"""Which problems of a record are those of one's own experiments: data, samples, paradigm, kernel, q and seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from kdrbench.datasets.own import registry_of
from kdrbench.datasets.registry import DatasetEntry
from kdrbench.suite.archive.part import Part
from kdrbench.suite.engine.stage import Config
from kdrbench.suite.experiments.results import CONFIG, MERGED, Results, read_frozen, read_results
from kdrbench.suite.systems.ikdr.definition import NO_KERNEL, problem_part
from kdrbench.suite.systems.ikdr.stage import shared_definition
from kdrbench.suite.systems.registry import DEFAULT, system_of


def of_ikdr(config: Config) -> list[str]:
    """Return the experiments of IKDR that a configuration runs: rows of no other system are compared."""
    return [name for name in config["run"] if system_of(config["experiments"][name]) == DEFAULT]


def alike_kernels(
    mine: Config, name: str, theirs: Config, their_name: str, entry: DatasetEntry | None
) -> dict[str, str]:
    """Return the kernels with which two experiments solve the same problem of a data set: one's own name by theirs.

    Where there are any, methods without a kernel solve the same problem, too.
    """
    here, there = mine["experiments"][name], theirs["experiments"][their_name]
    if entry is None or entry.name not in there["datasets"]:
        return {}
    found = {}
    for kernel in there["kernels"]:
        wanted = _problem(there, entry, theirs, kernel)
        alike = [one for one in here["kernels"] if _problem(here, entry, mine, one) == wanted]
        if alike:
            found[kernel] = alike[0]
    return found | ({NO_KERNEL: NO_KERNEL} if found else {})


def differing_kernels(
    mine: Config, name: str, theirs: Config, their_name: str, entry: DatasetEntry | None
) -> Iterator[tuple[str, str]]:
    """Yield the kernels of both experiments with which they solve different problems, and in what these differ."""
    here, there = mine["experiments"][name], theirs["experiments"][their_name]
    if entry is None or entry.name not in there["datasets"] or here["paradigm"] != there["paradigm"]:
        return
    alike = alike_kernels(mine, name, theirs, their_name, entry)
    for kernel in there["kernels"]:
        if kernel in here["kernels"] and kernel not in alike:
            one, other = _problem(here, entry, mine, kernel), _problem(there, entry, theirs, kernel)
            yield kernel, ", ".join(key for key in one if one[key] != other.get(key))


def part_beside(own: Results, theirs: Config) -> Part:
    """Return what of a record may be beside one's own rows; to unpack all of it takes many times as long."""
    registry = registry_of(own.config)
    rows = [row for name in of_ikdr(own.config) for row in own.records[name]]
    datasets = frozenset(row.dataset for row in rows)
    alike = {
        their_name
        for their_name in of_ikdr(theirs)
        for name in of_ikdr(own.config)
        if any(alike_kernels(own.config, name, theirs, their_name, registry.get(dataset)) for dataset in datasets)
    }
    return Part(frozenset(alike), datasets, frozenset(str(row.run) for row in rows))


def read_part(folder: Path) -> Results:
    """Return the results in a folder that holds a part of a record, whose configuration runs the rest too."""
    config = read_frozen(folder / CONFIG)
    if not any((folder / MERGED).glob("*.csv")):
        return Results(folder, config, {})
    read = read_results(folder)
    return replace(read, config={**read.config, "run": config["run"]})


def _problem(experiment: Config, entry: DatasetEntry, config: Config, kernel: str) -> dict[str, Any]:
    definition = {**shared_definition(experiment, entry), "kernel": dict(config["kernels"][kernel])}
    return {**problem_part(definition), "seed": config["seed"]}
