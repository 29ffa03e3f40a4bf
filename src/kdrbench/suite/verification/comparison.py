"""Recorded numbers beside recomputed ones, and a finding for each that is further away than rounding explains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from kdrbench.errors import visible

Row = Mapping[str, str]
Arrays = Mapping[str, NDArray[Any]]
_MOST_LETTERS = 200


@dataclass(frozen=True)
class Finding:
    """A row, or a file, with a fault: ``recorded`` is there, ``should_be`` is not."""

    place: str
    column: str
    recorded: str
    should_be: str

    def __str__(self) -> str:
        words = self.place, self.column, self.recorded or "empty", self.should_be
        place, column, recorded, should_be = map(_shortened, words)
        return f"{place}: {column} is {recorded}, should be {should_be}"


def _shortened(words: str) -> str:
    return visible(words if len(words) <= _MOST_LETTERS else f"{words[:_MOST_LETTERS]}...")


@dataclass(frozen=True)
class Number:
    """A recomputed value, and how far the recorded one may be from it; ``recorded`` where no column holds that."""

    value: float
    allowed: float = 0.0
    recorded: float | None = None


@dataclass(frozen=True)
class Recomputed:
    """What was computed again of a row: ``numbers`` by column, ``needed`` columns, and what was left out and why."""

    numbers: Mapping[str, Number]
    needed: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def differing(place: str, row: Row, recomputed: Recomputed) -> Iterator[Finding]:
    """Yield the numbers of a row that are not those computed again, and needed ones that could not be."""
    for column, number in recomputed.numbers.items():
        word = row[column] if number.recorded is None else repr(number.recorded)
        recorded = to_number(word)
        if recorded is None or not abs(recorded - number.value) <= number.allowed:
            yield Finding(place, column, word, f"{number.value!r} within {number.allowed:.1e}")
    for column in recomputed.needed:
        if row[column] and column not in recomputed.numbers:
            yield Finding(place, column, row[column], "computed again, but its projection or labels are missing")


def to_number(word: str) -> float | None:
    """Return the number that a word is; ``None`` for one that is none."""
    try:
        return float(word)
    except ValueError:
        return None
