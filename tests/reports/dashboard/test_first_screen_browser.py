"""What a reader sees first, and where it leads."""

from urllib.parse import parse_qs

import pytest

from support.browser_tab import DESK, NEEDS_BROWSER, PHONE, Tab, address_of, eventually
from support.dashboard_grid import page

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


@pytest.fixture(scope="module")
def twenty(tmp_path_factory):
    """Return the address of a page of twenty experiments, which ask three questions."""
    folder = tmp_path_factory.mktemp("twenty")
    paradigms = ["supervised", "unsupervised", "semi_supervised"]
    asked = {f"table{place}": paradigms[place % 3] for place in range(19)} | {"given": "alternative"}
    (folder / "dashboard.html").write_text(
        page(folder, asked, points=2, folds=2, datasets=["wine"], solvers=["ism", "dg"]), encoding="utf-8"
    )
    return f"file://{folder}/dashboard.html"


@pytest.mark.parametrize("size", [{"width": 1440, "height": 900}, PHONE], ids=["desk", "phone"])
def test_what_to_distrust_is_below_the_leading_answer_and_each_question_is_asked_once(browser, twenty, size):
    tab = Tab(browser, twenty, size)
    distrust = tab.tab.get_by_role("heading", name="What was not run, and what to distrust")
    others = tab.tab.get_by_role("heading", name="What the other experiments ask, and the answers")
    assert distrust.bounding_box()["y"] < others.bounding_box()["y"]
    # On a phone the profile is below the matrix.
    assert distrust.bounding_box()["y"] < (2 if size["width"] > 900 else 3) * size["height"]
    asked = tab.tab.locator("#overview :is(.answer, .question) > h3").all_inner_texts()
    assert len(asked) == len(set(asked)) == 5
    assert tab.tab.locator("details.answer").count() == 18
    assert tab.tab.locator("#overview .bars tr:visible", has_text="table").count() == 0
    assert tab.tab.locator("details.answer > summary").first.inner_text() == "Experiment table1."
    assert not tab.faults
    tab.tab.close()


def test_a_folded_answer_is_opened_by_its_title_and_by_its_address(browser, twenty):
    tab = Tab(browser, twenty, DESK)
    answer = tab.tab.locator("#answer-table3")
    assert answer.locator(".prose").is_hidden()
    answer.locator("summary").first.click()
    assert "reaches the best known cost" in answer.locator(".prose").inner_text()
    linked = tab.show("answer-table6").locator("#answer-table6 .prose")
    assert eventually(linked.is_visible)
    assert not tab.faults
    tab.tab.close()


def test_folded_answers_are_printed_and_folded_again(browser, twenty):
    tab = Tab(browser, twenty, DESK)
    tab.tab.locator("#answer-table3 summary").first.click()
    folded = tab.tab.locator("details.answer:not([open])")
    tab.tab.emulate_media(media="print")
    assert eventually(lambda: folded.count() == 0)
    tab.tab.emulate_media(media="screen")
    assert eventually(lambda: folded.count() == 17)
    assert not tab.faults
    tab.tab.close()
