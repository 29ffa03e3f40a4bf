"""Tables in files as data sets, without any code.

    datasets:
      flowers: {loader: csv, path: flowers.csv, target: species}

Every column but the ``target`` and those in ``drop`` is a feature, and must hold numbers; words become columns of 0 and
1 with ``one_hot``. Without ``target`` a column called target, class or label is taken. A row with a missing value is an
error, or left out with ``missing: drop``.
"""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kdrbench.datasets.registry import load_registry
from kdrbench.datasets.table_text import (
    ABSENT,
    first_fault,
    has_header,
    is_row_numbers,
    looks_numeric,
    numbers_of,
    read_text,
    split_fields,
)
from kdrbench.errors import InputError, counted, unknown_name
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import Instance, OneOf

if TYPE_CHECKING:
    import pandas as pd

LOADERS = {"csv": "kdrbench.datasets.tables:CsvTable", "arff": "kdrbench.datasets.tables:ArffTable"}
# Loaders by the endings of files, which may be packed by gzip.
_ENDINGS = {**dict.fromkeys(("csv", "tsv", "tab", "txt", "data", "dat"), "csv"), "arff": "arff"}
_NO_TABLES = ("xlsx", "xls", "ods", "parquet", "feather", "sav", "dta")
_TARGETS = ("target", "class", "label")
# Names of columns that number the rows, in small letters; an index of pandas or R has none.
_ROW_NAMES = ("", "unnamed: 0", "index", "id", "row", "rownames", "row.names", "row_names")
# Rows from which on a column that counts them is suspect, and the most categories of a column.
_MANY = 50
_NUMBERED = ": the first line holds values, so columns have numbers"
_ATTRIBUTE = r"""(?im)^\s*@attribute\s+(?:'([^']*)'|"([^"]*)"|(\S+))\s"""
Words = dict[str, NDArray[Any]]
_Columns = Instance((list, tuple), "a list of columns")


def table_of(word: str) -> tuple[str, dict[str, str]] | None:
    """Return name and definition of the table that ``path`` or ``path:target`` names; ``None`` for any other word.

    A file that is called as a registered data set, such as wine.csv, gets a name of its own. Raises ``InputError`` for
    a workbook and the like.
    """
    path, colon, target = word.rpartition(":")
    file, target = (Path(path), target) if colon and _ending(path) else (Path(word), "")
    ending = _ending(file.as_posix())
    if ending in _NO_TABLES:
        raise InputError(f"{file} is no text file; save the table as CSV (pandas: to_csv(..., index=False))")
    if not ending:
        return None
    definition = {"loader": _ENDINGS[ending], "path": file.as_posix(), **({"target": target} if target else {})}
    name = re.sub(r"[^A-Za-z0-9_-]", "_", Path(re.sub(r"\.gz$", "", file.name, flags=re.IGNORECASE)).stem)
    return f"{name}_own" if name in load_registry() else name, definition


def _ending(path: str) -> str:
    """Return the ending of a table's file in small letters, without that of gzip; empty for other files."""
    ending = Path(re.sub(r"\.gz$", "", path, flags=re.IGNORECASE)).suffix[1:].lower()
    return ending if ending in (*_ENDINGS, *_NO_TABLES) else ""


