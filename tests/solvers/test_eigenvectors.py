"""Leading eigenvectors of large matrices of low rank, as Phi_0 of few classes is, against all eigenvectors."""

import numpy as np
import pytest

from kdrbench.solvers.geometry import stiefel
from kdrbench.solvers.geometry.stiefel import leading_eigenvectors


def of_rank(values, size=300, seed=0):
    basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((size, len(values))))[0]
    return (basis * values) @ basis.T, basis


def subspace(columns):
    return columns @ columns.T


@pytest.fixture
def eigensolvers(monkeypatch):
    """Names of the dense eigensolvers called."""
    called = []
    for module, name in ((np.linalg, "eigh"), (stiefel.scipy.linalg, "eigh")):
        plain = getattr(module, name)

        def watched(matrix, *args, plain=plain, **options):
            if len(matrix) > 100:
                called.append(plain.__module__)
            return plain(matrix, *args, **options)

        monkeypatch.setattr(module, name, watched)
    return called


@pytest.mark.parametrize(
    "values",
    [[9.0, 5.0, 3.0], [9.0, 5.0, -4.0], [9.0, 1e-3, -20.0, -30.0], [-1.0, -2.0], [7.0] * 4, []],
    ids=["fewer than wanted", "some negative", "small ones", "none positive", "just enough, tied", "zero"],
)
def test_the_few_eigenvalues_are_found_and_ties_at_zero_lie_on_the_first_axes(values, eigensolvers, monkeypatch):
    matrix, _ = of_rank(np.array(values))
    found, vectors = leading_eigenvectors(matrix, 4)
    assert eigensolvers == []
    monkeypatch.setattr(stiefel, "_LOW_RANK_SIZE", 1000)
    all_values, all_vectors = leading_eigenvectors(matrix, 4)
    assert eigensolvers != []
    scale = max(np.abs(values), default=1.0)
    np.testing.assert_allclose(found, all_values, atol=1e-12 * scale)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-13)
    np.testing.assert_allclose(subspace(vectors), subspace(all_vectors), atol=1e-9)


def test_more_eigenvalues_than_wanted_are_left_to_the_dense_solver(eigensolvers):
    values = np.array([9.0, 8.0, 7.0, 6.0, 5.0])
    matrix, basis = of_rank(values)
    found, vectors = leading_eigenvectors(matrix, 4)
    assert eigensolvers != []
    np.testing.assert_allclose(found, values[:4], rtol=1e-12)
    np.testing.assert_allclose(subspace(vectors), subspace(basis[:, :4]), atol=1e-12)


def test_a_small_full_rank_part_is_seen(eigensolvers):
    # Larger than what counts as a tie, but far below the three eigenvalues.
    matrix, _ = of_rank(np.array([9.0, 5.0, 3.0]))
    small = np.diag(np.linspace(0.0, 1e-6, len(matrix)))
    found, vectors = leading_eigenvectors(matrix + small, 4)
    assert eigensolvers != []
    assert found[3] > 9e-7
    np.testing.assert_allclose((matrix + small) @ vectors, vectors * found, atol=1e-13)


def test_rounding_does_not_choose_the_null_vectors():
    matrix, _ = of_rank(np.array([9.0, 5.0, 3.0]))
    first = leading_eigenvectors(matrix, 6)[1]
    noise = 1e-15 * np.random.default_rng(1).standard_normal(matrix.shape)
    np.testing.assert_allclose(leading_eigenvectors(matrix + noise + noise.T, 6)[1], first, atol=1e-9)
