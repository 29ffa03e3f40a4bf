import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.kernels import Combination, Gaussian, Linear, Multiquadric, Pairing, Polynomial, Term
from support.helpers import KERNELS

BETA = np.linspace(0.3, 4.0, 9)


@pytest.mark.parametrize("name", KERNELS)
def test_derivatives_agree_with_central_differences(name):
    kernel, step = KERNELS[name], 1e-5
    for function, derivative in ((kernel.value, kernel.derivative), (kernel.derivative, kernel.second_derivative)):
        differences = (function(BETA + step) - function(BETA - step)) / (2 * step)
        # The central difference errs by step^2 f'''/6 and by rounding of f over step.
        np.testing.assert_allclose(derivative(BETA), differences, atol=1e-8, rtol=1e-8)


@pytest.mark.parametrize("name", KERNELS)
def test_functions_leave_beta_unchanged(name):
    beta = BETA.copy()
    for function in (KERNELS[name].value, KERNELS[name].derivative, KERNELS[name].second_derivative):
        function(beta)
    np.testing.assert_array_equal(beta, BETA)


def test_values_by_hand():
    assert Gaussian(sigma=2.0).value(np.array([8.0]))[0] == pytest.approx(np.exp(-1.0), rel=1e-15)
    assert Polynomial(degree=3, offset=1.0, scale=0.5).value(np.array([4.0]))[0] == 27.0
    assert KERNELS["squared"].value(np.array([4.0]))[0] == -4.0


def test_results_are_new_arrays():
    for kernel in KERNELS.values():
        assert kernel.value(BETA) is not BETA


def test_polynomial_of_degree_one_and_two_have_constant_curvature():
    assert Polynomial(degree=1).second_derivative(BETA).max() == 0.0
    np.testing.assert_array_equal(Polynomial(degree=2, scale=3.0).second_derivative(BETA), 18.0)


def test_radial_kernels_pair_differences():
    assert [KERNELS[name].pairing for name in KERNELS] == [
        Pairing.DOT,
        Pairing.DIFFERENCE,
        Pairing.DOT,
        Pairing.DIFFERENCE,
        Pairing.DIFFERENCE,
    ]


@pytest.mark.parametrize("sigma", [0.0, -1.0, np.nan, np.inf])
def test_gaussian_refuses_a_sigma_that_is_no_distance(sigma):
    with pytest.raises(InputError, match=r"sigma must be a finite number > 0, got"):
        Gaussian(sigma=sigma)


@pytest.mark.parametrize("offset", [0.0, -1.0, np.nan])
def test_multiquadric_refuses_an_offset_without_a_derivative_at_zero(offset):
    with pytest.raises(InputError, match="multiquadric offset must be a finite number > 0, got"):
        Multiquadric(offset=offset)


@pytest.mark.parametrize("weights", [[], [0.0, 0.0], [1.0, -0.1], [np.inf]])
def test_a_combination_refuses_weights_that_are_not_conic(weights):
    with pytest.raises(InputError, match="needs finite weights >= 0, one of them > 0; got"):
        Combination(tuple(Term(weight, Linear()) for weight in weights))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"degree": 0}, "degree must be an integer >= 1, got 0"),
        ({"degree": 2.5}, "degree must be an integer >= 1, got 2.5"),
        ({"offset": -1.0}, "offset must be a finite number >= 0, got -1.0"),
        ({"scale": 0.0}, "scale must be a finite number > 0, got 0.0"),
    ],
)
def test_polynomial_refuses_bad_options(options, message):
    with pytest.raises(InputError, match=message):
        Polynomial(**options)
