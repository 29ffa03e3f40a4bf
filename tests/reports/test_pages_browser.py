"""Pages of claims, of the ledger and of paired tests in a real browser: on a phone they scroll down only."""

from pathlib import Path

import pytest

from kdrbench.suite.findings.claims import CLAIMS, claims_html
from kdrbench.suite.findings.finding import Decision, Finding
from kdrbench.suite.findings.ledger import compare, comparison_html
from support.browser_tab import NEEDS_BROWSER, PHONE, TABLET, Tab
from support.claim_rows import cells, records
from support.configs import whole_config

pytestmark = NEEDS_BROWSER
PAGE = "document.documentElement.scrollWidth"
# How many tables are wider than the box in which they scroll.
WIDER = "[...document.querySelectorAll('.wide')].filter((one) => one.scrollWidth > one.clientWidth + 1).length"
LONG = "ISM 1.2e-05 against " + "_".join(["stiefel_cayley_converged"] * 4) + " in " + "12 of 15 cells, " * 20


@pytest.fixture
def opened(browser, tmp_path):
    """Return a function that shows a page in a window; whatever the page complains of fails the test."""
    tabs = []

    def show(html, size):
        (tmp_path / "page.html").write_text(html, encoding="utf-8")
        tabs.append(Tab(browser, f"file://{tmp_path}/page.html", size, ready="table"))
        return tabs[-1].tab

    yield show
    for one in tabs:
        assert one.faults == []
        one.tab.close()


@pytest.mark.parametrize("width", [360, 390])
def test_a_phone_shows_claims_below_each_other(opened, width):
    found = [(claim, Finding(Decision.CONFIRMED, LONG, "A note.")) for claim in CLAIMS]
    tab = opened(claims_html(found, ["demo"], Path("results")), {"width": width, "height": 740})
    assert tab.evaluate(PAGE) <= width
    # No part of the page hides words beyond its right edge either.
    hidden = "[...document.querySelectorAll('body *')].filter((one) => one.scrollWidth > one.clientWidth + 1 && "
    hidden += "getComputedStyle(one).overflowX !== 'visible' && !one.closest('thead')).length"
    assert tab.evaluate(hidden) == 0
    boxes = [cell.bounding_box() for cell in tab.locator("tbody tr").first.locator("td").all()]
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes)
    assert [box["y"] for box in boxes] == sorted({box["y"] for box in boxes})


@pytest.mark.parametrize("size", [{"width": 1440, "height": 900}, TABLET, PHONE], ids=["desk", "tablet", "phone"])
def test_why_a_number_differs_can_be_read_at_any_width(opened, size):
    rows = [row | {"experiment": "table4_supervised"} for name in ("ism", "dg", "sm") for row in cells("four", name)]
    tab = opened(comparison_html(compare({"ikdr": records(*rows).runs}, whole_config())), size)
    assert tab.evaluate(PAGE) <= size["width"]
    assert tab.evaluate(WIDER) == 0
    boxes = [why.bounding_box() for why in tab.locator("td[data-label=Why]:not(:empty)").all()]
    assert boxes
    assert all(box["width"] > 200 and box["x"] + box["width"] <= size["width"] for box in boxes)
