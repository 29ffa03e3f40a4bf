"""Tangents of the Grassmann manifold, and the smallest eigenvalue of the Riemannian Hessian of E = -F.

With g = grad E, Lambda = W' Phi W, and tangents Z (W'Z = 0),

    Hess E[Z] = (I - WW') (D^2 E(W)[Z] - Z W'g) = 2 (Z Lambda - (I - WW') Phi Z) - 2 (I - WW') dPhi[Z] W.

Tangents are Z = C V for an orthonormal basis C of the complement of W. Where the Hessian is formed, coordinates are V,
(d - q) x q, flattened row by row. ISM's own operator, the part without dPhi, preconditions Newton steps and the search
for negative curvature. Where Phi does not depend on W, dPhi is zero, and eigenvalues of Lambda and of Phi on the
complement of W give the smallest eigenvalue in closed form: 2 (min Lambda - max C'Phi C), along their eigenvectors.

Source: Absil, Mahony, Sepulchre, "Optimization Algorithms on Matrix Manifolds", 2008, chapter 5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, eigsh

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem
from kdrbench.solvers.geometry.stiefel import outside, relative_stationarity, require_finite

# Up to this dimension of the tangent space the whole Hessian is formed wherever it is needed.
DENSE_DIMENSION = 400
# Up to this one it is formed where the iteration for its smallest eigenvalue has not settled.
_AFFORDABLE_DIMENSION = 1000
_BLOCK = 3
_MOST_ROUNDS = 200
# Then the iteration continues from its lowest few Ritz vectors: memory stays that of some tens of tangents.
_MOST_COLUMNS = 40
_EIGENVALUE_TOLERANCE = 1e-5
# Of problems that are evaluated approximately it is known to this many times their accuracy.
_TO_ACCURACY = 10.0
# What the eigengap must make up for needs fewer digits, and is given up after this many products.
_TURN_TOLERANCE, _MOST_TURNS = 1e-4, 120
# Products with the Hessian of many samples that a certificate takes.
_FEW_PRODUCTS = 8
# This number of products with Phi costs less than Phi itself.
_MOST_PRODUCTS, _SHIFT = 5, 1e-3
Operator = Callable[[FloatArray], FloatArray]
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
    coarse: Problem | None = None

    @property
    def dimension(self) -> int:
        """Q (d - q)."""
        n_features, n_components = self.point.shape
        return int((n_features - n_components) * n_components)

    @cached_property
    def approximation(self) -> Problem | None:
        """A cheaper problem nearby, where this one is costly."""
        return self.coarse or self.problem.approximation(self.point)

    @cached_property
    def accuracy(self) -> float:
        """The share of the Hessian's scale to which its smallest eigenvalue is sought."""
        return max(_EIGENVALUE_TOLERANCE, _TO_ACCURACY * self.problem.accuracy(self.point.shape[1]))

    def nearby(self) -> Tangents | None:
        """Return the same tangents with a Hessian from some of the samples, where this one is costly or approximate."""
        near, point = self.approximation, self.point
        if near is not None:
            near = near.approximation(point) or near
            near = near.subsampled(_SOME_SAMPLES) or near
        elif self.accuracy > _EIGENVALUE_TOLERANCE and (some := self.problem.subsampled(_SOME_SAMPLES)) is not None:
            near = some.approximation(point) or some
        return None if near is None else Tangents(near, point, near.gradient(point))

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
    def nearby_has_some(self) -> bool:
        """Whether products are so costly that :meth:`nearby` takes some of the samples."""
        return self.approximation is not None and self.approximation.subsampled(_SOME_SAMPLES) is not None

    @cached_property
    def near_surrogate(self) -> FloatArray:
        """Phi(W) of the approximation, where there is one."""
        return self.surrogate if self.approximation is None else self.approximation.surrogate(self.point)

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
        turned = self.problem.hessian_vectors(self.point, directions) - directions @ (self.point.T @ self.gradient)
        return -outside(self.point, turned).reshape(tangent.shape)

    @cached_property
    def hessian(self) -> FloatArray:
        """Hess E as a symmetric matrix in coordinates."""
        slope_part = np.kron(np.eye(self.complement.shape[1]), 2.0 * self.inner)
        return np.asarray(slope_part - self.problem.hessian(self.point, self.complement))


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


