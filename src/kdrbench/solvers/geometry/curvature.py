"""Second order on the Grassmann manifold: the Riemannian Hessian of E = -F and its smallest eigenvalue.

With g = grad E, Lambda = W' Phi W, and tangents Z (W'Z = 0),

    Hess E[Z] = (I - WW') (D^2 E(W)[Z] - Z W'g) = 2 (Z Lambda - (I - WW') Phi Z) - 2 (I - WW') dPhi[Z] W.

Tangents are Z = C V for an orthonormal basis C of the complement of W; coordinates are V, (d - q) x q, flattened
row by row.

Source: Absil, Mahony, Sepulchre, "Optimization Algorithms on Matrix Manifolds", 2008, chapter 5.

ISM's own operator, which preconditions Newton steps and the search for negative curvature.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, lobpcg

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import ApproximableProblem, Problem, approximation_of, hessian_of
from kdrbench.solvers.geometry.stiefel import outside

# Eigenvalue differences below this share of the largest are lifted to it: the operator stays positive.
_SMALLEST_GAP = 1e-3


class IsmPreconditioner:
    """Z -> 2 (Z Lambda - Phi Z) on the complement of W, made positive, and its inverse."""

    def __init__(self, surrogate: FloatArray, point: FloatArray) -> None:
        self._point = point
        inner, self._rotation = scipy.linalg.eigh(point.T @ surrogate @ point)
        reduced = outside(point, outside(point, surrogate).T)
        outer, self._basis = scipy.linalg.eigh(0.5 * (reduced + reduced.T))
        gaps = 2.0 * (inner[None, :] - outer[:, None])
        largest = float(np.abs(gaps).max()) or 1.0
        self._gaps = np.maximum(np.abs(gaps), _SMALLEST_GAP * largest)

    def solve(self, direction: FloatArray) -> FloatArray:
        """Return the tangent Z whose image is ``direction``."""
        return self.solve_at(self._point, direction)

    def solve_at(self, point: FloatArray, direction: FloatArray) -> FloatArray:
        """Return the same as a tangent at another W nearby; symmetric and positive definite on the tangents there."""
        turned = self._basis.T @ direction @ self._rotation
        return outside(point, self._basis @ (turned / self._gaps) @ self._rotation.T)


# Up to this dimension of the tangent space the whole Hessian is formed wherever it is needed.
DENSE_DIMENSION = 400
# Up to this one it is formed where the iteration for its smallest eigenvalue has not settled.
_AFFORDABLE_DIMENSION = 1000
# Where products are costly, candidates for the smallest eigenvalue come from this many samples.
_SOME_SAMPLES = 4000
_BLOCK = 3
_MOST_ROUNDS = 100
_EIGENVALUE_TOLERANCE = 1e-5
_MOST_RESTARTS = 10


@dataclass(frozen=True)
class Tangents:
    """The tangent space at W (``point``) with the Hessian of E there; ``gradient`` is that of F at W.

    ``coarse`` is the approximation that the smallest eigenvalue is sought with; by default the one ``problem`` offers.
    """

    problem: Problem
    point: FloatArray
    gradient: FloatArray
    coarse: ApproximableProblem | None = None

    @property
    def dimension(self) -> int:
        """Q (d - q)."""
        n_features, n_components = self.point.shape
        return int((n_features - n_components) * n_components)

    @cached_property
    def approximation(self) -> ApproximableProblem | None:
        """A cheaper problem nearby, where this one is costly."""
        return self.coarse or approximation_of(self.problem, self.point.shape[1])

    def nearby(self) -> Tangents | None:
        """Return the same tangents with a Hessian from some of the samples, where this one is costly."""
        if self.approximation is None:
            return None
        problem = self.approximation.subsampled(_SOME_SAMPLES) or self.approximation
        return Tangents(problem, self.point, problem.gradient(self.point))

    @cached_property
    def complement(self) -> FloatArray:
        """An orthonormal basis C of the complement of W, d x (d - q)."""
        basis: FloatArray = np.linalg.qr(self.point, mode="complete")[0]
        return basis[:, self.point.shape[1] :]

    @cached_property
    def preconditioner(self) -> IsmPreconditioner:
        """ISM's operator at W, from one surrogate."""
        return IsmPreconditioner(self.problem.surrogate(self.point), self.point)

    def unfold(self, coordinates: FloatArray) -> FloatArray:
        """Return C V, d x q."""
        return self.complement @ coordinates.reshape(-1, self.point.shape[1])

    def fold(self, columns: FloatArray) -> FloatArray:
        """Return the coordinates of the tangent part of ``columns`` (d x q)."""
        return (self.complement.T @ columns).ravel()

    def hessian_vector(self, tangent: FloatArray) -> FloatArray:
        """Return Hess E[Z], d x q."""
        turned = self.problem.hessian_vector(self.point, tangent) - tangent @ (self.point.T @ self.gradient)
        return -outside(self.point, turned)

    @cached_property
    def hessian(self) -> FloatArray:
        """Hess E as a symmetric matrix in coordinates."""
        inner = self.point.T @ self.gradient
        slope_part = np.kron(np.eye(self.complement.shape[1]), 0.5 * (inner + inner.T))
        result: FloatArray = slope_part - hessian_of(self.problem, self.point, self.complement)
        return result

    def apply(self, columns: FloatArray) -> FloatArray:
        """Return Hess E of each column of coordinates."""
        return np.column_stack([self.fold(self.hessian_vector(self.unfold(column))) for column in columns.T])


