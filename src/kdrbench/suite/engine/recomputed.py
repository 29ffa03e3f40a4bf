"""What ``kdrbench verify`` compares: numbers of a row that a system has computed again from raw data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

# The array that takes the place of those of a run that a packed record does not store, and holds their kinds.
NOT_STORED = "not_stored"
Row = Mapping[str, str]
Arrays = Mapping[str, NDArray[Any]]


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
