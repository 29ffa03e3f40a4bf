"""What is expected of any estimator of scikit-learn: plain parameters, progress, weights, sparse samples, types."""

from itertools import permutations

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from scipy.spatial.distance import cdist
from sklearn import config_context
from sklearn.base import is_clusterer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from kdrbench.errors import InputError
from kdrbench.estimators import NCA, InterpretableKDR, InterpretableKDRCV, KPCATrick, LowRankKernelLearner
from kdrbench.kernels import Gaussian, Polynomial
from kdrbench.problems import supervised_gamma
from kdrbench.samples import SparseSamples
from support.helpers import scaled_wine

X, Y = scaled_wine()
ALIGNED = {"kernel": "combination", "kernel_params": {"members": [{"family": "linear"}], "weights": "alignment"}}
GIVEN_TWICE = {"paradigm": "alternative", "n_clusters": 2, "paradigm_params": {"n_clusters": 2}}
WEIGHTS = np.random.default_rng(0).integers(0, 4, 178)


@pytest.mark.parametrize(
    ("plain", "kernel"),
    [
        ({"kernel": "rbf", "gamma": 0.02}, Gaussian(5.0)),
        ({"sigma": 5.0}, Gaussian(5.0)),
        ({"kernel": "poly", "degree": 2, "gamma": 0.1, "coef0": 2.0}, Polynomial(2, 2.0, 0.1)),
        # What is left out has the family's default.
        ({"kernel": "polynomial", "coef0": 0.0}, Polynomial(3, 0.0, 0.5)),
        ({"kernel": "poly", "degree": 2, "kernel_params": {"offset": 3.0}}, Polynomial(2, 3.0, 0.5)),
    ],
)
def test_kernels_have_scikit_learns_names_and_parameters(plain, kernel):
    model = InterpretableKDR(2, **plain).fit(X, Y)
    assert model.kernel_ == kernel
    np.testing.assert_array_equal(model.components_, InterpretableKDR(2, kernel=kernel).fit(X, Y).components_)


def test_gaussians_of_a_combination_have_the_default_bandwidth():
    members = [{"family": "linear"}, {"family": "gaussian"}]
    model = InterpretableKDR(2, kernel="combination", kernel_params={"members": members}).fit(X, Y)
    assert model.kernel_.terms[1].kernel == InterpretableKDR(2).fit(X, Y).kernel_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sigma": 1.0, "gamma": 0.5}, "gamma sets the kernel's sigma, which is given already"),
        ({"degree": 2}, "degree does not belong to kernel 'gaussian', which takes sigma, gamma; leave it out"),
        ({"kernel": "linear", "gamma": 2.0}, "gamma does not belong to kernel 'linear', which takes none of these"),
        ({"kernel": "poly", "sigma": 2.0}, "sigma does not belong to kernel 'poly', which takes degree, gamma, coef0"),
        ({"sigma": 1.0, "kernel_params": {"sigma": 1.0}}, "sigma sets the kernel's sigma, which is given"),
        ({"kernel": Gaussian(1.0), "gamma": 2.0}, "gamma: a kernel object has options of its own"),
        ({"kernel": "gausian", "gamma": 2.0}, "unknown kernel 'gausian'.* Did you mean 'gaussian'"),
        ({"sigma": "meidan"}, r"unknown sigma 'meidan'\. Did you mean 'median'\? .*projected\. A number > 0 is"),
        ({"kernel_params": {"sigma": "0,1 median"}}, r"unknown sigma '0,1 median'\. Did you mean '0.1 median'\?"),
        ({"kernel": "precomputed"}, "unknown kernel 'precomputed'; allowed: combination, gaussian"),
        ({"paradigm": "unsupervisd"}, "unknown paradigm 'unsupervisd'.* Did you mean 'unsupervised'"),
        ({"mu": 1.0}, "unknown parameter of paradigm 'supervised': 'mu'"),
        ({"verbose": -1}, "verbose must be True or False or an integer >= 0, got -1"),
        (GIVEN_TWICE, "n_clusters is given twice, as a parameter and in paradigm_params"),
        ({"n_components": 14}, "None, one of n_classes, eigengap, auto, or an integer between 1 and n_features = 13"),
        ({"kernel": "RBF"}, r"unknown kernel 'RBF'. Did you mean 'rbf'\?"),
        ({"paradigm": "unsupervised"}, "needs its number of clusters: give n_clusters"),
        ({"paradigm": "unsupervised", "n_clusters": 0}, "n_clusters must be None or an integer >= 1, got 0"),
        ({"n_components": "gap"}, "unknown n_components 'gap'; allowed: n_classes, eigengap"),
        ({"start": np.eye(13)[:2]}, r"like components_, 3 x 13, or of more rows; got float64 of shape \(2, 13\)"),
        ({"start": np.ones((3, 13))}, "the start is not orthonormal"),
        ({"start": np.eye(13)[:3] + 0j}, "array of real numbers"),
        ({"kernel": None}, "a kernel must be a family's name, a definition, or an object with pairing"),
        ({"paradigm_params": {"target_kernel": 3}}, "a kernel must be a family's name"),
        ({"solver": {"method": "ism", "portfolio": 3}}, "unknown option of solver method 'ism': 'portfolio'"),
        ({"solver": 3}, "solver must be a name or a dict of options, got 3"),
        ({"solver": "imm"}, "unknown solver 'imm'"),
        ({"start": "phi"}, "unknown start 'phi'; allowed: .*multistart"),
        ({"tol": -1.0}, "tol must be None or a finite number > 0, got -1.0"),
        ({"evaluation": "fast"}, "evaluation must be None or a dict"),
        ({"evaluation": {"speed": 1}}, "unknown option of evaluation 'speed'; allowed: evaluator, tolerance, memory"),
        ({"n_jobs": 0}, "n_jobs must be None or an integer other than 0"),
    ],
)
def test_contradictions_and_wrong_values_are_refused(options, message):
    # Without y: a wrong paradigm is not taken for one that needs it.
    with pytest.raises(InputError, match=message):
        InterpretableKDR(**options).fit(X, None if "paradigm" in options and "mu" not in options else Y)


