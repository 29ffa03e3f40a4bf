"""Docstrings as the sources write them, for Sphinx.

Sources hold plain text: an indented paragraph is a formula, and `X'X`, `|A'x|` or `y_` mean themselves. Here formulas
become literal blocks, and letters that reStructuredText would take for markup are escaped.
"""

import re

from sphinx.application import Sphinx
from sphinx.domains.python import PyClasslike

_PROTECTED = re.compile(r"(``.*?``|:[\w:.]+:`[^`]*`|`[^`]*`_?|\\.)")
_MARKUP = re.compile(r"[|*]|(?<=\w)_(?!\w)")
# A field as napoleon writes it: what it is, of what, and the text.
_FIELD = re.compile(r"^(\s*):(param|type|ivar|vartype) ([^:]+):(.*)$")
_UNDERLINE = re.compile(r"^[-=~]{3,}$")


def _mark_formulas(app, what, name, obj, options, lines):
    """Before napoleon: put ``::`` before indented paragraphs that follow running text."""
    marked, previous, in_formula = [], "", False
    for place, line in enumerate(lines):
        if place + 1 < len(lines) and _UNDERLINE.match(lines[place + 1]):
            # What follows is indented for napoleon.
            marked += lines[place:]
            break
        if line.strip():
            indented = line.startswith("    ")
            opens = indented and not in_formula and place and not lines[place - 1].strip()
            if opens and not previous.startswith((" ", "- ", ".. ", ">>>")):
                marked += ["::", ""]
            in_formula = indented and (in_formula or opens)
            previous = line
        marked.append(line)
    lines[:] = marked


def _escape(app, what, name, obj, options, lines):
    """After napoleon: escape what is no markup, outside of literals, roles, names of fields and directives."""
    literal = None
    for place, line in enumerate(lines):
        depth = len(line) - len(line.lstrip())
        if literal is not None and line.strip() and depth <= literal:
            literal = None
        if line.strip() == "::":
            literal = depth
        elif literal is None and not line.lstrip().startswith((">>>", ".. ")):
            lines[place] = _escaped(line)


def _escaped(line):
    field = _FIELD.match(line)
    if not field:
        parts = _PROTECTED.split(line)
        return "".join(part if at % 2 else _MARKUP.sub(r"\\\g<0>", part) for at, part in enumerate(parts))
    indent, kind, named, text = field.groups()
    # Sphinx would take the first of several names for a type.
    names = _MARKUP.sub(r"\\\g<0>", named.replace("\\", "").replace(", ", ","))
    head = f"{indent}:{kind} {names}:"
    if kind in ("type", "vartype"):
        # Prose, whose words are no references.
        return f"{head} ``{text.strip()}``"
    return head + _escaped(text)


def _skip(app, what, name, obj, skip, options):
    """Leave out the fields of named tuples, of which Python says only their number."""
    return True if (getattr(obj, "__doc__", None) or "").startswith("Alias for field number") else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Work before and after napoleon, whose priority is 500; call attributes so."""
    app.connect("autodoc-process-docstring", _mark_formulas, priority=400)
    app.connect("autodoc-process-docstring", _escape, priority=600)
    app.connect("autodoc-skip-member", _skip)
    for field in PyClasslike.doc_field_types:
        if field.name == "variable":
            field.label = "Attributes"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
