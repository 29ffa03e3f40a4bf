"""What reports read: merged tables, traces and findings; and the systems and experiments of a configuration."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from kdrbench.errors import DamagedError, InputError, in_words, visible
from kdrbench.files import Version, version_of
from kdrbench.status import Status
from kdrbench.suite.csv_files import restored
from kdrbench.suite.engine.publish import array_name, read_points
from kdrbench.suite.engine.record import Record, column_types, kinds_of, own_column_types
from kdrbench.suite.engine.run_files import UnreadableError, arrays_in
from kdrbench.suite.engine.system import Config as Config
from kdrbench.suite.systems import SYSTEMS, build_system, system_name, system_of
from kdrbench.suite.systems import table_of as table_of
from kdrbench.suite.systems.ikdr.config import REFERENCE as REFERENCE
from kdrbench.suite.systems.ikdr.definition import NO_KERNEL as NO_KERNEL

if TYPE_CHECKING:
    import pandas as pd

IKDR, KPCA_TRICK, KPCA_FIGURES, LOW_RANK = "ikdr", "kpca_trick", "kpca_figures", "low_rank"
LEAGUE, ATLAS, NOISE = "league", "atlas", "noise"
# Merged tables that a process keeps, all of a record, and files of traces: those of an experiment, for two figures.
_KEPT, _KEPT_TRACES = 128, 512
# Words that pandas must not read as numbers.
_TEXT = ("message", "cores", "test_selected", "kernel", "kernel_weights", "chosen", "problem")


def experiments_of(config: Config, system: str) -> list[str]:
    """Return the experiments of a system that the configuration runs, in their order."""
    return [name for name in config["run"] if system_name(config["experiments"][name]) == system]


def systems_of(config: Config) -> list[str]:
    """Return the systems of the experiments that the configuration runs, in their order."""
    return list(dict.fromkeys(system_name(config["experiments"][name]) for name in config["run"]))


def of_papers(config: Config) -> Config:
    """Return the configuration with those experiments in ``run`` alone that name a paper of their system.

    Only they are compared with published numbers and decide claims: others, such as a user's own, reproduce nothing.
    """
    experiments = {name: config["experiments"][name] for name in config["run"]}
    return {**config, "run": [name for name, one in experiments.items() if system_of(one).reproduces(one)]}


def read_runs(path: Path) -> pd.DataFrame:
    """Read a merged table; of a process the last few are kept, as long as their files stay as they are.

    Raises ``InputError`` where there is none, and ``DamagedError`` for one that is not as it was written.
    """
    if not path.is_file():
        raise InputError(f"{path} is not there: run the workflow first, or name the folder of merged tables")
    return _table(path, version_of(path)).copy()


@lru_cache(_KEPT)
def _table(path: Path, version: Version) -> pd.DataFrame:
    """Read the merged table of a version of its file."""
    # The workflow asks this module what there is before it reads a table: pandas takes a third of a second to load.
    import pandas as pd

    try:
        runs = _parsed(path)
    except (ValueError, KeyError) as error:
        raise DamagedError(
            f"{path} is no whole table ({in_words(error)}); delete it and start the workflow again, which merges it "
            "from the rows of all runs"
        ) from error
    for name in runs.select_dtypes(exclude=["number", "bool"]):
        texts = {text: restored(text) for text in runs[name].unique() if isinstance(text, str)}
        if any(text != shown for text, shown in texts.items()):
            runs[name] = runs[name].map(lambda value, texts=texts: texts.get(value, value))
    of_text = [name for name, kind in runs.dtypes.items() if isinstance(kind, pd.StringDtype)]
    # Rows of columns of pandas' own type of text take several times as long to take.
    return runs.astype(dict.fromkeys(of_text, object))


def _parsed(path: Path) -> pd.DataFrame:
    """Read a table; ``ValueError`` or ``KeyError`` where columns, the end of a line or that of the file are missing."""
    import pandas as pd

    # Only an empty cell is no value: a message may be "NA". A column's type is that of all its rows, not of a part.
    types = dict.fromkeys(_TEXT, str)
    runs = pd.read_csv(path, keep_default_na=False, na_values=[""], dtype=types, low_memory=False)
    if not path.read_bytes().endswith(b"\n"):
        raise ValueError("its last line is cut")
    if unknown := set(runs["status"]) - set(map(str, Status)):
        raise ValueError(f"a status is {min(map(str, unknown))!r}")
    if fault := next(_faults(runs), ""):
        raise ValueError(fault)
    return runs


def n_runs(rows: pd.DataFrame) -> int:
    """Return of how many runs the rows are: a run of the KPCA trick, for instance, leaves one for each learner."""
    return len(rows[["experiment", "batch_sha256", "run"]].drop_duplicates())


def read_traces(runs: pd.DataFrame, folder: Path) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """Yield the place in ``runs`` and the points of each run that has left any; the last files are kept."""
    for name, group in runs.reset_index(drop=True).groupby("trace_file", sort=False):
        path = folder / str(name)
        points = _points(path, version_of(path))
        for place, cell, run in _places_and_runs(group):
            if (cell, run) in points:
                yield place, points[cell, run]


@lru_cache(_KEPT_TRACES)
def _points(path: Path, version: Version) -> dict[tuple[str, int], list[dict[str, Any]]]:
    """Read a version of a file of traces."""
    return read_points(path)


def read_arrays(runs: pd.DataFrame, folder: Path, kind: str) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the place in ``runs`` and the array ``kind`` of each run that has left it; each file is read once.

    Raises ``DamagedError`` where :func:`stored_arrays` does.
    """
    for name, group in runs.reset_index(drop=True).groupby("trace_file", sort=False):
        keys = {place: array_name(cell, kind, run) for place, cell, run in _places_and_runs(group)}
        arrays = stored_arrays(folder, str(name), keys.values())
        yield from ((place, arrays[key]) for place, key in keys.items() if key in arrays)


