"""The list of runs: filters by keyboard and on a phone, and the address that keeps them."""

import pytest

from support.browser_tab import NEEDS_BROWSER, address_of, column, eventually

pytestmark = NEEDS_BROWSER
METHOD, RUN = 5, 6


@pytest.fixture(params=["desk", "phone"])
def listed(request):
    """Return a tab with the list of all runs."""
    tab = request.getfixturevalue(f"{request.param}_tab")
    tab.show("runs?sort=5-asc")
    assert eventually(lambda: tab.tab.locator("#table-runs tbody tr").count() == 102)
    yield tab.tab
    tab.show("overview")
    tab.show("runs")
    assert eventually(lambda: tab.tab.locator("#table-runs tbody tr").count() == 102)
    assert not tab.faults


def test_the_address_keeps_what_is_typed_and_how_lines_are_sorted(listed):
    table = listed.locator("#table-runs")
    listed.locator("#runs").get_by_label("Filter:").fill("polynomial")
    assert eventually(lambda: "q=polynomial" in address_of(listed))
    assert eventually(lambda: table.locator("tbody tr").count() == 48)
    listed.evaluate("location.hash = 'runs?q=failed&sort=5-desc'")
    assert eventually(lambda: table.locator("tbody tr").count() == 4)
    assert listed.locator("#runs").get_by_label("Filter:").input_value() == "failed"
    listed.evaluate("location.hash = 'runs?method=ISM&sort=5-desc'")
    assert eventually(lambda: table.locator("tbody tr").count() == 12)
    assert column(table, RUN)[0] == "2"
    listed.evaluate("location.hash = 'runs?method=ISM&sort=5-asc'")
    assert eventually(lambda: column(table, RUN)[0] == "0")


@pytest.mark.parametrize("opening", ["Enter", "Space"])
def test_columns_are_filtered_by_keyboard_at_any_width(listed, opening):
    table = listed.locator("#table-runs")
    magnifier = table.get_by_role("button", name="Filter by Method")
    magnifier.focus()
    listed.keyboard.press(opening)
    choice = listed.locator(".dtcc-list").get_by_role("button", name="SVM")
    assert eventually(choice.is_visible)
    box = choice.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= listed.viewport_size["width"]
    for _ in range(20):
        if choice.evaluate("(one) => one === document.activeElement"):
            break
        listed.keyboard.press("Tab")
    listed.keyboard.press("Space")
    assert eventually(lambda: set(column(table, METHOD)) == {"SVM"})
    listed.keyboard.press("Space")
    assert eventually(lambda: len(column(table, METHOD)) == 102)
    listed.keyboard.press("Escape")
    assert eventually(lambda: not listed.locator(".dtcc-list").is_visible())
