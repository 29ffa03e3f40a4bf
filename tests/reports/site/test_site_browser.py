"""The site in a real browser: from disk, without a network, by keyboard, on a phone, in the dark."""

import pytest
from click.testing import CliRunner

from kdrbench.suite.cli import main
from support.browser_tab import DESK, NEEDS_BROWSER, TABLET, Tab, eventually
from support.record_folders import folder_of

pytestmark = NEEDS_BROWSER
PHONE = {"width": 390, "height": 800}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    first, second = folder_of(folder / "first"), folder_of(folder / "second", processor="processor two")
    done = CliRunner().invoke(main, ["site", str(first), f"<b>x</b>={second}", "--out", str(folder / "site")])
    assert done.exit_code == 0, done.output
    return folder / "site"


def pages(site):
    return sorted(path.name for path in site.glob("*.html"))


@pytest.mark.parametrize("size", [DESK, TABLET, PHONE], ids=["desk", "tablet", "phone"])
def test_every_page_opens_from_disk_and_fits_the_screen(browser, site, size):
    tab = Tab(browser, f"file://{site}/index.html", size)
    for page in pages(site):
        tab.tab.goto(f"file://{site}/{page}")
        tab.tab.wait_for_selector("html[data-ready]")
        assert tab.tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), page
        assert tab.tab.locator("h1").count() == 1
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


def test_the_first_key_skips_to_the_content_and_names_are_words(browser, site):
    tab = Tab(browser, f"file://{site}/index.html", PHONE)
    tab.tab.keyboard.press("Tab")
    assert tab.tab.evaluate("document.activeElement.className") == "skip"
    tab.tab.keyboard.press("Enter")
    assert eventually(lambda: tab.tab.evaluate("document.activeElement.id") == "title")
    assert tab.tab.locator("main b").count() == 0
    assert "<b>x</b>" in tab.tab.locator("main").inner_text()
    tab.tab.close()
