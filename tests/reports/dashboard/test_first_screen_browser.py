"""What a reader sees first, and where it leads."""

from support.browser_tab import DESK, NEEDS_BROWSER, eventually

pytestmark = NEEDS_BROWSER


def test_the_profile_and_the_matrix_are_on_the_first_screen(opened):
    tab = opened("overview")
    matrix = tab.locator(".leading .matrix")
    assert matrix.bounding_box()["y"] < DESK["height"]
    assert tab.locator(".leading h3").first.bounding_box()["y"] < DESK["height"] / 3
    matrix.locator("td").nth(1).focus()
    assert "of the best known cost in" in tab.locator("#tip").inner_text()


def test_what_is_wider_than_the_page_says_so_once(phone_tab):
    tab = phone_tab.show("overview")
    assert eventually(lambda: tab.locator("#overview .leading .hint:visible").count() == 1)
