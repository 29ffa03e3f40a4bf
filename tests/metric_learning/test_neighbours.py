import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.metric_learning import nearest, predict_by_neighbours, squared_distances
from kdrbench.metric_learning.neighbours import nearest_among


def test_squared_distances_are_those_of_loops_far_from_zero_too():
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((5, 3)), rng.standard_normal((7, 3))
    by_loops = [[sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) for y in right] for x in left]
    np.testing.assert_allclose(squared_distances(left, right), by_loops, rtol=1e-13)
    # Adding 1e6 itself rounds to 1e-10; products of uncentred features would leave 1e-4.
    np.testing.assert_allclose(squared_distances(left + 1e6, right + 1e6), by_loops, rtol=1e-8)


def test_distances_equal_but_for_rounding_are_tied():
    assert nearest(np.array([[2.0, 1.0 + 1e-12, 1.0, 3.0]]), 3).tolist() == [[1, 2, 0]]
    # Beyond 1e-9 of the largest they are different distances.
    assert nearest(np.array([[2.0, 1.0 + 1e-8, 1.0, 3.0]]), 3).tolist() == [[2, 1, 0]]
    assert nearest(np.array([[2.0, 1.0 + 1e-12, 1.0, 3.0]]), 1).tolist() == [[1]]


def test_ties_are_the_same_in_rotated_coordinates():
    rng = np.random.default_rng(0)
    grid = rng.integers(0, 3, (60, 4)).astype(float)
    rotation = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    here, there = squared_distances(grid, grid), squared_distances(grid @ rotation, grid @ rotation)
    # Without the rule some of these many ties fall otherwise.
    assert (np.argsort(here, kind="stable") != np.argsort(there, kind="stable")).any()
    np.testing.assert_array_equal(nearest(here, 20), nearest(there, 20))


def test_a_far_sample_does_not_tie_the_others():
    assert nearest(np.array([[1.0, 0.5], [1e30, 2e30]]), 1).tolist() == [[1], [0]]
    assert nearest(np.zeros((2, 3)), 2).tolist() == [[0, 1], [0, 1]]


def test_only_allowed_neighbours_are_given_if_there_are_any():
    squared = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0]])
    allowed = np.array([[False, False, True], [True, False, True]])
    assert [row.tolist() for row in nearest_among(squared, allowed, 2)] == [[2], [0, 2]]


def test_the_majority_votes_and_the_nearest_breaks_ties():
    labels = np.array(["a", "b", "b", "c"])
    squared = np.array([[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.5, 1.0]])
    assert predict_by_neighbours(squared, labels, 1).tolist() == ["a", "c"]
    assert predict_by_neighbours(squared, labels, 2).tolist() == ["a", "c"]
    assert predict_by_neighbours(squared, labels, 3).tolist() == ["b", "b"]


def test_a_number_of_neighbours_that_is_not_there_is_refused():
    for n_neighbours in (0, 4, 1.5):
        with pytest.raises(InputError, match="n_neighbours must be an integer between 1 and the 3 samples"):
            nearest(np.zeros((2, 3)), n_neighbours)
