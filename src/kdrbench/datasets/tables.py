"""Tables in files as data sets, without any code.

    datasets:
      flowers: {loader: csv, path: flowers.csv, target: species}

The first line names the columns. Every column but the ``target`` and those in ``drop`` is a feature, and must hold
numbers; words become columns of 0 and 1 with ``one_hot``. Without ``target`` a column called target, class or label is
taken. A row with a missing value is an error, or left out with ``missing: drop``.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import shlex
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kdrbench.datasets.parsers import read_unpacked
from kdrbench.datasets.registry import load_registry
from kdrbench.errors import InputError, counted, in_words, unknown_name
from kdrbench.extras import needed_for
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import Instance, OneOf

if TYPE_CHECKING:
    import pandas as pd

LOADERS = {"csv": "kdrbench.datasets.tables:CsvTable"}
# Endings of files, which may be packed by gzip.
_ENDINGS = ("csv", "tsv", "tab", "txt", "data", "dat")
_NO_TABLES = ("xlsx", "xls", "ods", "parquet", "feather", "sav", "dta")
_TARGETS = ("target", "class", "label")
# Names of columns that number the rows, in small letters; an index of pandas or R has none.
_ROW_NAMES = ("", "unnamed: 0", "index", "id", "row", "rownames", "row.names", "row_names")
# Rows from which on a column that counts them is suspect, and the most categories of a column.
_MANY = 50
_NUMBERED = ": the first line holds values, so columns have numbers"
# A delimiter that splits every line alike is taken; a comma last, for it may be that of decimals.
_DELIMITERS = ("\t", ";", "|", ",")
_SAMPLE = 200
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
# Missing in any column, and in a column of numbers only: "none" and "NA" may be classes or categories.
_ABSENT = ("", "?", "nan")
_ABSENT_NUMBERS = (*_ABSENT, "na", "n/a", "null", "none", "-", "#n/a")
_TRUTH = {"true": 1.0, "false": 0.0}
_NUMERAL = re.compile(r"[+-]?[.,]?\d[\d.,]*(e[+-]?\d+)?", re.IGNORECASE)
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
    definition = {"loader": "csv", "path": file.as_posix(), **({"target": target} if target else {})}
    name = re.sub(r"[^A-Za-z0-9_-]", "_", Path(re.sub(r"\.gz$", "", file.name, flags=re.IGNORECASE)).stem)
    return f"{name}_own" if name in load_registry() else name, definition


def _ending(path: str) -> str:
    """Return the ending of a table's file in small letters, without that of gzip; empty for other files."""
    ending = Path(re.sub(r"\.gz$", "", path, flags=re.IGNORECASE)).suffix[1:].lower()
    return ending if ending in (*_ENDINGS, *_NO_TABLES) else ""