@dataclass(frozen=True)
class CsvTable:
    """Lines of values between delimiters; a path from the working folder.

    ``header`` says whether the first line names the columns, ``encoding`` what the text is in, ``delimiter``,
    ``decimal`` and ``thousands`` how values are written: all are found out where they are not given. Without a header
    columns are called 1, 2, ... The other options are those of this module.
    """

    path: str = ""
    target: Annotated[Any, Instance((str, int), "the name of a column, or its number")] = ""
    drop: Annotated[Any, _Columns] = ()
    missing: Annotated[str, OneOf(("error", "drop"))] = "error"
    one_hot: Annotated[Any, Instance((bool, list, tuple), "true, or a list of columns")] = False
    header: Annotated[Any, OneOf(("auto", True, False))] = "auto"
    delimiter: str = ""
    decimal: Annotated[str, OneOf(("", ".", ","))] = ""
    thousands: str = ""
    encoding: str = ""
    licence: ClassVar[str] = "the user's own"

    def load(self) -> tuple[FloatArray, list[str], list[str]]:
        """Return features, labels and names of the features; ``InputError`` says what is wrong, and where."""
        table = self._table()
        target = self._target(list(table))
        dropped = self._columns("drop", self.drop, list(table))
        table = self._without_row_names({name: table[name] for name in table if name not in dropped}, target)
        rows = np.arange(len(table[target]))
        if self.missing == "drop":
            rows = rows[~np.any([_is_absent(words) for words in table.values()], axis=0)]
        labels, words = table[target][rows], {name: table[name][rows] for name in table if name != target}
        listed = [] if isinstance(self.one_hot, bool) else self._columns("one_hot", self.one_hot, list(words))
        read = {name: words[name] for name in words if name not in listed}
        numbers = numbers_of(read, self.path, self.decimal, self.thousands)
        texts = [] if self.one_hot is True else [name for name in read if name not in numbers]
        absent = {name: np.isnan(numbers[name]) if name in numbers else _is_absent(words[name]) for name in words}
        absent[target] = _is_absent(labels)
        kept = ~np.any(list(absent.values()), axis=0)
        faults = self._missing_fault(absent, kept)
        faults += self._text_fault({name: words[name][kept] for name in texts}, rows[kept])
        if faults:
            raise InputError(f"{self.path}: {'. Also '.join(faults)}")
        if not kept.any():
            raise InputError(f"{self.path} holds no row{' without a missing value' if len(table[target]) else ''}")
        self._check_classes(labels[kept])
        columns: dict[str, FloatArray] = {}
        for name in words:
            columns |= {name: numbers[name][kept]} if name in numbers else self._indicators(name, words[name][kept])
        return np.column_stack(list(columns.values())), labels[kept].tolist(), list(columns)

    def _text(self) -> tuple[Path, str]:
        if not self.path:
            raise InputError("path is missing; name the file: path: path/to/file")
        path = Path(self.path).expanduser()
        return path, read_text(path, self.encoding)

    def _table(self) -> Words:
        """Return the values as text, under the names of their columns."""
        path, text = self._text()
        fields = split_fields(path, text, self.delimiter)
        headed = has_header(path, fields) if self.header == "auto" else self.header
        names = fields.iloc[0].tolist() if headed else [str(number + 1) for number in range(fields.shape[1])]
        return _under_names(path, fields.iloc[1:] if headed else fields, names)

    def _target(self, names: list[str]) -> str:
        if self.target != "":
            return self._columns("target", [self.target], names)[0]
        likely = [name for name in names if name.lower() in _TARGETS]
        if len(likely) != 1:
            raise InputError(
                f"{self.path}: which column holds the classes? Name it as {self.path}:COLUMN, in a configuration by "
                f"target: COLUMN, one of {', '.join(one or repr(one) for one in names)}"
                f"{_NUMBERED if names[0] == '1' else ''}"
            )
        return likely[0]

    def _columns(self, option: str, given: Sequence[object], names: list[str]) -> list[str]:
        """Return the columns that an option names; ``InputError`` for one that is not there."""
        for name in map(str, given):
            if name not in names:
                raise InputError(f"{self.path}: {option}: {unknown_name('column', name, names)}")
        return [str(name) for name in given]

    def _without_row_names(self, table: Words, target: str) -> Words:
        """Leave out columns that number or name the rows, with a warning: in a sorted file they tell the class."""
        kept = dict(table)
        for name, words in ((name, table[name].tolist()) for name in table if name != target):
            if name == "" or (name.lower() in _ROW_NAMES and _are_names(words)):
                column = f"column {name!r}" if name else "the column without a name"
                _warn(f"{self.path}: {column} numbers or names the rows, and is left out")
                del kept[name]
            elif len(words) >= _MANY and is_row_numbers(words):
                _warn(
                    f"{self.path}: column {name!r} counts the rows, which tells the class in a sorted file; if it is "
                    f"no measurement, leave it out with drop: [{name}] ({_option('drop', name)})"
                )
        if len(kept) < 2:
            raise InputError(f"{self.path} has no column beside {target!r}; features are the other columns")
        return kept

    def _missing_fault(self, absent: dict[str, NDArray[np.bool_]], kept: NDArray[np.bool_]) -> list[str]:
        if self.missing == "drop" or kept.all():
            return []
        columns = ", ".join(f"{name} ({rows.sum()})" for name, rows in absent.items() if rows.any())
        return [
            f"values are missing in {counted(int((~kept).sum()), 'row')}, in columns {columns}; fill them in, drop "
            "these columns, or leave the rows out with missing: drop (--data-option missing=drop)"
        ]

    def _text_fault(self, words: Words, rows: NDArray[np.intp]) -> list[str]:
        """Return a sentence on the columns that hold something else than numbers, if any, with the first such value."""
        if not words or not len(rows):
            return []
        shown = []
        for name in words:
            place = first_fault(words[name], self.decimal, self.thousands)
            shown.append(f"column {name!r} holds {words[name][place]!r} in row {rows[place] + 1}")
        listed = ", ".join(words)
        return [
            f"{', '.join(shown)}, which is no number; code words by one_hot: [{listed}] (--data-option one_hot=true), "
            f"leave it out with drop: [{listed}] ({_option('drop', listed)}), or is it the target?"
        ]

    def _indicators(self, name: str, words: NDArray[Any]) -> dict[str, FloatArray]:
        """Return a column of 0 and 1 for each category, or for the second one of two."""
        categories = sorted(set(words))
        if len(categories) == len(words) > 2 or len(categories) > _MANY:
            raise InputError(
                f"{self.path}: one_hot: column {name!r} has {len(categories)} categories in {len(words)} rows; leave "
                f"it out with drop: [{name}] ({_option('drop', name)}), or join some: at most {_MANY}"
            )
        chosen = categories[1:] if len(categories) == 2 else categories
        return {f"{name}={category}": (words == category).astype(np.float64) for category in chosen}

    def _check_classes(self, labels: NDArray[Any]) -> None:
        """Raise ``InputError`` for continuous values."""
        from kdrbench.estimators.targets import is_surely_continuous

        try:
            values = labels.astype(np.float64)
        except ValueError:
            return
        if (between := values[values != np.round(values)]).size and len(set(values)) > 2:
            raise InputError(
                f"{self.path}: the target holds continuous values, for instance {float(between[0])!r}; the benchmark "
                "needs classes: name another column, or group the values (pandas: qcut)"
            )
        if is_surely_continuous(values):
            raise InputError(
                f"{self.path}: the target has {len(set(values))} different whole numbers in {len(values)} rows, so it "
                "is continuous; the benchmark needs classes: name another column, or group the values (pandas: qcut)"
            )


