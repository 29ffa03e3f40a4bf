"""The toggles and legends of figures."""

from support.browser_tab import DESK, NEEDS_BROWSER, TABLET, Tab, address_of, eventually

pytestmark = NEEDS_BROWSER
FIGURE = "figure-first_cost_against_time"


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


def test_the_page_opens_with_the_toggles_of_its_address(browser, address):
    tab = Tab(browser, f"{address}#{FIGURE}?cost=absolute&time=linear", DESK)
    for again in (False, True):
        if again:
            tab.tab.reload()
            tab.tab.wait_for_selector("html[data-ready]")
        plot = tab.tab.locator(f"#{FIGURE} .plot").first
        plot.locator(".main-svg").first.wait_for()
        axes = plot.evaluate("(one) => [one.layout.xaxis.type, one.layout.yaxis.type, one.layout.yaxis.title.text]")
        assert axes == ["linear", "log", "cost above best, absolute"]
        pressed = tab.tab.locator("[data-choice] [aria-pressed=true]").evaluate_all("(all) => all.map((b) => b.value)")
        assert pressed == ["absolute", "log", "linear", "all"]
        assert address_of(tab.tab).endswith("?cost=absolute&time=linear")
    assert not tab.faults
    tab.tab.close()


def test_the_legend_stays_in_sight_of_its_panels(browser, address):
    tab = Tab(browser, f"{address}#{FIGURE}", {"width": 1300, "height": 400})
    figure = tab.tab.locator(f"#{FIGURE}")
    legend, last = figure.locator(".legend"), figure.locator(".plot").last
    last.scroll_into_view_if_needed()
    assert figure.locator("h2").bounding_box()["y"] < 0
    box = legend.bounding_box()
    assert 0 <= box["y"] < 5
    # A click meets the legend, not a panel below it.
    button = legend.get_by_role("button", name="DG", exact=True)
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    tab.tab.close()


def test_a_link_to_a_figure_shows_its_title_below_the_chapters(browser, address):
    tab = Tab(browser, address, TABLET)
    shown = tab.show(FIGURE)
    title, chapters = shown.locator(f"#{FIGURE} h2"), shown.locator("header")
    assert eventually(lambda: shown.evaluate("scrollY") > 0)
    bar = chapters.bounding_box()
    assert bar["y"] + bar["height"] <= title.bounding_box()["y"] < TABLET["height"] / 4
    tab.tab.close()
