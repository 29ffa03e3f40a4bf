"""What can be proved of a projection: feasibility, first and second order, eigengap and Theorem 1.

W is a strict local maximum of F up to rotation when its Riemannian gradient vanishes and all q (d - q) eigenvalues
of the Riemannian Hessian of E = -F (see :mod:`kdrbench.solvers.geometry.curvature`) are positive.

Source: Absil, Mahony, Sepulchre, "Optimization Algorithms on Matrix Manifolds", 2008, chapter 3; NeurIPS 2019,
Theorem 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem
from kdrbench.solvers.geometry.curvature import (
    DENSE_DIMENSION,
    Tangents,
    curvature_of_few_products,
    largest_outer,
    largest_turn,
    residual_of,
    settled_residual,
    smallest_curvature,
)
from kdrbench.solvers.geometry.stiefel import feasibility_error, outside, relative_stationarity

# A direction of unit length whose tangent part is shorter than that by more is not the tangent it was.
_SAME_TANGENT = 1e-6


@dataclass(frozen=True)
class Certificate:
    """``feasibility`` is |W'W - I|, ``stationarity`` |(I - WW') Phi W| / |Phi W|.

    ``curvature`` is the smallest eigenvalue of the Riemannian Hessian of -F over the largest magnitude of an
    eigenvalue of 2 W' Phi W; negative at a saddle, infinite where there is no tangent direction (q = d). An
    eigenvalue lies within ``curvature_error`` of it, on the same scale; that it is the smallest is certain where
    the Hessian was formed, and otherwise as likely as an iteration from a few fixed vectors makes it.

    ``eigengap`` is the smallest eigenvalue of W' Phi W minus the largest of Phi on the complement of W, on the
    same scale without the 2: positive where W is ISM's choice of eigenvectors. Theorem 1 says that a fixed point
    of ISM satisfies the second-order necessary condition if the eigengap is at least a constant;
    ``eigengap_needed`` is the smallest constant with which that is true at this W, the largest <Z, dPhi[Z] W> over
    tangents Z of norm 1, on the scale of the eigengap; NaN where it was not found (large tangent spaces only).
    """

    feasibility: float
    stationarity: float
    curvature: float
    curvature_error: float
    eigengap: float
    eigengap_needed: float


def certify(problem: Problem, projection: FloatArray, lowest: FloatArray | None = None) -> Certificate:
    """Return the certificate of W.

    ``lowest`` (d x q) is the tangent along which a solver has found the smallest curvature at W. It is not taken on
    trust: the curvature along it is evaluated, and where that has not settled another one is sought. Of many samples,
    whose products are costly, a smaller one is sought by a few of them.

    It costs one surrogate (or, where that takes all pairs of samples, a few products with it), one gradient, and one
    Hessian. In a tangent space of more than a few hundred dimensions it costs up to some hundreds of Hessian-vector
    products instead: eight at most of more than 4,000 samples, and one where ``lowest`` has settled.
    """
    reduced = problem.in_row_space(projection)
    if reduced is not None:
        problem, projection = reduced[0], reduced[1].lower(projection)
        lowest = None if lowest is None else reduced[1].lower(lowest)
    gradient = problem.gradient(projection)
    tangents = Tangents(problem, projection, gradient)
    values = np.linalg.eigvalsh(tangents.inner)
    scale = float(np.abs(values).max()) or 1.0
    eigengap = np.inf
    if tangents.dimension > 0:
        eigengap = (float(values[0]) - largest_outer(tangents)) / scale
    curvature, error = _checked_curvature(tangents, lowest)
    return Certificate(
        feasibility=feasibility_error(projection),
        stationarity=relative_stationarity(projection, gradient),
        curvature=curvature / (2.0 * scale),
        curvature_error=error / (2.0 * scale),
        eigengap=eigengap,
        eigengap_needed=largest_turn(tangents) / scale,
    )


def _checked_curvature(tangents: Tangents, lowest: FloatArray | None) -> tuple[float, float]:
    """Return the smallest curvature and its residual.

    Of many samples it is sought by few products; else it is that along ``lowest``, where that has settled or costs
    allow no more, or it is sought again.
    """
    is_large, first = tangents.dimension > DENSE_DIMENSION, None
    if lowest is not None and is_large:
        direction = outside(tangents.point, lowest)
        length = float(np.linalg.norm(direction))
        # Shorter where it is no tangent here, or has a part that coordinates of the row space leave out.
        first = direction / length if abs(length - 1.0) <= _SAME_TANGENT else None
    if is_large and tangents.nearby_has_some:
        return curvature_of_few_products(tangents, first)
    if first is not None:
        image = tangents.hessian_vector(first)
        curvature = float(np.vdot(first, image))
        residual = float(np.linalg.norm(image - curvature * first))
        if residual <= settled_residual(tangents) or tangents.approximation is not None:
            return curvature, residual
    curvature, direction = smallest_curvature(tangents)
    return curvature, residual_of(tangents, curvature, direction) if np.isfinite(curvature) else 0.0
