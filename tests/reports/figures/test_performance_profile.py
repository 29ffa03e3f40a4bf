"""Performance profiles and curves against time, from made-up traces."""

import numpy as np
import pandas as pd
import pytest

from kdrbench.suite.reports.figures.chart import Scale
from kdrbench.suite.reports.figures.draw_matplotlib import draw
from kdrbench.suite.systems.ikdr.cost_against_time import chart_of, profile, profile_chart
from support.report_rows import experiment_of, figure_source, run, trace_line, traced_runs


def test_the_profile_is_dolan_and_mores():
    needed = pd.DataFrame({"a": [1.0, 2.0, 3.0, np.inf], "b": [2.0, 1.0, np.inf, np.inf]})
    # Ratios: a 1, 2, 1, unsolved; b 2, 1, unsolved, unsolved.
    assert profile(needed) == {"a": ([1.0, 2.0], [0.5, 0.75]), "b": ([1.0, 2.0], [0.25, 0.5])}
    # Nothing is solved, or by one alone: lines without a step.
    for needed, share in ((np.inf, 0.0), (3.0, 1.0)):
        found = profile(pd.DataFrame({"a": [needed], "b": [np.inf]}))
        assert found == {"a": ([1.0, 10.0], [share] * 2), "b": ([1.0, 10.0], [0.0] * 2)}


# Seconds, calls and cost; the best is -100, so -99.5 is within 1e-2 of it and not within 1e-4.
TRACES = {
    ("wine", "ism", 0): [(0.001, 0, -90.0), (0.002, 1, -99.5), (0.01, 4, -100.0)],
    ("wine", "dg", 0): [(0.001, 0, -10.0), (0.008, 10, -99.5), (0.02, 20, -99.6)],
    ("wine", "ism", 1): [(0.003, 0, -99.9), (0.006, 1, -100.0)],
    ("wine", "dg", 1): [(0.003, 2, -100.0), (0.004, 3, -50.0)],
    ("iris", "ism", 0): [(0.001, None, -7.0)],
    ("iris", "dg", 0): [(0.004, None, -7.0)],
}


@pytest.fixture
def traces(tmp_path):
    for (dataset, solver, fold), points in TRACES.items():
        with (tmp_path / f"{dataset}-{solver}.jsonl").open("a") as file:
            for time_s, calls, cost in points:
                file.write(trace_line(solver, fold, dataset=dataset, time_s=time_s, calls=calls, cost=cost))
    return tmp_path


def panels(runs, traces):
    return {panel.title: panel for panel in profile_chart(figure_source(pd.DataFrame(runs), traces)).panels}


RUNS = [run(*key) for key in TRACES]


def test_problems_are_solved_when_the_cost_is_near_the_best(traces):
    found = panels(RUNS, traces)
    assert list(found) == [
        f"{number} to within {within} of the best, {n_problems} problems"
        for number, n_problems in (("time", 3), ("oracle calls", 2))
        for within in (0.01, 0.0001)
    ]
    rough, fine, rough_calls, fine_calls = (
        {series.key: (series.x, series.y) for series in panel.series} for panel in found.values()
    )
    # Times to 1e-2: 0.002 and 0.008, 0.003 and 0.003, 0.001 and 0.004.
    assert rough == {"ISM": ([1, 4], [1.0, 1.0]), "DG": ([1, 4], [1 / 3, 1.0])}
    # To 1e-4: 0.01 and never, 0.006 and 0.003, 0.001 and 0.004.
    assert fine == {"ISM": ([1, 2, 4], [2 / 3, 1.0, 1.0]), "DG": ([1, 4], [1 / 3, 2 / 3])}
    # Calls to 1e-2: 1 and 10, the start (counted as one) and 2.
    assert rough_calls == {"ISM": ([1, 10], [1.0, 1.0]), "DG": ([1, 2, 10], [0.0, 0.5, 1.0])}
    # To 1e-4: 4 and never, 1 and 2.
    assert fine_calls == {"ISM": ([1, 2], [1.0, 1.0]), "DG": ([1, 2], [0.0, 0.5])}
    assert all(panel.x.scale is Scale.LOG for panel in found.values())


def test_the_solvers_that_ran_together_most_often_are_compared(traces):
    # Another experiment has one solver on many problems, and a third solver on one problem of the two others.
    alone = [run("wine", "ism", 0, experiment=f"alone{place}") for place in range(3)]
    third = [run("wine", "dg", 0, experiment="few"), run("wine", "ism", 0, experiment="few")]
    third.append(run("wine", "sm", 0, experiment="few", trace_file="wine-dg.jsonl"))
    chart = profile_chart(figure_source(pd.DataFrame([*alone, *RUNS, *third]), traces))
    assert {series.key for series in chart.panels[0].series} == {"ISM", "DG"}
    assert chart.panels[0].title.endswith("4 problems")
    assert "Compared are 2 solvers on the 4 problems that all of them ran" in " ".join(chart.caption.split())
    assert len(draw(chart).axes) == 4
    # Failed runs solve nothing, and baselines do not compete.
    runs = [one | {"status": "failed"} if one["method"] == "ism" else one for one in RUNS]
    runs.append(run("wine", "svm", 0, kernel="none"))
    first = next(iter(panels(runs, traces).values()))
    assert {series.key: series.y for series in first.series} == {"ISM": [0.0] * 2, "DG": [1.0] * 2}


def test_the_median_falls_though_folds_begin_at_different_times(tmp_path):
    # Each fold falls from -1 to -2 within a second; every next one begins when the one before it has ended.
    traces = [[(1 + fold + step / 4, -1 - step / 4) for step in range(5)] for fold in range(5)]
    runs = traced_runs(tmp_path, {"ism": traces})
    (panel,) = chart_of(figure_source(runs, tmp_path, "e", experiment_of("ism"))).panels
    (median,) = [series for series in panel.series if series.label == "median"]
    for curve in (median.y, median.lower, median.upper):
        assert (np.diff(curve) <= 0).all()
    # From when the third of five begins to when it ends, the median is its curve; there half of them have begun.
    assert median.x[0] == 3.0
    middle = [y for x, y in zip(median.x, median.y, strict=True) if 3.0 <= x < 4.0]
    np.testing.assert_allclose(middle, [0.5, 0.375, 0.25, 0.125])
    assert median.y[-1] == 1e-12
    # A run that a limit stopped ends there.
    runs[["status", "time_s"]] = "time_limit", 9.0
    (panel,) = chart_of(figure_source(runs, tmp_path, "e", experiment_of("ism"))).panels
    assert [series.x for series in panel.series if series.label == "stopped"] == [[9.0] * 5]
