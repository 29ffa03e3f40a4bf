import re

import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.kernels import (
    Combination,
    Gaussian,
    Linear,
    Multiquadric,
    Pairing,
    Polynomial,
    RelativeGaussian,
    Term,
    UserKernel,
    neighbour_distances,
    neighbours,
)
from kdrbench.kernels.family import derivatives_at, pairing_block, pairing_values
from support.helpers import KERNELS

BETA = np.linspace(0.3, 4.0, 9)


@pytest.mark.parametrize("name", KERNELS)
def test_both_at_once_are_what_each_is_alone(name):
    kernel, beta = KERNELS[name], BETA.copy()
    value, slope = derivatives_at(kernel, beta, (0, 1))
    np.testing.assert_allclose(value, kernel.value(beta), rtol=1e-14)
    np.testing.assert_allclose(slope, kernel.derivative(beta), rtol=1e-14)
    assert not any(array is beta for array in (kernel.value(beta), kernel.second_derivative(beta)))
    np.testing.assert_array_equal(beta, BETA)


def test_value_and_derivative_come_from_one_call_or_from_each():
    class Together:
        value_and_derivative = staticmethod(lambda beta: (beta + 1, beta + 2))

    class Alone:
        value, derivative = staticmethod(np.sin), staticmethod(np.cos)

    for kernel, expected in ((Together(), (BETA + 1, BETA + 2)), (Alone(), (np.sin(BETA), np.cos(BETA)))):
        np.testing.assert_array_equal(derivatives_at(kernel, BETA, (0, 1)), expected)


@pytest.mark.parametrize("pairing", Pairing)
def test_pairs_by_a_loop_and_distances_never_below_zero(pairing):
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((5, 2)), rng.standard_normal((7, 2))
    of_pair = {Pairing.DOT: np.dot, Pairing.DIFFERENCE: lambda x, y: float(np.sum((x - y) ** 2))}[pairing]
    for block, others in ((pairing_block(pairing, left, right), right), (pairing_values(pairing, left), left)):
        np.testing.assert_allclose(block, [[of_pair(x, y) for y in others] for x in left], atol=1e-13)
    # Far from the origin squares cancel; without care some of these zeros come out negative.
    repeated = np.repeat(1e3 + rng.standard_normal((100, 2)), 2, axis=0) + 1e-8 * rng.standard_normal((200, 2))
    if pairing is Pairing.DIFFERENCE:
        assert min(pairing_values(pairing, repeated).min(), pairing_block(pairing, repeated, repeated + 0.0).min()) >= 0


def test_a_gaussian_is_zero_where_it_would_be_subnormal():
    assert Gaussian(1.0).value(np.array([1400.0, 1430.0])).tolist() == [np.exp(-700.0), 0.0]


def test_a_constant_power_takes_one_at_zero_without_an_offset():
    kernel = Polynomial(degree=1, offset=0.0)
    np.testing.assert_array_equal(kernel.derivative(np.zeros(3)), 1.0)


@pytest.mark.parametrize(
    ("make", "message", "numbers"),
    [
        (Gaussian, r"sigma must be a finite number > 0, got", (0.0, -1.0, np.nan, np.inf)),
        # Its fourth power has no number.
        (Gaussian, r"Gaussian sigma, in the unit of the features, must be .*1e-75.*got", (1e-76, 1e-160, 1e76, 1e200)),
        (Multiquadric, "multiquadric offset must be a finite number > 0, got", (0.0, -1.0, np.nan)),
        (
            lambda weights: Combination(tuple(Term(weight, Linear()) for weight in weights)),
            "needs finite weights >= 0, one of them > 0; got",
            ([], [0.0, 0.0], [1.0, -0.1], [np.inf]),
        ),
        (lambda p: Polynomial(degree=p), "must be an integer between 1 and 1000, got", (10**20, 0, 2.5)),
        (lambda c: Polynomial(offset=c), "offset must be a finite number >= 0, got", (-1.0,)),
        (lambda c: Polynomial(scale=c), "scale must be a finite number > 0, got", (0.0,)),
        (
            lambda bad: RelativeGaussian(np.array([1.0, bad])),
            "one finite number > 0 for each sample; sample 1 has",
            (0.0, -1.0, np.nan, np.inf),
        ),
    ],
)
def test_numbers_that_make_no_kernel_are_refused(make, message, numbers):
    for number in numbers:
        with pytest.raises(InputError, match=f"{message} .*{re.escape(str(number))}"):
            make(number)


