import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.kernels import Combination, Gaussian, Linear, Multiquadric, Pairing, Polynomial, Term
from kdrbench.kernels.family import derivatives_at, pairing_block, pairing_values
from support.helpers import KERNELS

BETA = np.linspace(0.3, 4.0, 9)


@pytest.mark.parametrize("name", KERNELS)
def test_both_at_once_are_what_each_is_alone(name):
    kernel, beta = KERNELS[name], BETA.copy()
    value, slope = derivatives_at(kernel, beta, (0, 1))
    np.testing.assert_allclose(value, kernel.value(beta), rtol=1e-14)
    np.testing.assert_allclose(slope, kernel.derivative(beta), rtol=1e-14)
    assert kernel.second_derivative(beta) is not beta
    assert kernel.value(beta) is not beta
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
    expected = [[of_pair(x, y) for y in right] for x in left]
    np.testing.assert_allclose(pairing_block(pairing, left, right), expected, atol=1e-13)
    np.testing.assert_allclose(pairing_values(pairing, left), [[of_pair(x, y) for y in left] for x in left], atol=1e-13)
    # Far from the origin squares cancel; without care some of these zeros come out negative.
    repeated = np.repeat(1e3 + rng.standard_normal((100, 2)), 2, axis=0) + 1e-8 * rng.standard_normal((200, 2))
    if pairing is Pairing.DIFFERENCE:
        assert pairing_values(pairing, repeated).min() >= 0.0
        assert pairing_block(pairing, repeated, repeated + 0.0).min() >= 0.0


def test_a_constant_power_takes_one_at_zero_without_an_offset():
    kernel = Polynomial(degree=1, offset=0.0)
    np.testing.assert_array_equal(kernel.derivative(np.zeros(3)), 1.0)


def test_numbers_that_make_no_kernel_are_refused():
    for sigma in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(InputError, match=r"sigma must be a finite number > 0, got"):
            Gaussian(sigma=sigma)
    for sigma in (1e-76, 1e-160, 1e76, 1e200):
        # Its fourth power has no number.
        with pytest.raises(InputError, match=r"Gaussian sigma, in the unit of the features, must be .*1e-75.*got"):
            Gaussian(sigma)
    for offset in (0.0, -1.0, np.nan):
        with pytest.raises(InputError, match="multiquadric offset must be a finite number > 0, got"):
            Multiquadric(offset=offset)
    for weights in ([], [0.0, 0.0], [1.0, -0.1], [np.inf]):
        with pytest.raises(InputError, match="needs finite weights >= 0, one of them > 0; got"):
            Combination(tuple(Term(weight, Linear()) for weight in weights))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(({"degree": degree}, f"must be an integer between 1 and 1000, got {degree}") for degree in (10**20, 0, 2.5)),
        ({"offset": -1.0}, "offset must be a finite number >= 0, got -1.0"),
        ({"scale": 0.0}, "scale must be a finite number > 0, got 0.0"),
    ],
)
def test_polynomial_refuses_bad_options(options, message):
    with pytest.raises(InputError, match=message):
        Polynomial(**options)
