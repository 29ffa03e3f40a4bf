"""The toggles and legends of figures."""

from support.browser_tab import NEEDS_BROWSER, eventually

pytestmark = NEEDS_BROWSER


def test_the_toggles_change_figures_and_stay_in_the_address(opened):
    tab = opened("figure-first_cost_against_time")
    plot = tab.locator("#figure-first_cost_against_time .plot").first
    plot.locator(".main-svg").first.wait_for()
    lines = plot.evaluate("(one) => one.data.length")
    relative = plot.evaluate("(one) => Math.max(...one.data[0].y)")
    for choice, value in (("cost", "absolute"), ("scale", "linear"), ("runs", "median")):
        tab.locator(f"[data-choice={choice}] button[value={value}]").click()
        assert f"{choice}={value}" in tab.url
    assert plot.evaluate("(one) => one.layout.yaxis.type") == "linear"
    assert "absolute" in plot.evaluate("(one) => one.layout.yaxis.title.text")
    assert plot.evaluate("(one) => Math.max(...one.data[0].y)") > 100 * relative
    assert 0 < plot.evaluate("(one) => one.data.length") < lines
    # A link elsewhere keeps them, and the page opens with them.
    tab.locator("header nav a", has_text="Runs").click()
    assert eventually(lambda: "cost=absolute" in tab.url)
    for choice, value in (("cost", "relative"), ("scale", "log"), ("runs", "all")):
        tab.evaluate(
            "([c, v]) => document.querySelector(`[data-choice=${c}] button[value=${v}]`).click()", [choice, value]
        )
    assert "absolute" not in tab.url
    assert plot.evaluate("(one) => one.data.length") == lines
