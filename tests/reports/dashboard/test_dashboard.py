"""The dashboard's parts, without a browser."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from kdrbench.errors import InputError
from kdrbench.suite.findings.ledger import compare, comparison_csv, comparisons_from_csv
from kdrbench.suite.reports.dashboard.overview import checks_of, counts_of, endings_of, shares_of, touched
from kdrbench.suite.reports.dashboard.page import Parts, pack, read_parts, render_dashboard
from kdrbench.suite.reports.dashboard.rendering import Cells, sort_key, titled
from kdrbench.suite.reports.dashboard.runs import all_runs, run_data
from kdrbench.suite.reports.figures.chart import NOTHING, Axis, Chart, Panel, Scale, Series
from kdrbench.suite.reports.figures.draw_matplotlib import draw
from kdrbench.suite.reports.figures.draw_plotly import legend_of, plotly_panels
from kdrbench.suite.reports.tables.table import Entry
from kdrbench.suite.systems.ikdr.cost_against_time import profile_chart
from support.dashboard_grid import a_claim, bar_chart, extra_table, grid_config, grid_runs, page, unpacked, values_of
from support.report_rows import figure_source, kpca_run, run

MOST_BYTES = 6e6


@pytest.fixture
def grid(tmp_path):
    return grid_in(tmp_path)


def grid_in(folder, **shape):
    config = grid_config(["first"], **shape)
    return config, all_runs({"ikdr": grid_runs(config, folder)}), folder


@pytest.fixture
def small(tmp_path):
    return grid_in(tmp_path, solvers=["ism", "dg", "sm"], datasets=["wine"])


def rendered(grid, parts=None):
    config, runs, folder = grid
    return render_dashboard(runs, config, folder, [], parts or Parts())


@pytest.mark.slow("the page of a full grid is opened from disk: its size is bounded")
def test_the_page_of_a_full_grid_is_small_and_asks_for_nothing(tmp_path):
    html = page(tmp_path, ["one"], points=60, datasets=["wine"], folds=10)
    data = json.loads(unpacked(html, "data"))
    n_runs = (2 * 8 + 1) * 10
    assert len(data["runs"]["values"][0]) == n_runs
    # A full grid has eight times as many, in 6 MB; the scripts are the same for any.
    scripts = sum(len(pack(unpacked(html, name))) for name in ("plotly", "tables"))
    assert scripts + 8 * (len(html.encode()) - scripts) < MOST_BYTES
    assert not re.findall(r'(?:src|href)="(?!#)', re.sub(r"<script.*?</script>", "", html, flags=re.S))
    assert "default-src 'none'" in html
    assert ["Plotly" in unpacked(html, "plotly"), "export{" in unpacked(html, "tables")] == [True, True]


def test_runs_keep_their_numbers(tmp_path):
    config = grid_config(["first"], solvers=["ism"], datasets=["wine"])
    runs = all_runs({"ikdr": grid_runs(config, tmp_path, points=1000)})
    data = run_data(runs)
    json.dumps(data, allow_nan=False)
    costs = values_of(data, "cost")
    np.testing.assert_allclose(costs[:3], runs["cost"][:3], rtol=1e-7)
    assert costs[int(np.flatnonzero(runs["kernel"] == "none")[0])] is None
    named = [name for group in data["groups"].values() for name in group]
    assert len(named) == len(set(named))
    assert {"git_commit", "data_sha256", "blas"} <= set(data["groups"]["Provenance"])


def test_bars_count_all_and_add_up(grid):
    config, runs, _ = grid
    (first, *_) = endings = endings_of(runs)
    assert (first.title, first.total) == ("All results", len(runs))
    assert first.parts["failed"] == 2 * 2
    comparisons = compare({"ikdr": runs}, config)
    verdicts = shares_of(comparisons)
    assert verdicts[0].title == "NeurIPS 2019"
    for bar in [*endings, *verdicts]:
        assert sum(bar.parts.values()) == bar.total
    # The list of published numbers survives its file.
    assert comparisons_from_csv(comparison_csv(comparisons)) == comparisons
    assert {one.low is None for one in comparisons} == {True, False}
    with pytest.raises(InputError, match=r"a list of published numbers has the columns paper, table, .*; got a, b"):
        comparisons_from_csv("a,b\n1,2\n")


def check_of(title, runs, config):
    return next(check for check in checks_of(runs, config) if check.title == title)


def test_checks_name_the_runs_that_went_wrong(grid):
    config, runs, _ = grid
    found = {check.title: check for check in checks_of(runs, config)}
    assert {case.partition(": ")[2] for case in found["Failed"].cases} == {"<b>division</b> by zero"}
    assert found["Stopped at a limit"].cases[0].startswith("first, GM, Wine, Gaussian kernel, run 0: stopped")
    # How they ended is not what is wrong with them.
    assert len(found["Shared their core"].cases) == len(runs) // 3
    assert not any(": " in case for case in found["Shared their core"].cases)
    assert not found["Uncommitted sources"].cases
    names = ("Drifted timing", "Worse than random", "Shared their core")
    assert [found[name].is_known for name in names] == [True, False, True]
    # Drift is listed where it was measured.
    assert not check_of("Drifted timing", runs.drop(columns="drifted"), config).is_known
    runs["drifted"] = [True] + [False] * (len(runs) - 1)
    assert len(check_of("Drifted timing", runs, config).cases) == 1


@pytest.mark.parametrize("settings", ["published", "authors"])
def test_a_solver_that_wrongly_says_converged_is_counted_apart(small, settings):
    config, runs, _ = small
    runs = runs.copy()
    config["solvers"]["ism"] = {"method": "ism", "settings": settings}
    solved = runs["method"].isin(["ism", "dg"])
    runs.loc[solved, ["stationarity", "optimality"]] = [6e-3, "not_stationary"]
    check = check_of("Reported as converged, not stationary", runs, config)
    # By the paper's rule ISM ends above it too, and does not say otherwise.
    assert {case.split(", ")[1] for case in check.cases} == {"DG"}
    assert len(check.cases) == int((runs["method"] == "dg").sum())
    assert "at most 1e-06" in check.meaning
    (first, *_) = endings_of(runs)
    assert first.parts["own_rule"] == int(solved.sum())
    data = json.loads(unpacked(rendered((config, runs, small[2])), "data"))
    assert values_of(data["runs"], "status").count("own_rule") == int(solved.sum())


def test_what_loses_to_random_is_listed():
    rows = [
        run("wine", "chance", 0, cost=-5.0, quality=0.6),
        run("wine", "ism", 0, cost=-9.0, quality=0.9),
        run("wine", "dg", 0, cost=-4.0, quality=0.7),
    ]
    config = grid_config(["e"], solvers=["ism", "dg", "chance"])
    config["solvers"]["chance"] = {"method": "start_alone", "start": "random"}
    check = check_of("Worse than random", all_runs({"ikdr": pd.DataFrame(rows)}), config)
    assert check.is_known
    worse = "cost -4 is worse than -5 of the random projection 'chance', over 1 fold"
    assert check.cases == [f"e, DG, Wine, Gaussian kernel: {worse}"]


def test_cells_are_sorted_by_what_they_say():
    numbers = {
        "2.1ms \u00b1 0.3ms": 2.1e-3,
        "4.5m": 270.0,
        "> 3d": 259200.0,
        "97.2% \u00b1 3.7%": 97.2,
        "(-1.5 \u00b1 0.1)e6": -1.5e6,
        "-1311 \u00b1 26": -1311.0,
        "1e-7": 1e-7,
        "3 of 4": 3.0,
        "12 digits": 12.0,
        "failed": 1e300,
    }
    assert {text: sort_key(text) for text in numbers} == pytest.approx(numbers)


def test_runs_of_every_system_are_counted_listed_and_named(grid):
    config, runs, folder = grid
    learned = pd.DataFrame([kpca_run(experiment="second", status="failed", message="no")])
    (folder / "none.jsonl").touch()
    every_run = all_runs({"ikdr": runs.drop(columns="system"), "kpca_trick": learned})
    counts = counts_of(every_run)
    assert counts[0] == f"{len(runs) + 1} runs"
    assert {"2 experiments", "2 kernels"} <= set(counts)
    # A run of the KPCA trick leaves a row for each learner and variant.
    rows = pd.concat([every_run, every_run.tail(1).assign(variant="aligned")])
    assert counts_of(rows)[0] == counts[0]
    assert counts_of(every_run.tail(1)) == ["1 run", "1 result", "1 experiment", "1 data set"]
    failed = check_of("Failed", every_run, config)
    assert failed.cases[-1] == "second, DNE, Iris, run 0: no"
    data = run_data(every_run)
    assert [names["words"][names["places"][-1]] for names in data["names"]] == ["Iris", "", "DNE"]


def test_parts_are_recognised_by_their_keys(tmp_path):
    texts = {"chart": bar_chart().to_json(), "table": extra_table().to_json(), "claims": json.dumps([a_claim()])}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    parts = read_parts(tmp_path / name for name in texts)
    assert (parts.charts, parts.tables, parts.claims) == ([bar_chart()], [extra_table()], [a_claim()])


def test_faults_of_plug_ins_are_counted_first_and_said_below(small, tmp_path):
    fault = {"check": "determinism", "fault": "it <b>differs</b>", "advice": "seed it"}
    sound = {"check": "API", "fault": "", "advice": ""}
    asked = {"plugin": "mine.py", "kind": "solver", "faults": 1, "findings": [sound, fault]}
    (tmp_path / "check.json").write_text(json.dumps(asked))
    shown = rendered(small, read_parts([tmp_path / "check.json"]))
    assert '<li><a href="#quality">Faults of plug-ins</a>: 1.' in shown
    assert "<li>solver mine.py, determinism: it &lt;b&gt;differs&lt;/b&gt;; seed it</li>" in unpacked(shown, "quality")
    assert "mine.py, API" not in unpacked(shown, "quality")
    assert 'Faults of plug-ins</th><td class="number">none</td>' in unpacked(rendered(small), "quality")


def test_nothing_empty_is_shown(small):
    config, runs, _ = small
    empty = Parts([replace(bar_chart(), name="none", panels=[])], [replace(extra_table(), name="none", blocks=[])])
    alone = Chart("alone", "C", "C.", [Panel("P", Axis("x"), Axis("y"), [Series("a", [1.0], [1.0])])])
    assert 'data-key="a"' in rendered(small, Parts([alone]))
    shown = rendered(small, empty)
    assert not re.findall('(?:table|figure)-none|href="#(?:tables|figures|published|claims)"', shown)
    # The same grid gives the same page.
    assert rendered(small, empty) == shown
    comparisons = compare({"ikdr": runs}, config)
    assert touched(comparisons) == comparisons
    assert touched([one for one in comparisons if not one.experiment]) == []
    bars = shares_of(comparisons)
    # Tables of the paper of which nothing was run have no bar.
    assert all(bar.parts["not run"] < bar.total for bar in bars[1:])
    assert len(bars) < 1 + len({(one.table, one.setting) for one in comparisons})


def test_hostile_names_and_words_are_no_markup(small):
    config, runs, folder = small
    hostile = "<img src=x onerror=alert(1)>"
    config["experiments"]["first"] = config["experiments"]["first"] | {"title": hostile}
    shown = rendered((config, runs.replace({"method": {"dg": hostile}}), folder))
    at_once, findings = re.sub(r"<script.*?</script>", "", shown, flags=re.S), unpacked(shown, "quality")
    for part in (at_once, findings):
        assert "<img" not in part.lower()
        assert "&lt;img src=x" in part.lower()
    assert "&lt;b&gt;division&lt;/b&gt; by zero" in findings
    assert "<b>division" not in shown + findings
    parts = [("in ", ""), ("T", "a_1"), (": 1; ", ""), ("L", "low"), (", Burg", ""), (": a_1", "")]
    assert titled("in a_1: 1; low, burg: a_1", {"a_1": "T.", "low": "L."}) == parts


def test_cells_are_kept_once_and_lead_to_the_runs_of_their_axes(grid):
    config, *_ = grid
    cells, axes = Cells(config), ("cost", "wine", "gaussian", "ism")
    known = Entry("-1311", -1311.123456789012, detail="Cost", axes=axes)
    assert [cells.add("first", known, True), cells.add("first", known, True)] == [0, 0]
    assert cells.place("first", axes, "Cost") == 1
    assert cells.add("first", Entry("words"), False) is None
    assert cells.add("first", Entry("7 s"), True) == 2
    assert cells.content["cells"] == [[-1311.1235, "Cost", 0], [None, "Cost", 0], [7.0, "", None]]
    (link,) = cells.content["links"]
    assert link == {"experiment": "first", "data": "Wine", "kernel": "Gaussian", "method": "ISM"}
    # Those of other systems do so by the names of theirs.
    for experiment, axes, data, method in (
        ({"system": "low_rank", "constraints": [1]}, ("", "", "", "burg_converged"), "", "Burg, Newton"),
        ({"system": "league"}, ("", "", "", "pca"), "", "PCA"),
        ({"system": "noise"}, ("", "wine", "", "lda"), "Wine", "LDA"),
    ):
        cells = Cells({"run": ["t"], "experiments": {"t": {"title": "T.", **experiment}}, "name": "mine"})
        cells.add("t", Entry("1", 1.0, axes=axes), is_number=True)
        assert cells.content["links"] == [{"experiment": "t", "data": data, "kernel": "", "method": method}]


def overview_of(folder, solvers, datasets, **definitions):
    config = grid_config(["first"], solvers=solvers, datasets=datasets)
    config["experiments"]["first"] |= {"kernels": ["gaussian"]}
    config["solvers"] |= definitions
    runs = grid_runs(config, folder)
    parts = Parts([profile_chart(figure_source(runs, folder, defined=config["solvers"]))])
    shown = rendered((config, all_runs({"ikdr": runs}), folder), parts)
    return shown.split('id="overview"')[1].split('id="tables"')[0]


def test_what_is_not_there_has_no_column_line_or_entry(tmp_path):
    overview = overview_of(tmp_path, ["ism", "dg", "gm_reference"], ["wine"], gm_reference={"method": "ism"})
    assert '<th scope="col">All</th>' not in overview
    ism = {"method": "ism", "settings": "published"}
    both = overview_of(tmp_path, ["ism", "ism_converged"], ["wine", "cancer"], ism=ism)
    assert all(text in both for text in ('scope="col">All</th>', ">ISM, as published<", 'key="ISM, as published"'))
    # Methods of a reference are folded, and in no legend of times.
    first, folded = overview.split("Methods of the reference (1)")
    assert "GM, reference</th>" in folded
    assert "GM, reference</th>" not in first
    assert 'data-key="GM, reference"' not in overview
    assert "1e-2:" not in overview
    assert "A table of made-up runs. <small>first</small>" in overview


def test_a_panel_without_points_says_so():
    axes = Axis("time", Scale.LOG, "s"), Axis("cost", Scale.LOG)
    full, empty = Panel("full", *axes, [Series("a", [1.0], [1.0])]), Panel("empty", *axes, [Series("a", [], [])])
    chart = Chart("c", "C", "C.", [full, empty], 2)
    assert [[text.get_text() for text in axes.texts] for axes in draw(chart).axes] == [[], [NOTHING]]
    shown, said = plotly_panels(chart)
    assert "annotations" not in shown["layout"]
    assert [one["text"] for one in said["layout"]["annotations"]] == [NOTHING]
    assert said["layout"]["xaxis"] == {"visible": False}
    # A series without points has no entry.
    one = [Series("a", [1.0, 2.0], [math.nan, 3.0]), Series("c", [], []), Series("d", [1.0], [math.nan])]
    chart = Chart("c", "C", "C.", [Panel("1", *axes, one), Panel("2", *axes, [replace(one[0], label="b")])])
    assert [[entry.key for entry in legend_of(chart, *most)] for most in ((), (1,))] == [["a", "b"], ["a"]]
