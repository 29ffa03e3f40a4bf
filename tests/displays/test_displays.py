import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from kdrbench.displays import EmbeddingDisplay, LoadingsDisplay, principal_rows
from kdrbench.errors import InputError
from kdrbench.estimators import NCA, InterpretableKDR, InterpretableKDRCV
from kdrbench.inference.resampling import turned_to

mpl.use("Agg")
WINE = load_wine(as_frame=True)
X, Y = WINE.data, WINE.target.to_numpy()


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    yield
    plt.close("all")


def orthogonal(rng, size):
    return np.linalg.qr(rng.standard_normal((size, size)))[0]


class Turned(TransformerMixin, BaseEstimator):
    """Learns one plane, and shows it by another basis in each fit, as its samples have it."""

    def fit(self, X, y=None):
        rng = np.random.default_rng(np.asarray(X).view(np.uint64)[0] % 2**32)
        self.components_ = orthogonal(rng, 2) @ orthogonal(np.random.default_rng(0), 5)[:2]
        return self

    def transform(self, X):
        return X @ self.components_.T


def test_alignment_undoes_rotations():
    features = np.random.default_rng(1).standard_normal((30, 5))
    turned = LoadingsDisplay.from_estimator(Turned(), features, n_resamples=8, random_state=0)
    lower, upper = turned.intervals()
    # The plane is the same in each fit, so that all that is left is rounding.
    np.testing.assert_allclose(lower, turned.loadings, atol=1e-13)
    np.testing.assert_allclose(upper, turned.loadings, atol=1e-13)
    np.testing.assert_allclose(turned.overlaps, 1.0, atol=1e-13)


def test_procrustes_is_the_best_of_all_rotations():
    rng = np.random.default_rng(0)
    reference, other = orthogonal(rng, 6)[:2], orthogonal(rng, 6)[:2]
    best = np.linalg.norm(turned_to(other.T, reference.T).T - reference)
    for angle in np.linspace(0.0, 2 * np.pi, 400):
        cosine, sine = np.cos(angle), np.sin(angle)
        for turn in ([[cosine, -sine], [sine, cosine]], [[cosine, sine], [sine, -cosine]]):
            assert best <= np.linalg.norm(np.array(turn) @ other - reference) + 1e-12
    # Of a fit with one component more, the two that were there are found.
    axes = orthogonal(rng, 6)
    more = orthogonal(rng, 3) @ axes[:3]
    np.testing.assert_allclose(turned_to(more.T, axes[:2].T).T, axes[:2], atol=1e-12)


def test_a_metric_is_shown_by_its_principal_axes():
    rng = np.random.default_rng(0)
    components = rng.standard_normal((4, 4))
    rows = principal_rows(components)
    # Distances are the same, and rows are orthogonal, longest first.
    np.testing.assert_allclose(rows.T @ rows, components.T @ components, atol=1e-12)
    lengths = np.linalg.norm(rows, axis=1)
    np.testing.assert_allclose(rows @ rows.T, np.diag(lengths**2), atol=1e-12)
    assert np.all(np.diff(lengths) < 0)


def test_a_fit_on_data_frames_is_shown_by_feature_names():
    model = make_pipeline(StandardScaler(), InterpretableKDR(2, kernel="linear"), KNeighborsClassifier())
    display = LoadingsDisplay.from_estimator(model, X, Y, n_resamples=3, max_features=4, random_state=0)
    heavy = f"4 heaviest of {X.shape[1]} features"
    assert (display.ax_.get_ylabel(), hasattr(model[-1], "classes_")) == (heavy, False)
    scaled = InterpretableKDR(2, kernel="linear").fit((scaler := StandardScaler().fit(X)).transform(X), Y)
    assert scaled.loadings_frame(feature_names=scaler.get_feature_names_out()).index.equals(X.columns)
    np.testing.assert_allclose(display.loadings, scaled.components_, atol=1e-12)
    heaviest = np.argsort(-(scaled.explained_objective_ratio_ @ scaled.components_**2))[:4]
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == X.columns[heaviest].tolist()
    # Points are at the loadings, in the order of the names.
    drawn = display.ax_.get_lines()[1].get_xdata()
    np.testing.assert_allclose(drawn, scaled.components_[0, heaviest])
    again = LoadingsDisplay.from_estimator(model.fit(X, Y), X.to_numpy(), Y, n_resamples=3, random_state=0)
    np.testing.assert_array_equal(again.resampled, display.resampled)
    assert again.feature_names == display.feature_names


