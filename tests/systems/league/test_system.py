"""The league as a system: its rows, folds without leaks, tuning, and faults of the configuration."""

import time
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.preprocessing import FunctionTransformer

from kdrbench.errors import ConfigError, InputError
from kdrbench.reduction.methods import METHODS, ReducerEntry, build_reducer
from kdrbench.suite.systems.league import fold_run
from kdrbench.suite.systems.league.fold_run import fewer_rows, fitted, fold_of, fold_of_run, learn, tune
from kdrbench.suite.systems.league.judges import judge
from support.system_cases import data_of, grid_of, job_of, results_of

SMALL = {"datasets": ["wine"], "methods": ["lda"], "components": [1, 2], "repeats": 1}


def batch_of(**changes):
    (batch,) = grid_of("league_fixed", **SMALL | changes).batches()
    return batch


def test_every_fold_and_number_of_components_leaves_a_row(tmp_path):
    batch = batch_of()
    records = job_of(batch, data_of("wine"), tmp_path)
    assert [record.axes for record in records] == [
        ("league_fixed", "wine", "lda", run, q) for run in range(5) for q in (1, 2)
    ]
    for record in records:
        assert (record.status, record.rules, record.linear) == ("converged", "fixed", True)
        assert record.n_train + record.n_test == 178
        assert (record.n_features, record.n_classes, record.n_found) == (13, 3, record.n_components)
        assert record.chosen == ""
        assert record.tuning_cpu_s == 0.0 < record.cpu_s
        assert 0.7 < record.knn_accuracy <= 1.0
        # Scores are those of the library.
        fold = fold_of_run(batch, data_of("wine"), record.run)
        learned = learn(METHODS["lda"], fold, record.n_components, 0)
        expected = judge(learned)
        assert {name: getattr(record, name) for name in expected} == expected
    # The rows to test share out the data.
    assert sum(record.n_test for record in records if record.n_components == 1) == 178


@pytest.mark.parametrize(("changes", "n_rows"), [({}, 178), ({"most_rows": 60}, 60)])
def test_folds_are_the_same_for_all_methods_and_rules(changes, n_rows):
    fold = fold_of_run(batch_of(**changes), data_of("wine"), 0)
    other = fold_of_run(batch_of(methods=["pca"], rules="tuned", **changes), data_of("wine"), 0)
    np.testing.assert_array_equal(fold.test, other.test)
    np.testing.assert_array_equal(fold.train, other.train)
    assert len(fold.train) + len(fold.test) == n_rows
    # Another repeat draws other folds.
    repeated = fold_of_run(batch_of(repeats=2, **changes), data_of("wine"), 5)
    assert not np.array_equal(repeated.test, fold.test)


@pytest.mark.parametrize(
    ("step", "message"),
    [("fitted", "ValueError: no second component"), ("projected", "InputError: the projected test rows must be")],
)
def test_a_method_or_rows_to_judge_that_fail_take_no_other_row(tmp_path, monkeypatch, step, message):
    whole = getattr(fold_run, step)

    def fails_for_two(given, fold, count, *others):
        if count == 2 and step == "fitted":
            raise ValueError("no second component")
        made = whole(given, fold, count, *others)
        return replace(made, test=fold.test * np.nan) if count == 2 else made

    monkeypatch.setattr(fold_run, step, fails_for_two)
    one, two = job_of(batch_of(folds=2), data_of("wine"), tmp_path)[:2]
    assert (one.status, two.status, two.knn_accuracy) == ("converged", "failed", None)
    assert two.message.startswith(message)


def test_tuning_is_charged_and_its_choice_is_what_is_fitted(monkeypatch):
    fitted_with = []

    def slow(entry, fold, count, seed):
        began = time.perf_counter()
        while time.perf_counter() < began + 0.05:
            pass
        return {"bandwidth": 2.0}

    def kept(entry, fold, count, seed, parameters):
        fitted_with.append(parameters)
        return fitted(entry, fold, count, seed, parameters)

    monkeypatch.setattr(fold_run, "tune", slow)
    monkeypatch.setattr(fold_run, "fitted", kept)
    result = results_of(batch_of(rules="tuned", components=[2], methods=["kernel_pca"]), data_of("wine"))[2,]
    assert fitted_with == [{"bandwidth": 2.0}]
    assert result.columns["chosen"] == '{"bandwidth": 2.0}'
    assert result.time_s > result.columns["tuning_wall_s"] >= 0.05
    assert result.cpu_s > result.columns["tuning_cpu_s"] > 0.0
    assert result.columns["linear"] is False


def test_components_below_the_number_of_features_are_played():
    changes = SMALL | {"datasets": ["wine", "balance"], "components": [1, 2, 4]}
    rows = {batch.dataset: batch.rows for batch in grid_of("league_fixed", **changes).batches()}
    assert rows == {"wine": ((1,), (2,), (4,)), "balance": ((1,), (2,))}


def test_faults_of_the_configuration_are_named():
    for changes, message in [
        ({"methods": ["lad"]}, "league_fixed.methods: unknown method 'lad'"),
        ({"datasets": ["flower"]}, "data set 'flower' has no labels; methods learn from them"),
        ({"datasets": ["yeast"], "folds": 6}, "folds: the smallest class of data set 'yeast' has 5 samples; 6 folds"),
        ({"datasets": ["iris"], "components": [4]}, "components must hold a number below the 4 features of data set '"),
    ]:
        with pytest.raises(ConfigError, match=message):
            grid_of("league_fixed", **SMALL | changes)


X, Y = load_wine(return_X_y=True)


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
    # There is no feature 9.
    places = [{"place": place} for place in (9, 1, 2)]
    axis = FunctionTransformer(lambda X, place=0: X[:, [place]])
    entry = ReducerEntry("axis", lambda q, seed: clone(axis), {"kw_args": places})
    fold = fold_of(features, codes, 0, 4, 0)
    assert tune(entry, fold, 1, 0) == {"kw_args": {"place": 2}}
    assert tune(replace(entry, grid={"kw_args": places[:1]}), fold, 1, 0) == {}
    assert tune(replace(entry, grid={}), fold, 1, 0) == {}


def test_more_components_than_asked_for_are_a_failure():
    both = ReducerEntry("two", lambda q, seed: build_reducer("pca", 2))
    with pytest.raises(InputError, match="asked for 1 components at most"):
        learn(both, fold_of(X, Y, 0, 5, 0), 1, 0)
