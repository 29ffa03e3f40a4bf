"""Numbers as they are printed, and intervals of means."""

import math

import numpy as np
import pytest
from scipy import stats

from kdrbench.suite.paired import corrected_t_p
from kdrbench.suite.reports.tables.cells import Cell
from kdrbench.suite.reports.tables.numbers import agreement, count, duration, interval, percentage, quantity, rounded
from kdrbench.suite.reports.tables.significance import interval_of, interval_words, wilson

PRINTED = [
    (duration, (0.00257, 0.00044), "2.57ms \u00b1 0.44ms"),
    (duration, (0.02, None), "20ms"),
    (duration, (1.0, 0.0), "1s \u00b1 0s"),
    (duration, (7.94, 2.91), "7.94s \u00b1 2.9s"),
    (duration, (90.0, 3.0), "1.5m \u00b1 0.05m"),
    (duration, (259200, None), "3d"),
    (duration, (7200, None), "2h"),
    (duration, (3e-7, None), "0.3us"),
    (duration, (-0.0123, None), "-12.3ms"),
    (duration, (0.0, None), "0us"),
    (quantity, (-1310.74, 25.8), "-1311 \u00b1 26"),
    (quantity, (-114707.3, 2700.4), "-114707 \u00b1 2700"),
    (quantity, (-1.8942e6, 5.37e4), "(-1.894 \u00b1 0.054)e6"),
    (quantity, (-27.34, 0.41), "-27.34 \u00b1 0.41"),
    (quantity, (-39.082, None), "-39.082"),
    (quantity, (-2340614.85, None), "-2.3406e6"),
    (quantity, (-27.4, 0.0), "-27.400 \u00b1 0.000"),
    (quantity, (0.0, 0.0), "0.0000 \u00b1 0.0000"),
    # Intervals have the places of the number between them.
    (interval, (-1329.21, -1292.27), "-1329 to -1292"),
    (interval, (-27.634, -27.046), "-27.63 to -27.05"),
    (interval, (-1.9478e6, -1.8404e6), "(-1.948 to -1.840)e6"),
    (interval, (-0.00003001, -0.00002987), "(-3.0010 to -2.9870)e-5"),
    (interval, (0.95143, 0.99418), "0.951 to 0.994"),
    (interval, (-5.0, 312.4), "-5 to 312"),
    # Rounding is no width.
    (interval, (-1500.0, -1500.0000000000002), "-1500.0 to -1500.0"),
    (interval, (0.0, 0.0), "0.0000 to 0.0000"),
    (interval, (-math.inf, math.inf), "-inf to inf"),
    (interval, (math.nan, 5e-324), "nan to 4.941e-324"),
    (percentage, (0.972, 0.037), "97.2% \u00b1 3.7%"),
    (percentage, (1.0,), "100.0%"),
    (agreement, (0.8784, 0.01), "0.878 \u00b1 0.010"),
    (agreement, (1.0,), "1.000"),
    # Counts have a decimal only where they differ.
    (count, (4.0,), "4"),
    (count, (4.0, 0.0), "4"),
    (count, (1.9, 0.3), "1.9 \u00b1 0.3"),
]


def test_numbers_as_printed():
    for printed, numbers, text in PRINTED:
        assert printed(*numbers) == text
    # On the screen they keep their digits, and infinities are gaps.
    assert rounded(1234.5678, 3) == 1230.0
    assert rounded(-0.00012345, 2) == -0.00012
    assert [rounded(value, 3) for value in (math.nan, math.inf)] == [None, None]


@pytest.mark.parametrize("shown", [quantity, duration])
@pytest.mark.parametrize(
    ("mean", "std"),
    [(1e308, float("inf")), (float("inf"), float("nan")), (-5e-324, 0.0), (1.0, 5e-324), (5e-324, None)],
)
def test_numbers_beyond_the_powers_of_doubles_are_printed(shown, mean, std):
    assert shown(mean, std).startswith(f"{mean:.4g}")


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
    # One run has no interval.
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
