"""The site in a real browser: from disk, without a network, by keyboard, on a phone, in the dark."""

from dataclasses import replace

import pytest
from click.testing import CliRunner

from kdrbench.cli import main
from kdrbench.reports.records import read_results
from kdrbench.reports.site.pages import write_site
from kdrbench.reports.site.record import site_record
from support.browser_tab import DESK, NEEDS_BROWSER, OVERFLOWING, TABLET, Tab, eventually
from support.dashboard_grid import a_claim
from support.record_folders import folder_of

pytestmark = NEEDS_BROWSER
PHONE = {"width": 390, "height": 800}
FIGURES = ("drawn", "photo")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    first, second = folder_of(folder / "first"), folder_of(folder / "second", processor="processor two")
    done = CliRunner().invoke(main, ["site", str(first), f"<b>x</b>={second}", "--out", str(folder / "site")])
    assert done.exit_code == 0, done.output
    return folder / "site"


@pytest.fixture(scope="module")
def with_claims(tmp_path_factory):
    """A site of two records, one of which confirms a claim that the other contradicts."""
    folder, records = tmp_path_factory.mktemp("claims"), []
    for name, verdict in (("first", "confirmed"), ("second", "contradicted")):
        made = site_record(name, read_results(folder_of(folder / name)), folder / "site/records" / name)
        records.append(replace(made, claims=[a_claim() | {"verdict": verdict}]))
    write_site(folder / "site", records)
    return folder / "site"


def pages(site):
    return sorted(path.name for path in site.glob("*.html"))


@pytest.mark.parametrize("size", [DESK, TABLET, PHONE], ids=["desk", "tablet", "phone"])
def test_every_page_opens_from_disk_asks_for_nothing_and_is_not_wider_than_the_screen(browser, site, size):
    tab = Tab(browser, f"file://{site}/index.html", size)
    for page in pages(site):
        tab.tab.goto(f"file://{site}/{page}")
        tab.tab.wait_for_selector("html[data-ready]")
        assert tab.tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), page
        assert tab.tab.locator("h1").count() == 1
    assert not tab.faults
    tab.tab.close()


@pytest.mark.parametrize("size", [DESK, TABLET, PHONE], ids=["desk", "tablet", "phone"])
def test_long_names_of_experiments_do_not_run_over_the_next_cell(browser, tmp_path, size):
    record = folder_of(tmp_path / "record", experiments=("table4_unsupervised_142",))
    done = CliRunner().invoke(main, ["site", str(record), "--out", str(tmp_path / "site")])
    assert done.exit_code == 0, done.output
    tab, n_cells = Tab(browser, f"file://{tmp_path}/site/index.html", size), 0
    for page in pages(tmp_path / "site"):
        tab.tab.goto(f"file://{tmp_path}/site/{page}")
        tab.tab.wait_for_selector("html[data-ready]")
        n_cells += tab.tab.locator("td:visible", has_text="table4_unsupervised_142").count()
        assert tab.tab.evaluate(OVERFLOWING) == [], page
    assert n_cells > 3
    assert not tab.faults
    tab.tab.close()


def test_tables_are_filtered_and_sorted_by_keyboard(browser, site):
    tab = Tab(browser, f"file://{site}/data-wine.html", DESK)
    rows = tab.tab.locator("table.data tbody tr")
    assert rows.count() == 10
    tab.tab.get_by_label("Filter:").focus()
    tab.tab.keyboard.type("DG")
    assert eventually(lambda: rows.count() == 4)
    tab.tab.get_by_role("button", name="Cost").first.focus()
    tab.tab.keyboard.press("Enter")
    costs = tab.tab.locator("table.data tbody tr > :nth-child(7)")
    assert eventually(
        lambda: (
            [float(word.split()[0]) for word in costs.all_inner_texts()]
            == sorted(float(word.split()[0]) for word in costs.all_inner_texts())
        )
    )
    assert not tab.faults
    tab.tab.close()


def test_the_overview_shows_who_wins_where_and_says_what_its_numbers_are(browser, site):
    tab = Tab(browser, f"file://{site}/index.html", DESK)
    cell = tab.tab.locator("details[open] table.matrix td[data-tip]").nth(1)
    cell.hover()
    assert eventually(tab.tab.locator("#tip").is_visible)
    assert "of the best known cost in" in tab.tab.locator("#tip").inner_text()
    assert tab.tab.locator("details:not([open]) table.matrix").count() > 0
    assert not tab.faults
    tab.tab.close()


@pytest.mark.parametrize("size", [{"width": 1440, "height": 900}, PHONE], ids=["desk", "phone"])
def test_why_a_number_differs_can_be_read_at_any_width(browser, site, size):
    tab = Tab(browser, f"file://{site}/paper-neurips-2019.html", size)
    for list_of_record in tab.tab.locator("details:has(table.published) > summary").all():
        list_of_record.click()
    shown = tab.tab.locator("table.published td[data-label=Why]:not(:empty)")
    boxes = [why.bounding_box() for why in shown.all()]
    assert boxes
    assert all(box["width"] > 200 and box["x"] + box["width"] <= size["width"] for box in boxes)
    assert not tab.faults
    tab.tab.close()


@pytest.mark.parametrize(("size", "shown"), [(DESK, "beside"), (PHONE, "below")], ids=["desk", "phone"])
def test_verdicts_and_facts_are_read_without_scrolling_sideways(browser, with_claims, size, shown):
    tab = Tab(browser, f"file://{with_claims}/claims.html", size)
    cells = [
        cell.bounding_box() for cell in tab.tab.locator("#table-claims-of-records tbody tr").first.locator("td").all()
    ]
    assert all(cell["x"] + cell["width"] <= size["width"] for cell in cells)
    assert len({cell["y"] for cell in cells}) == (1 if shown == "beside" else len(cells))
    # Below each other, the first has the width of the others.
    assert shown == "beside" or cells[0]["width"] == cells[1]["width"]
    tab.tab.goto(f"file://{with_claims}/data-wine.html")
    name, fact = (tab.tab.locator(f".facts {tag}").nth(3).bounding_box() for tag in ("dt", "dd"))
    assert (fact["y"] > name["y"]) == (shown == "below")
    assert not tab.faults
    tab.tab.close()


def test_figures_are_dark_on_dark_pages_but_photographs_are_not(browser, site):
    tab = Tab(browser, f"file://{site}/index.html#?theme=dark", DESK)
    tab.tab.evaluate(
        """() => document.querySelector("main").insertAdjacentHTML("beforeend",
        '<figure class="picture"><img id="drawn"></figure><figure class="picture photo"><img id="photo"></figure>')"""
    )
    shown = {name: tab.tab.locator(f"#{name}").evaluate("(one) => getComputedStyle(one).filter") for name in FIGURES}
    assert shown["drawn"].startswith("invert(")
    assert shown["photo"] == "none"
    tab.tab.close()


def test_the_first_key_skips_to_the_content_and_names_are_words(browser, site):
    tab = Tab(browser, f"file://{site}/index.html", PHONE)
    tab.tab.keyboard.press("Tab")
    assert tab.tab.evaluate("document.activeElement.className") == "skip"
    tab.tab.keyboard.press("Enter")
    assert eventually(lambda: tab.tab.evaluate("document.activeElement.id") == "title")
    assert tab.tab.locator("main b").count() == 0
    assert "<b>x</b>" in tab.tab.locator("main").inner_text()
    tab.tab.close()
