"""Thinned traces draw the same curves, and decide the same numbers."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial import cKDTree

from kdrbench.suite.archive.thinning import ACCURACIES, HEIGHT, WIDTH, Ranges, Trace, thinned
from kdrbench.suite.findings.nearness import until
from support.made_up_results import trace


def made(method="gm", run=0, n_points=4000):
    points = trace(method, run, n_points)
    names = ("time_s", "cost", "stationarity", "calls")
    return Trace(*(np.array([float(point[name]) for point in points]) for name in names))


@pytest.fixture(scope="module")
def both():
    """A long trace, the thinned one, and the best cost known of the problem."""
    first, other = made(), made(run=1)
    best = min(first.lowest, other.lowest)
    ranges = Ranges.of([first, other], [best, best])
    return first, thinned(first, ranges, best), best, ranges


def drawn(trace, ranges, best, start):
    """Points on the steps of a curve, a tenth of a pixel apart, in pixels."""
    coordinates = trace.coordinates(best)[:2, trace.time > 0]
    x, y = (coordinates - start) * np.array([[WIDTH], [HEIGHT]]) / np.array(ranges.decades[:2])[:, None]
    corners = np.column_stack([np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]])
    parts = [np.linspace(a, b, 2 + int(10 * np.abs(b - a).max())) for a, b in pairwise(corners)]
    return np.concatenate(parts)


@pytest.mark.parametrize("lower", [0.0, pytest.param(1e-3, marks=pytest.mark.whole), 1.0])
def test_no_part_of_a_curve_moves_by_half_a_pixel(both, lower):
    whole, kept, best, ranges = both
    assert len(kept) < 0.8 * len(whole)
    start = whole.coordinates(best - lower)[:2, 1:2]
    one, other = (drawn(trace, ranges, best - lower, start) for trace in (whole, kept))
    assert cKDTree(one).query(other)[0].max() < 0.5
    assert cKDTree(other).query(one)[0].max() < 0.5


def test_thinning_again_changes_nothing(both):
    _, kept, best, ranges = both
    again = thinned(kept, ranges, best)
    for name in ("time", "cost", "stationarity", "calls"):
        np.testing.assert_array_equal(getattr(again, name), getattr(kept, name))


def test_first_last_and_best_points_are_kept_as_they_were(both):
    whole, kept, _, _ = both
    best = int(whole.cost.argmin())
    for mine, theirs in ((0, 0), (-1, -1), (int(kept.cost.argmin()), best)):
        assert (kept.time[mine], kept.cost[mine]) == (whole.time[theirs], whole.cost[theirs])
    assert (np.diff(kept.time) >= 0).all()


@pytest.mark.parametrize("is_drawn", [True, False])
def test_the_time_to_each_accuracy_is_exact(both, is_drawn):
    whole, _, best, ranges = both
    kept = thinned(whole, ranges if is_drawn else None, best)
    for accuracy in ACCURACIES:
        assert until(curve(kept), best, accuracy) == until(curve(whole), best, accuracy), accuracy


def curve(trace):
    return np.column_stack([trace.time, np.minimum.accumulate(trace.cost)])


def test_a_trace_that_no_figure_shows_keeps_what_decides_numbers(both):
    whole, _, best, _ = both
    kept = thinned(whole, None, best)
    assert len(kept) <= 3 + len(ACCURACIES)
    np.testing.assert_array_equal(kept.cost, [cost for cost in whole.cost if cost in set(kept.cost)])


@pytest.mark.parametrize("n_points", [0, 1, 2])
def test_short_traces_stay_as_they_are(n_points):
    whole = made(n_points=4).at(np.arange(4) < n_points)
    kept = thinned(whole, Ranges.of([whole], [-1400.0]), -1400.0) if n_points else thinned(whole, None, 0.0)
    np.testing.assert_array_equal(kept.cost, whole.cost)
