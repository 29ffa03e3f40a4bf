"""How methods play: folds without leaks, and tuning."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_wine

from kdrbench.errors import InputError
from kdrbench.reduction.methods import METHODS, ReducerEntry, build_reducer
from kdrbench.suite.systems.league.fold_run import fewer_rows, fold_of, learn, tune

X, Y = load_wine(return_X_y=True)


class Axis(TransformerMixin, BaseEstimator):
    """One feature, or a random one."""

    def __init__(self, place=0, random_state=None):
        self.place = place
        self.random_state = random_state

    def fit(self, X, y):
        if self.place < 0:
            raise ValueError("no such feature")
        return self

    def transform(self, X):
        return X[:, [self.place]]


def test_folds_share_all_rows_and_scale_by_training_rows():
    folds = [fold_of(X, Y, number, 5, 7) for number in range(5)]
    assert sum(len(fold.test) for fold in folds) == len(X)
    for fold in folds:
        np.testing.assert_allclose(fold.train.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(fold.train.std(axis=0), 1, rtol=1e-12)
        # Every class has its share, to one sample.
        assert (np.abs(np.bincount(fold.test_codes) - np.bincount(Y) / 5) < 1).all()
    np.testing.assert_array_equal(fold_of(X, Y, 2, 5, 7).train, folds[2].train)
    assert not np.array_equal(fold_of(X, Y, 2, 5, 8).test, folds[2].test)


@pytest.mark.parametrize("method", ["kdr_gaussian", "pca", "lda", "kernel_pca"])
def test_nothing_of_the_test_rows_is_in_what_is_learned(method):
    fold = fold_of(X, Y, 0, 5, 0)
    changed = replace(fold, test=100.0 * fold.test[::-1] + 3.0)
    one, other = (learn(METHODS[method], part, 2, 0) for part in (fold, changed))
    np.testing.assert_array_equal(one.train, other.train)


def test_rows_that_are_left_out_are_of_all_classes():
    codes = np.repeat([0, 1, 2], [600, 300, 3])
    chosen = fewer_rows(codes, 100, 2, np.random.default_rng(0))
    assert np.bincount(codes[chosen]).tolist() == [66, 33, 2]
    assert len(set(chosen.tolist())) == 101
    np.testing.assert_array_equal(fewer_rows(codes, 903, 2, np.random.default_rng(0)), np.arange(903))


def test_the_matrix_of_a_linear_method_is_found_and_of_no_other():
    fold = fold_of(X, Y, 0, 5, 0)
    expected = build_reducer("pca", 2).fit(fold.train).components_.T
    np.testing.assert_allclose(learn(METHODS["pca"], fold, 2, 0).projection, expected, atol=1e-12)
    assert learn(METHODS["kernel_pca"], fold, 2, 0).projection is None


def test_tuning_chooses_what_predicts_and_leaves_out_what_fails():
    rng = np.random.default_rng(0)
    codes = np.arange(120) % 2
    features = np.column_stack([rng.normal(size=(120, 2)), 3.0 * codes + rng.normal(size=120)])
    entry = ReducerEntry("axis", lambda q, seed: Axis(), {"place": (-1, 1, 2)})
    fold = fold_of(features, codes, 0, 4, 0)
    assert tune(entry, fold, 1, 0) == {"place": 2}
    assert tune(replace(entry, grid={"place": (-1,)}), fold, 1, 0) == {}
    # The labels to test, which it is not given, change nothing.
    assert tune(entry, fold, 1, 0) == {"place": 2}
    assert tune(replace(entry, grid={}), fold, 1, 0) == {}


def test_more_components_than_asked_for_are_a_failure():
    both = ReducerEntry("two", lambda q, seed: build_reducer("pca", 2))
    with pytest.raises(InputError, match="asked for 1 components at most"):
        learn(both, fold_of(X, Y, 0, 5, 0), 1, 0)
