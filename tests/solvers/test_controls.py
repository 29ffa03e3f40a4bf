"""Controls are what they say."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from kdrbench.errors import InputError
from kdrbench.paradigms import supervised_problem
from kdrbench.problems import Counters, Problem
from kdrbench.solvers import CONTROLS, Monitor, Status, build_solver
from kdrbench.solvers.geometry.stiefel import leading_eigenvectors, outside, subspace_turn
from support.helpers import KERNELS, random_projection, random_samples, regression_problem, small_problem, solved


def run(method, problem=None, n_components=2):
    start = random_projection(n_components=n_components)
    return solved(problem or small_problem(), method=method, start=start), start


@pytest.mark.parametrize("method", CONTROLS)
def test_controls_say_so_and_stop_when_told(method):
    assert build_solver({"method": method}).control
    result = solved(small_problem(), method=method, start=random_projection(), monitor=Monitor(0))
    assert result.status is Status.MAX_ITERATIONS


def test_the_start_is_returned_as_it_is():
    result, start = run("start_alone")
    assert np.array_equal(result.projection, start)


def test_axes_are_those_of_scikit_learn():
    features, labels = random_samples()
    theirs = PCA(2).fit(features).components_.T
    # Two decompositions of a 6 x 6 matrix with well separated eigenvalues agree but for rounding.
    assert subspace_turn(theirs, run("principal_axes")[0].projection) < 1e-10
    theirs = np.linalg.qr(LinearDiscriminantAnalysis(solver="eigen").fit(features, labels).scalings_[:, :2])[0]
    # The ridge, 1e-8 of the mean variance, turns them by about as much.
    axes = run("discriminant_axes", n_components=4)[0].projection
    assert subspace_turn(theirs, axes[:, :2]) < 1e-6
    # Beyond the classes come principal axes of the rest.
    np.testing.assert_allclose(axes[:, :2], run("discriminant_axes")[0].projection, atol=1e-12)
    theirs = np.linalg.svd(outside(axes[:, :2], (features - features.mean(axis=0)).T))[0][:, :2]
    assert subspace_turn(axes[:, 2:], theirs) < 1e-7


def test_constant_features_have_no_part_in_discriminant_axes():
    features, labels = random_samples()
    features[:, 0] = 0.0
    result, _ = run("discriminant_axes", supervised_problem(features, labels, KERNELS["gaussian"]))
    assert np.abs(result.projection[0]).max() < 1e-10


def test_discriminant_axes_need_classes():
    features, _ = random_samples()
    problem = regression_problem(features, features[:, 0], KERNELS["gaussian"], KERNELS["linear"])
    with pytest.raises(InputError, match="discriminant axes need one label a sample; this problem has none"):
        run("discriminant_axes", problem)


def test_shuffled_labels_are_maximised_and_the_true_ones_are_not():
    features, labels = random_samples()
    shuffled, start = run("shuffled_labels")
    dealt = supervised_problem(features, labels[np.random.default_rng(0).permutation(len(labels))], KERNELS["gaussian"])
    expected = start
    for _ in range(20):
        expected = leading_eigenvectors(dealt.surrogate(expected), 2)[1]
    # Eigendecompositions of surrogates that differ by rounding.
    assert subspace_turn(expected, shuffled.projection) < 1e-10
    problem = small_problem()
    assert problem.value(shuffled.projection) < problem.value(run("ism")[0].projection)


@pytest.mark.parametrize("method", ["principal_axes", "authors_dg"])
def test_what_looks_at_the_samples_asks_for_them(method):
    blind = type("Blind", (Problem,), {"n_features": 6, "counters": Counters(), "value": None, "gradient": None})()
    with pytest.raises(InputError, match="looks at the samples, which Blind does not show"):
        run(method, blind)
