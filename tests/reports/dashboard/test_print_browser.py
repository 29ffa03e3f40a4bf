"""The dashboard on paper."""

import re
from dataclasses import replace

import pytest

from kdrbench.suite.findings.ledger import compare
from kdrbench.suite.reports.dashboard.page import Parts, render_dashboard
from kdrbench.suite.reports.dashboard.runs import all_runs
from support.browser_tab import NEEDS_BROWSER, Tab, eventually
from support.dashboard_grid import a_claim, bar_chart, extra_table, grid_config, grid_runs

pytestmark = NEEDS_BROWSER
UNFILLED = """[...document.querySelectorAll('figure .main-svg:first-child')].filter((svg) =>
  Math.abs(svg.getBoundingClientRect().width - svg.closest('.plot').clientWidth) > 1).length"""

# A4 across without its margins, in pixels.
PAPER = {"width": 1032, "height": 703}


def pages_of(pdf):
    """Return how many pages Chromium has printed: it writes their objects uncompressed."""
    return len(re.findall(rb"/Type /Page\b", pdf))


@pytest.mark.parametrize(
    ("chapter", "figure"),
    [
        ("figures", "#figure-sizes"),
        ("figures", "#figure-first_cost_against_time"),
        ("overview?theme=dark", ".leading figure.compact"),
    ],
)
def test_one_figure_is_printed_alone_and_fills_the_page(browser, address, chapter, figure):
    tab = Tab(browser, address, PAPER)
    shown = tab.show(chapter)
    one = shown.locator(figure)
    one.scroll_into_view_if_needed()
    # The browser's own dialog would wait for somebody; the test prints in its place.
    shown.evaluate("window.print = () => {}")
    one.get_by_role("button", name="as PDF").click()
    shown.emulate_media(media="print")
    assert shown.locator("figure:visible").count() == 1
    assert shown.locator("main table:visible, main h1:visible").count() == 0
    plots = one.locator(".plot")
    assert eventually(lambda: all(plot.locator(".main-svg").count() for plot in plots.all()))
    boxes = [plot.locator(".main-svg").first.bounding_box() for plot in plots.all()]
    assert min(box["x"] for box in boxes) < 2
    assert PAPER["width"] - 2 <= max(box["x"] + box["width"] for box in boxes) <= PAPER["width"] + 1
    assert {plot.evaluate("(one) => one.layout.plot_bgcolor") for plot in plots.all()} == {"#fff"}
    assert pages_of(shown.pdf(prefer_css_page_size=True)) == 1
    # Everything is back when it is printed.
    shown.emulate_media(media="screen")
    assert eventually(lambda: shown.locator("html[data-alone]").count() == 0)
    assert shown.locator("main h1:visible").count() == 1
    assert eventually(lambda: shown.evaluate(UNFILLED) == 0)
    assert not tab.faults
    shown.close()


def page_of(folder, n_figures, n_tables):
    """Return the address of a page with figures of two panels, tables, and 35 claims."""
    config = grid_config(["first"], datasets=("wine",))
    runs = grid_runs(config, folder, points=2)
    charts = [replace(bar_chart(), name=f"sizes{count}", caption="What is big. " * 20) for count in range(n_figures)]
    tables = [replace(extra_table(), name=f"extra{count}") for count in range(n_tables)]
    parts = Parts(charts, tables, [a_claim() for _ in range(35)])
    html = render_dashboard(all_runs({"ikdr": runs}), config, folder, compare({"ikdr": runs}, config), parts)
    (folder / "dashboard.html").write_text(html, encoding="utf-8")
    return f"file://{folder}/dashboard.html"


@pytest.mark.parametrize(("n_figures", "n_tables"), [(61, 1), (1, 41)])
def test_a_page_of_more_than_twelve_pages_prints_a_part(browser, tmp_path, n_figures, n_tables):
    tab = Tab(browser, page_of(tmp_path, n_figures, n_tables), PAPER)
    shown = tab.show("overview")
    assert shown.locator(".on-paper").is_hidden()
    shown.emulate_media(media="print")
    assert eventually(lambda: shown.locator("#claims table:visible").count())
    said = shown.locator(".on-paper").inner_text()
    assert re.search(rf"{n_tables} tables? and {n_figures} figures? would take more than twelve pages", said)
    assert shown.locator("#figures:visible").count() == 0
    assert shown.locator("#table-extra0 table:visible").count() == 1
    assert shown.locator("details:not([open]) > summary:visible").count() == 0
    # The first digits of a commit are enough on paper.
    overview = shown.locator("#overview").inner_text()
    assert "c" * 10 in overview
    assert "c" * 11 not in overview
    assert shown.locator("#overview .matrix:visible").count()
    # What is not printed is not drawn either.
    assert shown.locator("#figures .main-svg").count() == 0
    assert 1 <= pages_of(shown.pdf(prefer_css_page_size=True)) <= 12
    # One of them is still printed alone.
    shown.emulate_media(media="screen")
    figure = tab.show("figures").locator("#figure-sizes0")
    figure.scroll_into_view_if_needed()
    shown.evaluate("window.print = () => {}")
    figure.get_by_role("button", name="as PDF").click()
    shown.emulate_media(media="print")
    assert shown.locator("figure:visible").count() == 1
    assert not tab.faults
    shown.close()
