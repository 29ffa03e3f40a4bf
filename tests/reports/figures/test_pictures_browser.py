"""Pictures in the dashboard, in a real browser: shown the right way up, zoomed, and side by side on a phone."""

import pytest

from support.browser_tab import DESK, NEEDS_BROWSER, PHONE, Tab, eventually
from support.dashboard_grid import page

pytestmark = NEEDS_BROWSER


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    (folder / "dashboard.html").write_text(page(folder, datasets=("wine",), folds=1), encoding="utf-8")
    return f"file://{folder}/dashboard.html"


def drawn(browser, address, size):
    """Return the tab and the plots of the figure of pictures, all drawn."""
    opened = Tab(browser, address, size)
    opened.show("figure-pictures")
    plots = opened.tab.locator("#figure-pictures .plot")
    for plot in plots.all():
        plot.scroll_into_view_if_needed()
        plot.locator(".imagelayer image").wait_for(state="attached")
    return opened, plots


def test_pictures_stand_in_rows_below_their_headings_the_right_way_up(browser, address):
    opened, plots = drawn(browser, address, DESK)
    wide, one, other = (plot.bounding_box() for plot in plots.all())
    headings = [place.bounding_box() for place in opened.tab.locator("#figure-pictures .heading").all()]
    assert headings[0]["y"] < wide["y"] < headings[1]["y"] < one["y"] == other["y"]
    assert one["x"] < other["x"]
    # Square pixels, the first row at the top.
    low, high = plots.first.evaluate("(one) => one._fullLayout.yaxis.range")
    assert low > 19 > 0 > high
    plots.first.evaluate("(one) => Plotly.Fx.hover(one, { xval: 3, yval: 2 })")
    assert eventually(lambda: "column 3, row 2" in plots.first.locator(".hoverlayer").text_content())
    assert opened.faults == []
    opened.tab.close()


def test_a_picture_is_zoomed_by_key_and_goes_back_unturned(browser, address):
    opened, plots = drawn(browser, address, DESK)
    reach = "(one) => one._fullLayout.yaxis.range"
    whole = plots.first.evaluate(reach)
    plots.first.focus()
    opened.tab.keyboard.press("+")
    assert eventually(lambda: abs(plots.first.evaluate(reach)[0] - whole[0]) > 1)
    zoomed = plots.first.evaluate(reach)
    assert whole[0] > zoomed[0] > zoomed[1] > whole[1]
    opened.tab.keyboard.press("0")
    assert eventually(lambda: plots.first.evaluate(reach) == whole)
    opened.tab.close()


def test_a_phone_shows_two_beside_each_other_and_scrolls_down_only(browser, address):
    opened, plots = drawn(browser, address, PHONE)
    one, other = (plot.bounding_box() for plot in plots.all()[1:])
    assert one["y"] == other["y"]
    assert other["x"] + other["width"] <= PHONE["width"]
    assert opened.tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert opened.faults == []
    opened.tab.close()
