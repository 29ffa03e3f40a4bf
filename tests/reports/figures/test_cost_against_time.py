"""Curves against time and size: medians over folds only fall, and the panel of Figure 1b is one of all."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kdrbench.suite.reports.making import Source
from kdrbench.suite.reports.outputs import figures_of
from kdrbench.suite.systems.ikdr.cost_against_time import cost_against_time
from kdrbench.suite.systems.ikdr.reports import FIGURE_1B
from kdrbench.suite.systems.ikdr.size_series import chart_of, figure_1b
from support.report_rows import run, trace_line

EXPERIMENT = {"title": "T.", "datasets": ["wine"], "kernels": ["gaussian"], "solvers": ["ism"]}


def test_the_median_falls_though_folds_begin_at_different_times(tmp_path):
    # Each fold falls from -1 to -2 within a second; every next one begins when the one before it has ended.
    lines = [
        trace_line("ism", fold, time_s=1 + fold + step / 4, cost=-1 - step / 4, stationarity=0.1)
        for fold in range(5)
        for step in range(5)
    ]
    (tmp_path / "wine-ism.jsonl").write_text("".join(lines))
    runs = pd.DataFrame([run("wine", "ism", fold) for fold in range(5)])
    (panel,) = cost_against_time(runs, tmp_path, "e", EXPERIMENT).panels
    (median,) = [series for series in panel.series if series.label == "median"]
    for curve in (median.y, median.lower, median.upper):
        assert (np.diff(curve) <= 0).all()
    # From when the third of five begins to when it ends, the median is its curve; there half of them have begun.
    assert median.x[0] == 3.0
    middle = [y for x, y in zip(median.x, median.y, strict=True) if 3.0 <= x < 4.0]
    np.testing.assert_allclose(middle, [0.5, 0.375, 0.25, 0.125])
    assert median.y[-1] == 1e-12


SIZES = (1000, 2000, 4000)
SCALED = {"title": "T.", "paradigm": "supervised", "datasets": [], "kernels": ["gaussian"], "folds": 1}
CONFIG = {
    "run": ["scaling", "scaling_d", "scaling_factored"],
    "solvers": {"ism": {"method": "ism"}, "dg": {"method": "dimension_growth"}},
    "experiments": {
        "scaling": SCALED | {"evaluation": {"evaluator": "panels"}},
        "scaling_d": SCALED | {"evaluation": {"evaluator": "panels"}},
        "scaling_factored": SCALED,
    },
}


def sized(experiment, method, n, d, time_s):
    sizes = {"n_train": n, "n_features": d, "n_components": 4, "iterations": 4}
    return run(f"s-{n}-{d}", method, 0, experiment=experiment, time_s=time_s, **sizes)


RUNS = pd.DataFrame(
    [
        *(sized("scaling", method, n, 20, (n / 1000) ** 2) for method in ("ism", "dg") for n in SIZES),
        *(sized("scaling_d", "ism", 1000, d, d / 10) for d in (40, 80, 160)),
        *(sized("scaling_factored", "ism", n, 20, n / 1000) for n in SIZES),
    ]
)


def chart(name):
    return (figure_1b if name == FIGURE_1B else chart_of)(
        Source(figures_of(CONFIG)[name], RUNS, CONFIG, Path("nowhere"))
    )


def test_figure_1b_is_the_panel_of_all_pairs_against_samples():
    found = chart(FIGURE_1B)
    assert found.name == "figure1b"
    assert found.title == "Run time against the number of samples (NeurIPS 2019, Figure 1b)"
    (panel,) = found.panels
    assert panel.title == "Gaussian kernel, all pairs, d = 20, q = 4"
    assert panel.x.title == "number of samples n"
    assert {series.group for series in panel.series} == {"ISM (2.00)", "DG (2.00)"}
    # The law and the runs of each, which grow as the square.
    assert [series.y for series in panel.series if series.group == "ISM (2.00)"] == [
        pytest.approx([1.0, 16.0]),
        pytest.approx([1.0, 4.0, 16.0]),
    ]
