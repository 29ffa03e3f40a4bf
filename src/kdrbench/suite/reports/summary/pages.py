"""The summaries of a record: a page of Markdown a template, for the documentation to include."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from kdrbench.errors import InputError, counted
from kdrbench.files import write_text
from kdrbench.suite.reports.dashboard.rendering import slug
from kdrbench.suite.reports.summary.contents import PAGES, PRINTED, pages_of
from kdrbench.suite.reports.summary.experiments import Experiments
from kdrbench.suite.reports.summary.markdown import Markdown, as_markdown, link, markdown_table
from kdrbench.suite.reports.summary.print import page_in_latex
from kdrbench.suite.reports.summary.source import Source
from kdrbench.suite.reports.summary.story import Story
from kdrbench.suite.reports.tables.table import compile_page

_MADE = "<!-- Made by `kdrbench summary` from a record"
# Why numbers differ: this many reasons are named, those of most numbers first.
_MOST_REASONS = 8
# What was searched without finding one.
_MOST_SEARCHES = 2


def write_summaries(source: Source, folder: Path) -> Iterator[Path]:
    """Write the pages for which the record has the rows, and yield each; pages of an earlier record are removed.

    Raises ``InputError`` where another file has the name of a page, before anything is written.
    """
    for name in PAGES:
        _check_own(folder / f"{name}.md")
    there = pages_of(source.made)
    for name in PAGES:
        path = folder / f"{name}.md"
        if name not in there:
            path.unlink(missing_ok=True)
        else:
            write_text(path, summary(name, source))
            yield path


def print_summary(folder: Path) -> Path | None:
    """Typeset the page of the papers beside it, and return the PDF; ``None`` where there is no such page, or no TeX.

    Raises ``TexError`` with TeX's first complaint.
    """
    page = folder / f"{PRINTED}.md"
    target = page.with_suffix(".pdf")
    target.unlink(missing_ok=True)
    if not page.is_file() or shutil.which("pdflatex") is None:
        return None
    compile_page(page_in_latex(page.read_text(encoding="utf-8")), target)
    return target


def _check_own(path: Path) -> None:
    if path.is_file() and not path.read_text(encoding="utf-8", errors="replace").startswith(_MADE):
        raise InputError(f"{path} is no page that `kdrbench summary` has made; name another folder with --out")


def summary(name: str, source: Source) -> str:
    """Return a page of the record; every number in it is read from there."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_read),
        autoescape=jinja2.select_autoescape(),
        undefined=jinja2.StrictUndefined,
        finalize=as_markdown,
        keep_trailing_newline=True,
    )
    # A macro gives what is escaped already.
    environment.filters |= {"markdown": Markdown, "link": link, "slug": slug}
    template, shown = environment.get_template(f"{name}.md.j2"), {"source": source, "pages": pages_of(source.made)}
    shown |= {"story": Story(source), "counted": counted, "markdown_table": markdown_table}
    shown |= {"experiments": Experiments(source), "most_reasons": _MOST_REASONS, "most_searches": _MOST_SEARCHES}
    return f"{_MADE}; what it says is in templates/{name}.md.j2. -->\n\n" + template.render(**shown)


def _read(name: str) -> str:
    return files("kdrbench.suite.reports.summary").joinpath("templates", name).read_text(encoding="utf-8")
