import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA, KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from kdrbench.errors import InputError
from kdrbench.estimators import InterpretableKDR, InterpretableKDRCV
from kdrbench.inference import atlas, bootstrap_angles, choose_n_components, held_out_test, linear_time_hsic
from kdrbench.inference.components import _permuted_rests
from kdrbench.reduction import SIR


def planted(n_samples, strengths, seed=0, n_features=5):
    """Return features and labels that shift the first features, each by its own label bit."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (n_samples, len(strengths)))
    X = rng.standard_normal((n_samples, n_features))
    X[:, : len(strengths)] += bits * np.array(strengths)
    return X, bits @ (2 ** np.arange(len(strengths)))


@pytest.mark.parametrize("scheme", ["bootstrap", "half"])
def test_angles_of_a_principal_axis_vary_as_their_law_says(scheme):
    # Anderson (1963): n times the squared angle of the first axis is a sum of l_1 l_j / (l_1 - l_j)^2 chi-squares.
    sizes, n_samples = np.array([3.0, 1.5, 1.0]), 1000
    X = np.random.default_rng(0).standard_normal((n_samples, 3)) * sizes
    values = np.linalg.eigvalsh(np.cov(X.T))[::-1]
    terms = values[0] * values[1:] / (values[0] - values[1:]) ** 2 / n_samples
    found = bootstrap_angles(PCA(1), X, np.zeros(n_samples), n_resamples=200, scheme=scheme, random_state=0)
    squares = np.radians(found.angle_draws_deg[:, 0]) ** 2
    # Five standard errors of the mean of the draws, and as much again for the kurtosis of 1000 samples.
    assert squares.mean() == pytest.approx(terms.sum(), abs=10 * np.sqrt(2 * np.sum(terms**2) / 200))


def test_planted_features_are_the_stable_ones():
    X, y = planted(120, [2.0, 2.0])
    found = bootstrap_angles(InterpretableKDR(2), X, y, n_resamples=30, random_state=0)
    np.testing.assert_array_equal(found.stable_features, [True, True, False, False, False])
    assert found.importances.sum() == pytest.approx(2.0)
    assert (found.angles_deg[:, 0] <= found.angles_deg[:, 1]).all()
    assert found.angles_deg[-1, 1] < found.chance_deg[-1]
    low, high = found.loadings[..., 0], found.loadings[..., 1]
    # The resampled loadings are near the fit's own components, with their signs.
    assert (np.abs(found.projection[:2]) > 0.5).any(axis=0).all()
    assert ((low <= found.projection) & (found.projection <= high)).mean() > 0.8
    np.testing.assert_allclose(found.projection, InterpretableKDR(2).fit(X, y).components_.T, atol=1e-9)


def test_units_and_scaling_in_a_pipeline_and_what_is_linear():
    X, y = planted(60, [2.0])
    options = {"n_resamples": 20, "random_state": 0}
    lda = LinearDiscriminantAnalysis(n_components=1)
    found = bootstrap_angles(lda, X, y, **options)
    truth = lda.fit(X, y).scalings_[:, 0]
    assert abs(found.projection[:, 0] @ truth) == pytest.approx(np.linalg.norm(truth), rel=1e-9)
    # Of a pipeline with a scaler loadings are those of the scaled features, whatever the units of the given ones.
    scaled = make_pipeline(StandardScaler(), lda)
    metres, others = (bootstrap_angles(scaled, Z, y, **options) for Z in (X, X * 10.0 ** np.arange(5) + 3.0))
    np.testing.assert_allclose(others.angles_deg, metres.angles_deg, rtol=1e-6)
    np.testing.assert_allclose(others.importance_intervals, metres.importance_intervals, rtol=1e-6, atol=1e-12)
    by_hand = bootstrap_angles(lda, StandardScaler().fit_transform(X), y, **options)
    np.testing.assert_allclose(metres.importances, by_hand.importances, rtol=1e-9)
    assert bootstrap_angles(PLSRegression(1), X, np.eye(2)[y], **options).projection.shape == (5, 1)
    nca = NeighborhoodComponentsAnalysis(1, max_iter=3)
    assert bootstrap_angles(nca, X, y, **options, scheme="half").angles_deg.shape == (1, 2)


def mixed(n_samples=90):
    """Return a frame of numbers in other units and text, of which ``colour`` and ``size`` decide the labels."""
    rng = np.random.default_rng(0)
    colour = rng.choice(["blue", "green", "red", "rare"], n_samples, p=[0.35, 0.32, 0.3, 0.03])
    colour[0] = "rare"
    size, noise = rng.standard_normal((2, n_samples))
    frame = pd.DataFrame({"noise": 1e-4 * noise, "colour": colour, "size": 1e3 * size, "other": rng.random(n_samples)})
    return frame, ((colour == "red") | (size > 0.8)).astype(int)


def encoder():
    numbers = (StandardScaler(), ["noise", "size", "other"])
    return make_column_transformer(numbers, (OneHotEncoder(handle_unknown="ignore"), ["colour"]))


@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(encoder(), InterpretableKDR(2)),
        make_pipeline(encoder(), "passthrough", StandardScaler(), InterpretableKDR(2)),
        InterpretableKDRCV(n_components=2, param_grid={}, scaler=encoder(), cv=3),
    ],
    ids=["pipeline", "two scalers", "search"],
)
def test_indicators_of_a_mixed_frame_are_one_feature(estimator):
    X, y = mixed()
    found = bootstrap_angles(estimator, X, y, n_resamples=20, scheme="half", random_state=0)
    assert found.feature_names == ("noise", "colour", "size", "other")
    assert found.importances.sum() == pytest.approx(2.0)
    heaviest = np.argsort(-found.importances)[:2]
    assert set(heaviest) == {1, 2}
    # Halves without the rarest colour have one feature less.
    assert len(found.encoded_names) == len(found.projection) == 7
    lengths = (found.projection**2).sum(axis=1)
    assert found.importances[1] == pytest.approx(lengths[3:].sum())
    assert found.to_frame().index[:2].tolist() == [found.feature_names[place] for place in heaviest]


def test_steps_that_mix_columns_belong_to_the_projection():
    X, y = planted(80, [2.0, 2.0])
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = make_pipeline(PCA(3), InterpretableKDR(1)).fit(frame, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        named, plain = (bootstrap_angles(model, Z, y, n_resamples=20, random_state=0) for Z in (frame, X))
    np.testing.assert_allclose(named.importances, plain.importances)
    assert named.encoded_names == named.feature_names == plain.feature_names == tuple("abcde")
    assert set(np.argsort(-named.importances)[:2]) == {0, 1}


def test_components_of_a_mixed_frame_are_those_of_its_encoding():
    X, y = mixed()
    options = {"max_components": 1, "n_permutations": 19, "random_state": 0}
    found = choose_n_components(make_pipeline(encoder(), InterpretableKDR()), X, y, **options)
    numbers = choose_n_components(InterpretableKDR(), np.asarray(encoder().fit_transform(X)), y, **options)
    assert found.n_components == numbers.n_components == 1
    np.testing.assert_array_equal(found.tests[0].null, numbers.tests[0].null)
    with pytest.raises(ValueError, match="could not convert string to float"):
        choose_n_components(InterpretableKDR(), X, y, **options)


def test_text_that_says_nothing_is_not_stable():
    X, y = mixed()[0], np.random.default_rng(7).integers(0, 3, 90)
    found = bootstrap_angles(make_pipeline(encoder(), InterpretableKDR(2)), X, y, n_resamples=20, random_state=0)
    # Four indicators that sum to 1 have three of the six dimensions.
    assert 2 * 1 / 4 < found.importance_intervals[1, 0] < 2 * 3 / 6
    assert not found.stable_features[1]


@pytest.mark.parametrize("learner", [InterpretableKDR(1), SIR(1), InterpretableKDRCV([1], param_grid={}, cv=2)])
def test_parts_of_few_values_are_targets_as_all_are(learner):
    X = np.random.default_rng(0).standard_normal((40, 3))
    y = np.rint(48 + 14 * X[:, 0])
    known = {"target": "continuous"}
    known = known if hasattr(learner, "target") else {"estimator": InterpretableKDR(**known)}
    knows, halves = clone(learner).set_params(**known), {"n_resamples": 20, "scheme": "half", "random_state": 0}
    named, held = bootstrap_angles(knows, X, y, **halves), held_out_test(knows, X, y, random_state=0)
    with pytest.warns(UserWarning, match="y has 26 different whole numbers of 40 samples and is taken as a continuous"):
        found = bootstrap_angles(learner, X, y, **halves), held_out_test(learner, X, y, random_state=0)
    np.testing.assert_array_equal(found[0].angle_draws_deg, named.angle_draws_deg)
    np.testing.assert_array_equal(found[1].null, held.null)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (KernelPCA(1, kernel="rbf"), "KernelPCA is not a linear projection of the features"),
        (NeighborhoodComponentsAnalysis(max_iter=1), "spans all 5 features, so it has no direction to turn"),
        (PCA(0.6), "resamples have learned different numbers of components; set n_components"),
    ],
)
def test_projections_without_intervals(estimator, message):
    X, y = planted(60, [0.5])
    with pytest.raises(InputError, match=message):
        bootstrap_angles(estimator, X, y, n_resamples=20, random_state=0)


@pytest.mark.parametrize("strengths", [[], [3.0], [3.0, 3.0]])
def test_as_many_components_as_were_planted(strengths):
    X, y = planted(100, strengths)
    y = y if strengths else np.random.default_rng(0).integers(0, 2, 100)
    found = choose_n_components(InterpretableKDR(), X, y, n_permutations=39, max_exceedances=3, random_state=0)
    assert found.n_components == len(strengths)
    assert [test.p_value <= 0.05 for test in found.tests] == [True] * len(strengths) + [False]


def test_rests_are_permuted_and_what_is_kept_is_not():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4)) @ rng.standard_normal((4, 4)) + 1.0
    kept = rng.standard_normal((4, 2))
    (drawn,) = _permuted_rests(X, kept, 1, (0, 3))
    np.testing.assert_allclose(drawn @ kept, X @ kept, atol=1e-10)
    # The rest: what is uncorrelated with W'x, by the regression on it.
    rest = np.linalg.svd(kept.T @ np.cov(X.T))[2][2:].T
    order = np.random.default_rng((0, 3, 0)).permutation(30)
    np.testing.assert_allclose(drawn @ rest, (X @ rest)[order], atol=1e-10)
    assert np.linalg.norm(drawn - X) > 1.0
    (whole,) = _permuted_rests(X, np.zeros((4, 0)), 1, (0, 3))
    np.testing.assert_allclose(whole, X[order], atol=1e-10)


def test_components_of_pipelines_and_limits():
    X, y = planted(80, [3.0])
    model = make_pipeline(StandardScaler(), LinearDiscriminantAnalysis())
    found = choose_n_components(model, X, y, max_components=1, n_permutations=19, random_state=0)
    assert (found.n_components, len(found.tests)) == (1, 1)
    with pytest.raises(InputError, match=r"alpha = 0.05 needs n_permutations of at least 19"):
        choose_n_components(model, X, y, n_permutations=18)
    for alpha in (1.0, np.nan):
        with pytest.raises(InputError, match="alpha must be"):
            choose_n_components(model, X, y, alpha=alpha)
    with pytest.raises(InputError, match=r"max_components must be .* an integer between 1 and n_features - 1, got 5"):
        choose_n_components(model, X, y, max_components=5)
    # Before any statistic.
    with pytest.raises(InputError, match="KernelPCA is not a linear projection of the features; give an estimator"):
        choose_n_components(KernelPCA(kernel="rbf"), X, y, statistic=pytest.fail)
    with pytest.raises(InputError, match="StandardScaler has no parameter 'n_components'"):
        choose_n_components(StandardScaler(), X, y)


X, Y = np.random.default_rng(0).standard_normal((40, 5)), np.repeat([0, 1], 20)
MISSING = np.where(np.arange(5) == 2, np.where(np.arange(40) == 3, np.nan, X.T[2])[:, None], X)
USES = {
    "linear_time_hsic": lambda X, y: linear_time_hsic(X, y, n_permutations=19, random_state=0),
    "held_out_test": lambda X, y: held_out_test(PCA(1), X, y, n_permutations=19, random_state=0),
    "atlas": lambda X, y: atlas(InterpretableKDR(1), X, y, n_starts=2, random_state=0),
}
CASES = [
    (MISSING, Y, ValueError, "Input X contains NaN"),
    (X, np.where(np.arange(40) == 3, np.nan, Y), ValueError, "NaN"),
    (X, (np.arange(40) // 2).astype("datetime64[D]"), InputError, "labels must be text or numbers, got datetime64"),
    (X, np.zeros(40, dtype=int), InputError, "labels must name at least 2 classes, got 1 class"),
    (X, Y[:-1], InputError, r"the same number of samples, at least 2; got 40 and \(39,\)"),
]


# Scikit-learn casts labels before it finds that one is missing.
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@pytest.mark.parametrize("use", USES)
def test_a_test_and_an_atlas_refuse_it_and_say_why(use):
    assert USES[use](X, Y)
    for features, labels, error, message in CASES:
        with pytest.raises(error, match=message):
            USES[use](features, labels)