def test_clusters_are_predicted_where_there_are_clusters():
    model = InterpretableKDR(3, paradigm="unsupervised", n_clusters=3)
    np.testing.assert_array_equal(model.fit_predict(X), model.labels_)
    assert is_clusterer(model)
    assert hasattr(model.set_params(paradigm="alternative"), "fit_predict")
    supervised = InterpretableKDR()
    assert not hasattr(supervised, "fit_predict")
    assert not is_clusterer(supervised)


def weighted_sum(model, features, targets, weights):
    """Return F(W) of its definition, by loops."""
    mean = weights @ targets / weights.sum()
    projected, total = features @ model.components_.T, 0.0
    for i, j in permutations(range(len(features)), 2):
        delta = projected[i] - projected[j]
        beta = delta @ delta if isinstance(model.kernel_, Gaussian) else projected[i] @ projected[j]
        kernel = model.kernel_.value(np.array([beta]))[0]
        total += weights[i] * weights[j] * (targets[i] - mean) @ (targets[j] - mean) * kernel
    return total


@pytest.mark.parametrize("kernel", ["gaussian", "polynomial"])
# Integers make few groups of samples, and others a weight each.
@pytest.mark.parametrize("weights", [WEIGHTS[:60], np.random.default_rng(1).random(60)])
def test_the_objective_with_weights_is_its_formula(kernel, weights):
    features, labels = X[::3], np.arange(60) % 3
    model = InterpretableKDR(2, kernel=kernel, max_iter=50).fit(features, labels, sample_weight=weights)
    assert model.objective_ == pytest.approx(weighted_sum(model, features, np.eye(3)[labels], weights), rel=1e-10)
    # Only ratios matter.
    scaled = InterpretableKDR(2, kernel=kernel, max_iter=50).fit(features, labels, sample_weight=4.0 * weights)
    np.testing.assert_allclose(scaled.components_, model.components_, atol=1e-9)


@pytest.mark.parametrize(
    ("options", "weights", "message"),
    [
        ({"paradigm": "unsupervised", "n_clusters": 2}, np.ones(178), "sample_weight is for supervised learning"),
        ({}, np.ones(5), r"sample_weight must be 178 numbers, one for each sample; got float64 of shape \(5,\)"),
        ({}, -np.ones(178), "sample_weight must be finite and not negative, .*; got -1 for sample 0"),
        ({}, np.r_[np.ones(177), np.nan], "sample_weight must be finite and not negative, .*; got nan for sample 177"),
        ({}, np.zeros(178), "not all of them zero; got zeros alone"),
        (ALIGNED, np.ones(178), "weights by alignment with labels take no sample_weight"),
    ],
)
def test_weights_that_mean_nothing_are_refused(options, weights, message):
    with pytest.raises(InputError, match=message):
        InterpretableKDR(2, **options).fit(X, Y, sample_weight=weights)


