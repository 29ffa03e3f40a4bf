import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from kdrbench.estimators import InterpretableKDR
from kdrbench.solvers import SOLVERS, Status

X, Y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)


@parametrize_with_checks([InterpretableKDR(), InterpretableKDR(n_components=1, kernel="linear", solver="ism")])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "dimension_growth"])
def test_every_solver_reproduces_the_published_wine_cost(solver):
    model = InterpretableKDR(n_components=4, solver=solver).fit(X, Y)
    # ISM+ Table 5 prints -1628.14.
    assert round(-model.objective_, 2) == -1628.14
    assert model.status_ is Status.CONVERGED


def test_what_is_learned_is_documented_and_consistent():
    model = InterpretableKDR(n_components=3).fit(X, Y)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(model.transform(X), X @ model.components_.T)
    assert model.certificate_.stationarity <= 1e-6
    assert model.certificate_.curvature >= -1e-6
    assert model.n_iter_ == model.result_.iterations > 0
    assert model.classes_.tolist() == [0, 1, 2]


def test_the_number_of_classes_is_the_default_number_of_components():
    assert InterpretableKDR().fit(X, Y).transform(X).shape == (178, 3)


def test_it_works_in_pipelines_searches_and_data_frames():
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(13)])
    pipeline = make_pipeline(StandardScaler(), InterpretableKDR(), SVC(gamma="auto"))
    grid = {"interpretablekdr__n_components": [1, 2], "interpretablekdr__kernel": ["gaussian", "linear"]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(frame, Y)
    assert search.best_score_ > 0.9
    model = InterpretableKDR(n_components=2).set_output(transform="pandas").fit(frame, Y)
    assert model.transform(frame).columns.tolist() == ["interpretablekdr0", "interpretablekdr1"]
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(frame), model.transform(frame))


def test_names_of_labels_do_not_matter_and_random_starts_are_seeded():
    named = InterpretableKDR(n_components=2).fit(X, np.array(["a", "b", "c"])[Y])
    np.testing.assert_allclose(named.components_, InterpretableKDR(n_components=2).fit(X, Y).components_)
    first, second = (InterpretableKDR(2, start="random", random_state=3).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(first.components_, second.components_)


def test_kernel_parameters_override_the_defaults():
    narrow = InterpretableKDR(n_components=2, kernel_params={"sigma": 1.0}).fit(X, Y)
    assert narrow.objective_ != InterpretableKDR(n_components=2).fit(X, Y).objective_


def test_an_early_end_is_a_warning():
    with pytest.warns(ConvergenceWarning, match="stiefel_cayley ended as max_iterations"):
        InterpretableKDR(n_components=2, solver="stiefel_cayley", max_iter=2).fit(X, Y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 14}, "n_components must be None or an integer between 1 and n_features = 13, got 14"),
        ({"n_components": 0}, "between 1 and n_features = 13, got 0"),
        ({"n_components": 2.5}, "got 2.5"),
        ({"kernel": "gausian"}, "unknown kernel family 'gausian'"),
        ({"kernel_params": {"sgima": 1}}, "unknown option of kernel family 'gaussian': 'sgima'"),
        ({"paradigm": "magic"}, "unknown paradigm 'magic'; allowed: supervised"),
        ({"solver": "imm"}, "unknown solver method 'imm'"),
        ({"start": "phi"}, "unknown start 'phi'"),
        ({"tol": -1.0}, "tolerance must be a finite number > 0, got -1.0"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        InterpretableKDR(**options).fit(X, Y)
