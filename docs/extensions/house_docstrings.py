"""Docstrings as the sources write them, for Sphinx.

Sources hold plain text: an indented paragraph is a formula, and `X'X`, `|A'x|` or `y_` mean themselves. Here formulas
become literal blocks, and letters that reStructuredText would take for markup are escaped.
"""

import re

from sphinx.application import Sphinx

_PROTECTED = re.compile(r"(``.*?``|:[\w:.]+:`[^`]*`|`[^`]*`_?|\\.)")
_MARKUP = re.compile(r"[|*]|(?<=\w)_(?!\w)")
_TYPE = re.compile(r"^(\s*:(?:var)?type(?: [^:]+)?:) ([^`]+)$")
_UNDERLINE = re.compile(r"^[-=~]{3,}$")


def _mark_formulas(app, what, name, obj, options, lines):
    """Before napoleon: put ``::`` before indented paragraphs that follow running text."""
    marked, previous, in_section, in_formula = [], "", False, False
    for place, line in enumerate(lines):
        if place + 1 < len(lines) and _UNDERLINE.match(lines[place + 1]):
            in_section = True
        indented = line.startswith("    ")
        if line.strip():
            opens = indented and not in_formula and place and not lines[place - 1].strip()
            if opens and not in_section and not previous.startswith((" ", "- ", ".. ", ">>>")):
                marked += ["::", ""]
                in_formula = True
            elif not indented:
                in_formula = False
            previous = line
        marked.append(line)
    lines[:] = marked


def _escape(app, what, name, obj, options, lines):
    """After napoleon: escape what is no markup, outside of literals, roles, fields and directives."""
    literal = None
    for place, line in enumerate(lines):
        depth = len(line) - len(line.lstrip())
        if literal is not None and line.strip() and depth <= literal:
            literal = None
        if literal is not None or line.lstrip().startswith((">>>", ".. ")):
            continue
        if line.strip() == "::":
            literal = depth
            continue
        if found := _TYPE.match(line):
            # Prose, whose words are no references.
            lines[place] = f"{found[1]} ``{found[2]}``"
            continue
        parts = _PROTECTED.split(line)
        lines[place] = "".join(
            part if position % 2 else _MARKUP.sub(lambda found: "\\" + found[0], part)
            for position, part in enumerate(parts)
        )


def setup(app: Sphinx) -> dict[str, bool]:
    """Work before and after napoleon, whose priority is 500."""
    app.connect("autodoc-process-docstring", _mark_formulas, priority=400)
    app.connect("autodoc-process-docstring", _escape, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