def test_weights_are_routed_through_a_pipeline():
    weights = WEIGHTS.astype(float)
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            InterpretableKDR(2).set_fit_request(sample_weight=True),
            LogisticRegression().set_fit_request(sample_weight=False),
        ).fit(X, Y, sample_weight=weights)
    alone = InterpretableKDR(2).fit(StandardScaler().fit_transform(X), Y, sample_weight=weights)
    np.testing.assert_array_equal(pipeline[1].components_, alone.components_)
    assert not np.allclose(alone.components_, InterpretableKDR(2).fit(X, Y).components_, atol=1e-3)


def test_single_precision_is_kept_and_the_solve_is_in_double():
    single, double = InterpretableKDR(2).fit(X.astype(np.float32), Y), InterpretableKDR(2).fit(X, Y)
    assert single.components_.dtype == single.transform(X.astype(np.float32)).dtype == np.float32
    assert single.result_.projection.dtype == np.float64
    assert single.certificate_.stationarity <= 1e-6
    assert single.objective_ == pytest.approx(double.objective_, rel=1e-5)
    assert double.components_.dtype == double.transform(X).dtype == np.float64
    assert single.get_feature_names_out().tolist() == ["interpretablekdr0", "interpretablekdr1"]


@pytest.mark.parametrize("kernel", ["linear", "squared", "poly", "rbf", Gaussian(2.0), Polynomial(degree=2)])
def test_sparse_samples_are_learned_from_as_dense_ones(kernel):
    features, sparse = np.where(X > 0.5, X, 0.0), csr_matrix if kernel == "poly" else csr_array
    model = InterpretableKDR(2, kernel=kernel).fit(sparse(features), Y)
    dense = InterpretableKDR(2, kernel=kernel).fit(features, Y)
    # Both are stationary to 1e-6, and F is flat to second order there.
    assert model.objective_ == pytest.approx(dense.objective_, rel=1e-9)
    np.testing.assert_allclose(model.transform(sparse(features)), features @ model.components_.T, atol=1e-12)


def test_sparse_samples_are_made_dense_a_few_rows_at_a_time(monkeypatch):
    rng, read = np.random.default_rng(0), []
    labels = rng.integers(0, 2, 5000)
    features = np.where(rng.random((5000, 400)) < 0.02, 1.0 + labels[:, None], 0.0)
    rows = SparseSamples.rows
    monkeypatch.setattr(SparseSamples, "rows", lambda self, some: read.append(some) or rows(self, some))
    model = InterpretableKDR(1, kernel="linear").fit(csr_array(features), labels)
    assert 0 < max(some.stop - some.start for some in read) <= 2048
    # Of a linear kernel W is the leading eigenvector of X' Gamma X.
    gamma = supervised_gamma(labels)
    moved = features.T @ gamma.factor
    surrogate = moved @ moved.T - (features.T * (gamma.factor**2).sum(axis=1)) @ features
    assert model.objective_ == pytest.approx(np.linalg.eigvalsh(surrogate)[-1], rel=1e-9)


def test_sparse_samples_are_refused_where_pairs_are_needed():
    for options, message in (
        ({"kernel": "multiquadric"}, "sparse samples can be .* got paradigm 'supervised' and kernel 'multiquadric'"),
        ({"paradigm": "unsupervised", "n_clusters": 2}, r"got paradigm 'unsupervised' .* give X.toarray\(\)"),
    ):
        with pytest.raises(InputError, match=message):
            InterpretableKDR(2, **options).fit(csr_array(X), Y)


