"""One model of a table, whatever it shows, and its renderings: CSV, JSON, LaTeX with booktabs, and a page of HTML."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kdrbench.errors import InputError
from kdrbench.files import write_text
from kdrbench.suite.csv_files import csv_text
from kdrbench.suite.reports.declared import declared
from kdrbench.suite.reports.tables.labels import abbreviations_in

if TYPE_CHECKING:
    import jinja2

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
                raise InputError(f"table {self.name!r} has {len(self.columns)} columns; a row has {len(row)}: {texts}")
        n_numbers = len(self.columns) - self.n_labels
        for line in self.groups:
            if (width := sum(group.width for group in line)) != n_numbers:
                raise InputError(f"table {self.name!r} has {n_numbers} columns of numbers; its groups have {width}")

    @property
    def rows(self) -> list[list[Entry]]:
        """The rows of all blocks."""
        return [row for block in self.blocks for row in block]

    def to_json(self) -> str:
        """Return the table as JSON, without ``listed``."""
        return json.dumps({key: value for key, value in vars(self).items() if key != "listed"}, default=vars)

    @classmethod
    def from_json(cls, text: str) -> Table:
        """Return the table that :meth:`to_json` has written."""
        content: dict[str, Any] = json.loads(text)
        blocks = [
            [[Entry(**{**entry, "axes": tuple(entry.get("axes", ()))}) for entry in row] for row in block]
            for block in content["blocks"]
        ]
        groups = [[Group(**group) for group in line] for line in content["groups"]]
        return cls(**{**content, "blocks": blocks, "groups": groups})

    def to_csv(self) -> str:
        """Return ``listed`` where there is any, else the columns' names and the texts of the rows."""
        if self.listed:
            return csv_text(list(self.listed[0]), (row.values() for row in self.listed))
        return csv_text(self.columns, ([entry.text for entry in row] for row in self.rows))


# Letters that columns of numbers may have side by side on a page, and those between two columns.
_LETTERS, _GAP = 134, 2
_MOST_OF_A_NUMBER = 32


def fitting(table: Table) -> list[Table]:
    """Return a table, one that is wider than a page in parts: they are cut between the first groups of its columns."""
    place, parts = table.n_labels, list[list[int]]([[]])
    for group in table.groups[0] if table.groups else ():
        columns = list(range(place, place := place + group.width))
        if parts[-1] and sum(_letters(table, column) for column in parts[-1] + columns) > _LETTERS:
            parts.append([])
        parts[-1] += columns
    return [_part(table, columns) for columns in parts] if len(parts) > 1 else [table]


def _letters(table: Table, column: int) -> int:
    """Return the letters of the longest part of a column that does not break, and of the space beside it."""
    texts = [table.columns[column], *(_breaking(row[column].text) for row in table.rows)]
    return _GAP + max(len(part) for text in texts for part in text.split(" "))


def _part(table: Table, columns: list[int]) -> Table:
    """Return some columns of a table beside its labels, with the groups above them in its title."""
    kept, groups = [*range(table.n_labels), *columns], []
    for line in table.groups:
        above = [group for group in line for _ in range(group.width)]
        runs = [list(run) for _, run in groupby((above[column - table.n_labels] for column in columns), id)]
        groups.append([Group(run[0].title, len(run)) for run in runs])
    title = f"{table.title} {', '.join(group.title for group in groups[0] if group.title)}"
    blocks = [[[row[column] for column in kept] for row in block] for block in table.blocks]
    return replace(table, title=title, columns=[table.columns[column] for column in kept], blocks=blocks, groups=groups)


def entries(texts: Iterable[object]) -> list[Entry]:
    """Return cells of plain words."""
    return [Entry(str(text)) for text in texts]


def measured(value: float, shown: str | Callable[[float], str], detail: str = "", *, scale: float = 1.0) -> Entry:
    """Return the cell of a number, a dash for NaN; ``shown`` is a format of ``scale`` times it, or a function of it."""
    text = "-" if math.isnan(value) else shown.format(scale * value) if isinstance(shown, str) else shown(value)
    return Entry(text, value, detail=detail)


def blocks_by(rows: Iterable[tuple[object, list[Entry]]]) -> Iterator[list[list[Entry]]]:
    """Yield the rows of each key as a block, in the order in which keys first come."""
    blocks: dict[object, list[list[Entry]]] = {}
    for key, row in rows:
        blocks.setdefault(key, []).append(row)
    yield from blocks.values()


@dataclass(frozen=True)
class Column:
    """A column of a table: its title, what it shows of a row (an :class:`Entry` or text), and what its numbers are."""

    title: str
    show: Callable[[Any], object]
    words: str = ""


