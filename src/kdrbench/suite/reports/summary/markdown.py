"""Tables and words as Markdown."""

from __future__ import annotations

import re

from kdrbench.suite.reports.tables.labels import NO_CELL
from kdrbench.suite.reports.tables.table import Entry, Table

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


def markdown_table(table: Table) -> Markdown:
    """Return a table with all its columns, below the names of their groups."""
    names = [f"{group}: {name}" if group else name for group, name in zip(_groups(table), table.columns, strict=True)]
    lines = [[escape(name) for name in names], [_rule(place, table) for place in range(len(names))]]
    lines += [[_cell(entry) for entry in row] for row in table.rows]
    return Markdown("\n".join(f"| {' | '.join(line)} |" for line in lines))


def _groups(table: Table) -> list[str]:
    """Return the nearest heading above each column."""
    above = [""] * table.n_labels
    for group in table.groups[-1] if table.groups else []:
        above += [group.title] * group.width
    return above + [""] * (len(table.columns) - len(above))


def _rule(place: int, table: Table) -> str:
    words = [row[place].text for row in table.rows if row[place].text not in ("", NO_CELL)]
    is_words = place < table.n_labels or (words and not any(map(_NUMBER.match, words)))
    return "---" if is_words else "---:"


def _cell(entry: Entry) -> str:
    text = escape(entry.text + entry.mark)
    return f"**{text}**" if entry.bold and text else text
