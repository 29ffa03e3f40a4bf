"""Tangents of the Grassmann manifold with the Riemannian Hessian of E = -F.

With g = grad E, Lambda = W' Phi W, and tangents Z (W'Z = 0),

    Hess E[Z] = (I - WW') (D^2 E(W)[Z] - Z W'g) = 2 (Z Lambda - (I - WW') Phi Z) - 2 (I - WW') dPhi[Z] W.

Tangents are Z = C V for an orthonormal basis C of the complement of W. Where the Hessian is formed, coordinates are V,
(d - q) x q, flattened row by row.

Source: Absil, Mahony, Sepulchre, "Optimization Algorithms on Matrix Manifolds", 2008, chapter 5.

ISM's own operator, which preconditions Newton steps and the search for negative curvature.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, eigsh

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import ApproximableProblem, Problem, approximation_of, hessian_of, hessian_vectors_of
from kdrbench.solvers.geometry.stiefel import outside, require_finite

# Where products are costly, candidates for the smallest eigenvalue come from this many samples.
_SOME_SAMPLES = 4000
# Eigenvalue differences below this share of the largest are lifted to it: the operator stays positive.
_SMALLEST_GAP = 1e-3
# From this number of features on, these many eigenvalues beyond q are computed at each end of the spectrum of Phi.
# On MNIST steps are as many as with all eigenvalues (20 to 40), and their set-up takes a quarter of the time.
_MANY_FEATURES, _EXTREMES = 200, 10
_ROUGHLY, _MOST_RESTARTS = 1e-3, 10


class IsmPreconditioner:
    """Z -> 2 (Z Lambda - Phi Z) on the complement of W, made positive, and its inverse.

    Of many features only the largest and the smallest eigenvalues of Phi on the complement are computed. The others
    count as their mean, so that no d x d matrix is decomposed.
    """

    def __init__(self, surrogate: FloatArray, point: FloatArray) -> None:
        n_features, n_components = point.shape
        self._point = point
        inner, self._rotation = scipy.linalg.eigh(point.T @ surrogate @ point)
        reduced = outside(point, outside(point, surrogate).T)
        reduced = 0.5 * (reduced + reduced.T)
        count = 2 * (n_components + _EXTREMES)
        few = n_features > _MANY_FEATURES and 2 * count < n_features
        # Divide and conquer takes a fifth of the time of scipy's default where all eigenvectors are needed.
        decompose = partial(_extreme_eigenpairs, count=count) if few else np.linalg.eigh
        self._basis: FloatArray
        outer, self._basis = decompose(reduced)
        # Zeros of the span of W may be among those found; the others of it are not counted.
        others = n_features - len(outer) - (n_components - float(np.linalg.norm(point.T @ self._basis) ** 2))
        mean = float(np.trace(reduced) - outer.sum()) / others if few else 0.0
        gaps = 2.0 * (inner[None, :] - np.append(outer, mean)[:, None])
        largest = float(np.abs(gaps).max()) or 1.0
        inverse = 1.0 / np.maximum(np.abs(gaps), _SMALLEST_GAP * largest)
        # What is outside the basis, and how much more there is within it.
        self._elsewhere = inverse[-1] if few else np.zeros(n_components)
        self._within = inverse[:-1] - self._elsewhere

    def solve(self, direction: FloatArray) -> FloatArray:
        """Return the tangent Z whose image is ``direction`` (d x q), or one for each of several (b x d x q)."""
        return self.solve_at(self._point, direction)

    def solve_at(self, point: FloatArray, direction: FloatArray) -> FloatArray:
        """Return the same as a tangent at another W nearby; symmetric and positive definite on the tangents there."""
        turned = direction @ self._rotation
        scaled = _through(self._basis, _through(self._basis.T, turned) * self._within) + turned * self._elsewhere
        return outside(point, scaled @ self._rotation.T)


def _extreme_eigenpairs(matrix: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Return about ``count`` eigenvalues of a symmetric matrix from both ends of its spectrum, and their vectors.

    Approximately, and fewer where Lanczos' method has not settled soon: a preconditioner needs no more.
    """
    start = np.cos(np.arange(1.0, len(matrix) + 1))
    try:
        values, vectors = eigsh(matrix, k=count, which="BE", v0=start, tol=_ROUGHLY, maxiter=_MOST_RESTARTS)
    except ArpackNoConvergence as unsettled:
        values, vectors = unsettled.eigenvalues, unsettled.eigenvectors
    except ArpackError:
        # A matrix of zeros.
        values, vectors = np.empty(0), np.empty((len(matrix), 0))
    return values, vectors


