"""The table in LaTeX: booktabs, nothing exotic; a fragment to input, and a page to look at."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from kdrbench.errors import KdrbenchError
from kdrbench.files import write_bytes
from kdrbench.reports.layout import METRIC_TITLES, NO_CELL, TableLayout, dataset_label, kernel_label
from kdrbench.reports.ledger import LedgerRow

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\u00b1": r"$\pm$",
    ">": r"$>$",
    "<": r"$<$",
    "\u2020": r"$^\dagger$",
    "\u2021": r"$^\ddagger$",
}
_PAGE = r"""\documentclass{article}
\usepackage[T1]{fontenc}
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


def render_latex(layout: TableLayout) -> str:
    """Return the table as a fragment for a document that loads booktabs and graphicx."""
    columns = "ll" + "r" * sum(len(group.solvers) for group in layout.groups)
    groups = _group_lines([(kernel_label(group.kernel), len(group.solvers)) for group in layout.groups])
    if layout.variants:
        groups += _group_lines(layout.variants)
    names = [escape(heading) for group in layout.groups for heading in group.headings]
    body = []
    for place, (dataset, metric, cells) in enumerate(layout.lines):
        new_block = place == 0 or layout.lines[place - 1][0] != dataset
        if new_block and place:
            body.append(r"\midrule")
        head = escape(dataset_label(dataset)) if new_block else ""
        body.append(_line([head, METRIC_TITLES[metric], *map(_cell, cells)]))
    caption = escape(layout.title) + " " + escape(_legend(layout))
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{caption}}}",
            r"\resizebox{\linewidth}{!}{%",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            *groups,
            _line(["", "", *names]),
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}}",
            r"\end{table}",
            "",
        ]
    )


def _group_lines(groups: list[tuple[str, int]]) -> list[str]:
    """Return a line of titles over so many columns each, and the rules below it."""
    titles, rules, column = [], "", 3
    for title, width in groups:
        titles.append(rf"\multicolumn{{{width}}}{{c}}{{{escape(title)}}}")
        if title:
            rules += rf"\cmidrule(lr){{{column}-{column + width - 1}}}"
        column += width
    return [_line(["", "", *titles]), rules]


def compile_pdf(fragment: str, target: Path) -> None:
    """Typeset the fragment on a page of its own with pdflatex; raises ``TexError`` with TeX's first complaint."""
    if shutil.which("pdflatex") is None:
        raise TexError("pdflatex is not on the PATH; install a TeX with booktabs, or leave out the PDF")
    page = _PAGE % {"table": fragment, "width": _page_width(fragment), "height": 18}
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
    """Return a number in words as LaTeX: a hyphen before a digit is a minus sign, an e behind one a power of ten."""
    power = re.sub(r"(?<=[0-9)])e([+-]?\d+)", lambda found: rf"$\times 10^{{{int(found[1])}}}$", escape(text))
    return re.sub(r"(?<![{\w])-(?=\d)", "$-$", power)


def _cell(row: LedgerRow | None) -> str:
    if row is None:
        return NO_CELL
    text = number(row.ours.text) + (r"$^\dagger$" if row.ours.note else "")
    text += r"$^\ddagger$" if row.ours.caution else ""
    return rf"\textbf{{{text}}}" if row.best else text


def _line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _legend(layout: TableLayout) -> str:
    legend = layout.legend
    if layout.notes:
        legend += " \u2020: some runs did not converge; stopped ones count with their last iterate, "
        legend += "failed ones not at all: "
        legend += "; ".join(layout.notes) + "."
    if layout.cautions:
        legend += " \u2021: " + "; ".join(layout.cautions) + "."
    return legend
