"""A time is one quantity, the first solve's, in every table and figure that shows it, and has one name."""

import json

import pytest

from kdrbench import revisions
from kdrbench.revisions import Revision
from kdrbench.suite.findings.outcome import clean_times, steady_times, warning_of
from kdrbench.suite.reports.dashboard.runs import all_runs, run_data
from kdrbench.suite.systems.ikdr.cost_against_time import chart_of, profile_chart
from kdrbench.suite.systems.ikdr.paired_tests import paired_tests
from kdrbench.suite.systems.ikdr.tables import compared_cells
from support.dashboard_grid import values_of
from support.report_rows import experiment_of, figure_source, traced_runs

FIRST, WARM = {"ism": 0.007, "dg": 0.028}, 0.0016
EXPERIMENT = experiment_of(*FIRST, paradigm="supervised")


@pytest.fixture
def runs(tmp_path):
    """Six folds of two solvers, whose repeats are far quicker than their first solve, and their traces."""
    traces = {solver: [[(seconds / 2, -1.0), (seconds, -2.0)]] * 6 for solver, seconds in FIRST.items()}
    point = {"stationarity": 0.1, "calls": 1}
    return traced_runs(tmp_path, traces, point=point, warm_s=WARM, cpu_s=0.003, repeats=9)


def test_a_cell_a_curve_and_the_list_of_runs_show_the_same_time(runs, tmp_path):
    cells = compared_cells(runs, EXPERIMENT)
    shown = {cell.method: cell.ours.mean for cell in cells if cell.metric == "time_s"}
    (panel,) = chart_of(figure_source(runs, tmp_path, "e", EXPERIMENT)).panels
    ends = {series.group.lower(): series.x for series in panel.series if series.label == "came to its end"}
    assert {solver: len(seconds) for solver, seconds in ends.items()} == dict.fromkeys(shown, 6)
    assert all(seconds == pytest.approx([shown[solver]] * 6) for solver, seconds in ends.items())
    data = run_data(all_runs({"ikdr": runs}))
    times, methods = (values_of(data, name) for name in ("time_s", "method"))
    for time_s, method in zip(times, methods, strict=True):
        assert time_s == pytest.approx(shown[method])
    (test,) = [one for one in paired_tests(runs) if one.metric == "time_s"]
    assert {test.first: test.mean_first, test.second: test.mean_second} == pytest.approx(shown)
    profile = profile_chart(figure_source(runs, tmp_path)).panels[0]
    steps = {series.label.lower(): series.x[0] if series.y[0] else series.x[-1] for series in profile.series}
    assert steps["dg"] / steps["ism"] == pytest.approx(shown["dg"] / shown["ism"])


def test_times_of_an_earlier_speed_do_not_count_and_are_named(runs, monkeypatch):
    words = json.dumps({"solver/ism": "1.1"})
    runs["revisions"] = [words if method == "ism" else "" for method in runs["method"]]
    assert len(clean_times(runs)) == len(runs)
    monkeypatch.setattr(revisions, "REVISIONS", {"solver/ism": Revision(1, 2)})
    assert set(clean_times(runs)["method"]) == set(steady_times(runs)["method"]) == {"dg"}
    assert "6 of 12 runs were timed with an earlier implementation" in warning_of(runs)
