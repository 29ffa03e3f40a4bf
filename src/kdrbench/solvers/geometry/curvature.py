"""Second order on the Grassmann manifold: the smallest eigenvalue of the Riemannian Hessian of E = -F.

With the notation of :mod:`.tangents`, where Phi does not depend on W the part dPhi is zero, and eigenvalues of Lambda
and of Phi on the complement of W give the smallest eigenvalue in closed form: 2 (min Lambda - max C'Phi C), along their
eigenvectors.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import surrogate_is_constant
from kdrbench.solvers.geometry.stiefel import outside
from kdrbench.solvers.geometry.tangents import Tangents

# Up to this dimension of the tangent space the whole Hessian is formed wherever it is needed.
DENSE_DIMENSION = 400
# Up to this one it is formed where the iteration for its smallest eigenvalue has not settled.
_AFFORDABLE_DIMENSION = 1000
_BLOCK = 3
_MOST_ROUNDS = 200
# Then the iteration continues from its lowest few Ritz vectors: memory stays that of some tens of tangents.
_MOST_COLUMNS = 40
_EIGENVALUE_TOLERANCE = 1e-5
_MOST_RESTARTS = 10


def smallest_curvature(tangents: Tangents) -> tuple[float, FloatArray]:
    """Return the smallest eigenvalue of Hess E and its tangent eigenvector (d x q, norm 1).

    In closed form where Phi is constant. In a small tangent space the Hessian is formed; in a large one Davidson's
    iteration, preconditioned by ISM's operator, starts from fixed vectors, so that the answer is the same on every run.
    It is an upper bound of the smallest eigenvalue (a Rayleigh quotient). Where it has not settled to
    ``_EIGENVALUE_TOLERANCE`` of the Hessian's scale after ``_MOST_ROUNDS`` rounds, the Hessian is formed after all if
    that is affordable. Where products are costly, the iteration works with some of the samples, and the best
    combination of what it finds is taken. Infinite where there is no tangent (q = d).
    """
    if tangents.dimension == 0:
        return np.inf, np.zeros_like(tangents.point)
    if surrogate_is_constant(tangents.problem):
        (highest, outer), (lowest, rotation) = tangents.leading_outer, np.linalg.eigh(tangents.inner)
        return 2.0 * (float(lowest[0]) - highest), np.outer(outer, rotation[:, 0])
    if tangents.dimension > DENSE_DIMENSION:
        nearby = tangents.nearby()
        if nearby is not None:
            return _best_combination(tangents, _davidson(nearby)[1])
        values, vectors = _davidson(tangents)
        direction = tangents.unfold(vectors[:, 0])
        settled = residual_of(tangents, float(values[0]), direction) <= settled_residual(tangents)
        if settled or tangents.dimension > _AFFORDABLE_DIMENSION:
            return float(values[0]), direction
    values, vectors = np.linalg.eigh(tangents.hessian)
    return float(values[0]), tangents.unfold(vectors[:, 0])


def residual_of(tangents: Tangents, value: float, direction: FloatArray) -> float:
    """Return |Hess E[Z] - value Z|: within that of ``value`` lies an eigenvalue, where Z has norm 1."""
    return float(np.linalg.norm(tangents.hessian_vector(direction) - value * direction))


def settled_residual(tangents: Tangents) -> float:
    """Return the residual at which an iteration for the smallest eigenvalue has settled."""
    return 10 * _EIGENVALUE_TOLERANCE * _scale(tangents)


def largest_turn(tangents: Tangents) -> float:
    """Return the largest <Z, dPhi[Z] W> over tangents of norm 1.

    It is what the eigengap of Phi must make up for: Hess E[Z] is at least 2 (eigengap - this) |Z|^2.
    -inf where there is no tangent (q = d), 0 where Phi is constant. In a large tangent space by Lanczos to 1e-4 of the
    scale of W' Phi W; NaN where that has not settled within about a hundred products, and where these are costly.
    """
    if tangents.dimension == 0:
        return -np.inf
    if surrogate_is_constant(tangents.problem):
        return 0.0
    if tangents.dimension > DENSE_DIMENSION and tangents.approximation is not None:
        return float("nan")
    inner = tangents.inner
    outer = tangents.complement.T @ tangents.surrogate @ tangents.complement

    def turned(coordinates: FloatArray) -> FloatArray:
        folded = coordinates.reshape(outer.shape[0], inner.shape[0])
        of_operator = (folded @ inner - outer @ folded).ravel()
        return of_operator - 0.5 * tangents.apply(coordinates.reshape(-1, 1))[:, 0]

    if tangents.dimension <= DENSE_DIMENSION:
        formed = np.kron(np.eye(outer.shape[0]), inner) - np.kron(outer, np.eye(inner.shape[0]))
        return float(np.linalg.eigvalsh(formed - 0.5 * tangents.hessian)[-1])
    # Shifted by the scale: tolerances are relative to the eigenvalue, which may be zero many times over.
    scale = _scale(tangents)
    operator = LinearOperator(
        (tangents.dimension,) * 2, matvec=lambda column: turned(column) + scale * column.ravel(), dtype=np.float64
    )
    start = _fixed_columns(tangents.dimension, 1)[:, 0]
    try:
        largest = eigsh(
            operator, k=1, which="LA", v0=start, tol=1e-4, ncv=20, maxiter=_MOST_RESTARTS, return_eigenvectors=False
        )
    except ArpackNoConvergence:
        return float("nan")
    return float(largest[0]) - scale


def _best_combination(tangents: Tangents, columns: FloatArray) -> tuple[float, FloatArray]:
    """Return the smallest Ritz value of Hess E on the span of ``columns``, and its tangent of norm 1."""
    basis = np.linalg.qr(columns)[0]
    form = basis.T @ tangents.apply(basis)
    values, vectors = np.linalg.eigh(0.5 * (form + form.T))
    return float(values[0]), tangents.unfold(basis @ vectors[:, 0])


def _davidson(tangents: Tangents) -> tuple[FloatArray, FloatArray]:
    """Return the lowest Ritz values of Hess E, ascending, and their orthonormal vectors in coordinates.

    A product a round: the space grows by the preconditioned residual of the lowest Ritz vector until that has settled
    to the tolerance, or for ``_MOST_ROUNDS``. A block method such as LOBPCG waits for all of its vectors, which takes
    three times the products here.
    """

    def lifted(columns: FloatArray) -> FloatArray:
        return tangents.fold(tangents.preconditioner.solve(tangents.unfold(columns)))

    basis = np.linalg.qr(lifted(_fixed_columns(tangents.dimension, min(_BLOCK, tangents.dimension))))[0]
    images = tangents.apply(basis)
    tolerance = _EIGENVALUE_TOLERANCE * _scale(tangents)
    for round_ in range(_MOST_ROUNDS + 1):
        form = basis.T @ images
        values, turn = np.linalg.eigh(0.5 * (form + form.T))
        residual = images @ turn[:, :1] - values[0] * (basis @ turn[:, :1])
        if np.linalg.norm(residual) <= tolerance or round_ == _MOST_ROUNDS or basis.shape[1] == tangents.dimension:
            break
        if basis.shape[1] >= _MOST_COLUMNS:
            basis, images = basis @ turn[:, : 2 * _BLOCK], images @ turn[:, : 2 * _BLOCK]
        column = outside(basis, lifted(residual))
        column /= np.linalg.norm(column)
        column = outside(basis, column)
        column /= np.linalg.norm(column)
        basis, images = np.hstack([basis, column]), np.hstack([images, tangents.apply(column)])
    return values[:_BLOCK], basis @ turn[:, :_BLOCK]


def _fixed_columns(dimension: int, count: int) -> FloatArray:
    """Return columns that are the same on every run, of full rank, and orthogonal to nothing by symmetry."""
    places, rates = np.arange(1.0, dimension + 1), np.sqrt(np.arange(1.0, count + 1))
    return np.cos(np.outer(places, rates))


def _scale(tangents: Tangents) -> float:
    return float(np.linalg.norm(tangents.point.T @ tangents.gradient, 2)) or 1.0