@dataclass(frozen=True)
class CsvTable:
    """Lines of values between delimiters; a path from the working folder.

    ``header`` says whether the first line names the columns, which it must say of one that holds numbers; without a
    header columns are called 1, 2, ... Where they are not given, ``encoding`` is UTF-8 or what the file's mark says and
    ``delimiter`` what splits the first lines alike. ``decimal`` is the mark of decimals. The other options are those of
    this module.
    """

    path: str = ""
    target: Annotated[Any, Instance((str, int), "the name of a column, or its number")] = ""
    drop: Annotated[Any, _Columns] = ()
    missing: Annotated[str, OneOf(("error", "drop"))] = "error"
    one_hot: Annotated[Any, Instance((bool, list, tuple), "true, or a list of columns")] = False
    header: Annotated[Any, OneOf(("auto", True, False))] = "auto"
    delimiter: str = ""
    decimal: Annotated[str, OneOf((".", ","))] = "."
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
        numbers = numbers_of(read, self.decimal)
        texts = [name for name in read if name not in numbers]
        if self.one_hot is True:
            # Numbers in another notation are no categories.
            texts = [name for name in texts if all(map(_NUMERAL.fullmatch, words[name]))]
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

    def _table(self) -> Words:
        """Return the values as text, under the names of their columns."""
        if not self.path:
            raise InputError("path is missing; name the file: path: path/to/file")
        path = Path(self.path).expanduser()
        fields = split_fields(path, read_text(path, self.encoding), self.delimiter)
        first = fields.iloc[0].tolist()
        if self.header is False:
            return _under_names(path, fields, [str(number + 1) for number in range(len(first))])
        if self.header == "auto" and (numeric := list(filter(_NUMERAL.fullmatch, first))):
            raise InputError(
                f"{path}: the first line holds {numeric[0]!r}: it may be a sample or the names of the columns; say "
                "which with header: false or header: true (--data-option header=false)"
            )
        return _under_names(path, fields.iloc[1:], first)

    def _target(self, names: list[str]) -> str:
        if self.target != "":
            return self._columns("target", [self.target], names)[0]
        likely = [name for name in names if name.lower() in _TARGETS]
        if len(likely) != 1:
            raise InputError(
                f"{self.path}: which column holds the classes? Name it as {self.path}:COLUMN, in a configuration by "
                f"target: COLUMN, one of {', '.join(names)}{_NUMBERED if names[0] == '1' else ''}"
            )
        return likely[0]

    def _columns(self, option: str, given: Sequence[object], names: list[str]) -> list[str]:
        """Return the columns that an option names; ``InputError`` for one that is not there."""
        for name in map(str, given):
            if name not in names:
                raise InputError(f"{self.path}: {option}: {unknown_name('column', name, names)}")
        return [str(name) for name in given]

    def _without_row_names(self, table: Words, target: str) -> Words:
        """Leave out columns that number or name the rows, with a warning.

        In a file that is sorted by class such a column tells the class.
        """
        kept = dict(table)
        for name, words in ((name, table[name].tolist()) for name in table if name != target):
            if name == "" or (name.lower() in _ROW_NAMES and _are_names(words)):
                column = f"column {name!r}" if name else "the column without a name"
                _warn(f"{self.path}: {column} numbers or names the rows, and is left out")
                del kept[name]
            elif len(words) >= _MANY and _is_row_numbers(words):
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
            place = _first_fault(words[name], self.decimal)
            shown.append(f"column {name!r} holds {words[name][place]!r} in row {rows[place] + 1}")
        listed = ", ".join(words)
        return [
            f"{', '.join(shown)}, which is no number; code words by one_hot: [{listed}] (--data-option one_hot=true), "
            f"leave it out with drop: [{listed}] ({_option('drop', listed)}), or is it the target? For decimal "
            'commas write decimal: "," (--data-option decimal=,)'
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
        try:
            values = labels.astype(np.float64)
        except ValueError:
            return
        if (between := values[values != np.round(values)]).size and len(set(values)) > 2:
            raise InputError(
                f"{self.path}: the target holds continuous values, for instance {float(between[0])!r}; the benchmark "
                "needs classes: name another column, or group the values (pandas: qcut)"
            )


def read_text(path: Path, encoding: str = "") -> str:
    """Return the text of a file, unpacked; UTF-8 or what its byte order mark says, unless ``encoding`` names another.

    Raises ``InputError`` for a file that is no text.
    """
    if not path.is_file():
        raise InputError(f"there is no file {path} (looked for in {Path.cwd()})")
    content = read_unpacked(path)
    marked = next((name for mark, name in _MARKS.items() if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(encoding or marked)
    except (UnicodeError, LookupError) as error:
        raise InputError(
            f"{path} is no table of {encoding or 'UTF-8'} text: {in_words(error)}; save it as UTF-8, or name what it "
            "is, such as encoding: cp1252 (a spreadsheet on Windows)"
        ) from error
    if "\0" in text:
        raise InputError(f"{path} holds zero bytes; if it is a table in UTF-16, write encoding: utf-16-le or utf-16-be")
    return text


def split_fields(path: Path, text: str, delimiter: str = "") -> pd.DataFrame:
    """Return the fields of all lines that are not empty, as stripped text; columns are numbered.

    Without a ``delimiter`` it is a tab, semicolon, bar or comma, whichever splits each line into as many fields.

    Raises ``InputError`` for lines of unequal lengths, a single column, or no line at all.
    """
    with needed_for("a table in a file"):
        import pandas as pd

    if not text.strip():
        raise InputError(f"{path} is empty; its first line holds the names of the columns")
    delimiter = delimiter or _delimiter(text)
    separator = r"\s+" if delimiter == " " else delimiter
    values: dict[str, Any] = {"dtype": "category", "na_filter": False, "skipinitialspace": True}
    try:
        fields = pd.read_csv(io.StringIO(text), sep=separator, header=None, index_col=False, **values)
    except (pd.errors.ParserError, csv.Error, TypeError, ValueError) as error:
        _check_lengths(path, text, delimiter)
        raise InputError(f"{path} cannot be split by {delimiter!r}: {in_words(error)}") from error
    if fields.shape[1] == 1:
        raise InputError(
            f"{path} has a single column, {text.split()[0]!r}; name what is between its columns: delimiter (a space "
            "for any white space)"
        )
    # pandas fills a line that is too short.
    if (fields.iloc[:, -1] == "").any():
        _check_lengths(path, text, delimiter)
    words = {}
    for name in fields:
        # Of words that come again the different ones alone are worked on.
        distinct = np.array([str(word).strip() for word in fields[name].cat.categories], dtype=object)
        words[name] = distinct[fields[name].cat.codes]
    filled = np.any([column != "" for column in words.values()], axis=0)
    return pd.DataFrame(words)[filled].reset_index(drop=True)


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    return filter(None, csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True))


def _delimiter(text: str) -> str:
    lengths = {mark: [len(row) for row in islice(_rows(text, mark), _SAMPLE)] for mark in _DELIMITERS}
    even = [mark for mark in _DELIMITERS if len(set(lengths[mark])) == 1 and lengths[mark][0] > 1]
    return even[0] if even else max(_DELIMITERS, key=lambda mark: (lengths[mark][0], mark == ","))


def _check_lengths(path: Path, text: str, delimiter: str) -> None:
    """Raise ``InputError`` for the first line with another number of fields than the first one."""
    rows = _rows(text, delimiter)
    width = len(next(rows))
    for number, row in enumerate(rows, start=1):
        if len(row) != width and any(row):
            raise InputError(f"{path}, row {number}: {len(row)} values; the first line names {width} columns")


def numbers_of(fields: Mapping[str, NDArray[Any]], decimal: str = ".") -> dict[str, FloatArray]:
    """Return the columns that hold numbers; missing values are NaN."""
    import pandas as pd

    columns = {}
    for name, words in fields.items():
        codes, distinct = pd.factorize(words)
        with suppress(ValueError):
            columns[name] = np.array([_number(word, decimal) for word in distinct], dtype=np.float64)[codes]
    return columns


def _number(word: str, decimal: str) -> float:
    """Return the number that a word is, NaN for a missing one; raises ``ValueError`` for any other word."""
    folded = word.casefold()
    if folded in _ABSENT_NUMBERS:
        return np.nan
    # Python would take digits with underscores for a number.
    if "_" in word or (decimal != "." and "." in word):
        raise ValueError(word)
    return _TRUTH[folded] if folded in _TRUTH else float(word.replace(decimal, "."))


def _first_fault(words: Iterable[str], decimal: str) -> int:
    """Return the place of the first word that is no number; 0 where all are."""
    for place, word in enumerate(words):
        try:
            _number(word, decimal)
        except ValueError:
            return place
    return 0


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
    return len(set(words)) == len(words) and all(word.isdigit() or not _NUMERAL.fullmatch(word) for word in words)


def _is_row_numbers(words: Sequence[str]) -> bool:
    """Whether the words count the rows, 0, 1, 2, ... or 1, 2, 3, ..."""
    return words[0] in ("0", "1") and list(words) == [str(int(words[0]) + row) for row in range(len(words))]


def _is_absent(words: NDArray[Any]) -> NDArray[np.bool_]:
    return np.isin(words, [word for word in set(words) if word.casefold() in _ABSENT])


def _option(option: str, columns: str) -> str:
    """Return what names these columns on the command line."""
    return f"--data-option {shlex.quote(f'{option}=[{columns}]')}"


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=4)
