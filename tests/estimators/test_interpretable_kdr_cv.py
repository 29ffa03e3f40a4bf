import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn import __version__ as version_of_sklearn
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_wine
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_sample_weight_equivalence_on_dense_data as weights_repeat_dense
from sklearn.utils.estimator_checks import check_sample_weight_equivalence_on_sparse_data as weights_repeat_sparse
from sklearn.utils.fixes import parse_version

from kdrbench import progress
from kdrbench.errors import InputError
from kdrbench.estimators import InterpretableKDR, InterpretableKDRCV
from kdrbench.estimators.interpretable_kdr_cv import best_at_an_end, chosen_row

X, Y = load_wine(return_X_y=True)
GRID = {"kernel_params": [{"sigma": "0.5 median"}, {"sigma": "median"}]}

pytestmark = pytest.mark.filterwarnings("ignore:the best .* of its candidates")


def test_weights_are_repeated_samples_for_scikit_learn():
    # The scaler's, too; with one candidate, since scores count test samples alike.
    model = InterpretableKDRCV(n_components=[2], param_grid={}, final_estimator=LogisticRegression())
    weights_repeat_dense("InterpretableKDRCV", model)
    weights_repeat_sparse("InterpretableKDRCV", model)


def test_scores_are_those_of_a_grid_search_over_the_pipeline():
    splits = StratifiedKFold(3, shuffle=True, random_state=1)
    ours = InterpretableKDRCV(n_components=[3, 1], param_grid=GRID, cv=splits, n_jobs=2).fit(X, Y)
    pipeline = make_pipeline(StandardScaler(), InterpretableKDR(), KNeighborsClassifier())
    grid = {"interpretablekdr__n_components": [1, 3], "interpretablekdr__kernel_params": GRID["kernel_params"]}
    theirs = GridSearchCV(pipeline, grid, cv=splits).fit(X, Y)
    for name in ("mean_test_score", "std_test_score", "split2_test_score", "rank_test_score"):
        np.testing.assert_array_equal(ours.cv_results_[name], theirs.cv_results_[name])
    assert list(ours.cv_results_["param_n_components"]) == [1, 3, 1, 3]
    assert ours.best_score_ == theirs.best_score_
    assert ours.best_params_ == ours.cv_results_["params"][ours.best_index_]
    # The last fit is one of its own on all samples.
    scaled = StandardScaler().fit_transform(X)
    alone = InterpretableKDR(**ours.best_params_).fit(scaled, Y)
    np.testing.assert_array_equal(ours.components_, alone.components_)
    np.testing.assert_array_equal(ours.transform(X), alone.transform(scaled))


class Recorder(TransformerMixin, BaseEstimator):
    """Passes on features, and notes the numbers of the samples it is fitted on, which the first feature holds."""

    def __init__(self, seen=None):
        self.seen = seen

    def __sklearn_clone__(self):
        return Recorder(self.seen)

    def fit(self, X, y=None):
        self.seen.append(set(X[:, 0].astype(int).tolist()))
        return self

    def transform(self, X):
        return X


def test_a_fold_is_fitted_on_its_training_samples_alone():
    numbered = np.column_stack([np.arange(len(Y)), X])
    splits = list(StratifiedKFold(3).split(X, Y))
    scalers, finals, scored = [], [], []

    def scorer(pipeline, samples, labels):
        scored.append(set(samples[:, 0].astype(int).tolist()))
        return 0.0

    class Neighbours(KNeighborsClassifier):
        def fit(self, projected, labels):
            finals.append(len(labels))
            return super().fit(projected, labels)

    noted = {"scaler": Recorder(scalers), "final_estimator": Neighbours(), "scoring": scorer}
    InterpretableKDRCV(n_components=[1, 2], param_grid={}, cv=splits, **noted).fit(numbered, Y)
    trained = [set(train.tolist()) for train, _ in splits]
    # The first scales all samples to see whether they stay finite.
    assert scalers == [set(range(len(Y))), *trained, *trained, set(range(len(Y)))]
    assert finals == [*map(len, trained), *map(len, trained), len(Y)]
    assert scored == 2 * [set(test.tolist()) for _, test in splits]


