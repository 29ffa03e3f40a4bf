"""What a folder of results holds: its frozen configuration and the rows of its merged tables, read as from anywhere.

A record may come from another machine, another version or another user. Nothing that it names is loaded: neither
systems nor solvers nor data sets of somebody's own.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any

from kdrbench.errors import ConfigError, InputError, KdrbenchError, in_words, visible
from kdrbench.files import write_bytes, write_text
from kdrbench.status import Status
from kdrbench.suite.csv_files import numbered_csv
from kdrbench.suite.engine.provenance import DRIFT
from kdrbench.suite.engine.publish import merged_lines, write_table
from kdrbench.suite.engine.record import AnyRecord, Record, RecordError, column_types, completed, kinds_of, record_of
from kdrbench.suite.engine.system import Config
from kdrbench.suite.experiments.config import check_schema, experiment_schema, general_schema
from kdrbench.suite.systems.ikdr.definition import NO_KERNEL
from kdrbench.suite.systems.registry import SYSTEMS, build_system, system_name, table_of

CONFIG, MERGED = "config.json", "merged"
# Columns whose words an experiment lists.
_LISTED = ("cells_of", "kernel", "method", "learner", "variant")
_TRUTHS = {"True": True, "False": False}
# Names of columns that a message lists.
_MOST_NAMES = 6


@dataclass(frozen=True)
class Results:
    """The rows of a results folder by experiment, with the configuration that they were made for.

    ``config`` runs the experiments that have rows. ``left_out`` are those of systems of somebody's own: what their
    columns mean only their code says.
    """

    place: Path
    config: Config
    records: dict[str, list[Record]]
    left_out: tuple[str, ...] = ()


def read_results(place: Path) -> Results:
    """Return what a folder of merged tables holds, or one table of such a folder: EXPERIMENT.csv or SYSTEM.csv.

    Raises ``InputError`` where there is none, ``ConfigError`` for a configuration and ``RecordError`` for a table with
    a fault.
    """
    folder = place if place.is_dir() else _folder_of(place)
    config = read_frozen(folder / CONFIG)
    experiments = {name: config["experiments"][name] for name in config["run"]}
    own = tuple(name for name, one in experiments.items() if system_name(one) not in SYSTEMS)
    known = {name: one for name, one in experiments.items() if name not in own}
    records: dict[str, list[Record]] = {}
    for table, system in _tables(place, folder, known):
        for record in read_merged(table, build_system(system).record):
            _check_place(table, record, system, known, config["experiments"])
            records.setdefault(record.experiment, []).append(record)
    if not any(records.values()):
        raise InputError(f"{place} holds no rows; run the workflow first, or name the folder of its merged tables")
    # In the order of the configuration.
    there = {name: records[name] for name in known if name in records}
    return Results(place, {**config, "run": list(there)}, there, own)


def read_frozen(path: Path) -> Config:
    """Return a frozen configuration, checked by what does not load anything that it names.

    Raises ``InputError`` where there is none, and ``ConfigError`` for its first fault.
    """
    if not path.is_file():
        raise InputError(
            f"{path} is not there: a record is a folder with {CONFIG} and merged tables, such as results/ or "
            "results/NAME after a run of the workflow"
        )
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        _check_config(config)
    except (ValueError, RecursionError, ConfigError) as error:
        fault = str(error) if isinstance(error, ConfigError) else in_words(error)
        raise ConfigError(f"{path} is no frozen configuration ({fault}); take it from where it was written") from error
    return dict(config)


def frozen_that_run(results: Path, experiment: str) -> Iterator[tuple[Path, Config]]:
    """Yield the frozen configurations in a folder of results that run an experiment, each after its file."""
    for path in (results / CONFIG, *sorted(results.glob(f"*/{CONFIG}"))):
        try:
            config = read_frozen(path)
        except KdrbenchError:
            continue
        if experiment in config["run"]:
            yield path, config


def charted_by(experiment: Config, defined: Mapping[str, Config]) -> dict[str, Config]:
    """Return the experiments that an atlas charts, of those ``defined``: its kernels are theirs. Others chart none."""
    return {name: defined[name] for name in experiment.get("cells_of", []) if name in defined}


def write_results(folder: Path, results: Results) -> None:
    """Write the configuration, a table of each experiment and one of each system, as the workflow does."""
    write_text(folder / CONFIG, json.dumps(results.config, indent=2) + "\n")
    tables = {name: folder / MERGED / f"{name}.csv" for name in results.records}
    for name, records in results.records.items():
        write_table(tables[name], merged_lines(records))
    write_systems(folder, results.config, tables)


def write_systems(folder: Path, config: Config, tables: Mapping[str, Path]) -> None:
    """Write the table of each system of which every experiment that is run has one of ``tables``: it joins them."""
    systems: dict[str, list[str]] = {}
    for name in config["run"]:
        systems.setdefault(system_name(config["experiments"][name]), []).append(name)
    for system, names in systems.items():
        if set(names) <= set(tables):
            contents = [content for name in names if (content := tables[name].read_bytes())]
            rows = [content.partition(b"\n")[2] for content in contents[1:]]
            write_bytes(folder / f"{table_of(system)}.csv", b"".join([*contents[:1], *rows]))


def _check_config(config: Any) -> None:
    check_schema(config, general_schema())
    for name in config["run"]:
        if name not in config["experiments"]:
            raise ConfigError(f"it runs {name!r}, which is none of its experiments")
        experiment = config["experiments"][name]
        if (system := system_name(experiment)) in SYSTEMS:
            check_schema(experiment, experiment_schema(build_system(system)))
    for section in ("solvers", "kernels", "baselines", "low_rank_methods"):
        named = config.get(section, {})
        if not isinstance(named, dict) or not all(isinstance(one, dict) for one in named.values()):
            raise ConfigError(f"its {section} must be definitions by name")


def _folder_of(table: Path) -> Path:
    if table.suffix != ".csv" or not table.is_file():
        raise InputError(f"{table} is neither a folder of merged tables nor one of them (.csv)")
    return table.parent.parent if table.parent.name == MERGED else table.parent


def _tables(place: Path, folder: Path, experiments: Mapping[str, Config]) -> Iterable[tuple[Path, str]]:
    """Return each table to read with its system: of a folder those of the experiments, or of the system without any."""
    systems = {table_of(system): system for system in map(system_name, experiments.values())}
    if place != folder:
        system = systems.get(place.stem) or (
            system_name(experiments[place.stem]) if place.stem in experiments else None
        )
        if system is None:
            raise InputError(f"{place} is called like no experiment that {folder / CONFIG} runs, and like no system")
        return [(place, system)]
    merged = {name: folder / MERGED / f"{name}.csv" for name in experiments}
    alone = [(path, system_name(experiments[name])) for name, path in merged.items() if path.is_file()]
    covered = {system for _, system in alone}
    whole = [(folder / f"{table}.csv", system) for table, system in systems.items() if system not in covered]
    return [*alone, *(pair for pair in whole if pair[0].is_file())]


def _check_place(
    table: Path, record: Record, system: str, experiments: Mapping[str, Config], defined: Mapping[str, Config]
) -> None:
    """Refuse a row that the configuration does not ask for; what is charted is ``defined``, and need not be run."""
    experiment = experiments.get(record.experiment)
    if experiment is None or system_name(experiment) != system or record.dataset not in experiment["datasets"]:
        fault = f"experiment {record.experiment!r} with data set {record.dataset!r}"
    else:
        parts = (experiment, *charted_by(experiment, defined).values())
        lists = [one for part in parts for one in part.values() if isinstance(one, list)]
        words = {NO_KERNEL, *(word for one in lists for word in one)}
        cell = [getattr(record, name) for name in _LISTED if name in (*record.CELL, *record.KEYS)]
        fault = "" if set(cell) <= words else "/".join(map(str, cell))
    if fault:
        raise RecordError(
            f"{table} has a row of {visible(fault[:200])}, which its configuration does not have; merge it again where "
            "its runs are, or leave it out"
        )


def read_merged(path: Path, kind: type[AnyRecord], content: bytes | None = None) -> list[AnyRecord]:
    """Return the records of a merged table of one system; how cores drifted is left out.

    Where its ``content`` is given, ``path`` only names it. Raises ``RecordError`` naming the file, the line and the
    column for a table that is cut, lacks a column that all tables have, or holds a value that the column may not hold;
    and for two rows with the same axes.
    """
    records: dict[tuple[Any, ...], AnyRecord] = {}
    for number, words in read_words(path, kind, content):
        try:
            record = record_in(words, kind)
        except RecordError as error:
            raise _unreadable(path, f"line {number}: {error}") from error
        if record.axes in records:
            raise _unreadable(path, f"the row {record.axes} occurs twice")
        records[record.axes] = record
    return list(records.values())


def read_words(path: Path, kind: type[Record], content: bytes | None = None) -> list[tuple[int, dict[str, str]]]:
    """Return the cells of a merged table's rows by column, with the numbers of their lines.

    Columns that were added since are filled. Raises ``RecordError`` for a table that is cut, or lacks other columns.
    """
    content = path.read_bytes() if content is None else content
    if not content.endswith(b"\n"):
        raise _unreadable(path, "its last line is cut" if content else "it is empty")
    try:
        names, rows = numbered_csv(content.decode("utf-8"))
    except ValueError as error:
        raise _unreadable(path, str(error)) from error
    added = {name: "" if default is None else str(default) for name, default in completed({}, kind).items()}
    types = column_types(kind)  # type: ignore[arg-type]
    if missing := sorted({*types, *DRIFT} - {*names, *added}):
        raise _unreadable(path, f"it lacks columns of {kind.__name__}: {', '.join(missing[:_MOST_NAMES])}")
    return [(number, added | row) for number, row in rows]


def record_in(words: dict[str, str], kind: type[AnyRecord]) -> AnyRecord:
    """Return the record of a row's cells; ``RecordError`` for one that its column may not hold."""
    types = column_types(kind)  # type: ignore[arg-type]
    return record_of({name: _value(words[name], types[name]) for name in types}, kind)