def lay_out(
    name: str,
    title: str,
    columns: Sequence[Column],
    rows: Iterable[Any],
    *,
    number: Callable[[Any, str, str], Entry] = lambda row, text, words: Entry(text, detail=words),
    block: Callable[[Any], object] = lambda row: None,
    notes: Iterable[str] = (),
    n_labels: int = 1,
) -> Table:
    """Return the table of ``rows`` in ``columns``; rows with the same ``block`` are grouped.

    ``number(row, text, words)`` makes the entry of a text whose column has words.
    """

    def entry(column: Column, row: Any) -> Entry:
        shown = column.show(row)
        if isinstance(shown, Entry):
            return shown
        return number(row, str(shown), column.words) if column.words else Entry(str(shown))

    blocks = blocks_by((block(row), [entry(column, row) for column in columns]) for row in rows)
    return Table(name, title, [column.title for column in columns], list(blocks), list(notes), n_labels)


@dataclass(frozen=True)
class Section:
    """A part of a page below its table: any of a table, a PNG picture, descriptions of data sets, and paragraphs."""

    title: str
    table: Table | None = None
    picture: bytes = b""
    cards: list[tuple[str, Any]] = field(default_factory=list)
    paragraphs: list[str] = field(default_factory=list)


def write_table(table: Table, stem: Path, sections: Iterable[Section] = ()) -> None:
    """Write ``stem`` as .tex, .html, .csv and .json; each appears whole."""
    texts = {"tex": render_latex(table), "html": render_html(table, sections)}
    for kind, text in (texts | {"csv": table.to_csv(), "json": table.to_json()}).items():
        write_text(stem.parent / f"{stem.name}.{kind}", text)


def render_html(table: Table, sections: Iterable[Section] = ()) -> str:
    """Return the page: the table, then the sections."""
    names = (entry.text for row in table.rows for entry in row[: table.n_labels])
    abbreviations = abbreviations_in(*table.columns, *names)
    return _page_template().render(table=table, sections=list(sections), abbreviations=abbreviations)


@cache
def _page_template() -> jinja2.Template:
    return plain_environment().get_template("table.html.j2")


def plain_environment() -> jinja2.Environment:
    """Return what fills in the templates of reports; words that are given are no markup."""
    import jinja2

    spaces: Any = {"trim_blocks": True, "lstrip_blocks": True}
    loader = jinja2.PackageLoader("kdrbench.suite.reports")
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, **spaces)
    environment.filters.update(base64=lambda data: base64.b64encode(data).decode("ascii"), breaking=_breaking)
    return environment


def _breaking(text: str) -> str:
    """Return a cell's text, of a number one that breaks only at its spread, in parentheses and before its upper end.

    What is longer and begins with a number is a sentence.
    """
    is_number = len(text) <= _MOST_OF_A_NUMBER and re.match(r"[-+(<>\d]", text)
    return re.sub(r"(?<!;) (?![\u00b1(]|to )", "\u00a0", text) if is_number else text


def render_latex(table: Table) -> str:
    """Return the table as a fragment for a document that loads booktabs and graphicx."""
    blocks = ["\n".join(_line(map(_cell, row)) for row in _without_repeats(block, table)) for block in table.blocks]
    groups = [text for line in table.groups for text in _group_lines(line, table.n_labels)]
    remarks = [f"{'; '.join(table.remarks)}."] if table.remarks else []
    frame = files("kdrbench.suite.reports").joinpath("templates", "table.tex").read_text(encoding="utf-8")
    return frame.format(
        caption=" ".join(map(escape, [table.title, *table.notes, *remarks])),
        columns="l" * table.n_labels + "r" * (len(table.columns) - table.n_labels),
        head="\n".join([*groups, _line(map(escape, table.columns))]),
        body="\n\\midrule\n".join(blocks),
    )


def _without_repeats(block: list[list[Entry]], table: Table) -> list[list[Entry]]:
    """Return the rows of a block of a table with groups, each first label said once, as the papers do."""
    above = ["", *(row[0].text for row in block)] if table.groups else [None] * len(block)
    return [[Entry(""), *row[1:]] if row[0].text == label else row for label, row in zip(above, block, strict=False)]


def _group_lines(groups: list[Group], n_labels: int) -> list[str]:
    """Return a line of headings, each over its columns, and the rules below it."""
    titles, rules, column = [""] * n_labels, "", n_labels + 1
    for group in groups:
        titles.append(rf"\multicolumn{{{group.width}}}{{c}}{{{escape(group.title)}}}")
        rules += rf"\cmidrule(lr){{{column}-{column + group.width - 1}}}" if group.title else ""
        column += group.width
    return [_line(titles), rules]


def escape(text: str) -> str:
    """Return plain text as LaTeX."""
    return text.translate(str.maketrans(declared("names")["latex"]))


def number(text: str) -> str:
    """Return a printed number as LaTeX: a hyphen before a digit is a minus sign, an e behind one a power of ten."""
    power = re.sub(r"(?<=[0-9)])e([+-]?\d+)", lambda match: rf"$\times 10^{{{int(match[1])}}}$", escape(text))
    return re.sub(r"(?<![{\w])-(?=\d)", "$-$", power)


def _cell(entry: Entry) -> str:
    text = number(entry.text) + escape(entry.mark)
    return rf"\textbf{{{text}}}" if entry.bold else text


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"
