"""Tables from made-up runs whose cells are known by hand."""

import subprocess

import numpy as np
import pandas as pd
import pytest

from kdrbench.errors import InputError
from kdrbench.suite.findings.nearness import gaps_of
from kdrbench.suite.reports.figures.chart import Mark, Symbol
from kdrbench.suite.reports.figures.draw_matplotlib import draw
from kdrbench.suite.reports.making import sections_of_runs
from kdrbench.suite.reports.tables.cells import CONVERGED_MEANS, ikdr_cells
from kdrbench.suite.reports.tables.table import escape, render_html, render_latex
from kdrbench.suite.reports.tables.verdicts import Verdict
from kdrbench.suite.systems.ikdr.config import Settings
from kdrbench.suite.systems.ikdr.cost_against_time import chart_of
from kdrbench.suite.systems.ikdr.tables import beside_published, compared_cells, ikdr_table
from support.report_rows import TABLE_4, experiment_of, figure_source, run, runs_of, trace_line

SETTINGS = {"ism": Settings.PUBLISHED, "dg": Settings.PUBLISHED, "ism_converged": Settings.CONVERGED}


def laid_out(experiment, runs=None):
    cells = compared_cells(RUNS if runs is None else runs, experiment, settings=SETTINGS)
    return ikdr_table("e", cells, experiment)


TITLE = "A table of 100% & more_or_less."
EXPERIMENT = experiment_of("ism", "dg", "sm", datasets=["wine", "wdbc"], published=TABLE_4, title=TITLE)

ON_WINE = EXPERIMENT | {"datasets": ["wine"]}
RUNS = pd.DataFrame(
    [
        run("wine", "ism", 0, time_s=0.010, cost=-1300.0, quality=1.0),
        run("wine", "ism", 1, time_s=0.030, cost=-1320.0, quality=0.9),
        run("wine", "dg", 0, status="time_limit", time_s=2.0, cost=-1200.0),
        run("wine", "dg", 1, time_s=1.0, cost=-1210.0),
        run("wine", "sm", 0, status="failed", time_s=None, cost=None, quality=None),
        run("wine", "sm", 1, status="failed", time_s=None, cost=None, quality=None),
        run("wdbc", "ism", 0, cost=-15000.0),
        run("wdbc", "dg", 0, status="memory_limit", memory_limit_mib=256.0, cost=None, quality=None),
    ]
)


def test_runs_that_did_not_end_are_named():
    rows = compared_cells(RUNS, EXPERIMENT, gaps=gaps_of(RUNS))
    cells = {(row.dataset, row.method, row.metric): row for row in rows}
    assert cells["wine", "dg", "time_s"].ours.text == "> 2s"
    assert cells["wine", "dg", "time_s"].why.startswith("1 of 2 folds: time limit")
    assert cells["wine", "dg", "cost"].ours.text == "-1205.0 \u00b1 5.0"
    assert cells["wine", "sm", "time_s"].ours.text == "failed"
    assert cells["wine", "sm", "cost"].ours.text == "failed"
    assert cells["wdbc", "dg", "time_s"].ours.text == "> 256 MiB"
    assert cells["wdbc", "sm", "cost"].ours.text == "not run"
    assert cells["wdbc", "ism", "cost"].verdict is Verdict.NOT_PUBLISHED
    # The CSV holds paper, ours and verdict.
    lines = laid_out(EXPERIMENT).to_csv().splitlines()
    assert lines[0] == "dataset,kernel,method,metric,paper,ours,verdict,why,mean,std,runs,counted,best"
    assert "wine,gaussian,ism,cost,-1311\u00b126,-1310 \u00b1 10,close,,-1310.0,10.0,2,2,False" in lines


def test_a_cell_that_a_limit_ended_is_stopped_unless_runs_failed():
    limit = {"status": "time_limit", "time_limit_s": 10.0}
    runs = [run("wine", "ism", 0), run("wine", "ism", 1, **limit)]
    runs += runs_of("wine", "dg", range(2), cost=None, **limit)
    runs += [run("wine", "sm", 0, **limit), run("wine", "sm", 1, status="failed")]
    rows = compared_cells(pd.DataFrame(runs), ON_WINE)
    costs = {row.method: str(row.verdict) for row in rows if row.metric == "cost"}
    assert costs == {"ism": "stopped", "dg": "stopped", "sm": "not run"}


