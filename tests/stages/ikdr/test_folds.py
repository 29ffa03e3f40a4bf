from dataclasses import replace

import numpy as np
import pytest

from kdrbench.datasets import Dataset, load_dataset
from kdrbench.errors import InputError
from kdrbench.stages.ikdr.folds import make_fold


def dataset(labels, name="tiny"):
    labels = np.array(labels)
    features = np.random.default_rng(0).standard_normal((labels.size, 2))
    return Dataset(name, features, labels, ("a", "b"), tuple(f"class {code}" for code in range(labels.max() + 1)))


def test_folds_part_the_samples_and_share_classes_evenly():
    wine = load_dataset("wine")
    folds = [make_fold(wine, number, 10, seed=0) for number in range(10)]
    assert sum(len(fold.test_labels) for fold in folds) == 178
    for fold in folds:
        assert len(fold.train_labels) + len(fold.test_labels) == 178
        assert np.bincount(fold.test_labels, minlength=3).min() >= 4


def test_scaling_is_fitted_on_the_training_samples_alone():
    fold = make_fold(load_dataset("wine"), 3, 10, seed=0)
    np.testing.assert_allclose(fold.train_features.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(fold.train_features.std(axis=0), 1.0, rtol=1e-12)
    assert np.abs(fold.test_features.mean(axis=0)).max() > 1e-3


def test_test_samples_cannot_influence_what_is_fitted():
    wine = load_dataset("wine")
    before = make_fold(wine, 0, 10, seed=0)
    # The split depends on labels and seed alone, so marking every row finds the test rows.
    marked = wine.features.copy()
    marked[:, 0] = np.arange(178)
    marks = make_fold(replace(wine, features=marked), 0, 10, seed=0)
    train_mean, train_scale = _line_through(marks.train_features[:, 0], marks.test_features[:, 0])
    test_rows = np.rint(marks.test_features[:, 0] * train_scale + train_mean).astype(int)
    shifted = wine.features.copy()
    shifted[test_rows] += 100.0
    after = make_fold(replace(wine, features=shifted), 0, 10, seed=0)
    np.testing.assert_array_equal(after.train_features, before.train_features)
    assert np.abs(after.test_features - before.test_features).min() > 0.3


def _line_through(train, test):
    """Mean and scale that turn standardised row numbers of both parts back into 0, ..., 177."""
    values = np.sort(np.concatenate([train, test]))
    scale = 177 / (values[-1] - values[0])
    return -values[0] * scale, scale


def test_a_lonely_label_is_refused():
    with pytest.raises(InputError, match=r"class 'class 2' has 1 member\(s\); cross validation needs at least 2"):
        make_fold(dataset([0] * 6 + [1] * 6 + [2]), 0, 3, seed=0)


def test_more_folds_than_members_of_any_class_are_refused():
    with pytest.raises(InputError, match="no class has 7 members; use at most 6 folds"):
        make_fold(dataset([0] * 6 + [1] * 5), 0, 7, seed=0)


def test_a_test_fold_may_lack_a_class_but_no_training_fold_does():
    rare = dataset([0] * 8 + [1] * 8 + [2] * 2)
    folds = [make_fold(rare, number, 4, seed=0) for number in range(4)]
    assert any(2 not in fold.test_labels for fold in folds)
    assert all(set(fold.train_labels) == {0, 1, 2} for fold in folds)


def test_a_column_constant_in_training_is_counted_and_zero_in_the_test_fold():
    data = dataset([0, 1] * 6)
    data.features[:, 1] = 7.0
    fold = make_fold(data, 0, 3, seed=0)
    assert fold.n_constant_features == 1
    assert np.abs(fold.test_features[:, 1]).max() == 0.0
