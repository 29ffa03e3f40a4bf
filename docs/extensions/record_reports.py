"""Links of the pages on what was found to the reports of the record, which `make docs` puts beside them.

Reports are no pages of the documentation. Sphinx would look for such a page, or copy the one file that a link names.
"""

from sphinx.application import Sphinx

# For `myst_url_schemes`: how an address is written that begins with the scheme's name.
SCHEME = {"reports": "reports/{{path}}#{{fragment}}"}


def _lead_outside(_app: Sphinx, page: str, source: list[str]) -> None:
    if page.startswith("record/"):
        source[0] = source[0].replace("](reports/", "](reports:")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect what is above with the reading of sources."""
    app.connect("source-read", _lead_outside)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