def test_what_a_search_has_chosen_is_shown():
    search = InterpretableKDRCV(estimator=InterpretableKDR(kernel="linear"), n_components=[2], cv=2).fit(X, Y)
    display = LoadingsDisplay.from_estimator(search, X, Y, n_resamples=2, random_state=0, components=[1])
    np.testing.assert_array_equal(display.loadings, search.components_)
    assert display.feature_names == X.columns.tolist()
    assert LoadingsDisplay.from_estimator(search, X, n_resamples=0).ax_.get_xlabel() == "loading"
    learned = LoadingsDisplay.from_estimator(NCA(max_iter=2), X.to_numpy(), Y, n_resamples=0)
    assert learned.feature_names[:2] == ["x0", "x1"]


def test_an_embedding_is_drawn_by_class_or_target():
    model = InterpretableKDR(2, kernel="linear").fit(X.to_numpy(), Y)
    figure, ax = plt.subplots()
    named = WINE.target_names[Y]
    display = EmbeddingDisplay.from_estimator(model, X.to_numpy(), named, ax=ax)
    assert (display.ax_, display.figure_) == (ax, figure)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == WINE.target_names.tolist()
    mapped = X.to_numpy() @ model.components_.T
    for name, points in zip(WINE.target_names, ax.collections, strict=True):
        np.testing.assert_allclose(points.get_offsets(), mapped[named == name])
    coloured = EmbeddingDisplay(embedding=mapped, y=X["alcohol"] + 0.001).plot(components=(1, 0))
    np.testing.assert_allclose(coloured.ax_.collections[0].get_array(), X["alcohol"] + 0.001)
    assert coloured.ax_.get_xlabel() == "component 2"
    # Whole numbers are what they were for the estimator.
    target = make_pipeline(StandardScaler(), InterpretableKDR(2, target="continuous"), KNeighborsClassifier())
    for fit, y, is_scale in ((target.fit(X, Y), Y, True), (model, 9 * np.arange(178), False), (model, X["hue"], True)):
        shown = EmbeddingDisplay.from_estimator(fit, X.to_numpy() if fit is model else X, y)
        assert (shown.ax_.get_legend() is None) == is_scale
    for y, label in ((Y, "samples"), (X["alcohol"] + 0.001, "y")):
        assert EmbeddingDisplay(embedding=mapped[:, :1], y=y).plot().ax_.get_ylabel() == label
    pandas = model.set_output(transform="pandas")
    np.testing.assert_allclose(EmbeddingDisplay.from_estimator(pandas, X.to_numpy()).embedding, mapped)


def test_an_embedding_of_a_pipeline_is_what_its_classifier_sees():
    model = make_pipeline(StandardScaler(), InterpretableKDR(2, kernel="linear"), KNeighborsClassifier()).fit(X, Y)
    mapped = model[:-1].transform(X)
    np.testing.assert_array_equal(EmbeddingDisplay.from_estimator(model, X, Y).embedding, mapped)
    search = GridSearchCV(model, {"kneighborsclassifier__n_neighbors": [3]}, cv=2).fit(X, Y)
    shown = EmbeddingDisplay.from_estimator(search, X, Y).embedding
    np.testing.assert_array_equal(shown, search.best_estimator_[:-1].transform(X))
    with pytest.raises(InputError, match="KNeighborsClassifier maps no samples: give a transformer"):
        EmbeddingDisplay.from_estimator(KNeighborsClassifier().fit(X, Y), X)


def test_the_feature_of_a_component_that_explains_nothing_is_not_the_heaviest():
    rng = np.random.default_rng(0)
    samples = pd.DataFrame(rng.standard_normal((300, 6)), columns=list("abcdef"))
    labels = (samples["c"] + samples["d"] > 0).astype(int)
    model = InterpretableKDR(3).fit(samples, labels)
    # Components of noise lie along single features, and those of the labels are shared.
    assert np.abs(model.components_[1:]).max() > np.abs(model.components_[0, 3])
    display = LoadingsDisplay.from_estimator(model, samples, labels, n_resamples=0, max_features=2)
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["c", "d"]
    frame = model.loadings_frame()
    np.testing.assert_array_equal(frame.loc["c"], model.components_[:, 2])
    assert frame.columns.tolist() == ["interpretablekdr0", "interpretablekdr1", "interpretablekdr2"]
    # All that is shown explains nothing: loadings alone count.
    alone = LoadingsDisplay(loadings=[[0.6, 0.8], [0.8, -0.6]], shares=[1.0, 0.0]).plot(components=[1])
    assert [label.get_text() for label in alone.ax_.get_yticklabels()] == ["x0", "x1"]


def test_ten_classes_have_colours_of_their_own():
    labels = np.repeat(np.arange(10), 5)
    display = EmbeddingDisplay(embedding=np.random.default_rng(0).standard_normal((50, 2)), y=labels).plot()
    assert len({tuple(points.get_facecolor()[0]) for points in display.ax_.collections}) == 10


