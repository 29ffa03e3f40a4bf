"""Every way to the leading eigenvectors finds the same subspace, also where eigenvalues coincide."""

import numpy as np
import pytest

from kdrbench.solvers.geometry import stiefel
from kdrbench.solvers.geometry.stiefel import leading_eigenvectors, outside, subspace_turn

SIZE = 60


def matrix_of(values):
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((SIZE, SIZE)))[0]
    matrix = (turn[:, : len(values)] * values) @ turn[:, : len(values)].T
    return 0.5 * (matrix + matrix.T), turn[:, : len(values)]


@pytest.fixture(params=["lapack", "lanczos"])
def way(request, monkeypatch):
    if request.param == "lanczos":
        monkeypatch.setattr(stiefel, "_LANCZOS_SIZE", SIZE - 1)
    return request.param


@pytest.mark.parametrize("factor", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize(
    "values",
    [
        np.linspace(10, -10, SIZE),
        np.r_[9.0, 8, 7, np.zeros(SIZE - 3)],
        np.r_[-np.ones(SIZE - 3), 3, 2, 1],
        # A Krylov space holds one copy of the eigenvalue that two leading ones share.
        np.r_[9.0, 9, 5, np.linspace(4, -4, SIZE - 3)],
    ],
    ids=["spread", "few", "negative", "twice"],
)
def test_they_are_those_of_the_whole_decomposition(way, values, factor):
    matrix, vectors = matrix_of(factor * values)
    found, columns = leading_eigenvectors(matrix, 3)
    order = np.argsort(-values, kind="stable")[:3]
    np.testing.assert_allclose(found, factor * values[order], rtol=1e-9)
    assert subspace_turn(vectors[:, order], columns) <= 1e-6
    np.testing.assert_allclose(columns.T @ columns, np.eye(3), atol=1e-12)
    assert (columns[np.abs(columns).argmax(axis=0), range(3)] > 0).all()


def weighted_most(tied, count):
    """Of a tied space the columns with most weight 1/1, 1/2, 1/3, ... on the axes: the rule, with a whole eigh."""
    form = tied.T @ (tied / np.arange(1.0, SIZE + 1)[:, None])
    return tied @ np.linalg.eigh(0.5 * (form + form.T))[1][:, ::-1][:, :count]


@pytest.mark.parametrize(
    "values", [np.r_[9.0, 5, 5, 5, 5, np.linspace(4, -4, SIZE - 5)], np.r_[2.0, np.ones(SIZE - 1)]]
)
def test_of_a_tie_those_on_the_first_axes_are_taken(way, values):
    matrix, vectors = matrix_of(values)
    _, columns = leading_eigenvectors(matrix, 3)
    tied = vectors[:, values == values[2]]
    expected = np.column_stack([vectors[:, 0], weighted_most(tied, 2)])
    assert subspace_turn(expected, columns) <= 1e-6


@pytest.mark.parametrize("values", [[9.0, 5.0], [9.0, 5.0, -4.0], [9.0], [-9.0]])
@pytest.mark.parametrize("low_rank", [True, False])
def test_beyond_the_rank_the_null_space_is_taken_by_the_same_rule(monkeypatch, values, low_rank):
    monkeypatch.setattr(stiefel, "_LOW_RANK_SIZE", SIZE if low_rank else SIZE + 1)
    matrix, vectors = matrix_of(np.array(values))
    found, columns = leading_eigenvectors(matrix, 4)
    positive = np.array(values) > 0
    null = np.linalg.svd(outside(vectors, np.eye(SIZE)))[0][:, : SIZE - len(values)]
    expected = np.column_stack([vectors[:, positive], weighted_most(null, 4 - positive.sum())])
    assert subspace_turn(expected, columns) <= 1e-6
    np.testing.assert_allclose(found, np.r_[np.array(values)[positive], np.zeros(4 - positive.sum())], atol=1e-12)


@pytest.mark.parametrize("values", [(9.0, 8, 7, 6), (9.0, 9, 5, 4), (9.0, 9, 9, 4), (9.0, 8, 8, 4)])
def test_lanczos_finds_the_leading_ones_or_says_that_it_missed_a_copy(values):
    matrix, _ = matrix_of(np.r_[values, np.linspace(3, -4, SIZE - 4)])
    found = stiefel._by_lanczos(matrix, 2, float(np.abs(matrix).sum(axis=0).max()))
    apart = len(set(values[:3])) == 3
    # Where eigenvalues are apart none is missed, so nothing is left to a slower way.
    assert found is not None or not apart
    if found is not None:
        np.testing.assert_allclose(found[0], sorted(values[:3]), rtol=1e-9)


def test_only_columns_of_eigenvalues_that_tie_are_turned_within_their_space():
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((SIZE, 6)))[0]
    turned = stiefel._untied_within(np.array([5.0, 4, 4, 4, 3, 3]), basis, 1e-9)
    np.testing.assert_array_equal(turned[:, 0], basis[:, 0])
    weights = 1.0 / np.arange(1.0, SIZE + 1)
    for space in (slice(1, 4), slice(4, 6)):
        assert subspace_turn(basis[:, space], turned[:, space]) <= 1e-7
        inner = turned[:, space].T @ (weights[:, None] * turned[:, space])
        # Those with most weight on the first axes come first, and no turn would give the first one more.
        np.testing.assert_allclose(inner, np.diag(np.sort(np.diag(inner))[::-1]), atol=1e-12)


@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e6])
def test_a_tie_is_one_whatever_the_units_of_the_matrix(way, factor):
    matrix, vectors = matrix_of(factor * np.r_[9.0, 9, 5, np.linspace(4, -4, SIZE - 3)])
    columns = leading_eigenvectors(matrix, 3)[1]
    assert subspace_turn(vectors[:, :2], columns[:, :2]) <= 1e-6
    inner = columns[:, :2].T @ (columns[:, :2] / np.arange(1.0, SIZE + 1)[:, None])
    np.testing.assert_allclose(inner, np.diag(np.sort(np.diag(inner))[::-1]), atol=1e-10)
