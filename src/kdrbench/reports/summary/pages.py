"""The summaries of a record: a page of Markdown a template, for the documentation to include."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from kdrbench.errors import counted
from kdrbench.files import write_text
from kdrbench.league.rules import JUDGES
from kdrbench.reports.records import of_papers
from kdrbench.reports.summary.markdown import Markdown, as_markdown, markdown_table
from kdrbench.reports.summary.print import page_in_latex
from kdrbench.reports.summary.source import Source
from kdrbench.reports.summary.story import Story
from kdrbench.reports.tables.latex import compile_page

# Each page with the tables that it shows; that of the papers tells what there is.
PAGES = {"what_we_found": (), "league": ("league_small",), "atlas": ("atlas",), "noise": ("noise",)}
# The page that is made in print too.
PRINTED = "what_we_found"
# The columns of a league's standings that a page of text has room for.
_RANKS = (
    "Method",
    *(f"{judge}: {part}" for judge in JUDGES.values() for part in ("rank", "95 %")),
    "Angle",
    "CPU time",
    "Lost cells",
)


def write_summaries(source: Source, folder: Path) -> Iterator[Path]:
    """Write the pages for which the record has the tables, and yield each."""
    for name, needed in PAGES.items():
        if all(map(source.has, needed)) and (needed or of_papers(source.config)["run"]):
            path = folder / f"{name}.md"
            text = summary(name, source)
            write_text(path, text)
            yield path
            if name == PRINTED and shutil.which("pdflatex"):
                compile_page(page_in_latex(text), path.with_suffix(".pdf"))
                yield path.with_suffix(".pdf")


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
    environment.filters["markdown"] = Markdown
    said = f"<!-- Made by `kdrbench summary` from a record; what it says is in templates/{name}.md.j2. -->\n\n"
    template = environment.get_template(f"{name}.md.j2")
    return said + template.render(
        source=source, story=Story(source), counted=counted, markdown_table=markdown_table, ranks=_RANKS
    )


def _read(name: str) -> str:
    return files("kdrbench.reports.summary").joinpath("templates", name).read_text(encoding="utf-8")
