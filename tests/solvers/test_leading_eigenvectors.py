"""Leading eigenvectors: every way finds the same columns, and a rule, not rounding, chooses among equal eigenvalues."""

import numpy as np
import pytest

from kdrbench.solvers.geometry import stiefel
from kdrbench.solvers.geometry.stiefel import leading_eigenvectors, outside, subspace_turn

SIZE = 60
# Eigenvalues, and how many eigenvectors are asked for: ties within them, at the cut, and both.
TIED = {
    "two equal ones among those asked for": ([5.0, 3.0, 3.0, 1.0, 0.5, -1.0], 4),
    "all equal": ([2.0] * 6, 3),
    "at the cut": ([5.0, 1.0, 1.0, 1.0, 0.0, -2.0], 2),
    "zero at the cut, equal ones above it": ([4.0, 4.0, 4.0, 0.0, 0.0, 0.0], 5),
    "two groups": ([7.0, 7.0, 5.0, 5.0, 0.0, -3.0], 4),
}


def matrix_of(values, size=SIZE, turned_by=None):
    """A matrix with these eigenvalues and zeros, and the eigenvectors of ``values``.

    A generator turns the space of each value within itself.
    """
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((size, size)))[0]
    full = np.concatenate([values, np.zeros(size - len(values))])
    for value in np.unique(full) if turned_by else ():
        space = np.flatnonzero(full == value)
        basis[:, space] @= np.linalg.qr(turned_by.standard_normal((len(space), len(space))))[0]
    matrix = (basis * full) @ basis.T
    return 0.5 * (matrix + matrix.T), basis[:, : len(values)]


def weighted_most(tied, count):
    """Of a tied space the columns with most weight 1/1, 1/2, 1/3, ... on the axes: the rule, with a whole eigh."""
    form = tied.T @ (tied / np.arange(1.0, len(tied) + 1)[:, None])
    return tied @ np.linalg.eigh(0.5 * (form + form.T))[1][:, ::-1][:, :count]


@pytest.fixture(params=["lapack", "lanczos"])
def way(request, monkeypatch):
    if request.param == "lanczos":
        monkeypatch.setattr(stiefel, "_LANCZOS_SIZE", SIZE - 1)
    return request.param


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
def test_they_are_those_of_the_whole_decomposition(way, values):
    for factor in (1e-8, 1.0, 1e8):
        matrix, vectors = matrix_of(factor * values)
        found, columns = leading_eigenvectors(matrix, 3)
        order = np.argsort(-values, kind="stable")[:3]
        np.testing.assert_allclose(found, factor * values[order], rtol=1e-9)
        assert subspace_turn(vectors[:, order], columns) <= 1e-6
        np.testing.assert_allclose(columns.T @ columns, np.eye(3), atol=1e-12)
        assert (columns[np.abs(columns).argmax(axis=0), range(3)] > 0).all()


@pytest.mark.parametrize(
    "values", [np.r_[9.0, 5, 5, 5, 5, np.linspace(4, -4, SIZE - 5)], np.r_[2.0, np.ones(SIZE - 1)]]
)
def test_of_a_tie_those_on_the_first_axes_are_taken(way, values):
    for factor in (1e-6, 1.0, 1e6):
        matrix, vectors = matrix_of(factor * values)
        _, columns = leading_eigenvectors(matrix, 3)
        expected = np.column_stack([vectors[:, 0], weighted_most(vectors[:, values == values[2]], 2)])
        assert subspace_turn(expected, columns) <= 1e-6


# All eigenvalues, those of few that are not zero, and Lanczos.
@pytest.mark.parametrize("size", [6, 250, pytest.param(1600, marks=pytest.mark.whole)])
def test_a_turn_of_the_tied_spaces_changes_no_column(size):
    for values, count in TIED.values():
        found = [
            leading_eigenvectors(matrix_of(values, size, turned_by)[0], count)[1]
            for turned_by in (None, np.random.default_rng(1))
        ]
        np.testing.assert_allclose(*found, atol=1e-9)


@pytest.mark.parametrize(
    "values",
    [[9.0, 5.0, 3.0], [9.0, 5.0, -4.0], [9.0, 1e-3, -20.0, -30.0], [-1.0, -2.0], [7.0] * 4, []],
    ids=["fewer than wanted", "some negative", "small ones", "none positive", "just enough, tied", "zero"],
)
def test_beyond_the_rank_the_null_space_follows_the_same_rule(values, monkeypatch):
    matrix, vectors = matrix_of(values, 300)
    positive, scale = np.array(values) > 0, max(np.abs(values), default=1.0)
    null = np.linalg.svd(outside(vectors, np.eye(300)))[0][:, : 300 - len(values)]
    expected = np.column_stack([vectors[:, positive], weighted_most(null, 4 - positive.sum())])
    assert stiefel._of_low_rank(matrix, 4, 1e-10 * scale)
    for smallest in (stiefel._LOW_RANK_SIZE, 301):
        monkeypatch.setattr(stiefel, "_LOW_RANK_SIZE", smallest)
        found, columns = leading_eigenvectors(matrix, 4)
        assert subspace_turn(expected, columns) <= 1e-6
        np.testing.assert_allclose(columns.T @ columns, np.eye(4), atol=1e-12)
        wanted = np.r_[np.array(values)[positive], np.zeros(4 - positive.sum())]
        np.testing.assert_allclose(found, wanted, atol=1e-12 * scale)