def _through(matrix: FloatArray, columns: FloatArray) -> FloatArray:
    """Return M V of each V (the last two axes), as one product for all of them."""
    return np.asarray(np.moveaxis(np.tensordot(matrix, columns, axes=(1, -2)), 0, -2))


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
        rougher = approximation_of(self.approximation, self.point.shape[1]) or self.approximation
        problem = rougher.subsampled(_SOME_SAMPLES) or rougher
        return Tangents(problem, self.point, problem.gradient(self.point))

    @cached_property
    def complement(self) -> FloatArray:
        """An orthonormal basis C of the complement of W, d x (d - q)."""
        basis: FloatArray = np.linalg.qr(self.point, mode="complete")[0]
        return basis[:, self.point.shape[1] :]

    @cached_property
    def surrogate(self) -> FloatArray:
        """Phi(W), d x d."""
        return self.problem.surrogate(self.point)

    @cached_property
    def inner(self) -> FloatArray:
        """Lambda = W' Phi W, from the gradient."""
        product = self.point.T @ self.gradient
        return 0.25 * (product + product.T)

    @cached_property
    def leading_outer(self) -> tuple[float, FloatArray]:
        """The largest eigenvalue of Phi on the complement of W, and an eigenvector of it there (d entries)."""
        values, vectors = largest_outside(self.point, self.surrogate, 1)
        return float(values[0]), vectors[:, 0]

    @cached_property
    def preconditioner(self) -> IsmPreconditioner:
        """ISM's operator at W, from one surrogate."""
        return IsmPreconditioner(self.surrogate, self.point)

    def unfold(self, coordinates: FloatArray) -> FloatArray:
        """Return C V, d x q."""
        return self.complement @ coordinates.reshape(self.complement.shape[1], -1)

    def fold(self, columns: FloatArray) -> FloatArray:
        """Return the coordinates of the tangent part of ``columns``, d x q."""
        inside: FloatArray = self.complement.T @ columns
        return inside.ravel()

    def hessian_vector(self, tangent: FloatArray) -> FloatArray:
        """Return Hess E[Z], d x q, or of each of several tangents (b x d x q) in one pass."""
        directions = tangent if tangent.ndim == 3 else tangent[None]
        turned = hessian_vectors_of(self.problem, self.point, directions) - directions @ (self.point.T @ self.gradient)
        return -outside(self.point, turned).reshape(tangent.shape)

    @cached_property
    def hessian(self) -> FloatArray:
        """Hess E as a symmetric matrix in coordinates."""
        slope_part = np.kron(np.eye(self.complement.shape[1]), 2.0 * self.inner)
        return np.asarray(slope_part - hessian_of(self.problem, self.point, self.complement))


def largest_outside(point: FloatArray, surrogate: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenvalues of Phi on the complement of W, descending, and orthonormal eigenvectors there."""
    outer = outside(point, outside(point, surrogate).T)
    # W itself gets an eigenvalue below all others, by more than rounding even where the others are null.
    outer -= point @ ((2.0 * float(np.linalg.norm(surrogate)) or 1.0) * point.T)
    require_finite(outer)
    last = (len(outer) - count, len(outer) - 1)
    values, vectors = scipy.linalg.eigh(outer, subset_by_index=last, check_finite=False)
    if vectors.shape[1] < count:
        # LAPACK's subset routine may lose eigenvectors where many eigenvalues coincide.
        values, vectors = (part[..., -count:] for part in np.linalg.eigh(outer))
    return values[::-1], outside(point, vectors[:, ::-1])
