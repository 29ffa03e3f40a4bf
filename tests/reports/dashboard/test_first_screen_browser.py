"""What a reader sees first, and where it leads."""

import pytest

from support.browser_tab import DESK, NEEDS_BROWSER, Tab, eventually

pytestmark = NEEDS_BROWSER


def test_the_profile_and_the_matrix_are_on_the_first_screen(opened):
    tab = opened("overview")
    matrix = tab.locator(".leading .matrix")
    assert matrix.bounding_box()["y"] < DESK["height"]
    assert tab.locator(".leading h3").first.bounding_box()["y"] < DESK["height"] / 3
    matrix.locator("td").nth(1).focus()
    assert "of the best known cost in" in tab.locator("#tip").inner_text()
    profile = tab.locator(".leading figure.compact")
    profile.locator(".main-svg").first.wait_for()
    beside, frame = profile.bounding_box(), tab.locator(".leading .scrolled").bounding_box()
    assert beside["x"] >= frame["x"] + frame["width"]
    assert abs(beside["y"] - frame["y"]) < 10
    plot = profile.locator(".plot").bounding_box()
    assert plot["y"] + plot["height"] <= DESK["height"]
    assert plot["height"] > 200
    # Whoever scrolls down the matrix keeps the profile beside it.
    tab.mouse.wheel(0, 350)
    assert eventually(lambda: tab.evaluate("scrollY") == 350)
    assert 0 <= profile.bounding_box()["y"] < 50


@pytest.mark.parametrize("size", [DESK, {"width": 1440, "height": 900}])
def test_the_first_screen_leaves_no_hole_beside_the_matrix(browser, address, size):
    tab = Tab(browser, address, size)
    frame, matrix = (tab.tab.locator(f".leading {part}").bounding_box() for part in (".scrolled", ".matrix"))
    # But for the frame's own lines.
    assert frame["width"] - matrix["width"] <= 4
    answer = tab.tab.locator(".leading .answer").bounding_box()
    assert answer["width"] > frame["width"] + 300
    tab.tab.close()


def test_what_is_wider_than_the_page_says_so_once(phone_tab):
    tab = phone_tab.show("overview")
    assert eventually(lambda: tab.locator("#overview .leading .hint:visible").count() == 1)
