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
    polynomial_grid,
    stratified_folds,
)
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
    with pytest.raises(InputError, match="n_folds must be an integer between 2 and the 31 samples, got 1"):
        stratified_folds(codes, 1, np.random.default_rng(0))


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


def test_no_kernels_are_refused():
    features, labels = random_samples()
    with pytest.raises(InputError, match="cross validation needs at least one kernel"):
        cross_validated_kernel([], DNE(), SamplePairs(features, features), labels, np.random.default_rng(0))
