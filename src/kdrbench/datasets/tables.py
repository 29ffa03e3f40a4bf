"""Tables in files of the user's own as data sets, without any code: CSV, Parquet and ARFF, as OpenML has it.

    datasets:
      flowers: {loader: csv, path: flowers.csv, target: species}

Every column but the ``target`` and those in ``drop`` is a feature, and must hold numbers. Without ``target`` a column
called target, class or label is taken. A row with a missing value is an error, or left out with ``missing: drop``.
"""

from __future__ import annotations

import csv
import re
import shlex
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from kdrbench.datasets.registry import load_registry
from kdrbench.errors import InputError, counted, in_words, unknown_name
from kdrbench.extras import needed_for
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import Instance, OneOf

# Names of loaders, which are also the endings of files.
LOADERS = {name: f"kdrbench.datasets.tables:{name.capitalize()}Table" for name in ("csv", "parquet", "arff")}
_TARGETS = ("target", "class", "label")
_MISSING = frozenset({"", "?", "na", "n/a", "nan", "null", "none"})
_DELIMITERS = {";": "';'", "\t": "a tab ('\\t')", "|": "'|'", ",": "','"}
# What takes the options of tables that `kdrbench run` does not have.
_NEW = "kdrbench new experiment"
Columns = Mapping[str, Sequence[Any]]
Loaded = tuple[FloatArray, list[str], list[str]]


def table_of(word: str) -> tuple[str, dict[str, str]] | None:
    """Return name and definition of the table that ``path`` or ``path:target`` names; ``None`` for any other word.

    A file that is called as a registered data set, such as wine.csv, gets a name of its own.
    """
    path, colon, target = word.rpartition(":")
    file = Path(path if colon and Path(path).suffix[1:] in LOADERS else word)
    if (loader := file.suffix[1:]) not in LOADERS:
        return None
    definition = {"loader": loader, "path": file.as_posix(), **({"target": target} if str(file) != word else {})}
    name = re.sub(r"[^A-Za-z0-9_-]", "_", file.stem)
    return f"{name}_own" if name in load_registry() else name, definition


@dataclass(frozen=True)
class _Table(ABC):
    """A file at ``path``, relative to the working directory; the other options are those of this module."""

    path: str = ""
    target: str = ""
    drop: Annotated[Any, Instance((list, tuple), "a list of columns")] = ()
    missing: Annotated[str, OneOf(("error", "drop"))] = "error"
    licence: ClassVar[str] = "the user's own"

    def load(self) -> Loaded:
        """Return features, labels and names of the features; ``InputError`` says what is wrong, and where."""
        if not self.path:
            raise InputError("path is missing; name the file: path: path/to/file")
        if not Path(self.path).expanduser().is_file():
            raise InputError(f"there is no file {self.path} (looked for in {Path.cwd()})")
        return self._split(self._columns(Path(self.path).expanduser()))

    @abstractmethod
    def _columns(self, path: Path) -> Columns:
        """Return the values of each column; ``InputError`` for a file of another kind."""

    def _split(self, columns: Columns) -> Loaded:
        target = self._target(columns)
        for name in self.drop:
            if name not in columns:
                raise InputError(f"{self.path}: drop: {unknown_name('column', name, list(columns))}")
        names = [name for name in columns if name != target and name not in self.drop]
        if not names:
            raise InputError(f"{self.path} has no column beside {target!r}; features are the other columns")
        kept = self._checked({name: columns[name] for name in [*names, target]}, names)
        features = np.array([[float(columns[name][row]) for row in kept] for name in names]).T
        return features, [_word(columns[target][row]) for row in kept], names

    def _target(self, columns: Columns) -> str:
        if self.target:
            if self.target not in columns:
                raise InputError(f"{self.path}: target: {unknown_name('column', self.target, list(columns))}")
            return self.target
        likely = [name for name in columns if name.lower() in _TARGETS]
        if len(likely) != 1:
            raise InputError(
                f"{self.path}: which column holds the classes? Name it as {self.path}:COLUMN, in a configuration by "
                f"target: COLUMN, one of {', '.join(columns)}"
            )
        return likely[0]

    def _checked(self, columns: Columns, names: Sequence[str]) -> list[int]:
        """Return the rows without a missing value; ``names`` are the features.

        Raises ``InputError`` where values are missing, unless such rows are dropped, or features are no numbers: with
        all of them at once.
        """
        lacking = {
            name: {row for row, value in enumerate(values) if _is_missing(value)} for name, values in columns.items()
        }
        missing = set().union(*lacking.values())
        n_rows = len(next(iter(columns.values())))
        kept = [row for row in range(n_rows) if row not in missing]
        faults = []
        if missing and self.missing == "error":
            where = ", ".join(f"{name} ({len(rows)})" for name, rows in lacking.items() if rows)
            faults.append(
                f"values are missing in {counted(len(missing), 'row')}, in columns {where}; fill them in, drop these "
                f"columns, or leave the rows out with missing: drop ({_NEW}: --drop-missing)"
            )
        faults += _texts({name: columns[name] for name in names}, kept)
        if faults:
            raise InputError(f"{self.path}: {'. Also '.join(faults)}")
        if not kept:
            raise InputError(f"{self.path} holds no row{' without a missing value' if n_rows else ''}")
        return kept


