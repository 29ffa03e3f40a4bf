"""Curves against time and size: medians over folds only fall, and the panel of Figure 1b is one of all."""

import numpy as np
import pandas as pd

from kdrbench.suite.systems.ikdr.cost_against_time import cost_against_time
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