@pytest.mark.parametrize("paradigm", ["supervised", "unsupervised"])
def test_progress_is_shown_and_costs_no_evaluation(paradigm, capsys):
    options = {"paradigm": paradigm, "n_clusters": 3}
    quiet = InterpretableKDR(2, **options).fit(X, Y)
    assert capsys.readouterr().err == ""
    shown = InterpretableKDR(2, verbose=2, **options).fit(X, Y)
    *lines, last = capsys.readouterr().err.splitlines()
    assert shown.result_.counters == quiet.result_.counters
    assert all(line.startswith("InterpretableKDR, n = 178: ") for line in [*lines, last])
    # What is said last is what was found.
    assert f"objective {shown.objective_:.8g}" in last
    assert "converged after" in last
    reached = [float(line.split("stationarity ")[1].split(",")[0]) for line in lines if "stationarity" in line]
    assert min(reached) <= 1e-6
    if paradigm == "supervised":
        assert f"objective {shown.objective_:.8g}, stationarity" in lines[-1]
    else:
        assert any(": solve 2, iteration" in line for line in lines)
    InterpretableKDR(2, verbose=True, **options).fit(X, Y)
    # In a pipe a short fit has one line.
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_the_trick_has_the_papers_defaults_of_a_kernel():
    gaussian = KPCATrick("dne", selection=None, kernel_params={"sigma": 5.0}).fit(X, Y)
    assert gaussian.kernel_ == Gaussian(5.0 * np.sqrt(13))
    assert KPCATrick("dne", selection=None, kernel="poly").fit(X, Y).kernel_ == Polynomial(2, 1.0, 1.0)


def test_kernels_that_they_cannot_take_are_named_by_other_estimators():
    for options, message in (
        ({"kernel": Gaussian(1.0), "kernel_params": {"sigma": 2.0}}, "kernel_params: a kernel object has options of"),
        ({"kernel": "rbf_relative"}, "needs a kernel with a value for any two samples"),
    ):
        for model in (LowRankKernelLearner(**options), KPCATrick(selection=None, **options)):
            with pytest.raises(InputError, match=message):
                model.fit(X, Y)


def test_labels_of_several_types_are_refused_in_a_sentence():
    labels = np.array([*["a"] * 100, *[1] * 78], dtype=object)
    for estimator in (NCA(), InterpretableKDR(), InterpretableKDRCV(cv=2)):
        with pytest.raises(InputError, match="labels must be of one type that sorts, got int, str; make them all"):
            estimator.fit(X, labels)


@pytest.mark.parametrize("make", [LowRankKernelLearner, lambda **given: KPCATrick("dne", selection=None, **given)])
def test_a_kernel_matrix_is_not_silently_taken_for_features(make):
    gram, labels = np.exp(-0.05 * cdist(X[::6], X[::6], "sqeuclidean")), Y[::6]
    with pytest.warns(UserWarning, match="X is 30 x 30, symmetric and like a kernel matrix, .*kernel='precomputed'"):
        make(kernel="linear").fit(gram, labels)
    # Warnings are errors here: symmetric features that no kernel could be, and the kernel itself, bring none.
    make(kernel="precomputed").fit(gram, labels)
    make(kernel="linear").fit(gram - 0.9, labels)


def test_a_precomputed_kernel_equals_the_kernel_itself():
    kernel = Gaussian(3.0)
    gram = kernel.value(cdist(X, X, "sqeuclidean"))
    options = {"random_state": 0, "n_components": 20}
    given = LowRankKernelLearner(kernel="precomputed", **options).fit(gram, Y)
    computed = LowRankKernelLearner(kernel=kernel, **options).fit(X, Y)
    rows = given.transform(gram[:40])
    np.testing.assert_allclose(rows @ rows.T, computed.transform(X[:40]) @ computed.transform(X[:40]).T, atol=1e-8)
    assert get_tags(given).input_tags.pairwise
    assert not get_tags(computed).input_tags.pairwise
    # Folds of a cross validation take rows and columns.
    model = make_pipeline(LowRankKernelLearner(kernel="precomputed", **options), KNeighborsClassifier())
    assert cross_val_score(model, gram, Y, cv=3).mean() > 0.9
    for bad, message in ((X, "a kernel must be a square array"), (gram - 0.5, "is not positive semidefinite")):
        with pytest.raises(InputError, match=message):
            LowRankKernelLearner(kernel="precomputed").fit(bad, Y)
    with pytest.raises(InputError, match="kernel_params are of a kernel that is computed; leave them out"):
        LowRankKernelLearner(kernel="precomputed", kernel_params={"sigma": 1.0}).fit(gram, Y)
