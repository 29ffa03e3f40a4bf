"""Second order on the Grassmann manifold: the smallest eigenvalue of the Riemannian Hessian of E = -F.

With the notation of :mod:`.tangents`, where Phi does not depend on W the part dPhi is zero, and eigenvalues of Lambda
and of Phi on the complement of W give the smallest eigenvalue in closed form: 2 (min Lambda - max C'Phi C), along their
eigenvectors.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.linalg

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import surrogate_is_constant, surrogate_products_of
from kdrbench.solvers.geometry.stiefel import outside
from kdrbench.solvers.geometry.tangents import Tangents, largest_outside

# Up to this dimension of the tangent space the whole Hessian is formed wherever it is needed.
DENSE_DIMENSION = 400
# Up to this one it is formed where the iteration for its smallest eigenvalue has not settled.
_AFFORDABLE_DIMENSION = 1000
_BLOCK = 3
_MOST_ROUNDS = 200
# Then the iteration continues from its lowest few Ritz vectors: memory stays that of some tens of tangents.
_MOST_COLUMNS = 40
_EIGENVALUE_TOLERANCE = 1e-5
# What the eigengap must make up for needs fewer digits, and is given up after this many products.
_TURN_TOLERANCE, _MOST_TURNS = 1e-4, 120
# This number of products with Phi costs less than Phi itself.
_MOST_PRODUCTS, _SHIFT = 5, 1e-3
Operator = Callable[[FloatArray], FloatArray]


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
            return _best_combination(tangents, _lowest(nearby).vectors)
        found = _lowest(tangents)
        if found.residual <= settled_residual(tangents) or tangents.dimension > _AFFORDABLE_DIMENSION:
            return float(found.values[0]), found.vectors[:, 0].reshape(tangents.point.shape)
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
    -inf where there is no tangent (q = d), 0 where Phi is constant. In a large tangent space by an iteration to 1e-4 of
    the scale of W' Phi W; NaN where that has not settled after about a hundred products, and where these are costly.
    """
    if tangents.dimension == 0:
        return -np.inf
    if surrogate_is_constant(tangents.problem):
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
    space = _spanned(apply, project(_fixed_columns(tangents.point.size, 1)))
    tolerance = _TURN_TOLERANCE * _scale(tangents)
    found = _davidson(apply, project, space, tolerance, tangents.dimension, _MOST_TURNS)
    return -float(found.values[0]) if found.residual <= tolerance else float("nan")


def largest_outer(tangents: Tangents) -> float:
    """Return the largest eigenvalue of Phi on the complement of W.

    Where all pairs of samples are needed for Phi, it comes from an approximation of Phi and a few exact products of Phi
    with vectors. An eigenvalue then lies within 1e-5 of it, on the scale of W' Phi W; the error of a Rayleigh quotient
    is of the order of the square of that. That it is the largest is as likely as the approximation, and an iteration
    from a few fixed vectors, make it.
    """
    products = None if tangents.approximation is None else surrogate_products_of(tangents.problem, tangents.point)
    if products is None or tangents.approximation is None:
        return tangents.leading_outer[0]
    point, size = tangents.point, len(tangents.point) - tangents.point.shape[1]
    near = tangents.approximation.surrogate(point)
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

    space = _spanned(apply, np.hstack([leading, others / np.linalg.norm(others, axis=0)])[:, :size])
    found = _davidson(apply, solve, space, tolerance, size, _MOST_PRODUCTS)
    return -float(found.values[0]) if found.residual <= tolerance else tangents.leading_outer[0]


def _best_combination(tangents: Tangents, columns: FloatArray) -> tuple[float, FloatArray]:
    """Return the smallest Ritz value of Hess E on the span of ``columns``, and its tangent of norm 1."""
    basis = np.linalg.qr(columns)[0]
    form = basis.T @ _on_columns(tangents.hessian_vector, tangents)(basis)
    values, vectors = np.linalg.eigh(0.5 * (form + form.T))
    return float(values[0]), (basis @ vectors[:, 0]).reshape(tangents.point.shape)


def _lowest(tangents: Tangents) -> _Ritz:
    """Return the lowest eigenvalues of Hess E, Davidson's iteration being preconditioned by ISM's operator."""
    apply = _on_columns(tangents.hessian_vector, tangents)
    solve = _on_columns(tangents.preconditioner.solve, tangents)
    start = solve(_fixed_columns(tangents.point.size, min(_BLOCK, tangents.dimension)))
    tolerance = _EIGENVALUE_TOLERANCE * _scale(tangents)
    return _davidson(apply, solve, _spanned(apply, start), tolerance, tangents.dimension, _MOST_ROUNDS)


def _on_columns(operator: Operator, tangents: Tangents) -> Operator:
    """Return an operator on tangents (b x d x q) as one on columns (dq x b)."""

    def applied(columns: FloatArray) -> FloatArray:
        directions = np.ascontiguousarray(columns.T).reshape(-1, *tangents.point.shape)
        return operator(directions).reshape(columns.shape[::-1]).T

    return applied


class _Space(NamedTuple):
    """An orthonormal basis, and the images of its columns."""

    basis: FloatArray
    images: FloatArray


class _Ritz(NamedTuple):
    """The lowest Ritz values of a space, ascending, their orthonormal vectors, and the norm of the first's residual."""

    values: FloatArray
    vectors: FloatArray
    residual: float


def _spanned(apply: Operator, columns: FloatArray) -> _Space:
    """Return the space of these columns."""
    basis = np.linalg.qr(columns)[0]
    return _Space(basis, apply(basis))


def _davidson(
    apply: Operator, solve: Operator, space: _Space, tolerance: float, dimension: int, most_rounds: int
) -> _Ritz:
    """Return the lowest eigenvalues of a symmetric operator on a space of this dimension, of which ``space`` is a part.

    A product a round: the space grows by the preconditioned residual of the lowest Ritz vector until that has settled
    to the tolerance, or for ``most_rounds``. A block method such as LOBPCG waits for all of its vectors, which takes
    three times the products here.
    """
    basis, images = space
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
