"""Wide tables in their frames, and the list of runs: filters by keyboard and on a phone, kept by the address."""

import pytest

from support.browser_tab import DESK, NEEDS_BROWSER, OVERFLOWING, PHONE, TABLET, Tab, address_of, column, eventually

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


def test_columns_are_filtered_by_keyboard_at_any_width(listed):
    table = listed.locator("#table-runs")
    magnifier = table.get_by_role("button", name="Filter by Method")
    magnifier.focus()
    listed.keyboard.press("Enter")
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


# Where each row's first cell is, headings too, and the third one of the first row.
FIRST = """(frame) => [...frame.querySelectorAll("tr")].filter((row) => row.checkVisibility())
    .map((row) => row.cells[0].getBoundingClientRect().left)"""
THIRD = "(frame) => frame.querySelector('tbody tr').cells[2].getBoundingClientRect().left"


@pytest.mark.parametrize("size", [DESK, TABLET, PHONE], ids=["desk", "tablet", "phone"])
def test_wide_tables_keep_their_first_column_and_say_so_once(browser, address, size):
    tab, wide = Tab(browser, address, size), 0
    for chapter in ("overview", "tables", "published", "claims", "runs", "quality"):
        shown = tab.show(chapter)
        assert eventually(lambda shown=shown, chapter=chapter: shown.locator(f"#{chapter} h1").first.is_visible())
        assert shown.evaluate(OVERFLOWING) == [], chapter
        frames = shown.locator(f"#{chapter} .scrolled.wider:visible")
        hints = shown.locator(f"#{chapter} .hint:visible")
        assert eventually(lambda hints=hints, frames=frames: hints.count() == frames.count()), chapter
        for frame in frames.all():
            wide += 1
            before, third = frame.evaluate(FIRST), frame.evaluate(THIRD)
            frame.evaluate("(one) => (one.scrollLeft = 60)")
            moved = frame.evaluate("(one) => one.scrollLeft")
            assert moved > 0
            assert frame.evaluate(FIRST) == pytest.approx(before, abs=0.5), (chapter, frame.inner_text()[:80])
            assert frame.evaluate(THIRD) == pytest.approx(third - moved, abs=0.5)
            frame.evaluate("(one) => (one.scrollLeft = 0)")
    assert wide >= 2
    assert not tab.faults
    tab.tab.close()
