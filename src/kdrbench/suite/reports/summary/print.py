"""A page of Markdown in print: two columns of LaTeX.

Headings, paragraphs, lists, tables, links, bold and code are known, which is what the templates use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from kdrbench.suite.reports.tables.table import escape

_PAGE = r"""\documentclass[twocolumn]{article}
\usepackage[a4paper,margin=1.5cm,columnsep=7mm]{geometry}
\usepackage{tabularx}
\setlength{\parindent}{0pt}
\setlength{\parskip}{1pt}
\setlength{\tabcolsep}{3pt}
\newcommand{\itemdot}{\hangindent=1em\hangafter=1$\bullet$\ }
\begin{document}
\scriptsize
\raggedright
%s
\end{document}
"""
_UNKNOWN = re.compile(r"[^\x20-\x7e\xa1-\xff]")
# Before a number, not between two words or numbers; no line ends behind it.
_MINUS = re.compile(r"(?<![\w)])-(?=\.?\d)|(?<=\de)-(?=\d)")
_LINK = re.compile(r"(?<!\\)\[([^\]]*)\]\([^)]*\)")
_MARKED = re.compile(r"\*\*(?P<bold>(?:\\.|[^*\\])+)\*\*|(?<!\\)`(?P<code>[^`]+)`|\\(?P<plain>.)")


def page_in_latex(markdown: str) -> str:
    """Return a page as a document of its own."""
    text = re.sub(r"<!--.*?-->", "", markdown, flags=re.DOTALL)
    return _PAGE % "\n\n".join(_blocks(text))


def _blocks(text: str) -> Iterator[str]:
    for block in filter(str.strip, re.split(r"\n\s*\n", text)):
        for kind, lines in groupby(block.strip().splitlines(), key=lambda line: line[:1] if line[:1] in "#|-" else ""):
            yield _block(kind, list(lines))


def _block(kind: str, lines: list[str]) -> str:
    if kind == "#":
        return "\n".join(map(_heading, lines))
    if kind == "|":
        return _table(lines)
    if kind == "-":
        return "\n\n".join(rf"\itemdot {_words(line.removeprefix('- '))}" for line in lines)
    return _words(" ".join(lines))


def _heading(line: str) -> str:
    level, _, title = line.partition(" ")
    size = r"\large" if level == "#" else r"\small"
    # What follows stays on the page of its heading.
    return rf"\medskip\textbf{{{size} {_words(title)}}}\nopagebreak"


def _table(lines: list[str]) -> str:
    """Return a table as wide as a column of print; columns of words share what numbers leave.

    Each row is set by itself, so that a table may go on in the next column.
    """
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])] for line in lines]
    head, rules, *body = rows
    columns = "".join(_column(place, rule, rows) for place, rule in enumerate(rules))
    texts = [_row(columns, row) for row in (head, *body)]
    return "\n\n".join([rf"{texts[0]}\nopagebreak\vspace{{1pt}}\hrule", *texts[1:]])


def _column(place: int, rule: str, rows: list[list[str]]) -> str:
    """Return how a column is set: words to the left, numbers to the right and as wide as the longest of them."""
    if not rule.endswith(":"):
        return r">{\raggedright\arraybackslash}X"
    longest = max(len(row[place]) for number, row in enumerate(rows) if number != 1)
    return rf">{{\raggedleft\arraybackslash}}p{{{0.55 * longest:.1f}em}}"


def _row(columns: str, cells: list[str]) -> str:
    inside = " & ".join(map(_words, cells))
    return rf"\begin{{tabularx}}{{\linewidth}}{{@{{}}{columns}@{{}}}}{inside}\end{{tabularx}}"


def _words(text: str) -> str:
    """Return words with what is marked in them; of a link its words."""
    text, parts, end = _LINK.sub(r"\1", text), [], 0
    for match in _MARKED.finditer(text):
        parts += [_plain(text[end : match.start()]), _marked(match)]
        end = match.end()
    return "".join([*parts, _plain(text[end:])])


def _plain(text: str) -> str:
    # The fonts that every TeX has as outlines hold a dash in place of a bar, and few letters of other scripts.
    return _MINUS.sub("$-$", _UNKNOWN.sub("?", escape(text)))


def _marked(match: re.Match[str]) -> str:
    if match["bold"]:
        return rf"\textbf{{{_words(match['bold'])}}}"
    return rf"\texttt{{{_plain(match['code'])}}}" if match["code"] else _plain(match["plain"])