def stored_arrays(folder: Path, trace_file: str, wanted: Collection[str] | None = None) -> dict[str, NDArray[Any]]:
    """Return arrays that the runs with this trace have left, by name; ``wanted`` names those to be read, else all.

    Raises ``DamagedError`` where the file is missing, is no archive, or unfolds to more than is read.
    """
    path = (folder / trace_file).with_suffix(".npz")
    try:
        arrays, fault = arrays_in(path, wanted=wanted), "it is not there"
    except UnreadableError as error:
        arrays, fault = None, str(error)
    if arrays is not None:
        return arrays
    raise DamagedError(
        f"{visible(str(path))} cannot be read ({fault}); take it from where it was written, or delete the job's rows "
        "and start the workflow again, which makes it of the workspaces"
    )


def read_findings(runs: pd.DataFrame, folder: Path, kind: str) -> dict[int, NDArray[Any]]:
    """Return by run what the ``runs`` of one cell found: ``kind`` is ``projection``, ``labels`` or ``given``.

    Failed runs have found nothing, whatever they saw.
    """
    ended = runs[runs["status"] != Status.FAILED]
    numbers = ended["run"].to_list()
    return {int(numbers[place]): array for place, array in read_arrays(ended, folder, kind)}


def _places_and_runs(group: pd.DataFrame) -> Iterator[tuple[int, str, int]]:
    """Yield the place (the index), the cell and the number of each run.

    A cell is named by traces and findings as the names below the experiment are, as far as the system has them. A run
    of an atlas has all its methods.
    """
    axes = [name for name in ("dataset", "cells_of", "kernel", "method") if name in group]
    for place, row in zip(group.index.tolist(), group[["run", *axes]].to_dict("records"), strict=True):
        # In a table of several systems the columns of others are empty.
        names = {axis: row[axis] for axis in axes if isinstance(row[axis], str)}
        if "cells_of" in names:
            names.pop("method", None)
        yield place, "/".join(names.values()), int(row["run"])


def _faults(runs: pd.DataFrame) -> Iterator[str]:
    """Yield what a merged table may not hold, by the record of its system: words for numbers, the same run twice."""
    import pandas as pd

    kind = _record_of(runs)
    for name, allowed in column_types(kind).items():  # type: ignore[arg-type]
        if name not in runs or not {int, float} & {*kinds_of(allowed)} or pd.api.types.is_numeric_dtype(runs[name]):
            continue
        known = runs[name].dropna()
        if len(words := known[pd.to_numeric(known, errors="coerce").isna()]):
            yield f"the column {name} holds {visible(str(words.iloc[0]))!r}, which is no number"
    axes = list(kind.axis_names())
    if kind is not Record and {*axes} <= {*runs} and len(twice := runs[runs.duplicated(axes)]):
        place = ", ".join(f"{name} {visible(str(twice.iloc[0][name]))}" for name in axes)
        yield f"there are two rows of {place}"


def _record_of(runs: pd.DataFrame) -> type[Record]:
    """Return the class of a table's rows: the class with most of its own columns in the table, if over half."""
    shares: dict[type[Record], float] = {Record: 0.5}
    for kind in (build_system(name).record for name in SYSTEMS):
        own = own_column_types(kind).keys()  # type: ignore[arg-type]
        shares[kind] = len(own & {*runs}) / len(own)
    return max(shares, key=lambda kind: shares[kind])
