"""Tables of a heading and lines of words, for everything that is not laid out as the papers' Table 4.

One description, written as LaTeX (booktabs), as one HTML page, as CSV, and as JSON for the dashboard.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from kdrbench.errors import InputError
from kdrbench.files import write_text
from kdrbench.reports.latex import escape, number

KINDS = ("tex", "html", "csv", "json")


@dataclass(frozen=True)
class Entry:
    """What stands in a cell: words, bold where ``best``; ``detail`` says more to a reader who points at it."""

    text: str
    best: bool = False
    detail: str = ""


@dataclass(frozen=True)
class PaperTable:
    """A title, the columns' headings, blocks of lines with a rule between them, and notes below.

    The first ``n_labels`` columns hold words and stand at the left, the others numbers at the right.
    """

    name: str
    title: str
    columns: list[str]
    blocks: list[list[list[Entry]]]
    notes: list[str] = field(default_factory=list)
    n_labels: int = 1

    def __post_init__(self) -> None:
        for line in self.lines:
            if len(line) != len(self.columns):
                words = " | ".join(entry.text for entry in line)
                raise InputError(
                    f"table {self.name!r} has {len(self.columns)} columns; this line has {len(line)}: {words}"
                )

    @property
    def lines(self) -> list[list[Entry]]:
        """The lines of all blocks."""
        return [line for block in self.blocks for line in block]

    def to_json(self) -> str:
        """Return the table as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> PaperTable:
        """Return the table that :meth:`to_json` has written."""
        given: dict[str, Any] = json.loads(text)
        blocks = [[[Entry(**entry) for entry in line] for line in block] for block in given["blocks"]]
        return cls(**{**given, "blocks": blocks})


def write_table(table: PaperTable, stem: Path) -> None:
    """Write ``stem`` as .tex, .html, .csv and .json; each appears whole."""
    made = {"tex": table_tex(table), "html": table_html(table), "csv": table_csv(table), "json": table.to_json()}
    for kind in KINDS:
        write_text(stem.parent / f"{stem.name}.{kind}", made[kind])


def table_tex(table: PaperTable) -> str:
    """Return a fragment for a document that loads booktabs and graphicx."""
    columns = "l" * table.n_labels + "r" * (len(table.columns) - table.n_labels)
    body: list[str] = []
    for place, block in enumerate(table.blocks):
        body += [r"\midrule"] if place else []
        body += [" & ".join(map(_tex_cell, line)) + r" \\" for line in block]
    caption = " ".join(map(escape, [table.title, *table.notes]))
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{caption}}}",
            r"\resizebox{\linewidth}{!}{%",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            " & ".join(map(escape, table.columns)) + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}}",
            r"\end{table}",
            "",
        ]
    )


def table_html(table: PaperTable) -> str:
    """Return one self-contained page."""
    import jinja2

    source = files("kdrbench.reports").joinpath("paper_table.html.j2").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(source).render(table=table)


def table_csv(table: PaperTable) -> str:
    """Return the headings and the lines' words."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows([entry.text for entry in line] for line in table.lines)
    return buffer.getvalue()


def _tex_cell(entry: Entry) -> str:
    text = number(entry.text)
    return rf"\textbf{{{text}}}" if entry.best else text
