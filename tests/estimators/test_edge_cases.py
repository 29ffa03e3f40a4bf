"""Inputs at the border of what is allowed, each solved and certified, or refused in one sentence."""

import numpy as np
import pytest

from kdrbench.estimators import InterpretableKDR
from kdrbench.kernels import Pairing, Polynomial, UserKernel
from kdrbench.paradigms import supervised_problem
from kdrbench.status import Status
from support.helpers import random_samples

KERNELS = ["linear", "squared", "polynomial", "gaussian", "multiquadric", "rbf_relative"]
CONSTANT = UserKernel(np.ones_like, np.zeros_like, Pairing.DIFFERENCE, np.zeros_like)


def certified(model, features, labels):
    model.fit(features, labels)
    assert model.status_ is Status.CONVERGED
    assert np.isfinite(model.objective_)
    assert model.certificate_.feasibility <= 1e-12
    assert model.certificate_.stationarity <= (model.tol or 1e-6)
    assert model.certificate_.curvature >= -1e-6
    return model


@pytest.mark.parametrize("kernel", KERNELS)
def test_data_at_the_border_are_solved_and_certified(kernel):
    features, labels = random_samples()
    wide, of_wide = random_samples(n_samples=20, n_features=35)
    rank_deficient = np.hstack([features, features @ np.ones((6, 3)), np.zeros((40, 1))])
    for n_components, samples, known in (
        (3, wide, of_wide),
        (3, rank_deficient, labels),
        (2, np.repeat(features, 3, axis=0), np.repeat(labels, 3)),
        # A class of two samples.
        (2, features, np.arange(40) < 2),
    ):
        certified(InterpretableKDR(n_components, kernel=kernel), samples, known)


@pytest.mark.parametrize("kernel", KERNELS)
def test_one_component_and_all_of_them(kernel):
    features, labels = random_samples()
    # All orthonormal square W are one subspace.
    problem = supervised_problem(features, labels, Polynomial(degree=3, offset=1.0, scale=1 / 6))
    for solver in ("ism", "ism_converged"):
        one = InterpretableKDR(1, kernel=kernel, solver=solver).fit(features, labels)
        assert one.components_.shape == (1, 6)
        every = InterpretableKDR(6, kernel=kernel, solver=solver).fit(features, labels)
        np.testing.assert_allclose(every.components_ @ every.components_.T, np.eye(6), atol=1e-12)
        assert every.status_ is Status.CONVERGED
        if kernel == "polynomial":
            assert every.objective_ == pytest.approx(problem.value(np.eye(6)), rel=1e-10)


@pytest.mark.parametrize("kernel", KERNELS)
def test_ties_at_the_gap(kernel):
    # Two features that are mirror images: eigenvalues of Phi come in pairs, and one component splits a pair.
    labels = np.repeat([0, 1, 2, 3], 6)
    corners = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])[labels]
    spokes = 1.0 + 0.1 * np.tile(np.arange(6), 4)
    features = np.hstack([corners * spokes[:, None], np.zeros((24, 1))])
    surrogate = supervised_problem(features, labels, Polynomial(degree=1)).initial_surrogate()
    assert np.ptp(np.linalg.eigvalsh(surrogate)[-2:]) <= 1e-12 * np.abs(surrogate).max()
    certified(InterpretableKDR(1, kernel=kernel), features, labels)


@pytest.mark.parametrize("solver", ["ism", "ism_converged", "sm_converged", "gm_converged"])
def test_a_constant_kernel_has_nothing_to_gain(solver):
    features, labels = random_samples()
    model = InterpretableKDR(2, kernel=CONSTANT, solver=solver).fit(features, labels)
    assert model.status_ is Status.CONVERGED
    assert (model.certificate_.stationarity, model.certificate_.curvature) == (0.0, 0.0)


