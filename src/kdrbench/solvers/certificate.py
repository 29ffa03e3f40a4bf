"""What can be proved of a projection: feasibility, first and second order, eigengap.

With E = -F, g = (I - WW') grad E and Lambda = W' Phi W, the Riemannian Hessian on the Grassmann manifold is

    Hess E[Z] = (I - WW') (D^2 E(W)[Z] - Z W' grad E),   W'Z = 0,

and W is a strict local minimum up to rotation when g = 0 and all its q (d - q) eigenvalues are positive.

Source: Absil, Mahony, Sepulchre, "Optimization Algorithms on Matrix Manifolds", 2008, chapters 3 and 5.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import lobpcg

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem
from kdrbench.solvers.preconditioner import IsmPreconditioner
from kdrbench.solvers.stiefel import feasibility_error, outside, relative_stationarity

# Below this dimension of the tangent space the whole Hessian is formed: it costs no more than iterating would.
_DENSE_DIMENSION = 40
_AFFORDABLE_DIMENSION = 1000
_BLOCK = 3
_MOST_ROUNDS = 100
_EIGENVALUE_TOLERANCE = 1e-5

Columns = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Certificate:
    """``feasibility`` is |W'W - I|, ``stationarity`` |(I - WW') Phi W| / |Phi W|.

    ``curvature`` is the smallest eigenvalue of the Riemannian Hessian of -F over the largest magnitude of an
    eigenvalue of 2 W' Phi W; negative at a saddle, infinite where there is no tangent direction (q = d). An
    eigenvalue lies within ``curvature_error`` of it, on the same scale; that it is the smallest is certain where
    the Hessian was formed, and otherwise as likely as an iteration from a few fixed vectors makes it.
    ``eigengap`` is the smallest eigenvalue of W' Phi W minus the largest of Phi on the complement of W, on the
    same scale without the 2: positive where W is ISM's choice of eigenvectors.
    """

    feasibility: float
    stationarity: float
    curvature: float
    curvature_error: float
    eigengap: float


def certify(problem: Problem, projection: FloatArray) -> Certificate:
    """Return the certificate of W; costs one surrogate, one gradient and some Hessian-vector products."""
    gradient = problem.gradient(projection)
    surrogate = problem.surrogate(projection)
    inner = np.linalg.eigvalsh(projection.T @ surrogate @ projection)
    scale = float(np.abs(inner).max()) or 1.0
    n_features, n_components = projection.shape
    eigengap = np.inf
    if n_components < n_features:
        complement = np.linalg.qr(projection, mode="complete")[0][:, n_components:]
        eigengap = float(inner[0] - np.linalg.eigvalsh(complement.T @ surrogate @ complement)[-1]) / scale
    curvature, direction = smallest_curvature(problem, projection, gradient)
    error = 0.0
    if np.isfinite(curvature):
        image = riemannian_hessian_vector(problem, projection, gradient, direction)
        error = float(np.linalg.norm(image - curvature * direction))
    return Certificate(
        feasibility=feasibility_error(projection),
        stationarity=relative_stationarity(projection, gradient),
        curvature=curvature / (2.0 * scale),
        curvature_error=error / (2.0 * scale),
        eigengap=eigengap,
    )


def riemannian_hessian_vector(
    problem: Problem, projection: FloatArray, gradient: FloatArray, direction: FloatArray
) -> FloatArray:
    """Return Hess E[Z] for tangent Z, given the Euclidean gradient of F at W."""
    turned = problem.hessian_vector(projection, direction) - direction @ (projection.T @ gradient)
    return -outside(projection, turned)


def smallest_curvature(problem: Problem, projection: FloatArray, gradient: FloatArray) -> tuple[float, FloatArray]:
    """Return the smallest eigenvalue of Hess E at W and its tangent eigenvector (d x q, norm 1).

    ``gradient`` is the Euclidean gradient of F at W. In a small tangent space the Hessian is formed; in a
    large one LOBPCG, preconditioned by ISM's operator, starts from fixed vectors, so that the answer is the
    same on every run. It is an upper bound of the smallest eigenvalue (a Rayleigh quotient). Where it has not
    settled to ``_EIGENVALUE_TOLERANCE`` of the Hessian's scale after ``_MOST_ROUNDS`` rounds, the Hessian is
    formed after all if that is affordable.
    """
    n_features, n_components = projection.shape
    dimension = (n_features - n_components) * n_components
    if dimension == 0:
        return np.inf, np.zeros_like(projection)
    complement = np.linalg.qr(projection, mode="complete")[0][:, n_components:]

    def unfold(vector: FloatArray) -> FloatArray:
        return complement @ vector.reshape(n_features - n_components, n_components)

    def apply(columns: FloatArray) -> FloatArray:
        images = [
            (complement.T @ riemannian_hessian_vector(problem, projection, gradient, unfold(column))).ravel()
            for column in columns.T
        ]
        return np.column_stack(images)

    def dense() -> tuple[FloatArray, FloatArray]:
        hessian = apply(np.eye(dimension))
        values, vectors = np.linalg.eigh(0.5 * (hessian + hessian.T))
        return values, vectors

    if dimension <= _DENSE_DIMENSION:
        values, vectors = dense()
    else:
        precondition = IsmPreconditioner(problem.surrogate(projection), projection)

        def lift(columns: FloatArray) -> FloatArray:
            return np.column_stack(
                [(complement.T @ precondition.solve(unfold(column))).ravel() for column in columns.T]
            )

        scale = float(np.linalg.norm(projection.T @ gradient, 2)) or 1.0
        values, vectors = _lobpcg(apply, lift, dimension, _EIGENVALUE_TOLERANCE * scale)
        lowest = vectors[:, [int(np.argmin(values))]]
        residual = float(np.linalg.norm(apply(lowest) - values.min() * lowest))
        if not residual <= 10 * _EIGENVALUE_TOLERANCE * scale and dimension <= _AFFORDABLE_DIMENSION:
            values, vectors = dense()
    place = int(np.argmin(values))
    return float(values[place]), unfold(vectors[:, place])


def _lobpcg(apply: Columns, lift: Columns, dimension: int, tolerance: float) -> tuple[FloatArray, FloatArray]:
    places = np.arange(dimension)[:, None] + 1.0
    # Fixed, of full rank, and orthogonal to nothing by symmetry.
    start = np.cos(places * np.arange(1, _BLOCK + 1) ** 0.5)
    with warnings.catch_warnings():
        # Rounds that end before the tolerance are said in the docstring, not on the screen.
        warnings.simplefilter("ignore", UserWarning)
        values, vectors = lobpcg(apply, start, M=lift, largest=False, tol=tolerance, maxiter=_MOST_ROUNDS)
    return values, vectors / np.linalg.norm(vectors, axis=0)
