"""What can be proved of a projection: feasibility, first and second order, eigengap.

With E = -F, g = (I - WW') grad E and Lambda = W' Phi W, the Riemannian Hessian on the Grassmann manifold is

    Hess E[Z] = (I - WW') (D^2 E(W)[Z] - Z W' grad E),   W'Z = 0,

and W is a strict local minimum up to rotation when g = 0 and all its q (d - q) eigenvalues are positive.

Source: Absil, Mahony, Sepulchre, "Optimization Algorithms on Matrix Manifolds", 2008, chapters 3 and 5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem
from kdrbench.solvers.stiefel import feasibility_error, outside, relative_stationarity

# Below this dimension of the tangent space the whole Hessian is formed: it costs no more than Lanczos would.
_DENSE_DIMENSION = 40


@dataclass(frozen=True)
class Certificate:
    """``feasibility`` is |W'W - I|, ``stationarity`` |(I - WW') Phi W| / |Phi W|.

    ``curvature`` is the smallest eigenvalue of the Riemannian Hessian of -F over the largest magnitude of an
    eigenvalue of 2 W' Phi W; negative at a saddle, infinite where there is no tangent direction (q = d).
    ``eigengap`` is the smallest eigenvalue of W' Phi W minus the largest of Phi on the complement of W, on the
    same scale without the 2: positive where W is ISM's choice of eigenvectors.
    """

    feasibility: float
    stationarity: float
    curvature: float
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
    curvature, _ = smallest_curvature(problem, projection, gradient)
    return Certificate(
        feasibility=feasibility_error(projection),
        stationarity=relative_stationarity(projection, gradient),
        curvature=curvature / (2.0 * scale),
        eigengap=eigengap,
    )


def riemannian_hessian_vector(
    problem: Problem, projection: FloatArray, gradient: FloatArray, direction: FloatArray
) -> FloatArray:
    """Return Hess E[Z] for tangent Z, given the Euclidean gradient of F at W."""
    turned = problem.hessian_vector(projection, direction) - direction @ (projection.T @ gradient)
    return -outside(projection, turned)


def smallest_curvature(
    problem: Problem, projection: FloatArray, gradient: FloatArray
) -> tuple[float, FloatArray]:
    """Return the smallest eigenvalue of Hess E at W and its tangent eigenvector (d x q, norm 1).

    ``gradient`` is the Euclidean gradient of F at W. Lanczos starts from a fixed vector, so the answer is the
    same on every run; where it has not settled, the best value found is returned.
    """
    n_features, n_components = projection.shape
    dimension = (n_features - n_components) * n_components
    if dimension == 0:
        return np.inf, np.zeros_like(projection)
    complement = np.linalg.qr(projection, mode="complete")[0][:, n_components:]

    def apply(vector: FloatArray) -> FloatArray:
        direction = complement @ vector.reshape(n_features - n_components, n_components)
        image = riemannian_hessian_vector(problem, projection, gradient, direction)
        flat: FloatArray = (complement.T @ image).ravel()
        return flat

    if dimension <= _DENSE_DIMENSION:
        hessian = np.column_stack([apply(column) for column in np.eye(dimension)])
        values, vectors = np.linalg.eigh(0.5 * (hessian + hessian.T))
    else:
        values, vectors = _lanczos(apply, dimension)
    direction = complement @ vectors[:, 0].reshape(n_features - n_components, n_components)
    return float(values[0]), direction


def _lanczos(apply, dimension: int) -> tuple[FloatArray, FloatArray]:  # type: ignore[no-untyped-def]
    operator = LinearOperator((dimension, dimension), matvec=apply, dtype=np.float64)
    # All ones could be orthogonal to the eigenvector sought by symmetry; this is not.
    start = np.cos(np.arange(dimension) + 1.0)
    try:
        return eigsh(operator, k=1, which="SA", v0=start, tol=1e-6)  # type: ignore[no-any-return]
    except ArpackNoConvergence as partial:
        if partial.eigenvalues.size:
            return partial.eigenvalues, partial.eigenvectors
        raise