def was_disturbed(words: Mapping[str, str]) -> bool:
    """Return whether a row is of a timed run whose cores changed their speed, or worked for others too."""
    return words["timed"] == "True" and "True" in (words["drifted"], words["contaminated"])


def was_stopped(words: Mapping[str, str]) -> bool:
    """Return whether a row is of a run that ended at a limit of time or memory."""
    return words["status"] in (Status.TIME_LIMIT, Status.MEMORY_LIMIT)


def runs_that(chosen: Callable[[Mapping[str, str]], bool], path: Path, kind: type[Record]) -> dict[str, set[int]]:
    """Return by their cell the runs of a merged table with a row that is ``chosen``.

    A cell is experiment/data set/..., the place of its batches. Raises ``RecordError`` as :func:`read_words` does.
    """
    axes = ("experiment", "dataset", *kind.CELL)
    found: dict[str, set[int]] = defaultdict(set)
    for _, words in read_words(path, kind):
        if chosen(words):
            found["/".join(words[axis] for axis in axes)].add(int(words["run"]))
    return dict(found)


def _unreadable(path: Path, fault: str) -> RecordError:
    return RecordError(
        f"{path} is no merged table that can be read: {fault}; merge it again where its runs are, with the same "
        "version of kdrbench, or leave it out"
    )


def _value(word: str, allowed: Any) -> Any:
    """Return a cell as a value of its column's type; a text stays one, for the check of the record to refuse."""
    kinds = kinds_of(allowed)
    if not word and NoneType in kinds:
        return None
    if bool in kinds:
        return _TRUTHS.get(word, word)
    try:
        return int(word) if int in kinds else float(word) if float in kinds else word
    except ValueError:
        # A number of either kind need not be whole.
        return _value(word, float) if {int, float} <= set(kinds) else word
