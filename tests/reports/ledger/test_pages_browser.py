"""Wide tables in a real browser: a desk of 1300 pixels shows every column, a narrow window scrolls the table alone."""

import pytest

from kdrbench.reports.ledger.published_vs_ours import compare, comparison_html
from kdrbench.reports.tables.html import render_html
from kdrbench.reports.tables.paired_tests import paired_table, paired_tests
from support.browser_tab import DESK, NEEDS_BROWSER, PHONE, TABLET, Tab, eventually
from support.claim_rows import CONFIG, cells, records
from support.configs import whole_config

pytestmark = NEEDS_BROWSER
NARROW = {"width": 800, "height": 700}
# The page's own width, and how many tables are wider than the box in which they scroll.
PAGE = "document.documentElement.scrollWidth"
WHITE, HINT = "rgb(255, 255, 255)", "Wider than the page: scroll it sideways."
WIDER = "[...document.querySelectorAll('.wide')].filter((one) => one.scrollWidth > one.clientWidth + 1).length"


def page_of_tests():
    rows = [
        row | {"experiment": "table4_supervised_with_a_long_name"}
        for method in ("ism", "ism_converged", "stiefel_cayley", "grassmann_trust_region")
        for row in cells(
            "four", method, cost=lambda data, kernel, fold, m=method: -123456.78 * (1 + 1e-3 * len(m) + fold)
        )
    ]
    return render_html(paired_table(paired_tests(records(*rows, config=CONFIG).runs)))


def page_of_ledger():
    config = whole_config()
    rows = [row | {"experiment": "table4_supervised"} for name in ("ism", "dg", "sm") for row in cells("four", name)]
    return comparison_html(compare({"ikdr": records(*rows).runs}, config))


@pytest.fixture(scope="module", params=[page_of_tests, page_of_ledger], ids=["paired tests", "published and ours"])
def address(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "page.html"
    path.write_text(request.param(), encoding="utf-8")
    return f"file://{path}"


def test_a_desk_shows_every_column(browser, address):
    opened = Tab(browser, address, DESK, ready="table")
    assert opened.tab.evaluate(PAGE) <= DESK["width"]
    assert opened.tab.evaluate(WIDER) == 0
    assert opened.faults == []
    opened.tab.close()


def test_a_narrow_window_scrolls_tables_and_not_the_page(browser, address):
    opened = Tab(browser, address, NARROW, ready="table")
    assert opened.tab.evaluate(PAGE) <= NARROW["width"]
    # The last column can be reached by the keyboard.
    boxes = opened.tab.locator(".wide[tabindex='0']")
    assert boxes.count() == opened.tab.locator(".wide").count() > 0
    opened.tab.close()


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    path = tmp_path_factory.mktemp("ledger") / "published_vs_ours.html"
    path.write_text(page_of_ledger(), encoding="utf-8")
    return f"file://{path}"


@pytest.mark.parametrize("size", [{"width": 1440, "height": 900}, TABLET, PHONE], ids=["desk", "tablet", "phone"])
def test_why_a_number_differs_can_be_read_at_any_width(browser, ledger, size):
    opened = Tab(browser, ledger, size, ready="table")
    assert opened.tab.evaluate(PAGE) <= size["width"]
    assert opened.tab.evaluate(WIDER) == 0
    boxes = [why.bounding_box() for why in opened.tab.locator("td[data-label=Why]:not(:empty)").all()]
    assert boxes
    assert all(box["width"] > 200 and box["x"] + box["width"] <= size["width"] for box in boxes)
    assert opened.faults == []
    opened.tab.close()


def test_a_phone_shows_each_number_with_the_name_of_its_column(browser, ledger):
    opened = Tab(browser, ledger, PHONE, ready="table")
    line = opened.tab.locator("tbody tr").first
    cells = [cell.bounding_box() for cell in line.locator("td:visible").all()]
    assert [cell["y"] for cell in cells] == sorted({cell["y"] for cell in cells})
    ours = line.locator("td[data-label=Ours]")
    assert ours.evaluate("(one) => getComputedStyle(one, '::before').content") == '"Ours: "'
    opened.tab.close()


@pytest.fixture(scope="module")
def tests_page(tmp_path_factory):
    path = tmp_path_factory.mktemp("tests") / "paired_tests.html"
    path.write_text(page_of_tests(), encoding="utf-8")
    return f"file://{path}"


@pytest.mark.parametrize("size", [TABLET, PHONE], ids=["tablet", "phone"])
def test_a_wide_table_keeps_its_first_column_and_says_that_it_goes_on(browser, tests_page, size):
    opened = Tab(browser, tests_page, size, ready="table")
    frame = opened.tab.locator(".wide").first
    left = "(one) => one.querySelector('tbody td').getBoundingClientRect().left"
    before = frame.evaluate(left)
    frame.evaluate("(one) => (one.scrollLeft = 150)")
    assert frame.evaluate("(one) => one.scrollLeft") == 150
    assert frame.evaluate(left) == before
    # What goes below it is not seen through it.
    assert frame.evaluate("(one) => getComputedStyle(one.querySelector('tbody td')).backgroundColor") == WHITE
    assert opened.tab.locator(".wide + .hint:visible").all_inner_texts() == [HINT]
    assert opened.tab.evaluate(PAGE) <= size["width"]
    assert opened.faults == []
    opened.tab.close()


def test_a_table_that_fits_has_no_hint_until_the_window_is_narrow(browser, tests_page):
    opened = Tab(browser, tests_page, DESK, ready="table")
    assert opened.tab.locator(".hint:visible").count() == 0
    opened.tab.set_viewport_size(PHONE)
    assert eventually(lambda: opened.tab.locator(".hint:visible").all_inner_texts() == [HINT])
    # A frame is no higher than the window, and keeps the titles of its columns.
    frame = opened.tab.locator(".wide").first
    assert frame.bounding_box()["height"] < PHONE["height"]
    top = frame.bounding_box()["y"]
    frame.evaluate("(one) => (one.scrollTop = 300)")
    assert opened.tab.locator("thead").first.bounding_box()["y"] - top < 2
    opened.tab.close()
