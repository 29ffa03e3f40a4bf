"""Tables that are wider than the page: they scroll in their frames, keep their first column, and say so."""

import pytest

from support.browser_tab import DESK, NEEDS_BROWSER, PHONE, TABLET, Tab, eventually

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
