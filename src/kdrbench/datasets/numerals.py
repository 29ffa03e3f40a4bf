"""How numbers are written in tables: decimal points or commas, thousands separators, truth values, missing values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray

# Missing in any column, and in a column of numbers only: "none" and "NA" may be classes or categories.
ABSENT = ("", "?", "nan")
_ABSENT_NUMBERS = (*ABSENT, "na", "n/a", "null", "none", "-", "#n/a")
_TRUTH = {"true": 1.0, "false": 0.0}
_NUMERAL = re.compile(r"[+-]?[.,]?\d[\d.,'\u2019 \u00a0\u202f]*(e[+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)
# Blanks and apostrophes between groups of three digits mean nothing else.
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:[ \u00a0\u202f'\u2019]\d{3})+(?:[.,]\d+)?")
_BLANKS = re.compile(r"[ \u00a0\u202f'\u2019]")


def looks_numeric(word: str) -> bool:
    """Whether a field may be a number or a missing one, in any notation."""
    return word.casefold() in _ABSENT_NUMBERS or _NUMERAL.fullmatch(word) is not None


@dataclass(frozen=True)
class Notation:
    """The ``decimal`` mark, and what is between groups of three digits; plain numbers have no ``thousands``."""

    decimal: str = "."
    thousands: str = ""

    def reader(self) -> Callable[[str], float]:
        """Return the function from a word to its number, NaN for a missing one; it raises ``ValueError``."""
        point, group = re.escape(self.decimal), re.escape(self.thousands)
        grouped = rf"\d{{1,3}}(?:{group}\d{{3}})+|" if group else ""
        form = re.compile(rf"[+-]?(?:(?:{grouped}\d+)(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?")

        def number(word: str) -> float:
            folded = word.casefold()
            if folded in _ABSENT_NUMBERS:
                return np.nan
            if folded in _TRUTH:
                return _TRUTH[folded]
            if "_" in word:
                # Python's own separator of digits.
                raise ValueError(word)
            if _GROUPED.fullmatch(word):
                word = _BLANKS.sub("", word)
            if (self.decimal, self.thousands) != (".", "") and form.fullmatch(word):
                word = word.replace(self.thousands, "").replace(self.decimal, ".")
            elif self.decimal != "." and not word.lstrip("+-").isalpha():
                raise ValueError(word)
            return float(word)

        return number


_PLAIN, _AMERICAN, _EUROPEAN = Notation(), Notation(".", ","), Notation(",", ".")


def numbers_of(
    fields: Mapping[str, NDArray[Any]], where: str, decimal: str = "", thousands: str = ""
) -> Mapping[str, FloatArray]:
    """Return the columns that hold numbers; missing values are NaN.

    All columns are read alike: as plain numbers unless ``decimal`` or ``thousands`` say otherwise, or only decimal
    commas, or only thousands commas, make numbers of more columns. Raises ``InputError`` where both do, as for 1,234.
    """
    if decimal or thousands:
        return _read(fields, Notation(decimal or ".", thousands))
    plain = _read(fields, _PLAIN)
    if len(plain) == len(fields):
        return plain
    american, european = _read(fields, _AMERICAN), _read(fields, _EUROPEAN)
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
    reader = Notation(decimal or ".", thousands).reader()
    for place, word in enumerate(words):
        try:
            reader(word)
        except ValueError:
            return place
    return 0


def _read(fields: Mapping[str, NDArray[Any]], notation: Notation) -> dict[str, FloatArray]:
    columns = {name: _column(words, notation.reader()) for name, words in fields.items()}
    return {name: values for name, values in columns.items() if values is not None}


def _column(words: NDArray[Any], reader: Callable[[str], float]) -> FloatArray | None:
    import pandas as pd

    codes, distinct = pd.factorize(words)
    try:
        return np.array([reader(word) for word in distinct], dtype=np.float64)[codes]
    except ValueError:
        return None