def table_of(frame):
    """Return a number, noise and a text column, and labels that depend on the number and the text."""
    rng = np.random.default_rng(0)
    number, text = rng.standard_normal(120), np.array(["u", "v", "w"])[rng.integers(3, size=120)]
    return frame({"a": number, "b": rng.standard_normal(120), "c": text}), ((number > 0) | (text == "u")).astype(int)


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_indicators_of_a_column_are_one_feature(package):
    samples, labels = table_of(pytest.importorskip(package).DataFrame)
    columns = ColumnTransformer([("n", StandardScaler(), ["a", "b"]), ("c", OneHotEncoder(), ["c"])])
    model = make_pipeline(columns, InterpretableKDR(2))
    plain = LoadingsDisplay.from_estimator(model, samples, labels, n_resamples=2, random_state=0)
    assert plain.feature_names == ["n__a", "n__b", "c__c_u", "c__c_v", "c__c_w"]
    display = LoadingsDisplay.from_estimator(model, samples, labels, n_resamples=2, random_state=0, groups="columns")
    assert display.feature_names == ["a", "b", "c"]
    together = np.sqrt((plain.loadings[:, 2:] ** 2).sum(axis=1))
    np.testing.assert_allclose(display.loadings, np.c_[plain.loadings[:, :2], together])
    np.testing.assert_allclose(display.resampled[..., 2] ** 2, (plain.resampled[..., 2:] ** 2).sum(axis=2))
    np.testing.assert_array_equal(display.overlaps, plain.overlaps)


def test_groups_of_features_have_one_row_of_loadings():
    model = InterpretableKDR(2, kernel="linear").fit(X, Y)
    frame = model.loadings_frame({"acids": ["malic_acid", "ash"], "alcohol": ["hue"], "wine": ["alcohol"]})
    assert frame.index.tolist()[:3] == ["wine", "acids", "alcalinity_of_ash"]
    plain = model.loadings_frame()
    np.testing.assert_allclose(frame.loc["acids"] ** 2, (plain.loc[["malic_acid", "ash"]] ** 2).sum())
    np.testing.assert_array_equal(frame.loc["alcohol"], plain.loc["hue"])


@pytest.mark.parametrize("groups", [{"g": ["x9"]}, {"g": ["x0"], "h": ["x0"]}, {"x1": ["x0"]}, ["x0", "x1"]])
def test_groups_that_are_none_are_refused(groups):
    with pytest.raises(InputError, match=r"groups must map (names that no other feature has|new names) to names of"):
        LoadingsDisplay(loadings=np.eye(2), groups=groups)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: LoadingsDisplay.from_estimator(KNeighborsClassifier(), X, Y), "KNeighborsClassifier maps no samples"),
        (lambda: LoadingsDisplay.from_estimator(PCA(), X, n_resamples=-1), "n_resamples must be an integer >= 0"),
        (lambda: LoadingsDisplay.from_estimator(PCA(), X, resampling="jackknife"), "unknown resampling 'jackknife'"),
        (lambda: LoadingsDisplay.from_estimator(PCA(), X, groups="rows"), "groups must be None or one of columns"),
        (lambda: LoadingsDisplay(loadings=np.eye(2), feature_names=["a"]), "2 features and 1 feature_names"),
        (lambda: LoadingsDisplay(loadings=np.ones(3)), r"n_components x n_features, got shape \(3,\)"),
        (lambda: LoadingsDisplay(loadings=np.eye(2), resampled=np.ones((4, 1, 2))), "n_resamples x 2 x 2"),
        (lambda: LoadingsDisplay(loadings=np.eye(2), shares=[1.0, -1.0]), "shares must be 2 finite numbers >= 0"),
        (lambda: LoadingsDisplay(loadings=np.eye(2)).intervals(), "give n_resamples > 0"),
        (lambda: LoadingsDisplay(loadings=np.eye(2)).plot(components=[2]), "between 0 and n_components - 1 = 1, got 2"),
        (lambda: EmbeddingDisplay(embedding=np.ones(3)), r"n_samples x n_components, got shape \(3,\)"),
        (lambda: EmbeddingDisplay(embedding=np.eye(2), y=np.eye(2)), "one column of classes or targets"),
        (lambda: EmbeddingDisplay(embedding=np.eye(2)).plot(components=(0, 2)), "got 2"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r"LoadingsDisplay.plot needs .* pip install '.*\[plots\]'"):
        LoadingsDisplay(loadings=pd.DataFrame(np.eye(2))).plot()
