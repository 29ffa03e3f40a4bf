"""The largest eigenpairs of a symmetric operator that is known by its products with blocks of columns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.solvers.geometry.stiefel import outside, require_finite, with_fixed_signs

# Columns beyond those wanted: they carry the eigenvectors that stand next, whose distance sets the pace.
_GUARD = 6
# The space is cut back to its best columns when it holds this many blocks.
_MOST_BLOCKS = 6
# Where the wanted eigenvalues end in a tie or a continuum no number of products tells its vectors apart.
_MOST_PRODUCTS = 60
# Guesses may span eigenvectors that are not the largest: random columns need some products to show those.
_LEAST_PRODUCTS = 3
# A direction that orthogonalisation leaves with this share of its length is rounding.
_DEPENDENT = 1e-6


def largest_eigenpairs(
    applied: Callable[[FloatArray], FloatArray],
    n_rows: int,
    count: int,
    *,
    tolerance: float,
    start: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return the ``count`` largest eigenvalues of A, descending, and orthonormal eigenvectors U with fixed signs.

    ``applied`` maps V (n x c) to A V. It ends when |A u - lambda u| <= tolerance |A| for each of them, or after 60
    products with what it has: an eigenvalue then errs by at most |A u - lambda u|. ``start`` (n x c) are guesses of
    eigenvectors. Block Lanczos with restarts at Ritz vectors, each block made orthogonal to all that are held.

    Raises ``InputError`` where a product is not finite.

    Source: Golub, Underwood, "The block Lanczos method for computing eigenvalues", 1977; Stathopoulos, Saad, Wu,
    "Dynamic thick restarting of the Davidson and the implicitly restarted Arnoldi methods", 1998.
    """
    width = min(count + _GUARD, n_rows)
    most = min(_MOST_BLOCKS * width, n_rows)
    # Columns are contiguous, so that the first of them are.
    basis, images = (np.empty((n_rows, most), order="F") for _ in range(2))
    form = np.empty((most, most))
    fresh, size = _orthonormal(_guesses(start, n_rows, width)), 0
    for product in range(1, _MOST_PRODUCTS + 1):
        image = applied(fresh)
        require_finite(image)
        grown = size + fresh.shape[1]
        basis[:, size:grown], images[:, size:grown] = fresh, image
        form[:grown, size:grown] = basis[:, :grown].T @ image
        form[size:grown, :size] = form[:size, size:grown].T
        size = grown
        values, vectors = _descending(form[:size, :size])
        ritz = basis[:, :size] @ vectors[:, :width]
        residual = images[:, :size] @ vectors[:, :width] - ritz * values[:width]
        open_ = np.linalg.norm(residual, axis=0) > tolerance * np.abs(values).max()
        if product >= _LEAST_PRODUCTS and not open_[:count].any():
            break
        if size + np.count_nonzero(open_) > most:
            size = min(max(most // 2, width), size)
            basis[:, :size], images[:, :size] = (held[:, :grown] @ vectors[:, :size] for held in (basis, images))
            form[:size, :size] = np.diag(values[:size])
        fresh = _orthonormal(residual[:, open_], basis[:, :size])[:, : most - size]
        if fresh.shape[1] == 0:
            break
    return values[:count].copy(), with_fixed_signs(ritz[:, :count])


def _guesses(start: FloatArray | None, n_rows: int, width: int) -> FloatArray:
    """Return ``width`` columns: the guesses, and random ones that leave no eigenvector out."""
    known = np.empty((n_rows, 0)) if start is None else start[:, :width]
    random = np.random.default_rng(0).standard_normal((n_rows, width - known.shape[1]))
    return np.hstack([known, random])


def _descending(form: FloatArray) -> tuple[FloatArray, FloatArray]:
    values, vectors = np.linalg.eigh(0.5 * (form + form.T))
    return values[::-1], vectors[:, ::-1]


def _orthonormal(columns: FloatArray, basis: FloatArray | None = None) -> FloatArray:
    """Return orthonormal columns for the span of ``columns`` outside that of ``basis``, as many as there are."""
    lengths = np.linalg.norm(columns, axis=0)
    columns = columns[:, lengths > 0] / lengths[lengths > 0]
    if basis is not None:
        columns = outside(basis, columns)
    factor, triangle = np.linalg.qr(columns)
    factor = factor[:, np.abs(np.diagonal(triangle)) > _DEPENDENT]
    return factor if basis is None else np.linalg.qr(outside(basis, factor))[0]
