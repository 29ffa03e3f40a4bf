"""Intervals of means: within 0 to 1 for shares."""

import numpy as np
import pytest
from scipy import stats

from kdrbench.suite.paired import corrected_t_p
from kdrbench.suite.reports.tables.cells import Cell
from kdrbench.suite.reports.tables.significance import interval_of, interval_words, wilson


def cell(metric, mean, std, counted=10, n_tested=0):
    return Cell(metric, mean, std, "", "", counted, counted, complete=True, n_tested=n_tested)


@pytest.mark.parametrize(("right", "n"), [(0, 20), (19, 20), (20, 20), (137, 178)])
def test_accuracies_have_wilsons_interval(right, n):
    expected = stats.binomtest(right, n).proportion_ci(0.95, method="wilson")
    assert wilson(right / n, n) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert interval_of("accuracy", cell("quality", right / n, 0.0, n_tested=n)) == wilson(right / n, n)


def test_other_shares_are_cut_at_one_and_costs_are_not():
    low, high = interval_of("nmi", cell("quality", 0.99, 0.05))
    half = stats.t.ppf(0.975, 9) * 0.05 / 3.0
    assert (low, high) == (pytest.approx(0.99 - half), 1.0)
    assert interval_of("cost", cell("cost", 0.99, 0.05)) == pytest.approx((0.99 - half, 0.99 + half))
    assert interval_of("nmi", cell("quality", 0.01, 0.05))[0] == 0.0


def test_one_run_has_no_interval():
    assert interval_of("cost", cell("cost", 1.0, 0.0, counted=1)) == (None, None)
    assert interval_of("accuracy", Cell("quality", None, None, "", "", 2, 0, complete=False)) == (None, None)


def test_an_interval_is_in_the_unit_and_the_places_of_its_number():
    numbers = [
        ("cost", -1329.21, -1292.27, "-1329 to -1292"),
        ("share", 0.95143, 0.99418, "0.951 to 0.994"),
        ("accuracy", 0.95143, 0.99418, "95.1% to 99.4%"),
        ("nmi", 0.95143, 0.99418, "0.951 to 0.994"),
        ("time_s", 0.0021234, 0.0038765, "2.12ms to 3.88ms"),
        ("sweeps", 351.24, 358.81, "351.2 to 358.8"),
    ]
    for metric, low, high, words in numbers:
        assert interval_words(metric, low, high) == words


def test_the_t_test_allows_for_overlapping_splits():
    # Mean .05, s = .01414, J = 2, ratio 1/2: t = .05 / .01414 with one degree of freedom.
    assert corrected_t_p([0.04, 0.06], 0.5) == pytest.approx(1 - 2 / np.pi * np.arctan(0.05 / np.sqrt(0.0002)))
    assert corrected_t_p(np.zeros(3), 0.5) == 1.0
    assert corrected_t_p(np.full(3, 0.5), 0.5) == 0.0
    assert corrected_t_p([0.1], 0.5) is None
