"""Text files of tables: encoding, packing, delimiter, whether the first line names the columns, notation of numbers."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kdrbench.datasets.parsers import read_unpacked
from kdrbench.errors import InputError, in_words
from kdrbench.extras import needed_for
from kdrbench.kernels.family import FloatArray

if TYPE_CHECKING:
    import pandas as pd

# A delimiter that splits every line alike is taken; a comma last, for it may be that of decimals.
_DELIMITERS = ("\t", ";", "|", ",")
_SAMPLE = 200
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_NO_TEXT = {b"PK\x03\x04": "a workbook or zip archive", b"PAR1": "a Parquet file", b"\xd0\xcf\x11\xe0": "a workbook"}

# Missing in any column, and in a column of numbers only: "none" and "NA" may be classes or categories.
ABSENT = ("", "?", "nan")
_ABSENT_NUMBERS = (*ABSENT, "na", "n/a", "null", "none", "-", "#n/a")
_TRUTH = {"true": 1.0, "false": 0.0}
_NUMERAL = re.compile(r"[+-]?[.,]?\d[\d.,'\u2019 \u00a0\u202f]*(e[+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)
# Blanks and apostrophes between groups of three digits mean nothing else.
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:[ \u00a0\u202f'\u2019]\d{3})+(?:[.,]\d+)?")
_BLANKS = re.compile(r"[ \u00a0\u202f'\u2019]")


def read_text(path: Path, encoding: str = "") -> str:
    """Return the text of a file, unpacked; UTF-8 or what its byte order mark says, unless ``encoding`` names another.

    Raises ``InputError`` for a file that is no text.
    """
    if not path.is_file():
        raise InputError(f"there is no file {path} (looked for in {Path.cwd()})")
    content = read_unpacked(path)
    kind = next((kind for magic, kind in _NO_TEXT.items() if content.startswith(magic)), "")
    if kind:
        raise InputError(f"{path} is {kind}; save the table as CSV (pandas: to_csv(..., index=False))")
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


def split_fields(path: Path, text: str, delimiter: str = "", quote: str = '"') -> pd.DataFrame:
    """Return the fields of all lines that are not empty, as stripped text; columns are numbered.

    A first line ``sep=;`` names the delimiter, as spreadsheets write it. Without it and without ``delimiter`` it is a
    tab, semicolon, bar or comma, whichever splits each line into as many fields. Where the first line has one field
    less than all others, as R writes row names, an empty field goes before it.

    Raises ``InputError`` for lines of unequal lengths, a single column, or no line at all.
    """
    with needed_for("a table in a file"):
        import pandas as pd

    if named := re.match(r"\s*sep=(.)\s*?[\r\n]+", text, re.IGNORECASE):
        delimiter, text = delimiter or named[1], text[named.end() :]
    if not text.strip():
        raise InputError(f"{path} is empty; its first line holds the names of the columns")
    delimiter = delimiter or _delimiter(text)
    try:
        text, width = _even(text, delimiter, quote)
        if width == 1:
            raise InputError(
                f"{path} has a single column, {text.split()[0]!r}; name what is between its columns: delimiter "
                "(a space for any white space)"
            )
        separator = r"\s+" if delimiter == " " else delimiter
        shape: dict[str, Any] = {"header": None, "names": range(width), "index_col": False}
        values: dict[str, Any] = {"dtype": "category", "na_filter": False, "skipinitialspace": True, "quotechar": quote}
        fields = pd.read_csv(io.StringIO(text), sep=separator, **shape, **values)
    except (pd.errors.ParserError, csv.Error, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        _check_lengths(path, text, delimiter, quote)
        raise InputError(f"{path} cannot be split by {delimiter!r}: {in_words(error)}") from error
    # pandas fills a line that is too short.
    if (fields.iloc[:, -1] == "").any():
        _check_lengths(path, text, delimiter, quote)
    words = {}
    for name in fields:
        # Of words that come again the different ones alone are worked on.
        distinct = np.array([str(word).strip() for word in fields[name].cat.categories], dtype=object)
        words[name] = distinct[fields[name].cat.codes]
    filled = np.any([column != "" for column in words.values()], axis=0)
    return pd.DataFrame(words)[filled].reset_index(drop=True)


def _even(text: str, delimiter: str, quote: str) -> tuple[str, int]:
    """Return the text, its first line as long as all others if it lacks one field, and the number of fields."""
    first, *others = islice(_rows(text, delimiter, quote), _SAMPLE)
    if len(first) == 1 or {len(row) for row in others} != {len(first) + 1}:
        return text, len(first)
    line, end, rest = text.lstrip().partition("\n")
    # Either all lines but the first end with a delimiter, or they begin with a row name.
    trailing = not any(row[-1] for row in others)
    return (line.rstrip() + delimiter if trailing else delimiter + line) + end + rest, len(first) + 1


def _rows(text: str, delimiter: str, quote: str = '"') -> filter[list[str]]:
    stream = io.StringIO(text, newline="")
    return filter(None, csv.reader(stream, delimiter=delimiter, quotechar=quote, skipinitialspace=True))


def _delimiter(text: str) -> str:
    lengths = {mark: [len(row) for row in islice(_rows(text, mark), _SAMPLE)] for mark in _DELIMITERS}
    even = [mark for mark in _DELIMITERS if len(set(lengths[mark])) == 1 and lengths[mark][0] > 1]
    return even[0] if even else max(_DELIMITERS, key=lambda mark: (lengths[mark][0], mark == ","))


def _check_lengths(path: Path, text: str, delimiter: str, quote: str) -> None:
    """Raise ``InputError`` for the first line with another number of fields than the first one."""
    rows = _rows(text, delimiter, quote)
    width = len(next(rows))
    for number, row in enumerate(rows, start=1):
        if len(row) != width and any(row):
            raise InputError(f"{path}, row {number}: {len(row)} values; the first line names {width} columns")


def has_header(path: Path, fields: pd.DataFrame) -> bool:
    """Return whether the first line names the columns: it does, unless each numeric column begins with a number.

    Raises ``InputError`` where the file does not show it, as with columns named 0, 1, 2.
    """
    first, *rest = fields.iloc[: _SAMPLE + 1].to_numpy(dtype=object).tolist()
    if not rest:
        return True
    columns = list(zip(*rest, strict=True))
    numeric = [number for number, words in enumerate(columns) if all(map(looks_numeric, words)) and any(words)]
    begins = [first[number] for number in numeric if first[number].casefold() not in ABSENT]
    words = [number for number in range(len(first)) if number not in numeric]
    recurs = [bool(first[number]) and first[number] in columns[number] for number in words]
    if not numeric:
        return not (all(recurs) or len(set(first)) < len(first))
    if not begins or not all(map(looks_numeric, begins)) or (first[0] == "" and is_row_numbers(columns[0])):
        return True
    if any(recurs) or len(set(begins)) < len(begins) or not all(word.isdigit() for word in begins):
        return False
    values = sorted(map(int, begins))
    if words or values == list(range(values[0], values[0] + len(values))):
        raise InputError(
            f"{path}: the first line, {', '.join(first[:8])}{', ...' if len(first) > 8 else ''}, may be a sample or "
            "the names of the columns; say which with header: false or header: true (--data-option header=false)"
        )
    return False


def is_row_numbers(words: Sequence[str]) -> bool:
    """Whether the words count the rows, 0, 1, 2, ... or 1, 2, 3, ..."""
    return words[0] in ("0", "1") and list(words) == [str(int(words[0]) + row) for row in range(len(words))]


def looks_numeric(word: str) -> bool:
    """Whether a field may be a number or a missing one, in any notation."""
    return word.casefold() in _ABSENT_NUMBERS or _NUMERAL.fullmatch(word) is not None


def numbers_of(
    fields: Mapping[str, NDArray[Any]], where: str, decimal: str = "", thousands: str = ""
) -> Mapping[str, FloatArray]:
    """Return the columns that hold numbers; missing values are NaN.

    All columns are read alike: as plain numbers unless ``decimal`` or ``thousands`` say otherwise, or only decimal
    commas, or only thousands commas, make numbers of more columns. Raises ``InputError`` where both do, as for 1,234.
    """
    if decimal or thousands:
        return _read(fields, decimal or ".", thousands)
    plain = _read(fields, ".", "")
    if len(plain) == len(fields):
        return plain
    american, european = _read(fields, ".", ","), _read(fields, ",", ".")
    more = (american.keys() | european.keys()) - plain.keys()
    if not more:
        return plain
    if not (american.keys() > european.keys() or european.keys() > american.keys()):
        name = next(name for name in fields if name in more)
        word = next(word for word in fields[name] if "," in word)
        raise InputError(
            f"{where}: column {name!r} holds {word!r}; is the comma that of decimals or of thousands? Write decimal: "
            '"," or thousands: "," (--data-option decimal=,)'
        )
    return american if len(american) > len(european) else european


def first_fault(words: NDArray[Any], decimal: str = "", thousands: str = "") -> int:
    """Return the place of the first word that is no number; 0 where all are."""
    number = _reader(decimal or ".", thousands)
    for place, word in enumerate(words):
        try:
            number(word)
        except ValueError:
            return place
    return 0


def _read(fields: Mapping[str, NDArray[Any]], decimal: str, thousands: str) -> dict[str, FloatArray]:
    """Return the columns all of whose words are numbers with these marks of decimals and of thousands, or missing."""
    import pandas as pd

    number, columns = _reader(decimal, thousands), {}
    for name, words in fields.items():
        codes, distinct = pd.factorize(words)
        with suppress(ValueError):
            columns[name] = np.array([number(word) for word in distinct], dtype=np.float64)[codes]
    return columns


def _reader(decimal: str, thousands: str) -> Callable[[str], float]:
    """Return the function from a word to its number, NaN for a missing one; it raises ``ValueError``."""
    point, group = re.escape(decimal), re.escape(thousands)
    grouped = rf"\d{{1,3}}(?:{group}\d{{3}})+|" if group else ""
    form = re.compile(rf"[+-]?(?:(?:{grouped}\d+)(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?")

    def number(word: str) -> float:
        folded = word.casefold()
        if folded in _ABSENT_NUMBERS:
            return np.nan
        if folded in _TRUTH:
            return _TRUTH[folded]
        if _GROUPED.fullmatch(word):
            word = _BLANKS.sub("", word)
        if (decimal, thousands) != (".", "") and form.fullmatch(word):
            word = word.replace(thousands, "").replace(decimal, ".")
        # Python would take digits with underscores for a number.
        elif "_" in word or (decimal != "." and not word.lstrip("+-").isalpha()):
            raise ValueError(word)
        return float(word)

    return number
