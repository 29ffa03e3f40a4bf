"""Links of the pages on what was found to the reports of the record, which `make docs` puts beside them.

Reports are no pages of the documentation. Sphinx would look for such a page, or copy the one file that a link names.
"""

import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util.logging import getLogger

# For `myst_url_schemes`: how an address is written that begins with the scheme's name.
SCHEME = {"reports": "reports/{{path}}#{{fragment}}"}
DASHBOARD = Path(__file__).parents[1] / "_reports/record/reports/dashboard.html"


def _lead_outside(_app: Sphinx, page: str, source: list[str]) -> None:
    if page.startswith("record/"):
        for place in _not_there(source[0]):
            getLogger(__name__).warning("the dashboard has no place %r", place, location=page)
        source[0] = source[0].replace("](reports/", "](reports:")


def _not_there(text: str) -> list[str]:
    """Return the places of the dashboard to which a page leads, and which it does not have."""
    places = set(re.findall(r"\]\(reports/dashboard\.html#([\w-]+)", text))
    made = DASHBOARD.read_text(encoding="utf-8") if DASHBOARD.is_file() else ""
    return sorted(places - set(re.findall(r'\bid="([\w-]+)"', made)))


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect what is above with the reading of sources."""
    app.connect("source-read", _lead_outside)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
