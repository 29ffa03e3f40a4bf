"""More features than samples, or features that are zero: the same problem in coordinates of the row space.

With X = R'Q', Q an orthonormal basis of the row space (d x r), K of XW depends on Q'W alone. For any W there are
orthonormal columns N outside the row space, at most q + 1 of them, with which B = [Q, N] spans W and one null direction
more: so the problem on XB = [R', 0], (r + q + 1) features, has the same values, the same stationary points and the same
certificates, and W = B V. Null directions are kept because they may beat negative eigenvalues of Phi.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from kdrbench.arrays import Device, HostRows, contiguous, row_chunks
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import RowSpace

# Below this share of the largest, diagonal entries of R are rounding.
_RANK = 1e-12
# Squared distances of unit axes from a space that differ by less are equal.
_EQUAL = 1e-10
# Coordinates of fewer than this share of the features are worth changing to.
_WORTH = 0.9
_FEWEST_FEATURES = 64


def row_space_of(features: FloatArray) -> RowSpace | None:
    """Return Q (d x r) and X Q, or ``None`` where it would save little."""
    n_samples, n_features = features.shape
    most = int(_WORTH * n_features)
    if n_features < _FEWEST_FEATURES or (used := _used(features, most if n_samples > most else n_features)) is None:
        return None
    device = Device.of(features)
    if len(used) <= n_samples:
        axes = np.zeros((n_features, len(used)))
        axes[used, np.arange(len(used))] = 1.0
        return RowSpace(axes, device.xp.take(features, device.up(used), axis=1))
    if not device.is_host:
        # Smaller than d x d: the coordinates, which ties of a start depend on, are those of numpy.
        space = row_space_of(HostRows(features)[:])
        return space and RowSpace(space.basis, device.up(space.features))
    # With pivots, so that the basis ends where the rank does: what follows would be rounding's choice.
    within, triangle, pivots = scipy.linalg.qr(features[:, used].T, mode="economic", pivoting=True, check_finite=False)
    sizes = np.abs(np.diagonal(triangle))
    rank = int(np.count_nonzero(sizes > _RANK * sizes[0]))
    basis, inside = np.zeros((n_features, rank)), np.empty((n_samples, rank))
    basis[used] = within[:, :rank]
    inside[pivots] = triangle[:rank].T
    return RowSpace(basis, inside)


def _used(features: FloatArray, most: int) -> NDArray[np.intp] | None:
    """Return the features that are not zero everywhere; ``None`` for none of them, or more than ``most``."""
    device, used = Device.of(features), np.zeros(features.shape[1], dtype=bool)
    for rows in row_chunks(*features.shape):
        used |= device.down(device.xp.any(features[rows, :] != 0.0, axis=0)).astype(bool)
        if np.count_nonzero(used) > most:
            return None
    return np.flatnonzero(used) if used.any() else None


def spanning(inside: RowSpace, projection: FloatArray) -> RowSpace | None:
    """Return coordinates whose basis spans Q (that of ``inside``), W (``projection``) and a null direction.

    ``None`` where they would be nearly as many as there are features.
    """
    n_features, rank = inside.basis.shape
    if rank + projection.shape[1] + 1 > _WORTH * n_features:
        return None
    beyond = _outside(inside.basis, projection)
    # Samples have nothing outside their row space.
    shape, basis = (inside.features.shape[0], beyond.shape[1]), np.hstack([inside.basis, beyond])
    device = Device.of(inside.features)
    nothing = contiguous(device.zeros(*shape), inside.features.dtype)
    return RowSpace(basis, device.xp.concat([inside.features, nothing], axis=1))


def _outside(within: FloatArray, projection: FloatArray) -> FloatArray:
    """Return q + 1 orthonormal columns orthogonal to Q, among them the part of W that is outside Q."""
    rest = projection - within @ (within.T @ projection)
    left, sizes, _ = np.linalg.svd(rest, full_matrices=False)
    columns = left[:, sizes > np.sqrt(_RANK)]
    while columns.shape[1] <= projection.shape[1]:
        # The axis that is farthest from what is spanned; rounding does not choose among equal ones.
        spanned = np.einsum("ij,ij->i", within, within) + np.einsum("ij,ij->i", columns, columns)
        axis = np.zeros((len(within), 1))
        axis[int(np.argmax(spanned <= spanned.min() + _EQUAL))] = 1.0
        columns = np.hstack([columns, axis])
        for _ in range(2):
            column = columns[:, -1:]
            column = column - within @ (within.T @ column) - columns[:, :-1] @ (columns[:, :-1].T @ column)
            columns[:, -1:] = column / np.linalg.norm(column)
    # Once more against Q, for what cancellation has left.
    return np.linalg.qr(columns - within @ (within.T @ columns))[0]
