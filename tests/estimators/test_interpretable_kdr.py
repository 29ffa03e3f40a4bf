import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import normalized_mutual_info_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from kdrbench.datasets import Standardiser, synthetic
from kdrbench.estimators import InterpretableKDR, fitting
from kdrbench.paradigms import learn_from_all
from support.helpers import random_samples, scaled_wine
from support.products import crossed

# Most data here have no second clustering, so that alternatives are doubtful; the tests are about other things.
pytestmark = pytest.mark.filterwarnings("ignore:the clusters depend on the bandwidth", "ignore:the 4 starts disagree")

X, Y = scaled_wine()
KNOWN = {
    "supervised": (Y, {}),
    "unsupervised": (None, {"n_clusters": 3}),
    "semi_supervised": (np.where(np.arange(178) % 3 == 0, Y, np.nan), {"n_clusters": 3, "mu": 0.5}),
    "alternative": (Y % 2, {"mu": 1.0}),
}


@pytest.mark.parametrize(
    ("paradigm", "kernel"),
    crossed(KNOWN, ["gaussian", "polynomial", "multiquadric", "rbf_relative"], ["unsupervised"], ["gaussian"]),
)
def test_every_paradigm_learns_with_every_kernel(paradigm, kernel):
    known, params = KNOWN[paradigm]
    model = InterpretableKDR(n_components=2, kernel=kernel, paradigm=paradigm, paradigm_params=params)
    projected = model.fit(X, known).transform(X)
    assert projected.shape == (178, 2)
    assert model.certificate_.stationarity <= 1e-6
    assert model.certificate_.curvature >= -1e-6
    if paradigm == "supervised":
        assert not hasattr(model, "labels_")
    else:
        assert model.embedding_.shape == (178, model.labels_.max() + 1)
        assert model.history_[-1] == model.objective_


def test_continuous_targets_are_learned_with_a_kernel_on_them():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((150, 6))
    targets = np.sin(2 * features[:, 0])
    model = InterpretableKDR().fit(features, targets)
    # Only the first feature matters.
    assert model.components_.shape == (1, 6)
    assert abs(model.components_[0, 0]) > 0.95
    named = InterpretableKDR(target="continuous", paradigm_params={"target_kernel": "gaussian"}).fit(features, targets)
    np.testing.assert_array_equal(named.components_, model.components_)
    with pytest.raises(ValueError, match=r"Unknown label type: continuous; y is classes, unless target='continuous'"):
        InterpretableKDR(1, target="classes").fit(features, targets)
    params = {"target_kernel": {"family": "combination", "members": [{"family": "linear"}]}}
    with pytest.raises(ValueError, match="target_kernel must be a single kernel"):
        InterpretableKDR(1, paradigm_params=params).fit(features, targets)


def test_the_eigengap_of_two_discriminating_directions_is_two():
    for n_components, q in (("eigengap", 2), ("n_classes", 3), (None, 3)):
        assert InterpretableKDR(n_components).fit(X, Y).transform(X).shape == (178, q)


def test_nothing_is_left_of_another_paradigms_fit():
    model = InterpretableKDR(2, paradigm="alternative").fit(X, Y)
    assert model.labels_.max() == 2
    model.set_params(paradigm="supervised").fit(X, np.column_stack([Y, Y % 2]))
    assert not {"classes_", "labels_", "embedding_", "history_"} & set(vars(model))


