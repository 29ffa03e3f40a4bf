"""The page of claims in a real browser: a table at a desk, one claim below the other on a phone."""

from pathlib import Path

import pytest

from kdrbench.reports.claims.claim import Decision, Found, Records
from kdrbench.reports.claims.page import claims_html, decided
from support.browser_tab import DESK, NEEDS_BROWSER, Tab
from support.dashboard_grid import page

pytestmark = NEEDS_BROWSER
# The narrowest of today's phones have 360 to 390 pixels.
WIDTHS = [360, 390]
LONG = "ISM 1.2e-05 against " + "_".join(["stiefel_cayley_converged"] * 4) + " in " + "12 of 15 cells, " * 20


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("claims")
    found = [(claim, Found(Decision.CONFIRMED, LONG, "A note.")) for claim, _ in decided(Records())]
    (folder / "claims.html").write_text(claims_html(found, ["demo"], Path("results")), encoding="utf-8")
    return f"file://{folder}/claims.html"


@pytest.mark.parametrize("width", WIDTHS)
def test_a_phone_scrolls_down_only_and_shows_all(browser, address, width):
    opened = Tab(browser, address, {"width": width, "height": 740}, ready="table")
    tab = opened.tab
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    # No part of the page hides words beyond its right edge either.
    hidden = "[...document.querySelectorAll('body *')].filter((one) => one.scrollWidth > one.clientWidth + 1 && "
    hidden += "getComputedStyle(one).overflowX !== 'visible' && !one.closest('thead')).length"
    assert tab.evaluate(hidden) == 0
    cells = [cell.bounding_box() for cell in tab.locator("tbody tr").first.locator("td").all()]
    assert all(cell["x"] >= 0 and cell["x"] + cell["width"] <= width for cell in cells)
    assert [cell["y"] for cell in cells] == sorted({cell["y"] for cell in cells})
    assert opened.faults == []
    tab.close()


def test_a_desk_shows_a_table(browser, address):
    opened = Tab(browser, address, DESK, ready="table")
    cells = [cell.bounding_box() for cell in opened.tab.locator("tbody tr").first.locator("td").all()]
    assert len({cell["y"] for cell in cells}) == 1
    assert opened.tab.locator("thead th").first.is_visible()
    opened.tab.close()


@pytest.mark.parametrize(("size", "shown"), [({"width": 390, "height": 740}, "below"), (DESK, "beside")])
def test_the_dashboards_claims_are_read_without_scrolling_sideways(browser, tmp_path, size, shown):
    (tmp_path / "dashboard.html").write_text(page(tmp_path, datasets=("wine",), folds=1), encoding="utf-8")
    opened = Tab(browser, f"file://{tmp_path}/dashboard.html", size)
    tab = opened.show("claims")
    assert tab.evaluate(
        "(() => { const one = document.querySelector('#claims .scrolled');"
        " return one.scrollWidth <= one.clientWidth; })()"
    )
    cells = [cell.bounding_box() for cell in tab.locator("#table-claims tbody tr").first.locator("td").all()]
    heights = {cell["y"] for cell in cells if cell}
    assert len(heights) == (1 if shown == "beside" else len(cells))
    # The chapter that is shown can be read in the list of chapters.
    link = tab.locator("header nav a[aria-current]").bounding_box()
    assert link["x"] >= 0
    assert link["x"] + link["width"] <= size["width"]
    assert opened.faults == []
    tab.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_a_phone_shows_every_chapter_of_the_dashboard(browser, tmp_path, width):
    (tmp_path / "dashboard.html").write_text(page(tmp_path, datasets=("wine",), folds=1), encoding="utf-8")
    opened = Tab(browser, f"file://{tmp_path}/dashboard.html", {"width": width, "height": 740})
    links = [link.bounding_box() for link in opened.tab.locator("header li a").all()]
    assert len(links) > 4
    assert all(link["x"] >= 0 and link["x"] + link["width"] <= width for link in links)
    opened.tab.close()