def smallest_curvature(tangents: Tangents) -> tuple[float, FloatArray]:
    """Return the smallest eigenvalue of Hess E and its tangent eigenvector (d x q, norm 1).

    In closed form where Phi is constant. In a small tangent space the Hessian is formed; in a large one Davidson's
    iteration, preconditioned by ISM's operator, starts from fixed vectors, so that the answer is the same on every run.
    It is an upper bound of the smallest eigenvalue (a Rayleigh quotient). Where it has not settled to
    :attr:`Tangents.accuracy` after ``_MOST_ROUNDS`` rounds, the Hessian is formed after all if that is affordable.
    Where products are costly, or the problem is approximate, the iteration works with some of the samples, and the best
    combination of what it finds is taken. Infinite where there is no tangent (q = d).
    """
    if tangents.dimension == 0:
        return np.inf, np.zeros_like(tangents.point)
    if tangents.problem.surrogate_is_constant:
        (highest, outer), (lowest, rotation) = tangents.leading_outer, np.linalg.eigh(tangents.inner)
        return 2.0 * (float(lowest[0]) - highest), np.outer(outer, rotation[:, 0])
    if tangents.dimension > DENSE_DIMENSION:
        nearby = tangents.nearby()
        if nearby is not None:
            return _best_combination(tangents, _lowest(nearby, tangents.accuracy).vectors)
        pairs = _lowest(tangents, tangents.accuracy)
        if pairs.residual <= settled_residual(tangents) or tangents.dimension > _AFFORDABLE_DIMENSION:
            return float(pairs.values[0]), pairs.vectors[:, 0].reshape(tangents.point.shape)
    values, vectors = np.linalg.eigh(tangents.hessian)
    return float(values[0]), tangents.unfold(vectors[:, 0])


def curvature_of_few_products(tangents: Tangents, first: FloatArray | None) -> tuple[float, float]:
    """Return an upper bound of the smallest eigenvalue of Hess E, and the residual of its vector (a Ritz pair).

    Davidson's iteration on all samples begins with the tangent ``first``, or a fixed one. It ends where the residual is
    as small as the accuracy or the stationarity of W, on the scale of W' Phi W, or after ``_FEW_PRODUCTS``. Phi of the
    approximation preconditions it. Measured on MNIST, 10,000 samples, Gaussian and multiquadric kernels: residuals
    of .012 and .0016 after eight products, where candidates from 4,000 samples have .27 and .024.
    """
    solve = _on_columns(IsmPreconditioner(tangents.near_surrogate, tangents.point).solve, tangents)
    start = solve(_fixed_columns(tangents.point.size, 1)) if first is None else first.reshape(-1, 1)
    accuracy = max(tangents.accuracy, relative_stationarity(tangents.point, tangents.gradient))
    apply, tolerance = _on_columns(tangents.hessian_vector, tangents), accuracy * _scale(tangents)
    pairs = _davidson(apply, solve, start, tolerance, tangents.dimension, _FEW_PRODUCTS - 1)
    return float(pairs.values[0]), pairs.residual


def residual_of(tangents: Tangents, value: float, direction: FloatArray) -> float:
    """Return |Hess E[Z] - value Z|: within that of ``value`` lies an eigenvalue, where Z has norm 1."""
    return float(np.linalg.norm(tangents.hessian_vector(direction) - value * direction))


def settled_residual(tangents: Tangents) -> float:
    """Return the residual at which an iteration for the smallest eigenvalue has settled."""
    return 10 * tangents.accuracy * _scale(tangents)


def largest_turn(tangents: Tangents) -> float:
    """Return the largest <Z, dPhi[Z] W> over tangents of norm 1.

    It is what the eigengap of Phi must make up for: Hess E[Z] is at least 2 (eigengap - this) |Z|^2.
    -inf where there is no tangent (q = d), 0 where Phi is constant. In a large tangent space by an iteration to 1e-4 of
    the scale of W' Phi W; NaN where that has not settled after about a hundred products, and where these are costly.
    """
    if tangents.dimension == 0:
        return -np.inf
    if tangents.problem.surrogate_is_constant:
        return 0.0
    if tangents.dimension > DENSE_DIMENSION and tangents.approximation is not None:
        return float("nan")
    inner, surrogate = tangents.inner, tangents.surrogate
    if tangents.dimension <= DENSE_DIMENSION:
        outer = tangents.complement.T @ surrogate @ tangents.complement
        formed = np.kron(np.eye(len(outer)), inner) - np.kron(outer, np.eye(len(inner)))
        return float(np.linalg.eigvalsh(formed - 0.5 * tangents.hessian)[-1])

    def turned(directions: FloatArray) -> FloatArray:
        # With the sign of the smallest eigenvalue.
        of_phi = outside(tangents.point, directions @ inner - surrogate @ directions)
        return 0.5 * tangents.hessian_vector(directions) - of_phi

    apply = _on_columns(turned, tangents)
    project = _on_columns(partial(outside, tangents.point), tangents)
    start = project(_fixed_columns(tangents.point.size, 1))
    tolerance = _TURN_TOLERANCE * _scale(tangents)
    pairs = _davidson(apply, project, start, tolerance, tangents.dimension, _MOST_TURNS)
    return -float(pairs.values[0]) if pairs.residual <= tolerance else float("nan")