def test_scores_by_rank_are_those_of_the_pipeline():
    labels = np.array(["a", "b"])[(Y > 0).astype(int)]
    for final in (None, LogisticRegression()):
        model = InterpretableKDRCV(1, param_grid={}, final_estimator=final, cv=3).fit(X[::2], labels[::2])
        assert (model.decision_function(X) > 0).tolist() == (model.predict(X) == "b").tolist()
        if parse_version(version_of_sklearn) < parse_version("1.9"):
            # There scorers by rank take classifiers alone, which this estimator is not before it has seen y.
            continue
        ours, theirs = (get_scorer("roc_auc")(one, X[1::2], labels[1::2]) for one in (model, model.predictor_))
        assert ours == theirs


def test_classes_that_fit_has_not_seen_are_said_when_scored():
    model = InterpretableKDRCV(1, param_grid={}, cv=2).fit(X[Y > 0], Y[Y > 0])
    with pytest.warns(UserWarning, match=r"no sample of the classes \[0\], .*cv=StratifiedKFold"):
        assert model.score(X, Y) < 0.7


def test_of_equal_candidates_that_of_fewest_components_is_taken():
    counts = np.ma.array([4, 2, 1, 1], dtype=object)
    results = {"param_reduction__n_components": counts, "mean_test_score": np.array([0.9, 0.9, np.nan, 0.8])}
    assert chosen_row(results) == 1


def test_default_candidates_and_what_the_estimator_sets_itself():
    wide = InterpretableKDRCV(cv=2).fit(X, Y).cv_results_
    assert sorted({one["n_components"] for one in wide["params"]}) == [1, 2, 3, 6]
    assert len({one["sigma"] for one in wide["params"]}) == 3
    quadratic = InterpretableKDR(kernel="polynomial", kernel_params={"degree": 2})
    kept = InterpretableKDRCV(estimator=quadratic, cv=2).fit(X, Y)
    assert set(kept.best_params_) == {"n_components"}
    assert kept.kernel_.degree == 2


def test_continuous_targets_are_scored_by_regression():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((120, 5))
    estimator = InterpretableKDR(paradigm_params={"target_kernel": "gaussian"})
    model = InterpretableKDRCV(estimator=estimator, n_components=[1, 3], param_grid={}, cv=3, random_state=0)
    model.fit(features, np.sin(2 * features[:, 0]))
    assert model.n_components_ == 1
    assert model.best_score_ > 0.5
    assert model.n_splits_ == 3
    assert not hasattr(model, "classes_")
    # Whole numbers are no classes where there is a kernel on targets.
    whole = clone(model).fit(features, np.rint(9 * features[:, 0]).astype(int))
    # A fold would have no more than 20 values: y is read once for all folds.
    half = InterpretableKDRCV(1, param_grid={}, cv=2)
    with pytest.warns(UserWarning, match="y has 22 different whole numbers of 178 samples and is taken as a contin"):
        half.fit(X[:, :3], np.rint(6 * X[:, 0]).astype(int))
    assert half.predictor_["reduction"].target == "continuous"
    for one in (whole, half):
        assert one.best_score_ > 0.5
        assert not hasattr(one, "classes_")


WEIGHTS = np.random.default_rng(0).integers(0, 3, 178).astype(float)
SPLITS = list(StratifiedKFold(3).split(X, Y))
ONE = {"n_components": [2], "param_grid": {}, "cv": SPLITS}


def fold_scores(model):
    return [float(model.cv_results_[f"split{fold}_test_score"][0]) for fold in range(model.n_splits_)]


def test_weights_go_to_all_fits_and_not_to_scores():
    final = LogisticRegression()
    model = InterpretableKDRCV(final_estimator=final, **ONE).fit(X, Y, sample_weight=WEIGHTS)
    scores = []
    for train, test in SPLITS:
        weights = WEIGHTS[train]
        scaler = StandardScaler().fit(X[train], sample_weight=weights)
        scaled = scaler.transform(X[train])
        reduction = InterpretableKDR(2).fit(scaled, Y[train], sample_weight=weights)
        predictor = clone(final).fit(reduction.transform(scaled), Y[train], sample_weight=weights)
        scores.append(predictor.score(reduction.transform(scaler.transform(X[test])), Y[test]))
    assert fold_scores(model) == pytest.approx(scores, abs=1e-12)
    scaled = StandardScaler().fit(X, sample_weight=WEIGHTS).transform(X)
    alone = InterpretableKDR(2).fit(scaled, Y, sample_weight=WEIGHTS)
    np.testing.assert_allclose(model.components_, alone.components_, atol=1e-12)
    assert not np.allclose(model.components_, InterpretableKDRCV(**ONE).fit(X, Y).components_, atol=1e-3)
    # Neighbours take no weights.
    assert InterpretableKDRCV(**ONE).fit(X, Y, sample_weight=WEIGHTS).best_score_ > 0.9


