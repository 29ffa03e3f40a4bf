"""A table in LaTeX: booktabs, nothing exotic; a fragment to input, and a page to look at."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from kdrbench.errors import KdrbenchError
from kdrbench.files import write_bytes
from kdrbench.suite.reports.tables.table import Entry, Group, Table

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"$\sim$",
    "^": r"\^{}",
    "\u00b1": r"$\pm$",
    "\u00d7": r"$\times$",
    ">": r"$>$",
    "<": r"$<$",
    "|": r"$|$",
    '"': "''",
    "\u2013": "--",
    "\u00a7": r"$^\S$",
    "\u2020": r"$^\dagger$",
    "\u2021": r"$^\ddagger$",
}
# In the encoding of Computer Modern, whose outlines every TeX has: with T1 many have bitmaps alone.
_PAGE = r"""\documentclass{article}
\usepackage{booktabs}
\usepackage{graphicx}
\usepackage[paperwidth=%(width)scm,paperheight=%(height)scm,margin=1cm]{geometry}
\pagestyle{empty}
\begin{document}
%(table)s
\end{document}
"""


class TexError(KdrbenchError):
    """TeX could not make a page of the table."""


def render_latex(table: Table) -> str:
    """Return the table as a fragment for a document that loads booktabs and graphicx."""
    columns = "l" * table.n_labels + "r" * (len(table.columns) - table.n_labels)
    groups = [text for line in table.groups for text in _group_lines(line, table.n_labels)]
    body: list[str] = []
    for place, block in enumerate(table.blocks):
        body += [r"\midrule"] if place else []
        body += [_line(map(_cell, row)) for row in _without_repeats(block, table)]
    remarks = [f"{'; '.join(table.remarks)}."] if table.remarks else []
    caption = " ".join(map(escape, [table.title, *table.notes, *remarks]))
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{caption}}}",
            r"\resizebox{\linewidth}{!}{%",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            *groups,
            _line(map(escape, table.columns)),
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}}",
            r"\end{table}",
            "",
        ]
    )


def _without_repeats(block: list[list[Entry]], table: Table) -> list[list[Entry]]:
    """Return the rows of a block of a table with groups, each first label said once, as the papers do."""
    if not table.groups:
        return block
    above = ["", *(row[0].text for row in block)]
    return [[Entry(""), *row[1:]] if row[0].text == label else row for label, row in zip(above, block, strict=False)]


def _group_lines(groups: list[Group], n_labels: int) -> list[str]:
    """Return a line of headings, each over its columns, and the rules below it."""
    titles, rules, column = [], "", n_labels + 1
    for group in groups:
        titles.append(rf"\multicolumn{{{group.width}}}{{c}}{{{escape(group.title)}}}")
        if group.title:
            rules += rf"\cmidrule(lr){{{column}-{column + group.width - 1}}}"
        column += group.width
    return [_line([""] * n_labels + titles), rules]


def compile_pdf(fragment: str, target: Path) -> None:
    """Typeset the fragment on a page of its own with pdflatex; raises ``TexError`` with TeX's first complaint."""
    compile_page(_PAGE % {"table": fragment, "width": _page_width(fragment), "height": 18}, target)


def compile_page(page: str, target: Path) -> None:
    """Typeset a document with pdflatex; raises ``TexError`` with TeX's first complaint."""
    if shutil.which("pdflatex") is None:
        raise TexError("pdflatex is not on the PATH; install a TeX with booktabs, or leave out the PDF")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "table.tex"
        source.write_text(page, encoding="utf-8")
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", source.name]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode:
            complaints = [line for line in done.stdout.splitlines() if line.startswith("!")]
            raise TexError(f"pdflatex failed: {complaints[0] if complaints else done.stdout[-300:]}")
        write_bytes(target, source.with_suffix(".pdf").read_bytes())


def _page_width(fragment: str) -> float:
    """Return the centimetres that a page needs to show all columns in about the size of its caption."""
    columns = re.search(r"\\begin\{tabular\}\{(\w+)\}", fragment)
    return 4.0 + 2.6 * len(columns[1]) if columns else 21.0


def escape(text: str) -> str:
    """Return plain text as LaTeX."""
    return "".join(_SPECIAL.get(letter, letter) for letter in text)


def number(text: str) -> str:
    """Return a printed number as LaTeX: a hyphen before a digit is a minus sign, an e behind one a power of ten."""
    power = re.sub(r"(?<=[0-9)])e([+-]?\d+)", lambda match: rf"$\times 10^{{{int(match[1])}}}$", escape(text))
    return re.sub(r"(?<![{\w])-(?=\d)", "$-$", power)


def _cell(entry: Entry) -> str:
    text = number(entry.text) + escape(entry.mark)
    return rf"\textbf{{{text}}}" if entry.bold else text


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"
