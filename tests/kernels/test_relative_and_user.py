import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.kernels import Pairing, RelativeGaussian, UserKernel, neighbour_distances

SIGMAS = np.array([0.5, 1.0, 2.0, 3.0])


def test_relative_gaussian_refuses_bad_bandwidths():
    for bad in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(InputError, match="one finite number > 0 for each sample; sample 1 has"):
            RelativeGaussian(np.array([1.0, bad]))
    with pytest.raises(InputError, match=r"must be 4 x 4; got shape \(3, 3\)"):
        RelativeGaussian(SIGMAS).value(np.ones((3, 3)))


def test_neighbour_distances_by_sorting():
    features = np.random.default_rng(1).standard_normal((20, 3))
    distances = np.linalg.norm(features[:, None] - features[None], axis=2)
    # The first of the sorted ones is the sample itself.
    np.testing.assert_allclose(neighbour_distances(features, 4), np.sort(distances, axis=1)[:, 4], rtol=1e-12)


def test_repeated_samples_have_no_bandwidth():
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