def test_groups_are_for_the_splitter():
    groups = np.arange(178) % 4
    options = {"n_components": [1], "param_grid": {}}
    splits = list(GroupKFold(4).split(X, Y, groups))
    expected = fold_scores(InterpretableKDRCV(cv=splits, **options).fit(X, Y))
    search = InterpretableKDRCV(cv=GroupKFold(4), **options)
    assert fold_scores(clone(search).fit(X, Y, groups=groups)) == expected
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(search.set_fit_request(groups=True), KNeighborsClassifier())
        assert fold_scores(pipeline.fit(X, Y, groups=groups)[0]) == expected


def test_sparse_samples_are_scaled_without_centring():
    features = np.where(X.mean(axis=0) < X, X, 0.0)
    sparse = InterpretableKDRCV(**ONE).fit(csr_array(features), Y)
    dense = InterpretableKDRCV(scaler=StandardScaler(with_mean=False), **ONE).fit(features, Y)
    assert fold_scores(sparse) == pytest.approx(fold_scores(dense), abs=1e-12)
    np.testing.assert_allclose(sparse.transform(csr_array(features)), dense.transform(features), atol=1e-5)
    assert get_tags(sparse).input_tags.sparse
    multiquadric = InterpretableKDRCV(estimator=InterpretableKDR(kernel="multiquadric"), **ONE)
    assert not get_tags(multiquadric).input_tags.sparse
    with pytest.raises(InputError, match=r"sparse samples can be learned from with .* kernel 'multiquadric'"):
        multiquadric.fit(csr_array(features), Y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimator": KNeighborsClassifier()}, "estimator must be None or an InterpretableKDR, got KNeighbors"),
        ({"estimator": InterpretableKDR(paradigm="unsupervised")}, "must have paradigm 'supervised', got 'unsuperv"),
        ({"n_components": [1, 14]}, "n_components must be an integer between 1 and n_features = 13, got 14"),
        ({"n_components": []}, "at least one candidate"),
        ({"n_components": 2.5}, "n_components must be None or an integer or a list of integers, got 2.5"),
        ({"param_grid": {"n_components": [1]}}, r"give its candidates as n_components=\[...\]"),
        ({"scaler": "minmax"}, "unknown scaler 'minmax'; allowed: standard, passthrough"),
        ({"param_grid": {"sgima": [1.0]}, "n_components": [1]}, "Invalid parameter 'sgima' for estimator Inter"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        InterpretableKDRCV(**options).fit(X, Y)


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_a_candidate_that_fails_is_left_out_with_a_warning():
    model = InterpretableKDRCV(n_components=[1], param_grid={"sigma": ["median", "wide"]}, cv=2)
    with pytest.warns(FitFailedWarning, match="(?s)2 fits failed out of a total of 4.*unknown sigma 'wide'"):
        assert model.fit(X, Y).best_params_["sigma"] == "median"
    assert np.isnan(model.cv_results_["mean_test_score"]).tolist() == [False, True]
    model.set_params(param_grid={"sigma": ["wide"]})
    with pytest.raises(InputError, match="unknown sigma 'wide'"):
        model.fit(X, Y)


def test_a_scaler_of_columns_reads_a_frame_with_text():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"colour": rng.choice(["blue", "red", "green"], 60), "size": rng.standard_normal(60)})
    y = np.where((frame["colour"] == "red") | (frame["size"] > 1.0), "yes", "no")
    scaler = make_column_transformer((StandardScaler(), ["size"]), (OneHotEncoder(), ["colour"]))
    options = {"n_components": 2, "param_grid": {}, "cv": 3}
    model = InterpretableKDRCV(scaler=scaler, **options).fit(frame, y)
    by_hand = InterpretableKDRCV(scaler="passthrough", **options).fit(np.asarray(scaler.fit_transform(frame)), y)
    assert model.feature_names_in_.tolist() == ["colour", "size"]
    assert model.score(frame, y) > 0.9
    np.testing.assert_allclose(np.abs(model.components_), np.abs(by_hand.components_), atol=1e-9)
    assert model.transform(frame).shape == (60, 2)
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame[["size", "colour"]])
    with pytest.raises(ValueError, match="could not convert string to float"):
        InterpretableKDRCV(**options).fit(frame, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        InterpretableKDRCV(scaler=scaler, **options).fit(frame, y[:-1])


@pytest.mark.filterwarnings("error:X ")
def test_names_of_columns_are_those_of_loadings():
    frame = pytest.importorskip("pandas").DataFrame(X, columns=list("abcdefghijklm"))
    for scaler in ("standard", None, MinMaxScaler(), FunctionTransformer()):
        model = InterpretableKDRCV(scaler=scaler, **ONE).fit(frame, Y)
        assert model.score(frame, Y) > 0.6
        np.testing.assert_array_equal(model.best_estimator_.transform(frame), model.transform(frame))
        for one in (model, model.best_estimator_[-1]):
            assert one.loadings_frame().index.equals(frame.columns)
        assert model.loadings_frame({"ab": ["a", "b"]}).shape == (12, 2)


def test_a_best_candidate_at_the_end_of_its_grid_is_said():
    shares = ("0.5 projected", "projected", "2 projected", "median", None)
    tried = [{"n_components": q, "sigma": sigma} for q in (1, 2, 4) for sigma in shares]

    def messages(**best):
        return list(best_at_an_end(best, tried, 4))

    assert messages(n_components=1, sigma="projected") == messages(n_components=4, sigma="median") == []
    (message,) = messages(n_components=2, sigma="2 projected")
    assert message.startswith("the best sigma, '2 projected', is the largest of its candidates; try larger ones by")
    assert "is the smallest" in messages(n_components=2, sigma="0.5 projected")[0]
    assert "the best n_components, 4, is the largest" in next(best_at_an_end({"n_components": 4}, tried, 5))
    with pytest.warns(UserWarning, match="the best sigma, 50.0, is the largest of its candidates; try larger ones"):
        InterpretableKDRCV([1], param_grid={"sigma": [0.05, 50.0]}, cv=2).fit(X, Y)


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
def test_trial_fits_are_short_and_what_is_chosen_converges(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_SILENT_S", 0.0)
    iterations = []

    def scorer(pipeline, samples, labels):
        iterations.append(pipeline["reduction"].n_iter_)
        return 0.0

    best = InterpretableKDRCV(cv=2, scoring=scorer).fit(X, Y).predictor_["reduction"]
    assert max(iterations) == 5 < best.n_iter_
    # Four numbers of components, three bandwidths, two folds.
    assert "InterpretableKDRCV, n = 178: 2 of up to 24 fits begun, " in capsys.readouterr().err
    assert (best.status_, best.max_iter, best.evaluation) == ("converged", None, None)
    InterpretableKDRCV(cv=2, scoring=scorer, estimator=InterpretableKDR(tol=1e-4)).fit(X, Y)
    assert max(iterations) > 5


def test_the_final_estimator_predicts_in_any_format_of_output():
    labels = np.array(["low", "mid", "high"])[Y]
    model = InterpretableKDRCV(2, param_grid={}, cv=3)
    with config_context(transform_output="pandas"):
        assert model.fit(X, labels).transform(X).columns.tolist() == ["interpretablekdrcv0", "interpretablekdrcv1"]
        predicted = model.predict(X)
    assert (predicted == labels).mean() > 0.9
    np.testing.assert_array_equal(model.classes_[model.predict_proba(X).argmax(axis=1)], predicted)
    assert not hasattr(InterpretableKDRCV(final_estimator=LinearSVC()), "predict_proba")
    raw = InterpretableKDRCV(2, param_grid={}, cv=3, scaler=None).fit(X, labels)
    np.testing.assert_allclose(raw.transform(X), X @ raw.components_.T, atol=1e-12)
    projected = model.transform(X)
    np.testing.assert_allclose(model.transform(model.inverse_transform(projected)), projected, atol=1e-10)
