"""Equal eigenvalues: a rule chooses among their eigenvectors, not rounding, the library's routine or its threads."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kdrbench.evaluation.row_space import row_space_of, spanning
from kdrbench.solvers.geometry import stiefel
from kdrbench.solvers.geometry.stiefel import leading_eigenvectors, with_fixed_signs
from processors import core_types

# Eigenvalues, and how many eigenvectors are asked for: ties within them, at the cut, and both.
TIED = {
    "two equal ones among those asked for": ([5.0, 3.0, 3.0, 1.0, 0.5, -1.0], 4),
    "all equal": ([2.0] * 6, 3),
    "at the cut": ([5.0, 1.0, 1.0, 1.0, 0.0, -2.0], 2),
    "zero at the cut, equal ones above it": ([4.0, 4.0, 4.0, 0.0, 0.0, 0.0], 5),
    "two groups": ([7.0, 7.0, 5.0, 5.0, 0.0, -3.0], 4),
}


def matrix_of(values, size, rng, spaces_only):
    """A matrix with these eigenvalues and zeros; with ``spaces_only`` its tied spaces are turned within themselves."""
    values = np.concatenate([values, np.zeros(size - len(values))])
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((size, size)))[0]
    if spaces_only:
        for value in np.unique(values):
            space = np.flatnonzero(values == value)
            turn = np.linalg.qr(rng.standard_normal((len(space), len(space))))[0]
            basis[:, space] = basis[:, space] @ turn
    matrix = (basis * values) @ basis.T
    return 0.5 * (matrix + matrix.T)


@pytest.mark.parametrize(
    ("name", "size"), [*[(name, size) for name in TIED for size in (6, 250)], ("two groups", 1600)]
)
def test_a_turn_of_the_tied_spaces_changes_no_column(name, size):
    # All eigenvalues, those of few that are not zero, and Lanczos.
    (values, count), rng = TIED[name], np.random.default_rng(1)
    found = [leading_eigenvectors(matrix_of(values, size, rng, turned), count)[1] for turned in (False, True)]
    np.testing.assert_allclose(*found, atol=1e-9)


def test_without_a_tie_the_columns_are_the_library_s(monkeypatch):
    values = np.array([5.0, 3.0, 2.5, 1.0, 0.5, -1.0])
    matrix = matrix_of(values, 6, None, False)
    before = np.linalg.eigh(matrix)[1][:, ::-1][:, :4]
    monkeypatch.setattr(stiefel, "_heaviest_on_first_axes", None)
    found, vectors = leading_eigenvectors(matrix, 4)
    np.testing.assert_allclose(found, values[:4], rtol=1e-12)
    np.testing.assert_allclose(np.abs(vectors.T @ before), np.eye(4), atol=1e-12)


def test_the_heaviest_on_the_first_axes_comes_first():
    # In the plane of the first and third axis the form is diag(1, 1/3): its own axes, by falling weight.
    _, vectors = leading_eigenvectors(np.diag([2.0, 1.0, 2.0, 0.0]), 2)
    np.testing.assert_allclose(vectors, np.eye(4)[:, [0, 2]], atol=1e-12)


def test_entries_of_equal_magnitude_share_one_sign_rule():
    column = np.array([[-1.0, 1.0]]).T / np.sqrt(2.0)
    for change in (-1e-15, 0.0, 1e-15):
        np.testing.assert_allclose(
            with_fixed_signs(column + np.array([[0.0], [change]]))[:, 0], [0.5**0.5, -(0.5**0.5)]
        )


def test_equal_axes_outside_the_row_space_are_taken_in_their_order():
    # Each feature twice: both axes of a pair are as far from the row space.
    once = np.random.default_rng(0).standard_normal((40, 100))
    features = np.repeat(once, 2, axis=1)
    inside = row_space_of(features)
    found = []
    for seed in range(3):
        noise = 1e-14 * np.random.default_rng(seed).standard_normal(inside.basis.shape)
        found.append(spanning(type(inside)(inside.basis + noise, inside.features), np.zeros((200, 2))).basis[:, 40:])
    for other in found[1:]:
        np.testing.assert_allclose(found[0] @ found[0].T, other @ other.T, atol=1e-9)


def test_starts_agree_between_processors_and_threads(tmp_path):
    types = core_types()
    script = Path(__file__).parents[1] / "support" / "tied_starts.py"
    found = []
    for number, (core_type, threads) in enumerate({(types[0], "1"), (types[-1], "1"), (types[-1], "2")}):
        out = tmp_path / f"{number}.npz"
        chosen = {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        chosen |= {"OPENBLAS_CORETYPE": core_type} if core_type else {}
        subprocess.run([sys.executable, script, out], env=os.environ | chosen, check=True)
        with np.load(out) as arrays:
            found.append({name: arrays[name] for name in arrays.files})
    for other in found[1:]:
        for name, first in found[0].items():
            np.testing.assert_allclose(first, other[name], rtol=1e-9, atol=1e-9, err_msg=name)
