"""The site of several records: its pages, what they say, and what they refuse."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from kdrbench.suite.cli import main
from kdrbench.suite.reports.figures.chart import Chart
from kdrbench.suite.reports.figures.draw_matplotlib import write_chart
from kdrbench.suite.reports.outputs import figures_of
from kdrbench.suite.reports.site.pages import addresses
from support.dashboard_grid import bar_chart
from support.record_folders import folder_of

HOSTILE = "<img src=x onerror=alert(1)>"


def build(out, *records):
    return CliRunner().invoke(main, ["site", *map(str, records), "--out", str(out)], catch_exceptions=False)


def text_of(page):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.read_text()))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A site of two records: the second has another machine and version, one other cost, and one run that failed."""
    folder = tmp_path_factory.mktemp("site")
    first = folder_of(folder / "results/first", experiments=["first", "second"])
    _draw(first)
    second = folder_of(folder / "second", processor="processor two", kdrbench_version="0.2")
    table = second / "merged/first.csv"
    table.write_text(table.read_text().replace(",-1311.", ",-1441.", 1).replace(",converged,", ",failed,", 1))
    done = build(folder / "site", f"laptop={first}", f"{HOSTILE}={second}")
    assert done.exit_code == 0, done.output
    return folder / "site"


def _draw(folder):
    """Write a figure beside a record that its configuration asks for."""
    figures = folder.parent / "reports/figures"
    write_chart(bar_chart(), figures / "first_cost_against_time")
    panel = replace(bar_chart().panels[0], title="No run left any", series=[])
    write_chart(Chart("first_scatter", "A figure of nothing", "C.", [panel]), figures / "first_scatter")


@pytest.mark.slow("a site of two records with a figure is made once for all tests here")
def test_every_link_leads_to_a_page_and_each_thing_has_one(site):
    assert {path.name for path in site.glob("*.html")} == {
        *("index.html", "claims.html", "paper-neurips-2019.html", "data-wine.html", "record-laptop.html"),
        *("method-ism.html", "method-dg.html", "method-svm.html", "record-img-src-x-onerror-alert-1.html"),
        "changes-laptop-and-img-src-x-onerror-alert-1.html",
    }
    for page in site.glob("*.html"):
        for link in re.findall(r'(?:href|src)="([^"]*)"', page.read_text()):
            target, _, place = link.partition("#")
            led_to = site / target if target else page
            assert led_to.is_file(), f"{page.name} leads to {link}"
            assert not place or f'id="{place}"' in led_to.read_text(), link


def test_hostile_names_are_no_markup_and_no_other_host_is_asked(site):
    for page in site.glob("*.html"):
        assert "<img src=x" not in page.read_text()
    assert "&lt;img src=x" in (site / "index.html").read_text()
    for path in [*site.glob("*.html"), site / "assets/site.css", site / "assets/site.js"]:
        assert not re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?(?:https?:)?//""", path.read_text()), path


def test_a_method_and_a_data_set_have_the_lines_of_every_record(site):
    method = text_of(site / "method-ism.html")
    assert method.count("laptop") == 2 * 2
    assert method.count("&lt;img") == 2
    assert "1 failed, 2 converged" in method or "2 converged, 1 failed" in method
    data = text_of(site / "data-wine.html")
    # 2 kernels x 2 solvers and a baseline, of two experiments and of one.
    assert data.count("Gaussian") == data.count("Polynomial") == 3 * 2


def test_the_paper_has_its_tables_printed_numbers_and_figures(site):
    page = (site / "paper-neurips-2019.html").read_text()
    assert "-1311\u00b1<wbr>26" in page
    assert 'src="figures/laptop/first_cost_against_time.svg"' in page
    for kind in ("svg", "pdf", "json"):
        assert (site / f"figures/laptop/first_cost_against_time.{kind}").stat().st_size > 1000


def test_tables_without_a_row_and_empty_figures_are_not_shown(site):
    shown = " ".join(text_of(page) for page in site.glob("*.html"))
    # Three folds are too few to test anything.
    assert "Paired tests" not in shown
    assert "A figure of nothing" not in shown
    assert not list(site.glob("figures/*/first_scatter.*"))
    # It was drawn: others were not.
    wanted = len(figures_of(json.loads((site / "records/laptop/config.json").read_text())))
    assert f"{wanted - 2} of {wanted} figures are not shown: they were not drawn." in shown


