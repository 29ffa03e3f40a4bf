import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.kernels import Polynomial
from kdrbench.metric_learning import (
    DNE,
    LMNN,
    KPCATrick,
    SamplePairs,
    best_of,
    cross_validated_kernel,
    gaussian_grid,
    nearest,
    polynomial_grid,
    predict_by_neighbours,
    squared_distances,
    stratified_folds,
)
from kdrbench.metric_learning.neighbours import nearest_among
from support.helpers import random_samples


def test_the_grids_are_the_papers():
    sigmas = [kernel.sigma / np.sqrt(7) for kernel in gaussian_grid(7)]
    printed = [step * 10.0**power for power in range(-2, 3) for step in (1, 2.5, 5, 7.5)]
    np.testing.assert_allclose(sigmas, [*printed, 1000.0])
    assert len(sigmas) == 21
    assert polynomial_grid() == [Polynomial(degree) for degree in (1, 2, 3, 4, 5)]


def test_folds_share_each_class_alike():
    codes = np.array([0] * 21 + [1] * 8 + [2] * 2)
    folds = stratified_folds(codes, 5, np.random.default_rng(0))
    assert np.ptp(np.bincount(folds)) <= 1
    for code in range(3):
        assert np.ptp(np.bincount(folds[codes == code], minlength=5)) <= 1
    assert (folds != stratified_folds(codes, 5, np.random.default_rng(1))).any()


def test_the_best_is_the_last_of_equals():
    assert best_of(np.array([[0.1, 0.3], [0.5, 0.4], [0.4, 0.5], [0.2, 0.3]])) == 2


def accuracy_by_hand(kernel, learner, features, labels, folds):
    """Each fold's accuracy with nothing shared: distances and coordinates anew."""
    for fold in range(folds.max() + 1):
        inside = folds == fold
        fitted = KPCATrick(kernel, learner).fit(features[~inside], labels[~inside])
        train, test = fitted.transform(features[~inside]), fitted.transform(features[inside])
        nearest = [np.argmin(((train - row) ** 2).sum(axis=1)) for row in test]
        yield np.mean(labels[~inside][nearest] == labels[inside])


@pytest.mark.parametrize("learner", [DNE(), LMNN()])
def test_cross_validation_with_sharing_is_that_without(learner):
    features, labels = random_samples(n_samples=40)
    kernels = [*gaussian_grid(6)[6:14:2], Polynomial(2)]
    pairs = SamplePairs(features, features)
    names = np.array(["c", "a", "b"])[labels]
    kernel, accuracies = cross_validated_kernel(kernels, learner, pairs, names, np.random.default_rng(3))
    folds = stratified_folds(np.unique(names, return_inverse=True)[1], 5, np.random.default_rng(3))
    expected = [list(accuracy_by_hand(kernel, learner, features, names, folds)) for kernel in kernels]
    np.testing.assert_allclose(accuracies, expected)
    assert len(set(accuracies.mean(axis=1))) > 1
    assert kernel is kernels[best_of(accuracies)]


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


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda rng: cross_validated_kernel([], DNE(), None, np.arange(4) % 2, rng), "needs at least one kernel"),
        (lambda rng: stratified_folds(np.zeros(31, int), 1, rng), "n_folds must be .* 2 and the 31 samples, got 1"),
        *(
            (
                lambda rng, k=k: nearest(np.zeros((2, 3)), k),
                "n_neighbours must be an integer between 1 and the 3 samples",
            )
            for k in (0, 4, 1.5)
        ),
    ],
)
def test_what_cannot_be_selected_from_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make(np.random.default_rng(0))
