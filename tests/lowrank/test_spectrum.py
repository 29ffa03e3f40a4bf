import numpy as np
import pytest

from kdrbench.lowrank import spectrum
from kdrbench.lowrank.spectrum import divided_differences, secular_spectrum, spectrum_of

EPS = np.finfo(float).eps


@pytest.mark.parametrize("size", [1, 2, 7, 40])
def test_the_secular_equation_gives_the_full_matrix_spectrum(size):
    for rho in [-3.0, -1e-3, 1e-3, 1.0, 1e4]:
        rng = np.random.default_rng(size)
        diagonal = 5 * rng.standard_normal(size)
        w = rng.standard_normal(size) * 10.0 ** rng.uniform(-8, 0, size)
        w[: size // 3] *= 1e-20
        found = secular_spectrum(diagonal, w, rho)
        matrix = np.diag(diagonal) + rho * np.outer(w, w)
        rounding = 50 * size * EPS * np.abs(matrix).max()
        basis = found.basis
        np.testing.assert_allclose(np.sort(found.values), np.linalg.eigvalsh(matrix), rtol=0, atol=rounding)
        np.testing.assert_allclose(matrix @ basis, basis * found.values, rtol=0, atol=rounding)
        np.testing.assert_allclose(basis.T @ basis, np.eye(size), rtol=0, atol=50 * size * EPS)
        np.testing.assert_allclose(np.abs(found.turned[0]), np.abs(w @ basis), rtol=0, atol=rounding)


def assert_spectrum(diagonal, w, rho):
    found = np.sort(secular_spectrum(diagonal, w, rho).values)
    matrix = np.diag(diagonal) + rho * np.outer(w, w)
    rounding = 50 * len(w) * EPS * np.abs(matrix).max()
    np.testing.assert_allclose(found, np.linalg.eigvalsh(matrix), rtol=0, atol=rounding)


@pytest.mark.parametrize("size", [1, 2, 7, 40])
def test_the_roots_are_found_in_a_dozen_steps(monkeypatch, size):
    # Halving brackets of the size of the gaps would leave 1 / 4096 of them; the interpolation converges quadratically.
    interpolate, calls = spectrum._root, []
    monkeypatch.setattr(spectrum, "_root", lambda *numbers: calls.append(numbers) or interpolate(*numbers))
    for rho in (-3.0, -1e-3, 1e-3, 1.0, 1e4):
        for seed in range(5):
            rng = np.random.default_rng(seed)
            del calls[:]
            assert_spectrum(5 * rng.standard_normal(size), rng.standard_normal(size), rho)
            # The first one is the guess.
            assert len(calls) <= 1 + 12


def test_the_interpolation_has_its_root_between_its_poles():
    for pole in [-2.0, -1e-6, 0.5, 3.0]:
        # c + s / (0 - x) + t / (pole - x) with weights s, t > 0, multiplied out.
        for c in (-4.0, -1e-9, 0.0, 1e-9, 4.0):
            s, t = 0.7, 2.5
            x = spectrum._root(*(np.array([number]) for number in (c, c * pole + s + t, s * pole)))[0]
            assert 0 < x / pole < 1
            assert c * x * (x - pole) == pytest.approx(s * (x - pole) + t * x, abs=1e-13)


@pytest.mark.parametrize("sign", [1, -1])
def test_gaps_and_couplings_of_every_size_have_their_roots_found(sign):
    for seed in range(100):
        rng = np.random.default_rng(seed)
        size = rng.integers(2, 30)
        diagonal, w = np.cumsum(10.0 ** rng.uniform(-6, 2, size)), 10.0 ** rng.uniform(-6, 2, size)
        assert_spectrum(diagonal, w, sign * 10.0 ** rng.uniform(-4, 4))


def test_a_last_root_at_the_end_of_its_bracket_is_found():
    # The last root is d_k + rho |w|^2 to rounding, so that rounding may put it beyond.
    for seed in range(200):
        rng = np.random.default_rng(seed)
        first, gap = rng.uniform(1, 100), 10.0 ** rng.uniform(-6, -3)
        w = np.array([10.0 ** rng.uniform(-7, -5), rng.uniform(1, 100)])
        assert_spectrum(np.array([first, first + gap]), w, 10.0 ** rng.uniform(-4, 0))


def test_small_differences_keep_the_vectors_orthogonal():
    diagonal = np.array([1.0, 1 + 1e-12, 1 + 3e-12, 2.0])
    found = secular_spectrum(diagonal, np.array([0.5, 0.4, 0.3, 0.6]), 0.7)
    np.testing.assert_allclose(found.basis.T @ found.basis, np.eye(4), rtol=0, atol=1e-14)


def test_coinciding_entries_are_left_to_the_full_matrix():
    diagonal, w = np.ones(120), np.linspace(0.1, 1, 120)
    assert secular_spectrum(diagonal, w, 1.0) is None
    found = spectrum_of(diagonal, w[None, :], np.ones(1), 1.0)
    assert found.values[-1] == pytest.approx(1 + w @ w)


def test_divided_differences_of_exp_near_and_far():
    logs = np.array([0.0, 1e-9, 1e-4, 2.0, -800.0])
    found = divided_differences(logs)
    assert found[0, 1] == pytest.approx(1.0, abs=1e-8)
    assert found[0, 2] == pytest.approx(np.expm1(1e-4) / 1e-4, rel=1e-12)
    assert found[0, 3] == pytest.approx(np.expm1(2.0) / 2, rel=1e-14)
    assert found[0, 4] == pytest.approx(1 / 800)
    assert divided_differences(np.array([0.0, 5e-8]))[0, 1] == pytest.approx(np.expm1(5e-8) / 5e-8, rel=1e-14)
    np.testing.assert_array_equal(found, found.T)
