"""What a reader sees first, and where it leads."""

from urllib.parse import parse_qs

from support.browser_tab import DESK, NEEDS_BROWSER, Tab, address_of, eventually
from support.dashboard_grid import page

pytestmark = NEEDS_BROWSER


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


def test_folded_answers_are_opened_and_printed(browser, tmp_path):
    asked = {f"table{place}": "supervised" for place in range(9)} | {"given": "alternative"}
    html = page(tmp_path, asked, points=2, folds=2, datasets=["wine"], solvers=["ism", "dg"])
    (tmp_path / "dashboard.html").write_text(html, encoding="utf-8")
    tab = Tab(browser, f"file://{tmp_path}/dashboard.html", DESK)
    answer = tab.tab.locator("#answer-table3")
    assert answer.locator(".prose").is_hidden()
    answer.locator("summary").first.click()
    assert "reaches the best known cost" in answer.locator(".prose").inner_text()
    assert eventually(tab.show("answer-table6").locator("#answer-table6 .prose").is_visible)
    folded = tab.tab.locator("details.answer:not([open])")
    n_folded = folded.count()
    assert n_folded > 3
    tab.tab.emulate_media(media="print")
    assert eventually(lambda: folded.count() == 0)
    tab.tab.emulate_media(media="screen")
    assert eventually(lambda: folded.count() == n_folded)
    assert not tab.faults
    tab.tab.close()
