"""One model of a table, whatever it shows, with its renderings as CSV and JSON.

Each table is also written in LaTeX (:mod:`.latex`) and as a page (:mod:`.html`), and shown by the dashboard.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from kdrbench.errors import InputError
from kdrbench.suite.csv_files import csv_text

UNCONVERGED, WARNED, FLAGGED = "\u2020", "\u2021", "\u00a7"


@dataclass(frozen=True)
class Entry:
    """One cell of a table: its text, and the number behind it with its spread, where it shows one.

    ``mark`` is set behind the text and refers to a note; ``detail`` is what a page shows on pointing at the cell.
    ``paper`` is the published number and ``verdict`` how ours relates to it. A page colours a text that is itself a
    verdict by ``verdict``. ``axes`` are metric, data set, kernel and method of a cell of runs, by which a page finds
    them; ``experiment`` is that of the runs where the table shows those of several.
    """

    text: str
    value: float | None = None
    spread: float | None = None
    bold: bool = False
    mark: str = ""
    detail: str = ""
    paper: str = ""
    verdict: str = ""
    axes: tuple[str, ...] = ()
    experiment: str = ""


@dataclass(frozen=True)
class Group:
    """A heading above several columns; one without a title only takes their place."""

    title: str
    width: int


@dataclass(frozen=True)
class Table:
    """A title, columns with groups above them, blocks of rows with a rule between them, and notes below.

    The first ``n_labels`` columns hold words and are set to the left, the others hold numbers. ``groups`` are lines of
    headings above the columns that follow those. ``remarks`` are notes on single cells, which pages fold away.
    ``listed`` are the same cells one a row, as mappings from column to value in full precision: CSV files hold these
    where a table has them.
    """

    name: str
    title: str
    columns: list[str]
    blocks: list[list[list[Entry]]]
    notes: list[str] = field(default_factory=list)
    n_labels: int = 1
    groups: list[list[Group]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    listed: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                texts = " | ".join(entry.text for entry in row)
                raise InputError(
                    f"table {self.name!r} has {len(self.columns)} columns; this row has {len(row)}: {texts}"
                )
        for line in self.groups:
            if (width := sum(group.width for group in line)) != len(self.columns) - self.n_labels:
                raise InputError(
                    f"table {self.name!r} has {len(self.columns) - self.n_labels} columns of numbers; its groups have "
                    f"{width}"
                )

    @property
    def rows(self) -> list[list[Entry]]:
        """The rows of all blocks."""
        return [row for block in self.blocks for row in block]

    def to_json(self) -> str:
        """Return the table as JSON, without ``listed``."""
        return json.dumps({key: value for key, value in asdict(self).items() if key != "listed"})

    @classmethod
    def from_json(cls, text: str) -> Table:
        """Return the table that :meth:`to_json` has written."""
        content: dict[str, Any] = json.loads(text)
        blocks = [[list(map(_entry_of, row)) for row in block] for block in content["blocks"]]
        groups = [[Group(**group) for group in line] for line in content["groups"]]
        return cls(**{**content, "blocks": blocks, "groups": groups})

    def to_csv(self) -> str:
        """Return ``listed`` where there is any, else the columns' names and the texts of the rows."""
        if self.listed:
            return csv_text(list(self.listed[0]), (row.values() for row in self.listed))
        return csv_text(self.columns, ([entry.text for entry in row] for row in self.rows))


def _entry_of(fields: dict[str, Any]) -> Entry:
    return Entry(**{**fields, "axes": tuple(fields.get("axes", ()))})


def entries(texts: Iterable[object]) -> list[Entry]:
    """Return cells of plain words."""
    return [Entry(str(text)) for text in texts]


def blocks_by(rows: Iterable[tuple[object, list[Entry]]]) -> Iterator[list[list[Entry]]]:
    """Yield the rows of each key as a block, in the order in which keys first come."""
    blocks: dict[object, list[list[Entry]]] = {}
    for key, row in rows:
        blocks.setdefault(key, []).append(row)
    yield from blocks.values()
