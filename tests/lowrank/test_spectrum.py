import numpy as np
import pytest

from kdrbench.lowrank.spectrum import divided_differences, spectrum_of


@pytest.mark.parametrize("size", [1, 3, 80])
def test_spectra_of_one_and_two_rows_are_the_full_matrix_ones(size):
    rng = np.random.default_rng(size)
    diagonal, rows = 3 * rng.standard_normal(size), rng.standard_normal((2, size))
    for signs in (np.array([1.0, -1.0]), np.ones(1)):
        found = spectrum_of(diagonal, rows[: len(signs)], signs, 0.3)
        matrix = np.diag(diagonal) + 0.3 * (rows[: len(signs)].T * signs) @ rows[: len(signs)]
        np.testing.assert_allclose(matrix @ found.basis, found.basis * found.values, atol=1e-10)
        np.testing.assert_allclose(found.basis.T @ found.basis, np.eye(size), atol=1e-12)
        np.testing.assert_allclose(found.turned, rows[: len(signs)] @ found.basis, atol=1e-10)


def test_divided_differences_of_exp_near_and_far():
    logs = np.array([0.0, 1e-9, 1e-4, 2.0, -800.0])
    found = divided_differences(logs)
    assert found[0, 1] == pytest.approx(1.0, abs=1e-8)
    assert found[0, 2] == pytest.approx(np.expm1(1e-4) / 1e-4, rel=1e-12)
    assert found[0, 3] == pytest.approx(np.expm1(2.0) / 2, rel=1e-14)
    assert found[0, 4] == pytest.approx(1 / 800)
    assert divided_differences(np.array([0.0, 5e-8]))[0, 1] == pytest.approx(np.expm1(5e-8) / 5e-8, rel=1e-14)
    np.testing.assert_array_equal(found, found.T)
