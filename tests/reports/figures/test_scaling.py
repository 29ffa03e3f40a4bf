"""Figures of time against size: that of all experiments, and the panel of it that the paper prints."""

from pathlib import Path

import pandas as pd
import pytest

from kdrbench.reports.figures.making import Source
from kdrbench.reports.figures.scaling import chart_of
from kdrbench.reports.outputs import FIGURE_1B, figures_of
from support.report_rows import run

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
    return chart_of(Source(figures_of(CONFIG)[name], RUNS, CONFIG, Path("nowhere")))


def test_figure_1b_is_the_panel_of_time_over_all_pairs_against_samples():
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
