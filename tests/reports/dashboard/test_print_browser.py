"""The dashboard on paper."""

from support.browser_tab import NEEDS_BROWSER, eventually

pytestmark = NEEDS_BROWSER
VISIBLE = "[...document.querySelectorAll('{}')].filter((one) => one.checkVisibility()).length"
UNFILLED = """[...document.querySelectorAll('figure .main-svg:first-child')].filter((svg) =>
  Math.abs(svg.getBoundingClientRect().width - svg.closest('.plot').clientWidth) > 1).length"""


def test_paper_shows_answers_tables_and_figures_and_no_lists_or_controls(opened):
    tab = opened("overview")
    shown = tab.locator("#overview .bars, #overview .leading .matrix, #tables table, #claims table").count()
    tab.emulate_media(media="print")
    plots = tab.locator("figure .plot")
    assert eventually(lambda: all(plot.locator(".main-svg").count() for plot in plots.all()))
    assert tab.evaluate(VISIBLE.format("main table")) == shown > 5
    assert tab.evaluate(VISIBLE.format("#runs, #published, #quality, .take, .choices")) == 0
    assert tab.evaluate(VISIBLE.format("header, input, button.details, .dtcc, .modebar-container, .all, .none")) == 0
    tab.emulate_media(media="screen")
    assert eventually(lambda: tab.locator("#tables").is_hidden())
    assert tab.locator("main h1:visible").all_inner_texts() == ["Overview"]
    # What was drawn for paper fills its place again.
    figures = opened("figures")
    assert figures.locator("figure .plot").count() > 3
    assert eventually(lambda: figures.evaluate(UNFILLED) == 0)
