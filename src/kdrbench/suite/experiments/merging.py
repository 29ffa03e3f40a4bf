"""Several records as one: which rows may share a table, and why others may not.

An experiment comes from one kind of machine, one version and one set of limits: its tables compare times. Experiments
of one record alone may come from anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import reduce
from typing import Any

from kdrbench.errors import InputError
from kdrbench.suite.engine.record import Record
from kdrbench.suite.engine.system import Config
from kdrbench.suite.experiments.results import Results, charted_by

# What rows of one experiment have in common, whichever record they are of.
ALIKE = (
    *("processor", "blas", "blas_threads", "timed", "time_limit_s", "memory_limit_mib"),
    *("kdrbench_version", "git_commit", "git_dirty", "lock_sha256", "python_version", "numpy_version"),
    *("scipy_version", "scikit_learn_version", "pymanopt_version", "numba_version"),
)
# Of a configuration: where data come from, what is run and shown beside it, and limits, which rows and experiments
# have themselves.
_FREE = frozenset({"name", "run", "data", "limits", "include"})
# Of an experiment: what changes no result.
_WORDS = frozenset({"title", "limits", "runs_per_job"})
# Faults that a message lists.
_MOST = 5
_APART = (
    "show them apart with `kdrbench report --site`, or merge single tables (merged/EXPERIMENT.csv) of which each is in "
    "one"
)


def merge_results(all_results: Sequence[Results], name: str) -> Results:
    """Return the records as one, called ``name``, each row once; experiments in the order of the records.

    Raises ``InputError`` that lists what differs: definitions of an experiment or of what it names, rows made for
    other definitions, the same run measured twice, or an experiment measured on unlike machines.
    """
    for results in all_results:
        if results.left_out:
            raise InputError(
                f"{results.place} has experiments of a system of its own ({', '.join(results.left_out)}): what their "
                "rows mean only its code says, which is not run here; merge single tables (merged/EXPERIMENT.csv)"
            )
    merged = reduce(_both, all_results)
    return Results(merged.place, {**merged.config, "name": name}, merged.records)


def _both(first: Results, second: Results) -> Results:
    config = _merged_config(first, second)
    records = {experiment: [*rows] for experiment, rows in first.records.items()}
    for experiment, rows in second.records.items():
        records[experiment] = _merged_rows(records.get(experiment, []), rows, first, second)
    return Results(second.place, {**config, "run": list(records)}, records)


def _merged_config(first: Results, second: Results) -> Config:
    one, other = _alone(first.config), _alone(second.config)
    if faults := list(differences(one, other)):
        _refuse("are records of different definitions", faults, first, second, _APART)
    merged = {key: _joined(one.get(key), other.get(key)) for key in {**one, **other}}
    return {**merged, **{key: first.config[key] for key in _FREE & set(first.config)}}


def _alone(config: Config) -> Config:
    """Return the configuration with the experiments that it runs, and those they chart, alone, each with its limits."""
    general = {key: config["limits"][key] for key in ("time_s", "memory_mib")}
    experiments = {name: config["experiments"][name] for name in config["run"]}
    for one in tuple(experiments.values()):
        experiments |= charted_by(one, config["experiments"])
    limited = {name: {**one, "limits": {**general, **one.get("limits", {})}} for name, one in experiments.items()}
    return {**{key: value for key, value in config.items() if key not in _FREE}, "experiments": limited}


def _joined(one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict):
        return {**other, **one}
    return other if one is None else one


def differences(one: Config, other: Config) -> Iterator[str]:
    """Yield each key under which two configurations say something else, with both values.

    What only one of them has is no difference, but for keys of an experiment or of a definition that both have. Titles
    and limits of experiments are none either.
    """
    for section in sorted(set(one) & set(other) - _FREE):
        mine, theirs = one[section], other[section]
        if not (isinstance(mine, dict) and isinstance(theirs, dict)) or section == "timing":
            mine, theirs = {section: mine}, {section: theirs}
        for name in (name for name in mine if name in theirs and mine[name] != theirs[name]):
            yield from _unlike(section if name == section else f"{section}.{name}", mine[name], theirs[name])


def _unlike(place: str, mine: Any, theirs: Any) -> Iterator[str]:
    if not (isinstance(mine, dict) and isinstance(theirs, dict)):
        yield f"{place} is {_short(mine)} and {_short(theirs)}"
        return
    free = _WORDS if place.startswith("experiments.") else frozenset()
    for key in sorted({*mine, *theirs} - free):
        if mine.get(key) != theirs.get(key):
            yield f"{place}.{key} is {_short(mine.get(key))} and {_short(theirs.get(key))}"


def _short(value: Any) -> str:
    text = "not given" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _merged_rows(mine: list[Record], theirs: list[Record], first: Results, second: Results) -> list[Record]:
    """Return the rows of one experiment, mine first; refuses what cannot be in one table."""
    known = {record.axes: record for record in mine}
    both = [(known[record.axes], record) for record in theirs if record.axes in known]
    added = [record for record in theirs if record.axes not in known]
    if faults := [_other_definition(*pair) for pair in both if not same_definition(*pair)]:
        _refuse("have rows made for different definitions", faults, first, second, _APART)
    if twice := [_place(one) for one, other in both if one != other]:
        _refuse("have measured the same runs, each for itself", twice, first, second, _APART)
    if mine and added and (faults := list(_unlike_machines(mine, added))):
        _refuse(
            f"have rows of experiment {mine[0].experiment} that differ in what its tables compare",
            faults,
            first,
            second,
            f"run it on one kind of machine with one version, or {_APART}",
        )
    return [*mine, *added]


def same_definition(one: Record, other: Record) -> bool:
    """Return whether two rows with the same axes were made for the same definition and the same data."""
    mine, theirs = one.provenance, other.provenance
    return (mine.definition_sha256, mine.data_sha256, one.seed) == (
        theirs.definition_sha256,
        theirs.data_sha256,
        other.seed,
    )


def _other_definition(one: Record, other: Record) -> str:
    mine, theirs = {**asdict(one.provenance), "seed": one.seed}, {**asdict(other.provenance), "seed": other.seed}
    columns = [name for name in ("definition_sha256", "data_sha256", "seed") if mine[name] != theirs[name]]
    return f"{_place(one)} in {', '.join(columns)}"


def _unlike_machines(mine: Sequence[Record], added: Sequence[Record]) -> Iterator[str]:
    for column in ALIKE:
        here, there = ({getattr(one.provenance, column) for one in rows} for rows in (mine, added))
        if not there <= here:
            yield f"{column} is {_values(here)} and {_values(there)}"


def _values(values: set[Any]) -> str:
    return _short(", ".join(sorted(str(value) or "unknown" for value in values)))


def _place(record: Record) -> str:
    return "/".join(map(str, record.axes))


def _refuse(fault: str, faults: Sequence[str], first: Results, second: Results, advice: str) -> None:
    """Raise ``InputError`` with the records, their fault, its first cases and what to do."""
    raise InputError(f"{first.place} and {second.place} {fault}: {_listed(faults)}. To go on, {advice}")


def _listed(faults: Sequence[str]) -> str:
    more = f"; and {len(faults) - _MOST} more" if len(faults) > _MOST else ""
    return "; ".join(faults[:_MOST]) + more