def test_what_changed_is_counted_and_named(site):
    page = text_of(site / "changes-laptop-and-img-src-x-onerror-alert-1.html")
    assert "15 results are in both records, 15 in laptop alone, 0 in" in page
    assert "15 of those in both were made for the same definition" in page
    assert "Results or endings differ in 1 of 5 cells" in page
    assert "1 converged to failed" in page
    assert "processor processor one processor two" in page
    assert "kdrbench version 0.1 0.2" in page
    # (1441.x - 1311.x) / 1441.x, lower being better.
    assert "-0.09" in page


def test_results_of_other_definitions_are_not_compared(tmp_path):
    first = folder_of(tmp_path / "first")
    second = folder_of(tmp_path / "second", changed={"start": "random"}, definition_sha256="f" * 64)
    assert build(tmp_path / "site", first, second).exit_code == 0
    page = text_of(tmp_path / "site/changes-first-and-second.html")
    assert "experiments.first.start is surrogate and random" in page
    assert "0 of those in both were made for the same definition" in page
    assert "No run is in both records with the same definition and data." in page


def test_the_records_inside_make_the_same_site_again(site, tmp_path):
    again = build(tmp_path / "again", f"laptop={site / 'records/laptop'}")
    assert again.exit_code == 0, again.output
    # The only record is not named in every line.
    assert "laptop" not in text_of(tmp_path / "again/method-ism.html")
    assert "laptop" in text_of(tmp_path / "again/index.html")
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


def test_a_site_that_cannot_be_made_leaves_the_old_one(site, tmp_path):
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


@pytest.mark.parametrize("content", ["", '{"name": "a", "title": "a", "caption": "", "panels": [{}]}', "[" * 10_000])
def test_a_figure_that_is_none_is_refused(tmp_path, content):
    record, _ = with_figure(tmp_path, content)
    done = build(tmp_path / "site", record)
    assert done.exit_code == 2
    assert "first_scatter" in done.stderr
    assert "draw it again" in done.stderr


def with_figure(folder, content):
    """Return a record, and the file of a figure beside it."""
    record = folder_of(folder / "results/record")
    place = folder / "results/reports/figures/first_scatter.json"
    place.parent.mkdir(parents=True)
    place.write_text(content)
    return record, place


@pytest.mark.slow("draws a figure of hostile values")
def test_a_figure_with_hostile_values_is_refused_or_words(tmp_path):
    chart = json.loads(bar_chart().to_json())
    chart["panels"][0]["title"] = "$\frac{"
    record, place = with_figure(tmp_path, json.dumps(chart | {"panels": chart["panels"][:1]}))
    assert build(tmp_path / "site", record).exit_code == 0
    chart["panels"][1]["series"][0]["y"] = ["<script>", {}]
    place.write_text(json.dumps(chart))
    done = build(tmp_path / "again", record)
    assert done.exit_code == 2
    assert "cannot be drawn" in done.stderr


def test_code_and_paths_that_a_record_names_are_not_used(tmp_path):
    secret = tmp_path / "secret.jsonl"
    secret.write_text("not JSON")
    record = folder_of(tmp_path / "results", trace_file="../../secret.jsonl")
    (record / "traces").mkdir()
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    config = json.loads((record / "config.json").read_text())
    config["solvers"]["dg"]["method"] = str(tmp_path / "evil.py")
    (record / "config.json").write_text(json.dumps(config))
    done = build(tmp_path / "site", record)
    assert done.exit_code == 0, done.output
    assert not (tmp_path / "ran").exists()


def test_addresses_are_apart_whatever_the_names():
    found = addresses(
        "method", {"a": "A b", "b": "a-B", "c": "../../etc", "d": "\u00e4", "e": "\u00f6", "f": "x" * 500}
    )
    files = [one.file for one in found.values()]
    assert len({file.lower() for file in files}) == 6
    assert all(re.fullmatch(r"method-[a-z0-9_-]*\.html", file) and len(file) < 120 for file in files)
    assert all(Path(file).name == file for file in files)