def largest_outer(tangents: Tangents) -> float:
    """Return the largest eigenvalue of Phi on the complement of W.

    Where all pairs of samples are needed for Phi, it comes from an approximation of Phi and a few exact products of Phi
    with vectors. An eigenvalue then lies within 1e-5 of it, on the scale of W' Phi W; the error of a Rayleigh quotient
    is of the order of the square of that. That it is the largest is as likely as the approximation, and an iteration
    from a few fixed vectors, make it.
    """
    products = None if tangents.approximation is None else tangents.problem.surrogate_products(tangents.point)
    if products is None or tangents.approximation is None:
        return tangents.leading_outer[0]
    point, size = tangents.point, len(tangents.point) - tangents.point.shape[1]
    near = tangents.near_surrogate
    values, leading = largest_outside(point, near, 1)
    shifted = -outside(point, outside(point, near).T)
    shifted.flat[:: len(shifted) + 1] += float(values[0]) + _SHIFT * _scale(tangents)
    factors = scipy.linalg.lu_factor(shifted)

    def solve(columns: FloatArray) -> FloatArray:
        return outside(point, scipy.linalg.lu_solve(factors, columns))

    # The leading eigenvector may be null for any Phi: the samples do not vary along it.
    others = solve(_fixed_columns(len(point), _BLOCK))
    tolerance = _EIGENVALUE_TOLERANCE * _scale(tangents)

    def apply(columns: FloatArray) -> FloatArray:
        return -outside(point, products(columns))

    start = np.hstack([leading, others / np.linalg.norm(others, axis=0)])[:, :size]
    pairs = _davidson(apply, solve, start, tolerance, size, _MOST_PRODUCTS)
    return -float(pairs.values[0]) if pairs.residual <= tolerance else tangents.leading_outer[0]


def _best_combination(tangents: Tangents, columns: FloatArray) -> tuple[float, FloatArray]:
    """Return the smallest Ritz value of Hess E on the span of ``columns``, and its tangent of norm 1."""
    basis = np.linalg.qr(columns)[0]
    form = basis.T @ _on_columns(tangents.hessian_vector, tangents)(basis)
    values, vectors = np.linalg.eigh(0.5 * (form + form.T))
    return float(values[0]), (basis @ vectors[:, 0]).reshape(tangents.point.shape)


def _lowest(tangents: Tangents, accuracy: float) -> _Ritz:
    """Return the lowest eigenvalues of Hess E, Davidson's iteration being preconditioned by ISM's operator."""
    apply = _on_columns(tangents.hessian_vector, tangents)
    solve = _on_columns(tangents.preconditioner.solve, tangents)
    start = solve(_fixed_columns(tangents.point.size, min(_BLOCK, tangents.dimension)))
    return _davidson(apply, solve, start, accuracy * _scale(tangents), tangents.dimension, _MOST_ROUNDS)


def _on_columns(operator: Operator, tangents: Tangents) -> Operator:
    """Return an operator on tangents (b x d x q) as one on columns (dq x b)."""

    def applied(columns: FloatArray) -> FloatArray:
        directions = np.ascontiguousarray(columns.T).reshape(-1, *tangents.point.shape)
        return operator(directions).reshape(columns.shape[::-1]).T

    return applied


class _Ritz(NamedTuple):
    """The lowest Ritz values of a space, ascending, their orthonormal vectors, and the norm of the first's residual."""

    values: FloatArray
    vectors: FloatArray
    residual: float


def _davidson(
    apply: Operator, solve: Operator, columns: FloatArray, tolerance: float, dimension: int, most_rounds: int
) -> _Ritz:
    """Return the lowest eigenvalues of a symmetric operator on a space of this dimension, which contains ``columns``.

    A product a round: the space grows by the preconditioned residual of the lowest Ritz vector until that has settled
    to the tolerance, or for ``most_rounds``. A block method such as LOBPCG waits for all of its vectors, which takes
    three times the products here.
    """
    basis = np.linalg.qr(columns)[0]
    images = apply(basis)
    for round_ in range(most_rounds + 1):
        form = basis.T @ images
        values, turn = np.linalg.eigh(0.5 * (form + form.T))
        residual = images @ turn[:, :1] - values[0] * (basis @ turn[:, :1])
        size = float(np.linalg.norm(residual))
        if size <= tolerance or round_ == most_rounds or basis.shape[1] == dimension:
            break
        if basis.shape[1] >= _MOST_COLUMNS:
            basis, images = basis @ turn[:, : 2 * _BLOCK], images @ turn[:, : 2 * _BLOCK]
        column = outside(basis, solve(residual))
        column /= np.linalg.norm(column)
        column = outside(basis, column)
        column /= np.linalg.norm(column)
        basis, images = np.hstack([basis, column]), np.hstack([images, apply(column)])
    return _Ritz(values[:_BLOCK], basis @ turn[:, :_BLOCK], size)


def _fixed_columns(dimension: int, count: int) -> FloatArray:
    """Return columns that are the same on every run, of full rank, and orthogonal to nothing by symmetry."""
    places, rates = np.arange(1.0, dimension + 1), np.sqrt(np.arange(1.0, count + 1))
    return np.cos(np.outer(places, rates))


def _scale(tangents: Tangents) -> float:
    return float(np.linalg.norm(tangents.point.T @ tangents.gradient, 2)) or 1.0