def test_means_over_fewer_runs_do_not_compete():
    ends = {
        "ism": [{}, {}],
        "dg": [{"cost": -9999.0}, {"cost": -9e9, "status": "failed"}],
        "sm": [{"status": "max_iterations"}, {"status": "stalled"}],
    }
    runs = [run("wine", method, fold, **ends[method][fold]) for method in ends for fold in (0, 1)]
    rows = {(row.method, row.metric): row for row in compared_cells(pd.DataFrame(runs), ON_WINE)}
    failing = rows["dg", "cost"]
    assert (failing.ours.mean, failing.ours.counted, failing.ours.runs, failing.best) == (-9999.0, 1, 2, False)
    assert failing.verdict is Verdict.NOT_RUN
    assert rows["sm", "cost"].ours.note == "1 of 2 folds: stalled; 1 of 2 folds: max iterations"
    assert rows["sm", "time_s"].ours.text == "20ms \u00b1 0ms"


def test_an_unknown_published_table_is_named():
    with pytest.raises(InputError, match="no published numbers of neurips2020, 4, supervised; known: ismplus, 4"):
        compared_cells(RUNS, EXPERIMENT | {"published": EXPERIMENT["published"] | {"paper": "neurips2020"}})


def saying(method, stationarity, **columns):
    optimality = "not_stationary" if stationarity > 1.01e-6 else "second_order"
    return run("wine", method, 0, stationarity=stationarity, optimality=optimality, **columns)


@pytest.mark.parametrize(
    ("method", "status", "stationarity", "flag"),
    [
        ("mine", "converged", 6e-3, "1 of 1 say converged and are not stationary (up to 6e-03)"),
        ("mine", "converged", 1e-6, ""),
        # It does not say so.
        ("mine", "max_iterations", 6e-3, ""),
        ("ism_converged", "max_iterations", 6e-3, "1 of 1 not stationary (up to 6e-03)"),
        # By the paper's rule.
        ("ism", "converged", 6e-3, ""),
    ],
)
def test_what_solvers_say_is_audited_by_one_definition(method, status, stationarity, flag):
    cells = ikdr_cells(pd.DataFrame([saying(method, stationarity, status=status)]), SETTINGS)
    assert cells["wine", "gaussian", method]["cost"].flag == flag


def test_a_solver_that_wrongly_says_converged_is_marked():
    runs = pd.DataFrame([saying("ism", 2e-2), saying("mine", 6e-3)])
    made = laid_out(ON_WINE | {"solvers": ["ism", "mine"]}, runs)
    assert CONVERGED_MEANS in made.notes
    marks = {column: made.rows[0][place].mark for place, column in enumerate(made.columns)}
    assert ("\u00a7" in marks["ISM"], "\u00a7" in marks["mine"]) == (False, True)
    page = render_html(made, sections_of_runs(runs))
    endings = page[page.index("How the runs ended") :]
    assert "own rule" in endings
    assert "converged</th>" not in endings.partition("</thead>")[0]


def test_latex_escapes_what_is_special():
    assert escape("50% of a_b & {c} $1 #2 ~ ^ \\ -1") == (
        r"50\% of a\_b \& \{c\} \$1 \#2 $\sim$ \^{} \textbackslash{} -1"
    )


@pytest.mark.needs("tex")
def test_latex_compiles_to_a_page_that_shows_the_cells(tmp_path):
    packages = r"\usepackage{booktabs}\usepackage{graphicx}"
    page = rf"\documentclass{{article}}{packages}\begin{{document}}{render_latex(laid_out(EXPERIMENT))}\end{{document}}"
    (tmp_path / "table.tex").write_text(page, encoding="utf-8")
    subprocess.run(["pdflatex", "-halt-on-error", "table.tex"], cwd=tmp_path, capture_output=True, check=True)
    shown = ["pdftotext", "-layout", tmp_path / "table.pdf", "-"]
    text = subprocess.run(shown, capture_output=True, text=True, check=True).stdout
    assert "20ms \u00b1 10ms" in text
    assert "failed" in text


def write_traces(folder, runs=RUNS):
    for name, solver in runs.groupby("trace_file")["method"].first().items():
        points = [(0, 0.0, -900.0), (0, 0.01, -1000.0), (0, 0.02, -990.0), (0, 0.04, -1200.0)]
        if name.startswith("wine"):
            points.append((1, 0.01, -1000.0))
        lines = [trace_line(solver, fold, time_s=time, cost=cost, stationarity=0.1) for fold, time, cost in points]
        (folder / name).write_text("".join(lines))


