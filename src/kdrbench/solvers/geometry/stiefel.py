"""Geometry of the Stiefel manifold {W : W'W = I} that solvers and certificates share.

The Cayley transform as a curve on the Stiefel manifold, by its low-rank form.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray

# Eigenvalues this close, relative to the norm of the matrix, are one.
_TIE = 1e-10
# Converged, for every solver: relative stationarity of at most this. A gradient evaluated again differs by rounding.
STATIONARY, _ROOM = 1e-6, 1.01
# Above this size Lanczos finds a few eigenvectors sooner than LAPACK where the gap is wide, and where it is not, these
# many restarts are not much beside LAPACK's time.
_LANCZOS_SIZE = 1500
_MOST_RESTARTS = 20
# From this size on it is worth looking whether the matrix has few eigenvalues that are not zero.
_LOW_RANK_SIZE = 200
_NOT_FINITE = "the kernel or its slope is not finite on these samples: scale the features, or choose another kernel"
_ROUNDING = 1e-13


def require_finite(*values: float | FloatArray) -> None:
    """Raise ``InputError`` when something that a kernel has made holds NaN or infinite values."""
    if not all(np.isfinite(value).all() for value in values):
        raise InputError(_NOT_FINITE)


def rounding_of(value: float) -> float:
    """Return a generous bound on the rounding of F where it has about this value."""
    return 1e3 * float(np.finfo(float).eps) * abs(value)


def feasibility_error(projection: FloatArray) -> float:
    """Return |W'W - I| in the Frobenius norm."""
    gram = projection.T @ projection
    gram.flat[:: len(gram) + 1] -= 1.0
    return float(np.linalg.norm(gram))


def outside(basis: FloatArray, columns: FloatArray) -> FloatArray:
    """Return the part of each column orthogonal to the basis; twice, for what cancellation leaves behind."""
    for _ in range(2):
        columns = columns - basis @ (basis.T @ columns)
    return columns


def subspace_turn(first: FloatArray, second: FloatArray) -> float:
    """Return the sine of the largest principal angle between the subspaces of two orthonormal d x q arrays."""
    return float(np.linalg.norm(outside(first, second), 2))


