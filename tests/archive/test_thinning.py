"""Thinned traces draw the same curves, and decide the same numbers."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial import cKDTree

from kdrbench.suite.archive.traces import SIDE, Trace
from kdrbench.suite.findings.nearness import ACCURACIES, until
from support.made_up_results import trace


def made(method="gm", run=0, n_points=4000):
    return Trace.of(trace(method, run, n_points))


@pytest.fixture(scope="module")
def both():
    """A long trace, the thinned one, and the best cost known of the problem."""
    whole = made()
    best = min(whole.cost.min(), made(run=1).cost.min())
    return whole, whole.thinned(best, drawn=True), best


def drawn(trace, best):
    """Points on the steps of a curve, a tenth of a square apart, in squares."""
    x, y = trace.coordinates(best)[:2, trace.time > 0] / SIDE
    corners = np.column_stack([np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]])
    parts = [np.linspace(a, b, 2 + int(10 * np.abs(b - a).max())) for a, b in pairwise(corners)]
    return np.concatenate(parts)


@pytest.mark.parametrize("lower", [0.0, pytest.param(1e-3, marks=pytest.mark.whole), 1.0])
def test_no_part_of_a_curve_moves_by_more_than_a_square(both, lower):
    whole, kept, best = both
    assert len(kept.time) < 0.8 * len(whole.time)
    first, second = (drawn(trace, best - lower) for trace in (whole, kept))
    assert cKDTree(first).query(second)[0].max() < 2**0.5
    assert cKDTree(second).query(first)[0].max() < 2**0.5


def test_first_last_and_best_points_are_kept_as_they_were(both):
    whole, kept, _ = both
    for mine, theirs in ((0, 0), (-1, -1), (int(kept.cost.argmin()), int(whole.cost.argmin()))):
        assert (kept.time[mine], kept.cost[mine]) == (whole.time[theirs], whole.cost[theirs])
    assert (np.diff(kept.time) >= 0).all()


@pytest.mark.parametrize("is_drawn", [True, False])
def test_the_time_to_each_accuracy_is_exact(both, is_drawn):
    whole, _, best = both
    kept = whole.thinned(best, drawn=is_drawn)
    curves = [np.column_stack([one.time, np.minimum.accumulate(one.cost)]) for one in (kept, whole)]
    for accuracy in ACCURACIES:
        assert until(curves[0], best, accuracy) == until(curves[1], best, accuracy), accuracy


def test_a_trace_that_no_figure_shows_keeps_what_decides_numbers(both):
    whole, _, best = both
    kept = whole.thinned(best, drawn=False)
    assert len(kept.time) <= 3 + len(ACCURACIES)
    np.testing.assert_array_equal(kept.cost, [cost for cost in whole.cost if cost in set(kept.cost)])


def test_rounded_numbers_have_few_digits(both):
    _, kept, _ = both
    assert np.median([len(repr(float(seconds))) for seconds in kept.time]) <= 9


@pytest.mark.parametrize("n_points", [0, 1, 2])
def test_short_traces_stay_as_they_are(n_points):
    whole = Trace.of(trace("gm", 0, 4)[:n_points])
    np.testing.assert_array_equal(whole.thinned(-1400.0, drawn=True).cost, whole.cost)
