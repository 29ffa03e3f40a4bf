"""A page of paired tests in a real browser: on a phone they scroll down only."""

import pytest

from kdrbench.suite.reports.tables.table import render_html
from kdrbench.suite.systems.ikdr.paired_tests import paired_table, paired_tests
from support.browser_tab import NEEDS_BROWSER, Tab
from support.claim_rows import cells, records

pytestmark = NEEDS_BROWSER
PAGE = "document.documentElement.scrollWidth"


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


def test_a_narrow_window_scrolls_tables_and_not_the_page(opened):
    rows = [
        row | {"experiment": "table4_supervised_with_a_long_name"}
        for method in ("ism", "ism_converged", "stiefel_cayley", "grassmann_trust_region")
        for row in cells("four", method, cost=lambda data, kernel, fold, m=method: -123456.78 * (len(m) + fold))
    ]
    tab = opened(render_html(paired_table(paired_tests(records(*rows).runs))), {"width": 800, "height": 700})
    assert tab.evaluate(PAGE) <= 800
    # The last column can be reached by the keyboard.
    assert tab.locator(".wide[tabindex='0']").count() == tab.locator(".wide").count() > 0
