"""How templates of pages are filled in: the words and numbers of their filters, and how cells are sorted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kdrbench.suite.findings.ledger import interval_text, labels_of, place_label
from kdrbench.suite.findings.pairwise import gap_text, meaning, ratio_text, wins_text
from kdrbench.suite.reports.dashboard.overview import percent_label
from kdrbench.suite.reports.tables.labels import dataset_label, kernel_label, method_in_text, method_label
from kdrbench.suite.reports.tables.numbers import PLUS_MINUS
from kdrbench.suite.reports.tables.published_numbers import paper_label
from kdrbench.suite.reports.tables.table import Entry, plain_environment

if TYPE_CHECKING:
    import jinja2

# Numbers of cells without one: they sort behind all others.
_LAST = 1e300
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def environment() -> jinja2.Environment:
    """Return what fills in the templates of the dashboard and the site."""
    made = plain_environment()
    made.filters.update(
        paper=paper_label,
        percent=percent_label,
        sort_key=order_of,
        slug=slug,
        interval=interval_text,
        labels_of=labels_of,
        place=place_label,
        dataset=dataset_label,
        kernel=kernel_label,
        method=method_label,
        method_in_text=method_in_text,
        ratio=ratio_text,
        gap=gap_text,
        wins=wins_text,
        meaning=meaning,
    )
    return made


def slug(name: str) -> str:
    """Return ``name`` as part of an address within the page, or of a class."""
    return re.sub(r"[^a-z0-9_]+", "-", name.lower()).strip("-")


def order_of(entry: Entry) -> float:
    """Return the number by which a cell is sorted: that behind it, else the one its text begins with."""
    return sort_key(entry.text) if entry.value is None else entry.value


def sort_key(text: str) -> float:
    """Return the number by which a cell's words are sorted: that printed first, durations in seconds.

    ``(-1.9 +- 0.1)e6`` counts its power; words without a number come last.
    """
    number = re.search(r"(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*(us|ms|[smhd])?(?![a-z])", text)
    if number is None:
        return _LAST
    power = re.search(r"\)e(-?\d+)", text) if PLUS_MINUS in text else None
    value = float(number[1]) * (10.0 ** int(power[1]) if power else 1.0)
    return value * _SECONDS.get(number[2] or "s", 1.0)
