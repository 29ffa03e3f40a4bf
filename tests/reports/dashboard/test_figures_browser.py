"""The toggles of figures, and pictures."""

from support.browser_tab import NEEDS_BROWSER, address_of, eventually

pytestmark = NEEDS_BROWSER


def test_the_toggles_change_figures_and_stay_in_the_address(opened):
    tab = opened("figure-first_cost_against_time")
    plot = tab.locator("#figure-first_cost_against_time .plot").first
    plot.locator(".main-svg").first.wait_for()
    lines = plot.evaluate("(one) => one.data.length")
    relative = plot.evaluate("(one) => Math.max(...one.data[0].y)")
    for choice, value in (("cost", "absolute"), ("scale", "linear"), ("time", "linear"), ("runs", "median")):
        tab.locator(f"[data-choice={choice}] button[value={value}]").click()
        assert f"{choice}={value}" in address_of(tab)
    assert plot.evaluate("(one) => one.layout.yaxis.type") == "linear"
    assert plot.evaluate("(one) => one.layout.xaxis.type") == "linear"
    assert "absolute" in plot.evaluate("(one) => one.layout.yaxis.title.text")
    assert plot.evaluate("(one) => Math.max(...one.data[0].y)") > 100 * relative
    assert 0 < plot.evaluate("(one) => one.data.length") < lines
    # A link elsewhere keeps them, and the page opens with them.
    tab.locator("header nav a", has_text="Runs").click()
    assert eventually(lambda: "cost=absolute" in address_of(tab))
    for choice, value in (("cost", "relative"), ("scale", "log"), ("time", "log"), ("runs", "all")):
        tab.evaluate(
            "([c, v]) => document.querySelector(`[data-choice=${c}] button[value=${v}]`).click()", [choice, value]
        )
    assert "absolute" not in address_of(tab)
    assert plot.evaluate("(one) => one.data.length") == lines


def test_pictures_stand_in_rows_below_their_headings_the_right_way_up(opened):
    tab = opened("figure-pictures")
    plots = tab.locator("#figure-pictures .plot")
    for plot in plots.all():
        plot.scroll_into_view_if_needed()
        plot.locator(".imagelayer image").wait_for(state="attached")
    wide, one, other = (plot.bounding_box() for plot in plots.all())
    headings = [place.bounding_box() for place in tab.locator("#figure-pictures .heading").all()]
    assert headings[0]["y"] < wide["y"] < headings[1]["y"] < one["y"] == other["y"]
    assert one["x"] < other["x"]
    # Square pixels, the first row at the top.
    low, high = plots.first.evaluate("(one) => one._fullLayout.yaxis.range")
    assert low > 19 > 0 > high
    plots.first.evaluate("(one) => Plotly.Fx.hover(one, { xval: 3, yval: 2 })")
    assert eventually(lambda: "column 3, row 2" in plots.first.locator(".hoverlayer").text_content())
