"""What a reader takes away: tables, figures and records as files."""

import csv

from support.browser_tab import DESK, NEEDS_BROWSER, Tab, column, eventually
from support.dashboard_grid import page

pytestmark = NEEDS_BROWSER


def saved(tab, act):
    with tab.expect_download() as found:
        act()
    return found.value.suggested_filename, found.value.path().read_text(encoding="utf-8")


def test_cells_that_are_taken_away_are_no_formulas(opened):
    cells = {
        "-1+cmd|' /C calc'!A0": "'-1+cmd|' /C calc'!A0",
        "=1+1": "'=1+1",
        "@sum": "'@sum",
        "'quoted": "''quoted",
        "-1.5e-3": "-1.5e-3",
        "-1311.42 \u00b1 0.26 \u2020\u2021": "-1311.42 \u00b1 0.26 \u2020\u2021",
        "-1.5% \u00b1 0.2%": "-1.5% \u00b1 0.2%",
        "-1 \u2020+cmd|' /C calc'!A0": "'-1 \u2020+cmd|' /C calc'!A0",
        'a "word", and more': '"a ""word"", and more"',
    }
    tab = opened("tables")
    assert {text: tab.evaluate("text => csvCell(text)", text) for text in cells} == cells


def test_tables_figures_and_records_can_be_taken_away(opened):
    tab = opened("tables")
    extra = tab.locator("#table-extra")
    extra.get_by_label("Filter:").fill("")
    extra.get_by_role("button", name="Name").first.click()
    assert eventually(lambda: column(extra.locator("table"), 1) == ["alpha", "beta", "gamma"])
    forms = {
        form: saved(tab, extra.get_by_role("button", name=f"An extra table as {form}").click)
        for form in ("CSV", "LaTeX", "Markdown")
    }
    assert {form: name for form, (name, _) in forms.items()} == {
        "CSV": "an-extra-table.csv",
        "LaTeX": "an-extra-table.tex",
        "Markdown": "an-extra-table.md",
    }
    assert "Name,Time\nalpha,10ms\n" in forms["CSV"][1]
    assert r"alpha & \textbf{10ms} \\" in forms["LaTeX"][1]
    assert "| alpha | **10ms** |" in forms["Markdown"][1]
    tab = opened("figure-sizes")
    sizes = tab.locator("#figure-sizes")
    name, picture = saved(tab, sizes.get_by_role("button", name="Sizes as Data").click)
    assert (name, picture.splitlines()[0]) == ("sizes.csv", "panel,series,x,y,absolute")
    tab = opened("overview")
    name, records = saved(tab, tab.locator("[data-file=records]").click)
    assert name == "records.csv"
    assert "<b>division</b> by zero" in records
    assert '"solvers"' in saved(tab, tab.locator("[data-file=config]").click)[1]
    assert '"git_commit"' in saved(tab, tab.locator("[data-file=environment]").click)[1]


def as_file(tab, table, form):
    """Return the lines of a table's file; the button's name ends in the form."""
    _, text = saved(tab, tab.locator(table).get_by_role("button", name=f"as {form}").click)
    return text.splitlines()


def test_the_list_of_runs_is_taken_away_as_filtered_and_sorted(browser, tmp_path):
    (tmp_path / "dashboard.html").write_text(page(tmp_path, points=2, folds=16), encoding="utf-8")
    tab = Tab(browser, f"file://{tmp_path}/dashboard.html", DESK)
    tab.show("runs")
    head, *lines = csv.reader(as_file(tab.tab, "#runs", "CSV"))
    assert (head[0], len(lines)) == ("Experiment", 2 * 16 * (2 * 8 + 1))
    tab.show("runs?method=GM&sort=5-desc")
    shown = tab.tab.locator("#table-runs tbody tr")
    assert eventually(lambda: shown.count() == 2 * 2 * 16)
    _, *lines = csv.reader(as_file(tab.tab, "#runs", "CSV"))
    assert [line[3:5] for line in lines] == [["GM", str(fold)] for fold in range(15, -1, -1) for _ in range(4)]
    assert {line[5] for line in lines} == {"converged", "time limit"}
    # On the page a time is in the unit that suits it, here all are in seconds.
    assert head[6].endswith(", s")
    assert all(float(line[6]) > 0 for line in lines if line[6])
    assert any(line[6] for line in lines)
    assert "ms" in tab.tab.locator("#table-runs tbody").inner_text()
    assert not tab.faults
    tab.tab.close()