def test_starts_and_portfolios_are_drawn_from_the_random_state():
    labels = np.random.default_rng(0).permutation(Y)
    options = {"kernel_params": {"sigma": 1.0}, "solver": {"method": "ism_safeguarded", "portfolio": 12}}
    one = InterpretableKDR(2, kernel_params={"sigma": 1.0}).fit(X, labels)
    first, same, other = (InterpretableKDR(2, random_state=seed, **options).fit(X, labels) for seed in (0, 0, 1))
    # On noise with a narrow kernel there are many local optima.
    assert first.objective_ > one.objective_
    assert first.result_.message.endswith("; the best of 12 starts")
    np.testing.assert_array_equal(first.components_, same.components_)
    assert not np.array_equal(first.components_, other.components_)
    first, second = (InterpretableKDR(2, start="random", random_state=3).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(first.components_, second.components_)


@pytest.mark.parametrize("paradigm", ["semi_supervised", "alternative"])
def test_what_is_known_must_be_given_and_fit(paradigm):
    model = InterpretableKDR(2, paradigm=paradigm, paradigm_params={"n_clusters": 2})
    with pytest.raises(ValueError, match="requires y to be passed"):
        model.fit(X)
    with pytest.raises(ValueError, match=r"178 samples but what is known of them has 5|inconsistent numbers"):
        model.fit(X, [0, 1, 0, 1, 1])


def test_an_early_end_is_a_warning():
    with pytest.warns(ConvergenceWarning, match="sm_converged ended as max_iterations: .*; raise max_iter, now 2"):
        InterpretableKDR(n_components=2, solver="sm_converged", max_iter=2).fit(X, Y)


def test_a_fit_ends_where_the_objective_hardly_grows_unless_a_tolerance_is_given():
    # Neighbouring features are nearly the same, so that the default bandwidth is narrow, and F is flat.
    rng, labels = np.random.default_rng(1), np.arange(300) % 3
    shifts = 10.0 * np.sin(np.outer(labels + 1, np.linspace(0, 3, 120)))
    features = StandardScaler().fit_transform(np.cumsum(rng.standard_normal((300, 120)), axis=1) + shifts)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        early, exact = (InterpretableKDR(5, tol=tol).fit(features[:150], labels[:150]) for tol in (None, 1e-6))
    assert early.n_iter_ < 100 < 300 < exact.n_iter_
    assert early.objective_ > 0.999 * exact.objective_
    assert early.result_.message.startswith("F - F(0) grew by at most 1e-05 of itself over the last 5 steps")
    assert early.certificate_.stationarity > 1e-6
    accuracies = []
    for projected in (early.transform(features), exact.transform(features)):
        neighbours = KNeighborsClassifier(5).fit(projected[:150], labels[:150])
        accuracies.append(neighbours.score(projected[150:], labels[150:]))
    assert accuracies[0] >= accuracies[1] > 0.95


def data(maker, seed, n_samples=400):
    features, labels = maker(n_samples, np.random.default_rng(seed))
    return Standardiser.fit(features).transform(features), *labels.T


def alternative(features, given, **options):
    """Fit and return the model and the texts of its warnings."""
    model = InterpretableKDR(2, paradigm="alternative", random_state=0, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(features, given)
    return model, [str(warning.message) for warning in caught]


def test_four_gaussians_are_found_without_a_warning():
    features, given, sought = data(synthetic.gaussians_on_a_rectangle, 0)
    model, texts = alternative(features, given)
    assert normalized_mutual_info_score(sought, model.labels_) > 0.9
    assert not texts


def test_moons_that_the_median_hides_are_doubted():
    features, given, sought = data(synthetic.two_pairs_of_moons, 1)
    missed, texts = alternative(features, given)
    assert normalized_mutual_info_score(sought, missed.labels_) < 0.65
    assert any("the clusters depend on the bandwidth: with an eighth of sigma = 2." in text for text in texts)


def test_starts_that_disagree_are_warned_of_with_their_numbers():
    features, given, _ = data(synthetic.two_pairs_of_moons, 0)
    _, texts = alternative(features, given)
    (text,) = (text for text in texts if "starts disagree" in text)
    assert text.startswith("the 4 starts disagree: objectives from 0.89")
    assert "NMI of their clusters with the best from 0." in text
    # One start has nothing to disagree with.
    _, texts = alternative(features, given, start="surrogate")
    assert not any("disagree" in text for text in texts)


def test_the_default_start_is_multistart_for_alternatives():
    features, given, _ = data(synthetic.two_pairs_of_moons, 1, 120)
    default, _ = alternative(features, given)
    several, _ = alternative(features, given, start="multistart", n_init=4)
    single, _ = alternative(features, given, start="surrogate")
    np.testing.assert_array_equal(default.components_, several.components_)
    assert default.objective_ >= single.objective_
    one, other = (InterpretableKDR(2, start=start).fit(features, given) for start in (None, "surrogate"))
    np.testing.assert_array_equal(one.components_, other.components_)


@pytest.mark.parametrize(
    ("kernel", "options", "rough", "some"),
    [
        ("gaussian", {}, True, True),
        ("gaussian", {"evaluation": {"tolerance": 0.0}}, True, False),
        ("rbf_relative", {}, True, True),
        ("rbf_relative", {"tol": 1e-6}, False, False),
        # Without degrees the terms have other optima on few samples.
        ("multiquadric", {}, True, False),
    ],
)
def test_starts_of_a_clustering_compete_on_some_samples(kernel, options, rough, some, monkeypatch):
    asked = []

    def noted(*given, rough, on_some):
        asked.append((rough, on_some))
        return learn_from_all(*given)

    monkeypatch.setattr(fitting, "learn_from_all", noted)
    monkeypatch.setattr(fitting, "_ROUGH_CLUSTERS", 60)
    X, y = random_samples(0, n_samples=60, n_features=4)
    with warnings.catch_warnings(action="ignore"):
        InterpretableKDR(1, kernel=kernel, paradigm="alternative", random_state=0, **options).fit(X, y)
    assert asked == [(rough, some)]
