"""Whether a difference between methods that is printed comes out: its sign and its size."""

import math

import pandas as pd
import pytest

from kdrbench.suite.findings.effects import Difference, Effect, difference_of_cells, effect_of, our_difference
from kdrbench.suite.reports.tables.cells import Cell
from kdrbench.suite.reports.tables.published_numbers import PublishedNumber
from support.report_rows import run


def printed(value, status="ok", text=""):
    return PublishedNumber(text or f"{value}", status, value, None, "")


def judged(number, reference, ours, metric="accuracy"):
    return effect_of(printed(number), printed(reference), ours, metric)[0]


def test_a_printed_gain():
    numbers = [
        # Printed: a gain of .04.
        (Difference(0.03, 0.02, 0.04), Effect.YES),
        (Difference(0.07, 0.06, 0.08), Effect.YES),
        (Difference(0.1, 0.09, 0.11), Effect.SIGN_ONLY),
        (Difference(0.01, 0.005, 0.015), Effect.SIGN_ONLY),
        (Difference(0.01, -0.01, 0.03), Effect.GONE),
        (Difference(-0.03, -0.04, -0.02), Effect.REVERSED),
        # So wide that the printed gain is no more than noise here.
        (Difference(0.01, -0.09, 0.11), Effect.IN_NEITHER),
        (None, Effect.UNKNOWN),
    ]
    for ours, effect in numbers:
        assert judged(0.71, 0.67, ours) is effect
    # Where print shows none.
    assert judged(0.95, 0.95, Difference(0.001, -0.002, 0.004)) is Effect.IN_NEITHER
    assert judged(0.95, 0.95, Difference(0.05, 0.04, 0.06)) is Effect.ONLY_HERE


def test_ratios_of_times_are_factors_and_bounds_are_bounds():
    def ratio(of, low, high, bound=False):
        return Difference(math.log(of), math.log(low), math.log(high), bound)

    assert judged(100.0, 1.0, ratio(50, 40, 60), "time_s") is Effect.YES
    assert judged(100.0, 1.0, ratio(30, 25, 33), "time_s") is Effect.SIGN_ONLY
    assert judged(100.0, 1.0, ratio(0.5, 0.4, 0.6), "time_s") is Effect.REVERSED
    assert judged(100.0, 1.0, ratio(1.1, 0.8, 1.5), "time_s") is Effect.GONE
    # A rival that was stopped is at least this much slower: nothing is known of the rest.
    assert judged(100.0, 1.0, ratio(20, 20, 20, bound=True), "time_s") is Effect.UNKNOWN
    assert judged(50400.0, 1.0, ratio(1.0, 1.0, 1.0, bound=True), "time_s") is Effect.UNKNOWN
    assert judged(100.0, 1.0, ratio(20, 20, 20), "time_s") is Effect.SIGN_ONLY
    # "> 3d" against 10 s is at least 25920 times; any larger ratio is as printed.
    effect, words = effect_of(printed(259200.0, "time_limit"), printed(10.0), ratio(1e6, 9e5, 2e6), "time_s")
    assert effect is Effect.YES
    assert words.startswith("printed at least x 2.59e+04, ours x 1e+06")


def test_costs_are_relative_to_the_references():
    found = effect_of(printed(-1201.0), printed(-1311.0), Difference(0.08, 0.07, 0.09), "cost")
    assert found == (Effect.YES, "printed +8.39 %, ours +8 % (+7 % to +9 %)")
    # Printed 3.9 % higher, ours lower by what no digit of the print would show: gone, not reversed.
    assert judged(-30998.0, -32249.0, Difference(-2e-6, -3e-6, -1e-6), "cost") is Effect.GONE
    assert judged(-30998.0, -32249.0, Difference(-2e-3, -3e-3, -1e-3), "cost") is Effect.REVERSED
    # Rounding decides nothing.
    assert judged(-1310.0, -1310.0, Difference(1e-9, 0.9e-9, 1.1e-9), "cost") is Effect.IN_NEITHER


def rows(method, values, column="cost", **columns):
    return pd.DataFrame(
        [run("wine", method, fold, n_train=160, n_test=18, **{column: value}, **columns) for fold, value in values]
    )


def test_ours_is_the_mean_over_shared_runs_with_its_interval():
    ism, dg = rows("ism", [(0, -100.0), (1, -110.0), (2, -90.0)]), rows("dg", [(0, -99.0), (1, -107.0)])
    found = our_difference(dg, ism, "cost", "cost")
    # Gaps of 1 and 3, relative to 105.
    assert found.mean == pytest.approx(2.0 / 105)
    half = 12.706 * (math.sqrt(2.0) / 105) * math.sqrt(1 / 2 + 18 / 160)
    assert (found.low, found.high) == pytest.approx((found.mean - half, found.mean + half), rel=1e-3)
    # A fold that one of them lacks leaves nothing to compare.
    assert our_difference(dg, ism[ism["run"] != 1], "cost", "cost") is None
    # The last iterate of a run that was stopped is no result.
    stopped = rows("dg", [(0, -99.0), (1, -107.0)], status="time_limit")
    assert our_difference(stopped, ism, "cost", "cost") is None
    assert our_difference(dg, rows("ism", [(0, 0.0), (1, 0.0)]), "cost", "cost") is None


def test_only_clean_times_count_and_a_stopped_run_is_a_bound():
    ism = rows("ism", [(0, 0.1), (1, 0.1)], "time_s")
    slow = rows("dg", [(0, 10.0), (1, 10.0)], "time_s")
    assert our_difference(slow, ism, "time_s", "time_s").mean == pytest.approx(math.log(100))
    for doubt in ({"drifted": True}, {"timed": False}, {"contaminated": True}):
        doubtful = rows("dg", [(0, 10.0), (1, 10.0)], "time_s", **doubt)
        assert our_difference(doubtful, ism, "time_s", "time_s") is None
        assert our_difference(slow, doubtful, "time_s", "time_s") is None
    # Two undisturbed folds of five do not speak for the cell.
    few = pd.concat([slow, rows("dg", [(2, 10.0), (3, 10.0), (4, 10.0)], "time_s", drifted=True)])
    assert our_difference(few, ism, "time_s", "time_s") is None
    stopped = rows("dg", [(0, 2.0), (1, 2.0)], "time_s", status="time_limit")
    assert our_difference(stopped, ism, "time_s", "time_s").bound
    assert our_difference(slow, stopped, "time_s", "time_s") is None
    assert our_difference(rows("dg", [(0, 2.0)], "time_s", status="memory_limit"), ism, "time_s", "time_s").bound
    # Of one run no time is known to better than a fifth.
    one = our_difference(slow[:1], ism, "time_s", "time_s")
    assert (one.low, one.high) == pytest.approx((math.log(100 / 1.2), math.log(120)))


def test_means_over_independent_draws():
    def cell(mean, std, runs=5, complete=True):
        return Cell("quality", mean, std, "", "", runs, runs, complete)

    gain = difference_of_cells(cell(0.98, 0.02), cell(0.96, 0.02), "accuracy")
    half = 2 * math.sqrt(2 * 0.02**2 / 4)
    assert (gain.mean, gain.low, gain.high) == pytest.approx((0.02, 0.02 - half, 0.02 + half))
    assert difference_of_cells(cell(0.98, 0.02, complete=False), cell(0.96, 0.02), "accuracy") is None
    factor = difference_of_cells(cell(3000.0, 300.0), cell(10.0, 1.0), "sweeps")
    assert factor.mean == pytest.approx(math.log(300))
