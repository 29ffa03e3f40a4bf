"""Features that cannot matter have no weight: projections lie in the span in which samples differ."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from kdrbench import InterpretableKDR
from kdrbench.errors import InputError
from kdrbench.estimators.span import span_of
from support.helpers import scaled_wine

X, Y = scaled_wine()
KERNELS = ["gaussian", "linear", "squared", "polynomial", "multiquadric", "rbf_relative"]
OF_DIFFERENCES = ["gaussian", "squared", "multiquadric", "rbf_relative"]


def turned(first, second):
    return float(subspace_angles(first.T, second.T).max())


def spans(X, **options):
    return span_of(X, **{"of_differences": True, "precision": np.finfo(float).eps, **options})


@pytest.mark.parametrize("kernel", KERNELS)
def test_columns_of_zeros_change_nothing_and_have_no_weight(kernel):
    padded = np.c_[np.zeros(len(X)), X, np.zeros((len(X), 2))]
    plain, model = (InterpretableKDR(2, kernel=kernel).fit(samples, Y) for samples in (X, padded))
    assert not model.components_[:, [0, -2, -1]].any()
    assert turned(model.components_[:, 1:-2], plain.components_) < 1e-10
    assert model.constant_features_.tolist() == [0, 14, 15]
    assert model.rank_ == 13


@pytest.mark.parametrize("sigma", ["0.1 median", "0.25 median", "0.5 median", "median"])
def test_narrow_bandwidths_park_no_length_in_constant_columns(sigma):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = InterpretableKDR(1, sigma=sigma).fit(np.c_[X, np.full((len(X), 2), 3.0)], Y)
    assert not model.components_[:, 13:].any()
    assert model.certificate_.stationarity < 1e-5


@pytest.mark.parametrize("kernel", KERNELS)
def test_equal_columns_share_their_weight(kernel):
    model = InterpretableKDR(2, kernel=kernel).fit(np.c_[X, X[:, 0]], Y)
    assert np.allclose(model.components_[:, 0], model.components_[:, -1], rtol=0, atol=1e-9)
    assert model.rank_ == 13


def test_a_group_of_indicators_has_weights_of_sum_zero():
    rng = np.random.default_rng(0)
    levels, numbers = rng.integers(3, size=200), rng.standard_normal((200, 2))
    X, y = np.c_[numbers, np.eye(3)[levels]], (levels == 1) ^ (numbers[:, 0] > 1.5)
    model = InterpretableKDR(1).fit(X, y)
    assert model.rank_ == 4
    assert abs(model.components_[0, 2:].sum()) < 1e-9
    assert np.abs(model.components_[0, 2:]).max() > 0.1


@pytest.mark.parametrize("kernel", OF_DIFFERENCES)
@pytest.mark.parametrize("offset", [1e4, 1e8])
def test_offsets_cost_no_more_digits_than_the_samples_have_lost(kernel, offset):
    plain, model = (InterpretableKDR(2, kernel=kernel).fit(samples, Y) for samples in (X, X + offset))
    # Entries of size ``offset`` are rounded to its precision.
    assert turned(plain.components_, model.components_) < 20 * offset * np.finfo(float).eps + 1e-12


def test_independent_columns_of_moderate_means_are_taken_as_they_are():
    for samples in (X, X + 50.0, X * np.logspace(-6, 6, 13)):
        assert spans(samples).lower(samples) is samples


def test_the_basis_is_a_function_of_the_span_alone():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((12, 30))
    again = rng.standard_normal((25, 12)) @ X
    assert spans(X, of_differences=False).rank == 12
    first, second = (spans(samples, of_differences=False).basis for samples in (X, again))
    assert np.allclose(first, second, rtol=0, atol=1e-9)


def test_rounding_of_single_precision_is_no_direction():
    X = StandardScaler().fit_transform(np.random.default_rng(2).standard_normal((300, 4))).astype(np.float32)
    doubled = np.c_[X, (X[:, 0] + X[:, 1]) / np.float32(3.0)]
    model = InterpretableKDR(1).fit(doubled, X[:, 0] > 0)
    assert model.rank_ == 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_times_of_few_digits_leave_other_columns_alone(dtype):
    rng = np.random.default_rng(3)
    smooth = np.cumsum(rng.standard_normal((200, 30)), axis=1)
    X = np.c_[1.6e9 + 1e4 * rng.standard_normal(200), smooth, smooth[:, 4] + smooth[:, 7]].astype(dtype)
    assert InterpretableKDR(1, sigma=1e4).fit(X, smooth[:, 3] > 0).rank_ == 31


def test_components_beyond_the_rank_are_said_and_chosen_by_a_rule():
    padded = np.c_[np.ones(len(X)), X, np.ones(len(X))]
    with pytest.warns(UserWarning, match="span 13 of 15 features.*15 were asked for.*last 2 mean nothing"):
        model = InterpretableKDR(15).fit(padded, Y)
    assert np.allclose(model.components_ @ model.components_.T, np.eye(15))
    assert np.allclose(model.components_[13:, [0, -1]], np.eye(2))
    assert model.explained_objective_ratio_[13:].tolist() == [0.0, 0.0]
    assert InterpretableKDR().fit(padded[:, [0, 3, 4, 14]], Y).components_.shape == (2, 4)


def test_a_given_start_may_have_length_outside_the_span():
    padded = np.c_[X, np.zeros((len(X), 2))]
    outside = np.eye(15)[[0, 14]]
    model = InterpretableKDR(2, start=outside).fit(padded, Y)
    assert not model.components_[:, 13:].any()
    again = InterpretableKDR(2, start=model.components_).fit(padded, Y)
    assert turned(again.components_, model.components_) < 1e-5
    assert np.isclose(again.objective_, model.objective_)


@pytest.mark.filterwarnings("ignore:the clusters depend")
@pytest.mark.parametrize("paradigm", ["unsupervised", "alternative"])
def test_clusterings_are_those_without_constant_columns(paradigm):
    known = Y if paradigm == "alternative" else None
    options = {"paradigm": paradigm, "n_clusters": 3, "start": "surrogate"}
    plain, model = (InterpretableKDR(2, **options).fit(A, known) for A in (X, np.c_[X, np.ones(len(X))]))
    assert np.array_equal(plain.labels_, model.labels_)
    assert not model.components_[:, -1].any()


def test_streamed_and_sparse_samples_have_the_components_of_the_array():
    padded = np.c_[X, X[:, 0], np.zeros(len(X))]
    model = InterpretableKDR(2).fit(padded, Y)
    streamed = InterpretableKDR(2, sigma=model.kernel_.sigma).fit(lambda: iter([padded[:90], padded[90:]]), Y)
    sparse = InterpretableKDR(2).fit(csr_array(padded), Y)
    for other in (streamed, sparse):
        assert other.rank_ == 13
        assert np.allclose(other.components_, model.components_, rtol=0, atol=1e-7)


@pytest.mark.needs("torch")
def test_tensors_have_the_components_of_the_array():
    import torch

    padded = np.c_[X + 1e6, X[:, 0], np.ones(len(X))]
    model, other = (InterpretableKDR(2).fit(samples, Y) for samples in (padded, torch.asarray(padded)))
    assert other.rank_ == 13
    assert turned(model.components_, np.asarray(other.components_)) < 1e-7


def test_shares_of_streamed_samples_are_not_evaluated():
    linear = InterpretableKDR(2, kernel="linear")
    assert hasattr(linear.fit(X, Y), "explained_objective_ratio_")
    assert not hasattr(linear.fit(csr_array(X), Y), "explained_objective_ratio_")
    with pytest.raises(ValueError, match=r"n_components='auto' evaluates F for each component.*give a number"):
        InterpretableKDR("auto", kernel="linear").fit(csr_array(X), Y)


def test_shares_say_which_components_explain_the_objective():
    cancer, iris, wine = (load(return_X_y=True) for load in (load_breast_cancer, load_iris, load_wine))
    counts = []
    for X, y in (cancer, iris, wine):
        model = InterpretableKDR().fit(StandardScaler().fit_transform(X), y)
        assert np.isclose(model.explained_objective_ratio_.sum(), 1.0)
        counts.append(len(InterpretableKDR("auto").fit(StandardScaler().fit_transform(X), y).components_))
    assert counts == [1, 1, 2]


def test_a_slope_below_the_rounding_of_the_objective_is_no_stall():
    X, y = load_iris(return_X_y=True)
    model = InterpretableKDR(2, sigma="0.001 median").fit(StandardScaler().fit_transform(X), y)
    # All that is left of F is pairs of equal samples.
    assert model.status_ == "converged"
    assert np.isclose(model.objective_, 38.0)


@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
def test_few_features_are_the_best_pair_of_all(kernel):
    plain = InterpretableKDR(2, kernel=kernel).fit(X, Y)
    model = InterpretableKDR(2, kernel=kernel, max_features=2).fit(X, Y)
    chosen = np.flatnonzero(model.components_.any(axis=0))
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(2), atol=1e-12)
    # F of two features does not depend on W.
    fits = {pair: InterpretableKDR(2, kernel=plain.kernel_).fit(X[:, pair], Y) for pair in combinations(range(13), 2)}
    values = {pair: fit.objective_ for pair, fit in fits.items()}
    assert tuple(chosen) == max(values, key=values.get)
    assert model.objective_ == pytest.approx(values[tuple(chosen)], rel=1e-9)
    assert model.objective_lost_ == pytest.approx(plain.objective_ - model.objective_, rel=1e-9)
    assert not hasattr(model.set_params(max_features=None).fit(X, Y), "objective_lost_")


@pytest.mark.parametrize(
    ("make", "options"),
    [(np.asarray, {}), (csr_array, {}), (np.asarray, {"paradigm": "unsupervised", "n_clusters": 2})],
)
def test_features_of_noise_components_are_left_out_first(make, options):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 9))
    y = (X[:, 3] + X[:, 6] > 0).astype(int)
    X[:, [3, 6]] += 3.0 * y[:, None]
    model = InterpretableKDR(2, sigma=2.0, max_features=3, **options).fit(make(X), y)
    assert model.components_[:, [3, 6]].any(axis=0).all()
    assert model.components_.any(axis=0).sum() == model.rank_ == 3


def test_features_that_are_too_few_for_the_components_are_refused():
    message = "the 2 features that are left span 2 dimensions, fewer than the 3 components; raise max_features, now 2"
    with pytest.raises(InputError, match=message):
        InterpretableKDR(3, max_features=2).fit(X, Y)