def test_constant_features_are_refused_where_distances_count():
    labels = np.arange(10) % 2
    with pytest.raises(ValueError, match="the median distance of these 10 samples is 0"):
        InterpretableKDR(1).fit(np.ones((10, 3)), labels)
    with pytest.raises(ValueError, match="coincides with its 7-th nearest neighbour"):
        InterpretableKDR(1, kernel="rbf_relative").fit(np.ones((10, 3)), labels)
    # The others have no gradient there, and any W is as good.
    assert InterpretableKDR(1, kernel="linear").fit(np.zeros((10, 3)), labels).status_ is Status.CONVERGED


@pytest.mark.parametrize("kernel", KERNELS)
def test_units_do_not_matter_where_the_kernel_has_its_own(kernel):
    features, labels = random_samples()
    params = {"multiquadric": {"offset": 1.5}, "polynomial": {"offset": 0.0}}.get(kernel)
    plain = certified(InterpretableKDR(2, kernel=kernel, kernel_params=params), features, labels)
    for factor in (1e-8, 1e8):
        scaled_params = {"offset": 1.5 * factor} if kernel == "multiquadric" else params
        scaled = certified(InterpretableKDR(2, kernel=kernel, kernel_params=scaled_params), factor * features, labels)
        turned = plain.components_ @ scaled.components_.T
        np.testing.assert_allclose(np.linalg.svd(turned, compute_uv=False), 1.0, atol=1e-6)
        # With an offset that is not scaled the solution is another one, and found all the same.
        certified(InterpretableKDR(2, kernel=kernel), factor * features, labels)


def test_values_that_overflow_are_refused_in_one_sentence():
    features, labels = random_samples()
    message = "not finite on these samples: scale the features"
    for kernel, factor in (("linear", 1e100), ("polynomial", 1e120)):
        with np.errstate(all="ignore"), pytest.raises(ValueError, match=message):
            InterpretableKDR(2, kernel=kernel).fit(factor * features, labels)
    # Defined only up to beta = 9, and checked there when it is made.
    inner = UserKernel(lambda beta: np.sqrt(9 - beta), lambda beta: -0.5 / np.sqrt(9 - beta), Pairing.DIFFERENCE)
    for paradigm, params in (("supervised", None), ("unsupervised", {"n_clusters": 2})):
        model = InterpretableKDR(2, kernel=inner, paradigm=paradigm, paradigm_params=params)
        with np.errstate(all="ignore"), pytest.raises(ValueError, match=message):
            model.fit(10 * features, labels)


@pytest.mark.parametrize(
    ("options", "n_samples", "n_features"),
    [
        ({"kernel": "linear"}, 140, 140),
        ({"kernel": CONSTANT}, 150, 150),
        ({}, 150, 150),
        # These bandwidths are for noise.
        ({"sigma": 6.0}, 150, 150),
        ({"sigma": 9.0}, 400, 420),
    ],
)
def test_tangent_spaces_too_large_to_form_the_hessian(options, n_samples, n_features):
    # With about as many samples as features: with less, coordinates of the row space would do.
    features, labels = random_samples(n_samples=n_samples, n_features=n_features)
    if "sigma" in options:
        rng = np.random.default_rng(0)
        features, labels = rng.standard_normal(features.shape), rng.permutation(labels)
    model = InterpretableKDR(3, tol=1e-6, **options)
    certified(model, features, labels)
    assert model.result_.counters["hessian"] == 0


@pytest.mark.parametrize("factor", [1e-8, 1.0, 1e4])
def test_a_user_kernel_knows_its_curvature_in_any_unit(factor):
    features, labels = random_samples()
    sigma = 2.0 * factor

    def value(beta):
        return np.exp(-beta / (2 * sigma**2))

    user = UserKernel(value, lambda beta: -value(beta) / (2 * sigma**2), Pairing.DIFFERENCE)
    mine = certified(InterpretableKDR(2, kernel=user), factor * features, labels)
    built_in = certified(InterpretableKDR(2, kernel_params={"sigma": sigma}), factor * features, labels)
    assert mine.objective_ == pytest.approx(built_in.objective_, rel=1e-10)
    assert mine.certificate_.curvature == pytest.approx(built_in.certificate_.curvature, rel=1e-4)
