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
from kdrbench.problems import Problem, in_row_space
from kdrbench.solvers.geometry.curvature import Tangents, largest_turn, smallest_curvature
from kdrbench.solvers.geometry.stiefel import feasibility_error, relative_stationarity


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

    @property
    def theorem_1(self) -> str:
        """What Theorem 1 says of this W: sufficient, hence never that W is no local maximum."""
        if np.isnan(self.eigengap_needed):
            return "not evaluated: the constant was not found in the products allowed"
        if self.eigengap >= self.eigengap_needed:
            return "second order holds: the eigengap suffices"
        return "silent: the eigengap is smaller than the theorem asks, only the curvature decides"


def certify(problem: Problem, projection: FloatArray) -> Certificate:
    """Return the certificate of W.

    It costs one surrogate, one gradient and one Hessian, or up to some hundreds of Hessian-vector products where
    the tangent space has more than a few hundred dimensions.
    """
    reduced = in_row_space(problem, projection)
    if reduced is not None:
        problem, projection = reduced[0], reduced[1].lower(projection)
    gradient = problem.gradient(projection)
    surrogate = problem.surrogate(projection)
    tangents = Tangents(problem, projection, gradient)
    inner = np.linalg.eigvalsh(projection.T @ surrogate @ projection)
    scale = float(np.abs(inner).max()) or 1.0
    eigengap = np.inf
    if tangents.dimension > 0:
        outer = np.linalg.eigvalsh(tangents.complement.T @ surrogate @ tangents.complement)
        eigengap = float(inner[0] - outer[-1]) / scale
    curvature, direction = smallest_curvature(tangents)
    error = 0.0
    if np.isfinite(curvature):
        error = float(np.linalg.norm(tangents.hessian_vector(direction) - curvature * direction))
    return Certificate(
        feasibility=feasibility_error(projection),
        stationarity=relative_stationarity(projection, gradient),
        curvature=curvature / (2.0 * scale),
        curvature_error=error / (2.0 * scale),
        eigengap=eigengap,
        eigengap_needed=largest_turn(tangents, surrogate) / scale,
    )
