"""Tables that are wider than the page: they scroll in their frames, keep their labels, and say so."""

import pytest

from support.browser_tab import DESK, NEEDS_BROWSER, OVERFLOWING, PHONE, TABLET, Tab, eventually

pytestmark = NEEDS_BROWSER
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


# What of a table is seen where the reader looks, and not below something else.
SEEN = """(places) => places.map((place) => {
    const box = place.getBoundingClientRect();
    return place.contains(document.elementFromPoint(box.left + box.width / 2, box.top + Math.min(box.height / 2, 8)));
})"""


@pytest.mark.parametrize("size", [DESK, TABLET, PHONE], ids=["desk", "tablet", "phone"])
def test_a_number_keeps_its_data_set_its_metric_and_its_group_in_sight(browser, address, size):
    tab = Tab(browser, address, size)
    table = tab.show("table-first").locator("#table-first table.layout")
    frame = tab.tab.locator("#table-first .scrolled")
    frame.scroll_into_view_if_needed()
    unmoved = table.locator("thead .group .dt-column-title").evaluate_all("(all) => all.map((one) => one.offsetLeft)")
    frame.evaluate("(one) => (one.scrollLeft = 900)")
    assert frame.evaluate("(one) => one.scrollLeft") > 200
    labels = table.locator("tbody tr:nth-child(-n + 3) > :nth-child(-n + 2)")
    assert labels.all_inner_texts()[:2] == ["Wine", "First solve"]
    assert labels.evaluate_all(SEEN) == [True] * 6
    # Of each line of groups that over the first column that is seen whole, wherever its columns begin.
    for line in table.locator("thead tr:has(.group)").all():
        seen = line.locator(".group .dt-column-title:not(:empty)").evaluate_all(SEEN)
        assert any(seen), (line.inner_text(), unmoved)
    assert not tab.faults
    tab.tab.close()


@pytest.mark.parametrize("size", [DESK, TABLET, PHONE], ids=["desk", "tablet", "phone"])
def test_no_words_run_over_the_next_cell(browser, address, size):
    tab = Tab(browser, address, size)
    for chapter in ("overview", "tables", "published", "claims", "runs", "quality"):
        shown = tab.show(chapter)
        assert eventually(lambda shown=shown, chapter=chapter: shown.locator(f"#{chapter} h1").first.is_visible())
        assert shown.evaluate(OVERFLOWING) == [], chapter
    assert not tab.faults
    tab.tab.close()