@dataclass(frozen=True)
class ArffTable(CsvTable):
    """A file of Weka or OpenML: ``@attribute`` lines name the columns, values follow ``@data``; ``%`` is a comment."""

    def _table(self) -> Words:
        path, text = self._text()
        head, *values = re.split(r"(?im)^\s*@data\s*$", re.sub(r"(?m)^\s*%.*$", "", text), maxsplit=1)
        names = [a or b or c for a, b, c in re.findall(_ATTRIBUTE, head)]
        if not names or not values or values[0].lstrip().startswith("{"):
            raise InputError(
                f"{path} must have lines @attribute and @data, and then values between commas, not in {{}}"
            )
        quote = "'" if "'" in values[0] and '"' not in values[0] else '"'
        fields = split_fields(path, values[0], ",", quote)
        if len(names) != fields.shape[1]:
            raise InputError(f"{path} names {len(names)} attributes, and its first line of data has {fields.shape[1]}")
        return _under_names(path, fields, names)


def _under_names(path: Path, fields: pd.DataFrame, names: list[str]) -> Words:
    """Return the columns under their names, without those that a delimiter at the end of each line makes."""
    columns = [(name, fields.iloc[:, number].to_numpy()) for number, name in enumerate(names)]
    columns = [(name, words) for name, words in columns if name or (words != "").any()]
    for number, (name, _) in enumerate(columns):
        if not name and number:
            raise InputError(f"{path}: column {number + 1} has no name in the first line; give it one")
        if name in [other for other, _ in columns[:number]]:
            raise InputError(f"{path}: two columns are called {name!r}; give each a name of its own")
    return dict(columns)


def _are_names(words: list[str]) -> bool:
    """Whether all are different, and none is a number with decimals."""
    return len(set(words)) == len(words) and all(word.isdigit() or not looks_numeric(word) for word in words)


def _is_absent(words: NDArray[Any]) -> NDArray[np.bool_]:
    return np.isin(words, [word for word in set(words) if word.casefold() in ABSENT])


def _option(option: str, columns: str) -> str:
    """Return what names these columns on the command line."""
    return f"--data-option {shlex.quote(f'{option}=[{columns}]')}"


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=4)
