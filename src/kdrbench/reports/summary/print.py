"""A page of Markdown in print: two columns of LaTeX.

Headings, paragraphs, lists, tables, links, bold and code are known, which is what the templates use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from kdrbench.reports.tables.latex import escape

_PAGE = r"""\documentclass[twocolumn]{article}
\usepackage[a4paper,margin=1.5cm,columnsep=7mm]{geometry}
\usepackage{tabularx}
\usepackage{booktabs}
\setlength{\parindent}{0pt}
\setlength{\parskip}{2pt}
\newcommand{\itemdot}{\hangindent=1em\hangafter=1$\bullet$\ }
\begin{document}
\scriptsize
\sloppy
%s
\end{document}
"""
_UNKNOWN = re.compile(r"[^\x20-\x7e\xa1-\xff]")
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
    return rf"\textbf{{{size} {_words(title)}}}"


def _table(lines: list[str]) -> str:
    """Return a table as wide as a column of print; columns of words share what numbers leave."""
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])] for line in lines]
    head, rules, *body = rows
    columns = "".join("r" if rule.endswith(":") else "X" for rule in rules)
    texts = [" & ".join(map(_words, row)) + r" \\" for row in (head, *body)]
    # A bracket behind the end of a line would be an option of it.
    texts = ["{}" + text for text in texts]
    inside = [r"\toprule", texts[0], r"\midrule", *texts[1:], r"\bottomrule"]
    return "\n".join([rf"\begin{{tabularx}}{{\linewidth}}{{{columns}}}", *inside, r"\end{tabularx}"])


def _words(text: str) -> str:
    """Return words with what is marked in them; of a link its words."""
    text, parts, end = _LINK.sub(r"\1", text), [], 0
    for match in _MARKED.finditer(text):
        parts += [_plain(text[end : match.start()]), _marked(match)]
        end = match.end()
    return "".join([*parts, _plain(text[end:])])


def _plain(text: str) -> str:
    # The fonts that every TeX has as outlines hold a dash in place of a bar, and few letters of other scripts.
    return _UNKNOWN.sub("?", escape(text).replace("|", "$|$"))


def _marked(match: re.Match[str]) -> str:
    if match["bold"]:
        return rf"\textbf{{{_words(match['bold'])}}}"
    return rf"\texttt{{{_plain(match['code'])}}}" if match["code"] else _plain(match["plain"])
