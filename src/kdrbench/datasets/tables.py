"""CSV files of the user's own as data sets, without any code.

    datasets:
      flowers: {loader: csv, path: flowers.csv, target: species}

Every column but the ``target`` and those in ``drop`` is a feature, and must hold numbers. Without ``target`` a column
called target, class or label is taken. A row with a missing value is an error, or left out with ``missing: drop``.
"""

from __future__ import annotations

import csv
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kdrbench.datasets.registry import load_registry
from kdrbench.errors import InputError, counted, in_words, unknown_name
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import Instance, OneOf

# Names of loaders, which are also the endings of files.
LOADERS = {"csv": "kdrbench.datasets.tables:CsvTable"}
_TARGETS = ("target", "class", "label")
_MISSING = ("", "?", "na", "n/a", "nan", "null", "none")
_DELIMITERS = {";": "';'", "\t": "a tab ('\\t')", "|": "'|'", ",": "','"}
# The command that takes the options of tables, which `kdrbench run` does not have.
_NEW = "kdrbench new experiment"


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
class CsvTable:
    """Lines of values between delimiters, the first of them the names of the columns; a path from the working folder.

    The options are those of this module.
    """

    path: str = ""
    target: str = ""
    drop: Annotated[Any, Instance((list, tuple), "a list of columns")] = ()
    missing: Annotated[str, OneOf(("error", "drop"))] = "error"
    delimiter: str = ","
    licence: ClassVar[str] = "the user's own"

    def load(self) -> tuple[FloatArray, list[str], list[str]]:
        """Return features, labels and names of the features; ``InputError`` says what is wrong, and where."""
        names, values = self._read()
        target = self._target(names)
        for name in self.drop:
            if name not in names:
                raise InputError(f"{self.path}: drop: {unknown_name('column', name, names)}")
        features = [name for name in names if name != target and name not in self.drop]
        if not features:
            raise InputError(f"{self.path} has no column beside {target!r}; features are the other columns")
        values = values[:, [names.index(name) for name in [*features, target]]]
        is_missing = np.isin(np.char.lower(values), _MISSING)
        kept = np.flatnonzero(~is_missing.any(axis=1))
        faults = []
        if self.missing == "error" and is_missing.any():
            counts = zip([*features, target], is_missing.sum(axis=0).tolist(), strict=True)
            columns = ", ".join(f"{name} ({count})" for name, count in counts if count)
            faults.append(
                f"values are missing in {counted(len(values) - len(kept), 'row')}, in columns {columns}; fill them in, "
                f"drop these columns, or leave the rows out with missing: drop ({_NEW}: --drop-missing)"
            )
        faults += _text_faults(features, values, kept)
        if faults:
            raise InputError(f"{self.path}: {'. Also '.join(faults)}")
        if not len(kept):
            raise InputError(f"{self.path} holds no row{' without a missing value' if len(values) else ''}")
        numbers = [[float(value) for value in row] for row in values[kept, :-1].tolist()]
        return np.array(numbers), values[kept, -1].tolist(), features

    def _read(self) -> tuple[list[str], NDArray[np.str_]]:
        """Return the names of the columns, and the values as text, a row a line."""
        path = Path(self.path).expanduser()
        if not self.path:
            raise InputError("path is missing; name the file: path: path/to/file")
        if not path.is_file():
            raise InputError(f"there is no file {path} (looked for in {Path.cwd()})")
        try:
            with path.open(encoding="utf-8-sig", newline="") as stream:
                rows = [row for row in csv.reader(stream, delimiter=self.delimiter) if row]
        except (UnicodeDecodeError, csv.Error, TypeError) as error:
            raise InputError(f"{path} is no table of UTF-8 text: {in_words(error)}") from error
        if not rows:
            raise InputError(f"{path} is empty; its first line holds the names of the columns")
        names, *lines = [[word.strip() for word in row] for row in rows]
        if len(names) == 1:
            likely = next((shown for one, shown in _DELIMITERS.items() if one in names[0]), "")
            hint = f"; the delimiter seems to be {likely}: write delimiter" if likely else ""
            raise InputError(f"{path} has a single column, {names[0]!r}{hint}")
        if doubled := sorted({name for name in names if names.count(name) > 1}):
            raise InputError(f"{path}: two columns are called {doubled[0]!r}; give each a name of its own")
        for number, line in enumerate(lines, start=1):
            if len(line) != len(names):
                raise InputError(f"{path}, row {number}: {len(line)} values; the first line names {len(names)} columns")
        return names, np.array(lines, dtype=np.str_).reshape(-1, len(names))

    def _target(self, names: list[str]) -> str:
        if self.target:
            if self.target not in names:
                raise InputError(f"{self.path}: target: {unknown_name('column', self.target, names)}")
            return self.target
        likely = [name for name in names if name.lower() in _TARGETS]
        if len(likely) != 1:
            raise InputError(
                f"{self.path}: which column holds the classes? Name it as {self.path}:COLUMN, in a configuration by "
                f"target: COLUMN, one of {', '.join(names)}"
            )
        return likely[0]


def _text_faults(names: Sequence[str], values: NDArray[np.str_], kept: NDArray[np.intp]) -> list[str]:
    """Return a sentence on the columns that hold something else than numbers, if any, with the first such value."""
    faults = {}
    for column, name in enumerate(names):
        if (row := next((row for row in kept if not _is_number(values[row, column])), None)) is not None:
            faults[name] = f"column {name!r} holds {str(values[row, column])!r} in row {row + 1}"
    if not faults:
        return []
    options = " ".join(f"--drop {shlex.quote(name)}" for name in faults)
    return [
        f"{', '.join(faults.values())}, which is no number; code it as numbers, leave it out with drop: "
        f"[{', '.join(faults)}] ({_NEW}: {options}), or is it the target?"
    ]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