def _texts(columns: Columns, kept: Sequence[int]) -> list[str]:
    """Return a sentence on the columns that hold something else than numbers, if any, with the first such value."""
    found = {}
    for name, values in columns.items():
        if (row := next((row for row in kept if not _is_number(values[row])), None)) is not None:
            found[name] = f"column {name!r} holds {_word(values[row])!r} in row {row + 1}"
    if not found:
        return []
    options = " ".join(f"--drop {shlex.quote(name)}" for name in found)
    return [
        f"{', '.join(found.values())}, which is no number; code it as numbers, leave it out with drop: "
        f"[{', '.join(found)}] ({_NEW}: {options}), or is it the target?"
    ]


@dataclass(frozen=True)
class CsvTable(_Table):
    """Lines of values between delimiters, the first of them the names of the columns."""

    delimiter: str = ","

    def _columns(self, path: Path) -> Columns:
        try:
            with path.open(encoding="utf-8-sig", newline="") as stream:
                rows = [row for row in csv.reader(stream, delimiter=self.delimiter) if row]
        except (UnicodeDecodeError, csv.Error, TypeError) as error:
            raise InputError(f"{path} is no table of UTF-8 text: {in_words(error)}") from error
        if not rows:
            raise InputError(f"{path} is empty; its first line holds the names of the columns")
        names, *lines = [[word.strip() for word in row] for row in rows]
        if len(names) == 1:
            seen = next((shown for one, shown in _DELIMITERS.items() if one in names[0]), "")
            hint = f"; the delimiter seems to be {seen}: write delimiter" if seen else ""
            raise InputError(f"{path} has a single column, {names[0]!r}{hint}")
        _check_apart(path, names)
        for number, line in enumerate(lines, start=1):
            if len(line) != len(names):
                raise InputError(f"{path}, row {number}: {len(line)} values; the first line names {len(names)} columns")
        return {name: [line[place] for line in lines] for place, name in enumerate(names)}


@dataclass(frozen=True)
class ParquetTable(_Table):
    """A Parquet file, read by pyarrow; rows' names that pandas has stored beside the columns are left out."""

    def _columns(self, path: Path) -> Columns:
        with needed_for(f"{path}, a Parquet file,"):
            from pyarrow import ArrowException, parquet
        try:
            table = parquet.ParquetFile(path).read()
        except (ArrowException, OSError, ValueError) as error:
            raise InputError(f"{path} is no Parquet file: {in_words(error)}") from error
        index = (table.schema.pandas_metadata or {}).get("index_columns", [])
        names = [name for name in table.column_names if name not in index]
        _check_apart(path, names)
        return {name: table.column(name).to_pylist() for name in names}


@dataclass(frozen=True)
class ArffTable(_Table):
    """An ARFF file of numeric and nominal attributes, as OpenML offers its data sets."""

    def _columns(self, path: Path) -> Columns:
        from scipy.io import arff

        try:
            with path.open(encoding="utf-8") as stream:
                rows, described = arff.loadarff(stream)
        except (OSError, ValueError, KeyError, StopIteration, NotImplementedError, arff.ArffError) as error:
            raise InputError(
                f"{path} is no ARFF file of numeric and nominal attributes: {in_words(error)}; save it as CSV"
            ) from error
        # scipy takes away single quotes alone.
        return {name.strip('"'): rows[name].tolist() for name in described.names()}


def _check_apart(path: Path, names: Sequence[str]) -> None:
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"{path}: two columns are called {doubled[0]!r}; give each a name of its own")


def _word(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _is_number(value: object) -> bool:
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True


def _is_missing(value: object) -> bool:
    if isinstance(value, float):
        return bool(np.isnan(value))
    return value is None or _word(value).strip().lower() in _MISSING