def test_a_relative_gaussian_has_as_many_bandwidths_as_samples():
    with pytest.raises(InputError, match=r"must be 4 x 4; got shape \(3, 3\)"):
        RelativeGaussian(np.array([0.5, 1.0, 2.0, 3.0])).value(np.ones((3, 3)))


@pytest.mark.parametrize("by_tree", [False, True])
def test_neighbour_distances_by_sorting_and_of_repeated_samples(by_tree, monkeypatch):
    monkeypatch.setattr(neighbours, "_TREE_FEATURES", 9 if by_tree else 1)
    monkeypatch.setattr(neighbours, "_TREE_SAMPLES", 0)
    features = np.random.default_rng(1).standard_normal((20, 3))
    # Rounding of their squares hides which of these are nearest.
    features[:18] = 1e5 + 1e-5 * features[:18]
    distances = np.linalg.norm(features[:, None] - features[None], axis=2)
    # The first of the sorted ones is the sample itself.
    np.testing.assert_allclose(neighbour_distances(features, 4), np.sort(distances, axis=1)[:, 4], rtol=1e-12)
    features = np.vstack([np.zeros((3, 2)), np.random.default_rng(0).standard_normal((4, 2))])
    with pytest.raises(InputError, match="sample 0 coincides with its 2-th nearest neighbour"):
        neighbour_distances(features, 2)
    assert neighbour_distances(features, 3).min() > 0


def rational(beta):
    return 1 / (1 + beta)


def rational_slope(beta):
    return -1 / (1 + beta) ** 2


@pytest.mark.parametrize("pairing", Pairing)
def test_second_derivatives_follow_from_the_first(pairing):
    beta = np.array([0.0, 1e-9, 1e-3, 0.5, 20.0])
    user = UserKernel(rational, rational_slope, pairing)
    np.testing.assert_allclose(user.second_derivative(beta), 2 / (1 + beta) ** 3, rtol=1e-8)
    given = UserKernel(rational, rational_slope, pairing, lambda beta: 2 / (1 + beta) ** 3)
    np.testing.assert_allclose(given.second_derivative(beta), 2 / (1 + beta) ** 3, rtol=1e-15)


def test_second_derivatives_never_ask_below_distance_zero():
    def slope(beta):
        if beta.min() < 0:
            raise ValueError("negative distance")
        return -1 / (1 + beta) ** 2

    second = UserKernel(rational, slope, Pairing.DIFFERENCE).second_derivative(np.array([0.0, 1e-7]))
    np.testing.assert_allclose(second, 2.0, rtol=1e-2)


def test_sharp_and_flat_kernels_are_no_wrong_ones():
    for rate in (1e-9, 1e-3, 1.0, 1e3, 3e3, 1e4, 1e5, 1e16):
        UserKernel(lambda b: np.exp(-rate * b), lambda b: -rate * np.exp(-rate * b), Pairing.DIFFERENCE)  # noqa: B023


@pytest.mark.parametrize(
    ("function", "slope", "curvature", "message"),
    [
        (rational, rational, None, r"f' is not the derivative: at beta = 0.05 it is 0.952381, differences give -0.907"),
        (lambda beta: 1e6 + beta, lambda beta: 2 + 0 * beta, None, "f' is not the derivative"),
        (rational, rational_slope, rational, "f'' is not the derivative"),
        (rational, lambda beta: 1.0, None, "arrays of the same shape; where f' was checked"),
        (lambda beta: -np.sqrt(beta), lambda beta: np.where(beta > 0, -0.5 * beta, np.nan), None, r"\[0.0\] gave"),
        (lambda beta: beta + 1j, rational_slope, None, "finite real arrays"),
    ],
)
def test_wrong_user_kernels_are_refused(function, slope, curvature, message):
    with pytest.raises(InputError, match=message):
        UserKernel(function, slope, Pairing.DIFFERENCE, curvature)


def test_a_user_kernel_needs_a_pairing():
    with pytest.raises(InputError, match="pairing must be one of"):
        UserKernel(rational, rational_slope, "difference")
