"""The site of several records: its pages, what they say, and what they refuse."""

import json
import re
from dataclasses import replace
from html import unescape

import pytest
from click.testing import CliRunner

from kdrbench.suite.cli import main
from kdrbench.suite.reports.figures.draw_matplotlib import write_chart
from kdrbench.suite.reports.outputs import figures_of
from kdrbench.suite.reports.records import read_results
from kdrbench.suite.reports.site import SiteRecord, write_site
from support.browser_tab import DESK, NEEDS_BROWSER, PHONE, Tab
from support.dashboard_grid import a_claim, bar_chart
from support.record_folders import folder_of

HOSTILE = "<img src=x onerror=alert(1)>"
SECOND = "record-img-src-x-onerror-alert-1.html"


def build(out, *records):
    return CliRunner().invoke(main, ["report", "--site", *map(str, records), "--out", str(out)], catch_exceptions=False)


def text_of(page):
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", page.read_text())))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A site of two records: the second has another machine and version, one other cost, and one run that failed."""
    folder = tmp_path_factory.mktemp("site")
    first = folder_of(folder / "results/first", experiments=["first", "second"])
    write_chart(bar_chart(), folder / "results/reports/figures/first_cost_against_time")
    second = folder_of(folder / "second", processor="processor two", kdrbench_version="0.2")
    table = second / "merged/first.csv"
    table.write_text(table.read_text().replace(",-1311.", ",-1441.", 1).replace(",converged,", ",failed,", 1))
    done = build(folder / "site", f"laptop={first}", f"{HOSTILE}={second}")
    assert done.exit_code == 0, done.output
    return folder / "site"


@pytest.mark.slow("a site of two records with a figure is made once for all tests here")
def test_each_record_has_its_dashboard_and_every_link_leads_to_one(site):
    assert {path.name for path in site.glob("*.html")} == {"index.html", "record-laptop.html", SECOND}
    index = (site / "index.html").read_text()
    assert re.findall(r'(?:href|src)="([^"]*)"', index) == ["record-laptop.html", SECOND]
    dashboard = (site / "record-laptop.html").read_text()
    assert 'id="table-second"' in dashboard
    assert 'id="figure-sizes"' in dashboard
    wanted = len(figures_of(json.loads((site / "records/laptop/config.json").read_text())))
    assert f"{wanted - 1} of {wanted} figures were not drawn." in text_of(site / "index.html")


def test_hostile_names_are_no_markup_and_no_other_host_is_asked(site):
    index = (site / "index.html").read_text()
    assert "<img src=x" not in index
    assert "&lt;img src=x" in index
    assert not re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?(?:https?:)?//""", index)


def test_answers_of_all_records_are_beside_each_other(site):
    words = text_of(site / "index.html")
    assert words.count("laptop:") == 2
    assert words.count(f"{HOSTILE}:") == 1


def test_what_changed_is_counted_and_named(site):
    words = text_of(site / "index.html")
    assert "15 results are in both records, 15 in laptop alone, 0 in" in words
    assert "15 of those in both were made for the same definition" in words
    assert "Results or endings differ in 1 of 5 cells" in words
    assert "1 converged to failed" in words
    assert "processor processor one processor two" in words
    assert "kdrbench version 0.1 0.2" in words
    # (1441.x - 1311.x) / 1441.x, lower being better.
    assert "-0.09" in words


@pytest.mark.slow("makes the dashboards of two records")
def test_results_of_other_definitions_are_not_compared(tmp_path):
    first = folder_of(tmp_path / "first")
    second = folder_of(tmp_path / "second", changed={"start": "random"}, definition_sha256="f" * 64)
    assert build(tmp_path / "site", first, second).exit_code == 0
    words = text_of(tmp_path / "site/index.html")
    assert "experiments.first.start is surrogate and random" in words
    assert "0 of those in both were made for the same definition" in words
    assert "No run is in both records with the same definition and data." in words


def test_the_records_inside_make_the_same_site_again(site, tmp_path):
    again = build(tmp_path / "again", f"laptop={site / 'records/laptop'}")
    assert again.exit_code == 0, again.output
    tables = {path.name for path in (site / "records/laptop").rglob("*.csv")}
    assert tables == {"first.csv", "second.csv", "ikdr.csv"}


