"""Series of sizes and the power laws fitted to them, from made-up runs."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from kdrbench.suite.systems.ikdr.config import is_scaling
from kdrbench.suite.systems.ikdr.size_series import ALL_PAIRS, FACTORED, fit_power_law, page, scaling_chart, size_series
from support.report_rows import run

PANELS = {"evaluation": {"evaluator": "panels"}}
CONFIG = {"experiments": {"scaling": PANELS, "scaling_d": PANELS, "scaling_factored": {}}}


def sized(n, method="ism", time_s=None, experiment="scaling", d=20, q=4, **columns):
    seconds = (n / 1000) ** 2 if time_s is None else time_s
    sizes = {"n_train": n, "n_features": d, "n_components": q, "iterations": 4}
    return run(f"scaling-{n}", method, 0, experiment=experiment, time_s=seconds, **(sizes | columns))


def series_of(*rows):
    return size_series(pd.DataFrame(rows), CONFIG)


def test_a_power_law_is_found_with_the_interval_of_its_slope():
    sizes, noise = [1.0, 2.0, 4.0, 8.0, 16.0], np.array([0.1, -0.2, 0.05, 0.1, -0.05])
    times = 3.0 * np.array(sizes) ** 1.5 * 2.0**noise
    law = fit_power_law(zip(sizes, times, strict=True))
    x = np.log2(sizes)
    slope, level = np.polyfit(x, np.log2(times), 1)
    residual = np.log2(times) - slope * x - level
    error = np.sqrt(residual @ residual / 3 / ((x - x.mean()) ** 2).sum())
    assert law.exponent == pytest.approx(slope, rel=1e-12)
    assert law.high - law.exponent == pytest.approx(stats.t.ppf(0.975, 3) * error, rel=1e-10)
    assert law.low == pytest.approx(2 * slope - law.high, rel=1e-12)
    assert law.at(4.0) == pytest.approx(2.0 ** (level + 2 * slope), rel=1e-12)


def test_two_sizes_or_times_of_zero_make_no_law():
    assert fit_power_law([(1.0, 1.0), (2.0, 2.0), (2.0, 3.0)]) is None
    assert fit_power_law([(1.0, 1.0), (2.0, 2.0), (4.0, 0.0)]) is None
    # Small sizes are left out where there are large ones.
    points = [(125.0, 1.0), (250.0, 1.0), (500.0, 1.0), (1000.0, 1.0), (2000.0, 4.0), (4000.0, 16.0)]
    assert fit_power_law(points, 1000.0).exponent == pytest.approx(2.0)
    assert fit_power_law(points[:5], 1000.0).smallest == 125.0
    # Without a series there is no figure, and the table is empty.
    assert scaling_chart(series_of(sized(500), sized(1000))) is None
    assert page(SimpleNamespace(runs=pd.DataFrame([sized(500)]), config=CONFIG))[0].rows == []


def test_stopped_and_failed_runs_enter_no_fit():
    made = [sized(n) for n in (1000, 2000, 4000)]
    stopped, failed = sized(8000, time_s=5.0, status="time_limit"), sized(16000, time_s=None, status="failed")
    (one,) = series_of(*made, stopped, failed)
    assert one.law.exponent == pytest.approx(2.0)
    assert one.law_of_an_iteration.exponent == pytest.approx(2.0)
    assert (one.stopped, one.lost) == (((8000.0, 5.0),), 1)
    # A run that was not made takes no series away: it has no q, so that the column holds fractions.
    (one,) = series_of(*made, sized(8000, status="skipped", time_s=None, q=None))
    assert one.fixed == (("n_features", 20), ("n_components", 4))
    assert [size for size, _ in one.ended] == [1000, 2000, 4000]
    (one,) = series_of(*made, sized(500), sized(8000), sized(16000))
    assert (one.law.smallest, one.law_of_an_iteration.n_points) == (2000.0, 4)


def test_series_are_told_apart_by_what_else_differs():
    rows = [sized(n, experiment=name) for n in (500, 1000, 2000) for name in ("scaling", "scaling_factored")]
    rows += [sized(1000, d=d, experiment="scaling_d") for d in (40, 80)]
    rows += [sized(n, experiment="table4_supervised") for n in (1, 2, 3)]
    found = [(one.axis, one.evaluation, one.fixed) for one in series_of(*rows)]
    assert found == [
        ("n_train", ALL_PAIRS, (("n_features", 20), ("n_components", 4))),
        ("n_train", FACTORED, (("n_features", 20), ("n_components", 4))),
        # 1000 samples with 20 features are a run of `scaling`.
        ("n_features", ALL_PAIRS, (("n_train", 1000), ("n_components", 4))),
    ]
    assert is_scaling("demo_scaling")
    assert not is_scaling("table4_supervised")
