"""Tables and words as Markdown."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

from kdrbench.errors import InputError, unknown_name
from kdrbench.reports.tables.labels import NO_CELL
from kdrbench.reports.tables.table import Entry, Table

_NUMBER = re.compile(r"[<>]?\s*[-+(]?\.?\d")
_SPECIAL = re.compile(r"[\\|<>*_`\[\]$&]")


class Markdown(str):
    """A text that is Markdown already."""

    __slots__ = ()


def as_markdown(value: object) -> str:
    """Return what a template gives: Markdown as it is, words of a record so that none of them is markup."""
    return value if isinstance(value, Markdown) else escape(str(value))


def escape(text: str) -> str:
    """Return words as Markdown shows them, on one line."""
    return _SPECIAL.sub(r"\\\g<0>", " ".join(text.split()))


def link(text: str, address: str) -> Markdown:
    """Return words that lead to an address; the words alone where there is none."""
    return Markdown(f"[{escape(text)}]({address})" if address else escape(text))


def markdown_table(table: Table, columns: Sequence[str] = ()) -> Markdown:
    """Return a table with all its columns, or those that ``columns`` names, below the names of their groups.

    Raises ``InputError`` for a column that the table does not have.
    """
    names = [f"{group}: {name}" if group else name for group, name in zip(_groups(table), table.columns, strict=True)]
    places = [place for place, name in enumerate(names) if not columns or name in columns]
    _check(columns, names, table)
    lines = [[escape(names[place]) for place in places], [_rule(place, table) for place in places]]
    lines += [[_cell(row[place]) for place in places] for row in table.rows]
    return Markdown("\n".join(f"| {' | '.join(line)} |" for line in lines))


def _groups(table: Table) -> list[str]:
    """Return the nearest heading above each column."""
    above = [""] * table.n_labels
    for group in table.groups[-1] if table.groups else []:
        above += [group.title] * group.width
    return above + [""] * (len(table.columns) - len(above))


def _check(columns: Sequence[str], names: Container[str], table: Table) -> None:
    for one in columns:
        if one not in names:
            raise InputError(f"table {table.name}: {unknown_name('column', one, table.columns)}")


def _rule(place: int, table: Table) -> str:
    words = [row[place].text for row in table.rows if row[place].text not in ("", NO_CELL)]
    is_words = place < table.n_labels or (words and not any(map(_NUMBER.match, words)))
    return "---" if is_words else "---:"


def _cell(entry: Entry) -> str:
    text = escape(entry.text + entry.mark)
    return f"**{text}**" if entry.bold and text else text