def test_a_folder_of_somebody_else_is_left_as_it_is(tmp_path):
    record = folder_of(tmp_path / "record")
    out = tmp_path / "mine"
    out.mkdir()
    (out / "index.html").write_text("a homepage")
    done = build(out, record)
    assert done.exit_code == 2
    assert "was not made by this command" in done.stderr
    assert (out / "index.html").read_text() == "a homepage"


def test_a_site_that_cannot_be_made_leaves_the_old_one(tmp_path):
    record = folder_of(tmp_path / "record")
    assert build(tmp_path / "site", record).exit_code == 0
    before = (tmp_path / "site/index.html").read_bytes()
    table = record / "merged/first.csv"
    table.write_text(table.read_text()[:-20])
    done = build(tmp_path / "site", record)
    assert done.exit_code == 2
    assert "its last line is cut" in done.stderr
    assert (tmp_path / "site/index.html").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["record", "site"]


@pytest.mark.parametrize("content", ["", '{"name": "a", "title": "a", "caption": "", "panels": [{}]}'])
def test_a_figure_that_is_none_is_refused(tmp_path, content):
    record = folder_of(tmp_path / "results/record")
    figure = tmp_path / "results/reports/figures/first_cost_against_time.json"
    figure.parent.mkdir(parents=True)
    figure.write_text(content)
    done = build(tmp_path / "site", record)
    assert done.exit_code == 2
    assert "first_cost_against_time" in done.stderr
    assert "draw it again" in done.stderr


def test_code_that_a_record_names_is_not_run(tmp_path):
    record = folder_of(tmp_path / "results")
    (tmp_path / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    config = json.loads((record / "config.json").read_text())
    config["solvers"]["dg"]["method"] = str(tmp_path / "own.py")
    (record / "config.json").write_text(json.dumps(config))
    done = build(tmp_path / "site", record)
    assert done.exit_code == 0, done.output
    assert not (tmp_path / "ran").exists()


# What the first and the second record decide of each claim; ``None`` where no experiment asks.
DECIDED = {
    "ISM is lowest.": ("confirmed", "contradicted"),
    "ISM is quickest.": ("confirmed", "confirmed"),
    "DG is slow.": ("contradicted", None),
    "Kernels are alike.": ("mostly confirmed", "undecided"),
    "It is open.": ("undecided", "undecided"),
}


def test_claims_of_two_records_are_side_by_side(tmp_path):
    results = read_results(folder_of(tmp_path / "record"))
    runs = SiteRecord("first", results, _runs(tmp_path / "record"), "", [], [])
    records = [replace(runs, name=name, claims=_claims(place)) for place, name in enumerate(("first", "second"))]
    write_site(tmp_path, records)
    body = re.search(r"Claims by record</caption>.*?<tbody>(.*?)</tbody>", (tmp_path / "index.html").read_text(), re.S)
    cells = [re.findall(r"<t[dh]\b[^>]*>(.*?)</t[dh]>", row, re.S) for row in body[1].split("<tr>")[1:]]
    rows = {row[0]: [re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", cell)).strip() for cell in row[3:]] for row in cells}
    assert {claim: row[0] for claim, row in rows.items()} == {
        "ISM is lowest.": "differ",
        "ISM is quickest.": "agree",
        "DG is slow.": "one decides",
        "Kernels are alike.": "one decides",
        "It is open.": "none decides",
    }
    first, second = rows["ISM is lowest."][1:]
    assert first == "confirmed 1 of 9 Evidence 1 s in place of 2 s A note."
    assert second.startswith("contradicted 2 of 9 Evidence")
    assert rows["DG is slow."][2] == "not asked"


def _runs(folder):
    from kdrbench.suite.reports.dashboard.runs import all_runs
    from kdrbench.suite.reports.records import read_runs

    return all_runs({"ikdr": read_runs(folder / "ikdr.csv")})


def _claims(place):
    return [
        a_claim() | {"claim": words, "verdict": verdicts[place], "measure": f"{place + 1} of 9", "note": "A note."}
        for words, verdicts in DECIDED.items()
        if verdicts[place]
    ]


@NEEDS_BROWSER
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_the_page_opens_from_disk_fits_the_screen_and_shows_names_as_words(browser, site, size):
    tab = Tab(browser, f"file://{site}/{SECOND}", size)
    tab.tab.goto(f"file://{site}/index.html")
    assert tab.tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert tab.tab.locator("h1").count() == 1
    assert tab.tab.locator("main img").count() == 0
    assert HOSTILE in tab.tab.locator("main").inner_text()
    assert not tab.faults
    tab.tab.close()