def smallest_curvature(tangents: Tangents) -> tuple[float, FloatArray]:
    """Return the smallest eigenvalue of Hess E and its tangent eigenvector (d x q, norm 1).

    In a small tangent space the Hessian is formed; in a large one LOBPCG, preconditioned by ISM's operator,
    starts from fixed vectors, so that the answer is the same on every run. It is an upper bound of the smallest
    eigenvalue (a Rayleigh quotient). Where it has not settled to ``_EIGENVALUE_TOLERANCE`` of the Hessian's scale
    after ``_MOST_ROUNDS`` rounds, the Hessian is formed after all if that is affordable. Where products are costly,
    LOBPCG works with some of the samples, and the best combination of what it finds is taken. Infinite where there is
    no tangent (q = d).
    """
    if tangents.dimension == 0:
        return np.inf, np.zeros_like(tangents.point)
    if tangents.dimension > DENSE_DIMENSION:
        nearby = tangents.nearby()
        if nearby is not None:
            return _best_combination(tangents, _lobpcg(nearby)[1])
        values, vectors = _lobpcg(tangents)
        lowest = vectors[:, [int(np.argmin(values))]]
        residual = float(np.linalg.norm(tangents.apply(lowest) - values.min() * lowest))
        settled = residual <= 10 * _EIGENVALUE_TOLERANCE * _scale(tangents)
        if settled or tangents.dimension > _AFFORDABLE_DIMENSION:
            return float(values.min()), tangents.unfold(lowest)
    values, vectors = np.linalg.eigh(tangents.hessian)
    return float(values[0]), tangents.unfold(vectors[:, 0])


def largest_turn(tangents: Tangents, surrogate: FloatArray) -> float:
    """Return the largest <Z, dPhi[Z] W> over tangents of norm 1, for Phi(W) = ``surrogate``.

    It is what the eigengap of Phi must make up for: Hess E[Z] is at least 2 (eigengap - this) |Z|^2.
    -inf where there is no tangent (q = d). In a large tangent space by Lanczos to 1e-4 of the scale of W' Phi W; NaN
    where that has not settled within about a hundred products, and where these are costly.
    """
    if tangents.dimension == 0:
        return -np.inf
    if tangents.dimension > DENSE_DIMENSION and tangents.approximation is not None:
        return float("nan")
    inner = tangents.point.T @ surrogate @ tangents.point
    outer = tangents.complement.T @ surrogate @ tangents.complement

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
        return np.column_stack(
            [tangents.fold(tangents.preconditioner.solve(tangents.unfold(column))) for column in columns.T],
        )

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
