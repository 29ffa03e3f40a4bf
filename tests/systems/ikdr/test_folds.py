from dataclasses import replace

import numpy as np
import pytest
from sklearn.model_selection import KFold, StratifiedKFold

from kdrbench.datasets import Dataset, load_dataset
from kdrbench.errors import InputError
from kdrbench.suite.engine.seeds import seed_of
from kdrbench.suite.systems.ikdr.folds import Sampling, Scaling, Split, make_fold


def dataset(labels, name="tiny"):
    labels = np.array(labels)
    features = np.random.default_rng(0).standard_normal((labels.size, 2))
    return Dataset(name, features, labels, ("a", "b"), tuple(f"class {code}" for code in range(labels.max() + 1)))


def test_scaling_is_fitted_on_the_training_samples_alone():
    fold = make_fold(load_dataset("wine"), 3, 10, seed=0)
    np.testing.assert_allclose(fold.train_features.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(fold.train_features.std(axis=0), 1.0, rtol=1e-12)
    assert np.abs(fold.test_features.mean(axis=0)).max() > 1e-3


def test_test_samples_cannot_influence_what_is_fitted():
    wine = load_dataset("wine")
    before = make_fold(wine, 0, 10, seed=0)
    # The split depends on labels and seed alone, so numbering every row finds the test rows.
    numbers = np.column_stack([np.arange(178.0), wine.features[:, 1:]])
    shifted = wine.features.copy()
    shifted[rows_of_test_part(replace(wine, features=numbers), 0, 10)] += 100.0
    after = make_fold(replace(wine, features=shifted), 0, 10, seed=0)
    np.testing.assert_array_equal(after.train_features, before.train_features)
    assert np.abs(after.test_features - before.test_features).min() > 0.3


def _line_through(train, test):
    """Mean and scale that turn standardised row numbers of both parts back into 0, ..., 177."""
    values = np.sort(np.concatenate([train, test]))
    scale = 177 / (values[-1] - values[0])
    return -values[0] * scale, scale


def test_a_lonely_label_is_refused():
    with pytest.raises(InputError, match=r"class 'class 2' has 1 member; cross validation needs at least 2"):
        make_fold(dataset([0] * 6 + [1] * 6 + [2]), 0, 3, seed=0)


def test_more_folds_than_members_of_any_class_are_refused():
    with pytest.raises(InputError, match="no class has 7 members; use at most 6 folds"):
        make_fold(dataset([0] * 6 + [1] * 5), 0, 7, seed=0)


def test_a_test_fold_may_lack_a_class_but_no_training_fold_does():
    rare = dataset([0] * 8 + [1] * 8 + [2] * 2)
    folds = [make_fold(rare, number, 4, seed=0) for number in range(4)]
    assert any(2 not in fold.test_labels for fold in folds)
    assert all(set(fold.train_labels) == {0, 1, 2} for fold in folds)


def test_a_column_constant_in_training_is_counted_and_zero():
    data = dataset([0, 1] * 6)
    data.features[:, 1] = 7.0
    fold = make_fold(data, 0, 3, seed=0)
    assert fold.n_constant_features == 1
    assert np.abs(fold.test_features[:, 1]).max() == 0.0


def numbered(n_samples, n_classes):
    """A data set whose first feature is the number of the row."""
    rng = np.random.default_rng(0)
    labels = rng.integers(n_classes, size=n_samples)
    labels[:n_classes] = np.arange(n_classes)
    features = np.column_stack([np.arange(n_samples, dtype=float), rng.standard_normal(n_samples)])
    return Dataset("numbered", features, labels, ("row", "b"), tuple(f"class {code}" for code in range(n_classes)))


def rows_of_test_part(data, number, n_folds, **drawn):
    fold = make_fold(data, number, n_folds, 0, **drawn)
    mean, scale = _line_through(fold.train_features[:, 0], fold.test_features[:, 0])
    n_samples = len(data.labels)
    return np.rint((fold.test_features[:, 0] * scale + mean) * (n_samples - 1) / 177).astype(int).tolist()


@pytest.mark.parametrize(("stratified", "splitter"), [(True, StratifiedKFold), (False, KFold)])
def test_each_partition_is_a_shuffled_split_with_its_own_seed(stratified, splitter):
    data = numbered(178, 3)
    for partition, axes in ((0, ("split", "numbered", 0)), (2, ("split", "numbered", 0, 2))):
        parts = splitter(5, shuffle=True, random_state=seed_of(*axes) % 2**32).split(data.features, data.labels)
        for place, (_, test) in enumerate(parts):
            number = 5 * partition + place
            assert rows_of_test_part(data, number, 5, stratified=stratified) == test.tolist()
            assert make_fold(data, number, 5, 0, stratified=stratified).columns["partition"] == partition


def test_a_sampling_counts_folds_on_through_its_partitions():
    wine = load_dataset("wine")
    sampling = Sampling(Split.FOLDS, 10, partitions=3, stratified=False, scaling=Scaling.OWN)
    fold = sampling.fold(wine, 27, 4)
    expected = make_fold(wine, 27, 10, 4, stratified=False, scaling=Scaling.OWN)
    assert fold.partition == 2
    np.testing.assert_array_equal(fold.test_features, expected.test_features)
    assert Sampling(Split.SUBSETS, 30, 100).fold(wine, 27, 4).partition == 0


def test_a_test_fold_may_be_scaled_by_itself():
    wine = load_dataset("wine")
    fold, usual = make_fold(wine, 3, 10, 0, scaling=Scaling.OWN), make_fold(wine, 3, 10, 0)
    np.testing.assert_allclose(fold.test_features.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(fold.test_features.std(axis=0), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(fold.train_features, usual.train_features)
    np.testing.assert_array_equal(fold.test_labels, usual.test_labels)


def test_a_class_missing_from_a_training_part_is_refused():
    rare = dataset([0] * 8 + [1] * 8 + [2] * 2)
    # The first partition whose first test part has both samples of class 2.
    splitters = [KFold(2, shuffle=True, random_state=_seed_of_partition(number)) for number in range(100)]
    parts = [next(splitter.split(rare.labels))[1] for splitter in splitters]
    together = next(number for number, part in enumerate(parts) if {16, 17} <= set(part.tolist()))
    message = f"fold 0 of partition {together} leaves class 'class 2' out of its training part; use stratified folds"
    with pytest.raises(InputError, match=message):
        make_fold(rare, 2 * together, 2, seed=0, stratified=False)


def _seed_of_partition(number):
    return seed_of("split", "tiny", 0, *([number] if number else [])) % 2**32
