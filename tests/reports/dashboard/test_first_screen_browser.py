"""What a reader sees first, and where it leads."""

from urllib.parse import parse_qs

import pytest

from support.browser_tab import DESK, NEEDS_BROWSER, Tab, address_of, eventually

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


def test_a_cell_of_the_matrix_leads_to_its_runs(opened):
    tab = opened("overview")
    line = tab.locator(".leading .matrix tbody tr").first
    solver = line.locator("th").inner_text().split("\n")[0]
    # Of one data set and kernel, and of all.
    for place, asked, n_runs in ((1, {"data": "Wine", "kernel": "Gaussian"}, 3), (0, {}, 12)):
        opened("overview")
        line.locator("td").nth(place).focus()
        tab.keyboard.press("Enter")
        dialog = tab.locator("dialog#cell")
        assert dialog.locator("h2").inner_text() == ", ".join([solver, *asked.values()])
        assert "snakemake --cores all first" in dialog.inner_text()
        dialog.locator("#cell-runs").click()
        assert eventually(lambda n_runs=n_runs: tab.locator("#table-runs tbody tr").count() == n_runs)
        state = parse_qs(address_of(tab).partition("?")[2])
        assert state == {name: [word] for name, word in {"experiment": "first", **asked, "method": solver}.items()}


def test_a_cell_leads_to_its_own_curves(opened):
    tab = opened("tables")
    tab.locator("#table-first tbody tr", has_text="Cost").last.locator("td").nth(2).click()
    dialog = tab.locator("dialog#cell")
    assert dialog.locator("h2").inner_text() == "DG, Cancer, Gaussian"
    dialog.locator("#cell-trace").click()
    figure = tab.locator("#figure-first_cost_against_time")
    pressed = figure.locator(".legend [aria-pressed=true]")
    assert eventually(lambda: pressed.all_inner_texts() == ["DG"])
    panel = figure.locator(".panel", has_text="Cancer, Gaussian kernel")
    panel.locator(".main-svg").first.wait_for()
    assert 0 <= panel.locator("h3").bounding_box()["y"] < DESK["height"]
    shown = panel.locator(".plot").evaluate("(one) => one.data.filter((t) => t.visible).map((t) => t.legendgroup)")
    assert set(shown) == {"DG"}
    figure.get_by_role("button", name="All").click()
    # Baselines have no curves.
    opened("tables")
    tab.locator("#table-first tbody tr", has_text="Accuracy").first.locator("td").last.click()
    assert dialog.locator("h2").inner_text() == "SVM, Wine, Baselines"
    assert not dialog.locator("#cell-trace").is_visible()
    tab.keyboard.press("Escape")
