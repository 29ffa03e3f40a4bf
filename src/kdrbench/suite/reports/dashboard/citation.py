"""How to cite the software: what its installed metadata say, and the papers beside it."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, metadata

from kdrbench import __version__
from kdrbench.suite.findings.ledger_lines import Comparison
from kdrbench.suite.reports.tables.published_numbers import paper_label

_TITLE = "kdrbench: solvers and a benchmark for learning projections and kernels"
_ADDRESS = "Repository"


def citation_of(comparisons: list[Comparison]) -> str:
    """Return the software as an entry of BibTeX, and which papers to cite beside it.

    Author and address are those of the installed package, and are left out where it has none. It has no year: a
    version that is not released has no date.
    """
    papers = dict.fromkeys(paper_label(one.paper) for one in comparisons)
    beside = f"\n\nCite beside it the papers whose methods you use: {', '.join(papers)}." if papers else ""
    author, address = _installed()
    # Two pairs of braces: the name of a group is not split into first and last names.
    fields = {"author": author and f"{{{author}}}", "title": _TITLE, "version": __version__, "url": address}
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
    return "@software{kdrbench,\n" + ",\n".join(lines) + f"\n}}{beside}"


def _installed() -> tuple[str, str]:
    """Return author and address of the package's code, empty where it is not installed or does not say."""
    try:
        said = metadata("kdrbench")
    except PackageNotFoundError:
        return "", ""
    urls = dict(line.split(", ", 1) for line in said.get_all("Project-URL", []))
    return (said.get_all("Author") or [""])[0], urls.get(_ADDRESS, "")
