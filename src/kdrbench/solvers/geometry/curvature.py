"""Second order on the Grassmann manifold: the smallest eigenvalue of the Riemannian Hessian of E = -F.

With the notation of :mod:`.tangents`, where Phi does not depend on W the part dPhi is zero, and eigenvalues of Lambda
and of Phi on the complement of W give the smallest eigenvalue in closed form: 2 (min Lambda - max C'Phi C), along their
eigenvectors.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, lobpcg

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import surrogate_is_constant
from kdrbench.solvers.geometry.tangents import Tangents

# Up to this dimension of the tangent space the whole Hessian is formed wherever it is needed.
DENSE_DIMENSION = 400
# Up to this one it is formed where the iteration for its smallest eigenvalue has not settled.
_AFFORDABLE_DIMENSION = 1000
_BLOCK = 3
_MOST_ROUNDS = 100
_EIGENVALUE_TOLERANCE = 1e-5
_MOST_RESTARTS = 10


def smallest_curvature(tangents: Tangents) -> tuple[float, FloatArray]:
    """Return the smallest eigenvalue of Hess E and its tangent eigenvector (d x q, norm 1).

    In closed form where Phi is constant. In a small tangent space the Hessian is formed; in a large one LOBPCG,
    preconditioned by ISM's operator, starts from fixed vectors, so that the answer is the same on every run. It is an
    upper bound of the smallest eigenvalue (a Rayleigh quotient). Where it has not settled to ``_EIGENVALUE_TOLERANCE``
    of the Hessian's scale after ``_MOST_ROUNDS`` rounds, the Hessian is formed after all if that is affordable. Where
    products are costly, LOBPCG works with some of the samples, and the best combination of what it finds is taken.
    Infinite where there is no tangent (q = d).
    """
    if tangents.dimension == 0:
        return np.inf, np.zeros_like(tangents.point)
    if surrogate_is_constant(tangents.problem):
        (highest, outer), (lowest, rotation) = tangents.leading_outer, np.linalg.eigh(tangents.inner)
        return 2.0 * (float(lowest[0]) - highest), np.outer(outer, rotation[:, 0])
    if tangents.dimension > DENSE_DIMENSION:
        nearby = tangents.nearby()
        if nearby is not None:
            return _best_combination(tangents, _lobpcg(nearby)[1])
        values, vectors = _lobpcg(tangents)
        direction = tangents.unfold(vectors[:, int(np.argmin(values))])
        settled = residual_of(tangents, float(values.min()), direction) <= settled_residual(tangents)
        if settled or tangents.dimension > _AFFORDABLE_DIMENSION:
            return float(values.min()), direction
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


def _lobpcg(tangents: Tangents) -> tuple[FloatArray, FloatArray]:
    def lift(columns: FloatArray) -> FloatArray:
        return tangents.fold(tangents.preconditioner.solve(tangents.unfold(columns)))

    start = _fixed_columns(tangents.dimension, _BLOCK)
    tolerance = _EIGENVALUE_TOLERANCE * _scale(tangents)
    with warnings.catch_warnings():
        # Rounds that end before the tolerance are said in the docstring, not on the screen.
        warnings.simplefilter("ignore", UserWarning)
        values, vectors = lobpcg(tangents.apply, start, M=lift, largest=False, tol=tolerance, maxiter=_MOST_ROUNDS)
    return values, vectors / np.linalg.norm(vectors, axis=0)


def _fixed_columns(dimension: int, count: int) -> FloatArray:
    """Return columns that are the same on every run, of full rank, and orthogonal to nothing by symmetry."""
    places, rates = np.arange(1.0, dimension + 1), np.sqrt(np.arange(1.0, count + 1))
    return np.cos(np.outer(places, rates))


def _scale(tangents: Tangents) -> float:
    return float(np.linalg.norm(tangents.point.T @ tangents.gradient, 2)) or 1.0