def test_figure_shows_each_solver_and_falls_to_the_best_cost(tmp_path):
    write_traces(tmp_path)
    figure = draw(chart_of(figure_source(RUNS, tmp_path, "e", EXPERIMENT)))
    assert [axes.get_title() for axes in figure.axes] == ["Wine, Gaussian kernel", "WDBC, Gaussian kernel"]
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    # Both runs of SM failed.
    assert legend == ["ISM", "DG"]
    first_fold = figure.axes[0].lines[0]
    np.testing.assert_allclose(first_fold.get_xdata(), [0.01, 0.02, 0.04])
    # Best is -1200: the curve is (cost - best)/|best| of the lowest cost so far, floored at rounding.
    np.testing.assert_allclose(first_fold.get_ydata(), [1 / 6, 1 / 6, 1e-12])


def test_ends_of_runs_say_how_and_long_curves_keep_both_ends(tmp_path):
    write_traces(tmp_path)
    steps = [trace_line("dg", 0, time_s=(place + 1) / 1000, cost=-place) for place in range(5000)]
    (tmp_path / "wine-dg.jsonl").write_text("".join(steps))
    first = chart_of(figure_source(RUNS, tmp_path, "e", EXPERIMENT)).panels[0]
    fold, *ends, median = [series for series in first.series if series.key == "DG"]
    assert [(end.symbol, end.x, end.words) for end in ends] == [(Symbol.CROSS, [5.0], ["run 0: time limit"])]
    assert [series.mark for series in (fold, median)] == [Mark.STEPS, Mark.STEPS]
    for series, most in ((fold, 60), (median, 200)):
        assert (series.x[0], series.x[-1]) == (0.001, 5.0)
        assert most / 2 < len(series.x) <= most
        # Every point that is shown is one of the curve: 4999 is the best.
        np.testing.assert_allclose(series.y, [max(1e-12, (5000 - 1000 * x) / 4999) for x in series.x], atol=1e-9)


def laid_out_times(*changes):
    runs = pd.DataFrame([run("wine", solver, fold, **columns) for solver, fold, columns in changes])
    cells = compared_cells(runs, ON_WINE)
    table = ikdr_table("e", cells, ON_WINE)
    page = render_html(table, [beside_published(cells), *sections_of_runs(runs)])
    return {(row.method, row.metric): row for row in cells}, table, page


def test_times_on_drifting_cores_are_marked_and_counted():
    drifted = ("ism", 0, {"drift": -0.234, "drifted": True})
    cells, table, page = laid_out_times(drifted, ("ism", 1, {}), ("dg", 0, {}), ("sm", 0, {}))
    time = cells["ism", "time_s"]
    assert time.ours.warning == "the cores were not as fast as for other methods in 1 of 2 runs, by up to 23%"
    assert time.ours.warning in time.why
    assert time.ours.mean is not None
    # A mean of which one time is doubtful is shown, and is the best of nothing.
    assert not time.best
    assert {key for key, row in cells.items() if row.ours.warning} == {("ism", "time_s")}
    doubt = "the cores were not as fast (10 %) as for other methods, a run waited for its core or worked off the clock"
    note = f"\u2021 Times to be taken with care: in 1 of 3 times {doubt}."
    assert (table.notes[-1], note in page, page.count("<sup>\u2021</sup>")) == (note, True, 1)
    assert "whose cores were not as fast (10 %) as for other methods on the same problem: 1;" in page
    latex = render_latex(table)
    assert (latex.count(r"$^\ddagger$"), "20ms" in latex) == (2, True)


def test_untimed_times_are_shown_and_compared_with_nothing():
    cells, table, page = laid_out_times(("ism", 0, {"timed": False, "drifted": None, "drift": None}), ("dg", 0, {}))
    time = cells["ism", "time_s"]
    assert time.ours.text == "20ms"
    assert (time.ours.mean, time.best, time.verdict) == (None, False, "not judged")
    assert cells["ism", "cost"].ours.mean == -1311.0
    assert "times of runs that shared their cores, not comparable" in table.notes[-1]
    assert "that did not own their cores: 1;" in page


def test_runs_without_budget_are_printed_in_the_papers_notation():
    nothing = {"status": "skipped", "time_s": None, "cost": None, "quality": None}
    cells, table, _ = laid_out_times(("ism", 0, {}), ("ism", 1, nothing), ("dg", 0, nothing))
    assert [cells[key].ours.text for key in (("ism", "time_s"), ("dg", "time_s"), ("dg", "cost"))] == ["> budget"] * 3
    assert cells["ism", "cost"].ours.text == "-1311.0 \u00b1 0.0"
    assert cells["ism", "cost"].ours.complete is False
    assert table.remarks[0].endswith("1 of 2 folds: not run, the budget of the grid was used up")