def principal_angles_deg(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the principal angles between the spans of two d x q arrays in degrees, ascending."""
    return np.asarray(np.degrees(scipy.linalg.subspace_angles(first, second))[::-1])


def relative_stationarity(projection: FloatArray, gradient: FloatArray) -> float:
    """Return |(I - WW') G| / |G|, which is |(I - WW') Phi W| / |Phi W|; 0 where G vanishes, NaN where it is NaN.

    (I - WW') G is the gradient on the Grassmann manifold, and on the Stiefel manifold: F depends on W only through WW'.
    """
    norm = float(np.linalg.norm(gradient))
    return float(np.linalg.norm(outside(projection, gradient))) / norm if norm != 0.0 else 0.0


def is_stationary(stationarity: float) -> bool:
    """Return whether :func:`relative_stationarity` is small enough for "converged"; NaN is not."""
    return bool(stationarity <= _ROOM * STATIONARY)


def eigenvalues_settled(eigenvalues: FloatArray, previous: FloatArray, tolerance: float) -> bool:
    """Return whether |lambda - previous| is at most ``tolerance`` times |previous|: the papers' stopping test."""
    return bool(np.linalg.norm(eigenvalues - previous) <= tolerance * np.linalg.norm(previous))


def leading_eigenvectors(matrix: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Return the ``count`` largest eigenvalues, descending, and their orthonormal eigenvectors.

    Signs are fixed (:func:`with_fixed_signs`). Where eigenvalues tie, as all those beyond the rank of Gamma do in
    Phi_0, any orthonormal vectors of the tied space would do: those are taken that have most weight on the first axes,
    the heaviest first. So neither the subspace nor its columns depend on rounding, or on the library's routine.

    Raises ``InputError`` for a matrix with NaN or infinite values.
    """
    require_finite(matrix)
    size = matrix.shape[0]
    norm = float(np.abs(matrix).sum(axis=0).max())
    if size >= _LOW_RANK_SIZE and 2 * count + 2 < size and (few := _of_low_rank(matrix, count, _TIE * norm)):
        return few
    pairs = _by_lanczos(matrix, count, norm) if size > _LANCZOS_SIZE and count < size // 10 else None
    if pairs is None:
        wanted = min(count + 1, size)
        pairs = scipy.linalg.eigh(matrix, subset_by_index=(size - wanted, size - 1))
    values, vectors = pairs
    # LAPACK's subset routine may lose eigenvectors where many eigenvalues coincide.
    lost = vectors.shape[1] <= min(count, size - 1)
    if lost or (count < size and values[-count] - values[-count - 1] <= _TIE * norm):
        return _untied(*np.linalg.eigh(matrix), count, _TIE * norm)
    values, vectors = values[::-1][:count], vectors[:, ::-1][:, :count]
    return values.copy(), with_fixed_signs(_untied_within(values, vectors, _TIE * norm))


def _of_low_rank(matrix: FloatArray, count: int, tie: float) -> tuple[FloatArray, FloatArray] | None:
    """Return the ``count`` largest eigenpairs of a matrix with few eigenvalues beyond ``tie``; ``None`` for others.

    Phi_0 of few classes is such a matrix. Its range is found by one product with some columns, which then is checked.
    """
    size = len(matrix)
    # The columns of a cosine transform: independent, and no axis is left out.
    probes = np.cos(np.outer(np.arange(size) + 0.5, np.arange(1.0, count + 3)) * (np.pi / size))
    left, sizes, _ = np.linalg.svd(matrix @ probes, full_matrices=False)
    basis = left[:, sizes > tie]
    if basis.shape[1] > count:
        return None
    image = matrix @ basis
    if np.linalg.norm(matrix - image @ basis.T) > tie:
        return None
    inner = basis.T @ image
    values, turned = np.linalg.eigh(0.5 * (inner + inner.T))
    kept = np.abs(values) > tie
    values, basis = values[kept], basis @ turned[:, kept]
    above = values > tie
    missing = count - int(np.count_nonzero(above))
    try:
        null = _null_vectors(basis, missing)
    except ArpackError:
        return None
    largest = _untied_within(values[above][::-1], basis[:, above][:, ::-1], tie)
    vectors = np.hstack([largest, null])
    return np.concatenate([values[above][::-1], np.zeros(missing)]), with_fixed_signs(vectors)


def _null_vectors(basis: FloatArray, count: int) -> FloatArray:
    """Return ``count`` orthonormal columns outside the basis, those that have most weight on the first axes."""
    size = len(basis)
    if count == 0:
        return basis[:, :0]
    weights = 1.0 / np.arange(1.0, size + 1)

    def weigh(column: FloatArray) -> FloatArray:
        return outside(basis, weights[:, None] * outside(basis, column.reshape(-1, 1)))

    operator = LinearOperator((size, size), matvec=weigh, dtype=float)
    vectors = eigsh(operator, k=count, which="LA", v0=np.cos(np.arange(1.0, size + 1)))[1]
    return orthonormalised(outside(basis, vectors[:, ::-1]))


def _by_lanczos(matrix: FloatArray, count: int, norm: float) -> tuple[FloatArray, FloatArray] | None:
    """Return the ``count`` + 1 largest eigenpairs, ascending; ``None`` where Lanczos has not settled or missed one.

    A Krylov space may hold one copy only of a repeated eigenvalue. So the largest eigenvalue of what is left, when the
    pairs found are taken out, must be the next one. ``norm`` bounds the magnitude of all eigenvalues.
    """
    start = np.cos(np.arange(1.0, len(matrix) + 1))
    try:
        values, vectors = eigsh(matrix, k=count, which="LA", v0=start, maxiter=_MOST_RESTARTS)
        left = LinearOperator(
            matrix.shape, matvec=lambda column: matrix @ column - vectors @ (values * (vectors.T @ column)), dtype=float
        )
        # Shifted, so that an eigenvalue of zero can be found to a relative tolerance.
        shifted = LinearOperator(matrix.shape, matvec=lambda column: left @ column + norm * column, dtype=float)
        apart = outside(vectors, start[:, None])[:, 0]
        following, vector = eigsh(shifted, k=1, which="LA", v0=apart, maxiter=_MOST_RESTARTS)
    except ArpackError:
        return None
    order = np.argsort(values)
    following = following - norm
    if following[0] > values[order[0]] - _TIE * norm:
        return None
    return np.concatenate([following, values[order]]), np.hstack([vector, vectors[:, order]])


def _untied(values: FloatArray, vectors: FloatArray, count: int, tie: float) -> tuple[FloatArray, FloatArray]:
    """Return the ``count`` largest eigenpairs, descending, of all ascending ones; those that tie are fixed."""
    cluster = np.flatnonzero(np.abs(values - values[-count]) <= tie)
    # Eigenvalues above the cluster; the remaining ones are taken from the cluster.
    above = len(values) - 1 - int(cluster[-1])
    largest = _untied_within(values[::-1][:above], vectors[:, ::-1][:, :above], tie)
    chosen = np.hstack([largest, _heaviest_on_first_axes(vectors[:, cluster], count - above)])
    return values[::-1][:count].copy(), with_fixed_signs(chosen)


def _untied_within(values: FloatArray, vectors: FloatArray, tie: float) -> FloatArray:
    """Return the columns, those of eigenvalues that tie (descending ``values``) in the order of their weight."""
    apart = np.flatnonzero(values[:-1] - values[1:] > tie) + 1
    if len(apart) + 1 >= len(values):
        return vectors
    spaces = np.split(vectors, apart, axis=1)
    return np.hstack([_heaviest_on_first_axes(one, one.shape[1]) if one.shape[1] > 1 else one for one in spaces])


def _heaviest_on_first_axes(basis: FloatArray, count: int) -> FloatArray:
    """Return ``count`` orthonormal columns of the basis's span: leading eigenvectors of diag(1, 1/2, 1/3, ...) in it.

    They depend on the span alone, since so does the projector that belongs to it.
    """
    weights = 1.0 / np.arange(1.0, len(basis) + 1)
    weighted = basis.T @ (weights[:, None] * basis)
    last = (basis.shape[1] - count, basis.shape[1] - 1)
    rotation: FloatArray = scipy.linalg.eigh(0.5 * (weighted + weighted.T), subset_by_index=last)[1]
    return basis @ rotation[:, ::-1]


def orthonormalised(columns: FloatArray) -> FloatArray:
    """Return the orthonormal factor of the QR decomposition with a positive diagonal of R."""
    # LAPACK's routines as they are: numpy's checks around them take five times as long as a few columns need.
    packed, reflections, *_ = scipy.linalg.lapack.dgeqrf(columns)
    factor, *_ = scipy.linalg.lapack.dorgqr(packed, reflections)
    return np.ascontiguousarray(factor * np.where(np.diagonal(packed) < 0, -1.0, 1.0))


def with_fixed_signs(columns: FloatArray) -> FloatArray:
    """Return the columns, each with its entry of largest magnitude positive; the first of those of equal magnitude."""
    sizes = np.abs(columns)
    places = (sizes >= (1.0 - _TIE) * sizes.max(axis=0)).argmax(axis=0)
    signs = np.where(columns[places, np.arange(columns.shape[1])] < 0, -1.0, 1.0)
    return np.ascontiguousarray(columns * signs)


class CayleyCurve:
    """Y(tau) = W - tau U (I + tau/2 V'U)^-1 V'W through W with Y'(0) = -A W; U = [G, W], V = [W, -G], A = UV'.

    A point further than 1e-13 off the manifold is orthonormalised.

    Source: Wen and Yin, Mathematical Programming 142, 2013, Lemma 4.
    """

    def __init__(self, point: FloatArray, gradient: FloatArray) -> None:
        self._point, self._identity = point, np.eye(2 * point.shape[1])
        self._left = np.hstack([gradient, point])
        right = np.hstack([point, -gradient])
        self._inner = right.T @ self._left
        self._image = right.T @ point

    def at(self, tau: float) -> FloatArray:
        """Return the feasible point Y(tau)."""
        system = self._identity + 0.5 * tau * self._inner
        point = self._point - tau * (self._left @ np.linalg.solve(system, self._image))
        return orthonormalised(point) if feasibility_error(point) > _ROUNDING else point
