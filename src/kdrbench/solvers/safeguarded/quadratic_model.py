"""The quadratic model of E = -F on the tangent space, minimised in a trust region.

    m(Z) = <g, Z> + 1/2 <Z, Hess E[Z]>,   g = grad E,   |Z| <= radius.

Two ways, by the size of the tangent space. The formed model knows all eigenvalues, so it takes the exact minimiser.
The conjugate-gradient model needs products only, and is preconditioned by ISM's own operator: near a fixed point
the Hessian is

    Hess E[Z] = 2 (Z Lambda - (I - WW') Phi Z) - 2 (I - WW') dPhi[Z] W,   Lambda = W' Phi W,

and the first part alone is what an ISM step inverts. It is diagonal in the eigenvectors of Lambda and of Phi on
the complement of W. Lengths are taken in the preconditioner's norm there, and in the Frobenius norm here.

Source: Conn, Gould, Toint, "Trust-Region Methods", 2000, sections 7.3 (eigenvalues) and 7.5.1 (Steihaug, Toint);
the preconditioner is ours.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.solvers.geometry.curvature import DENSE_DIMENSION, smallest_curvature
from kdrbench.solvers.geometry.stiefel import outside, require_finite
from kdrbench.solvers.geometry.tangents import Tangents

_MOST_INNER = 200
# An eigenvalue below this share of the largest counts as zero.
_SINGULAR = 1e-12


class ModelStep(NamedTuple):
    """A tangent step, the decrease of the model along it, its length, and whether the trust region cut it."""

    direction: FloatArray
    predicted: float
    length: float
    at_edge: bool


class Model(Protocol):
    """What a trust-region search needs to know of E around one point."""

    def minimise(self, radius: float) -> ModelStep:
        """Return a step at least as good as the best one along the preconditioned gradient."""

    def smallest_curvature(self) -> tuple[float, FloatArray]:
        """Return the smallest eigenvalue of Hess E and its tangent."""


def build_model(tangents: Tangents) -> Model:
    """Return the formed model in a small tangent space, the conjugate-gradient model in a large one."""
    return FormedModel(tangents) if tangents.dimension <= DENSE_DIMENSION else ConjugateGradientModel(tangents)


class FormedModel:
    """The model with its Hessian formed and decomposed once."""

    def __init__(self, tangents: Tangents) -> None:
        self._tangents = tangents
        require_finite(tangents.hessian)
        self._values, self._vectors = np.linalg.eigh(tangents.hessian)
        self._slope = -(self._vectors.T @ tangents.fold(tangents.gradient))

    def smallest_curvature(self) -> tuple[float, FloatArray]:
        """Return the smallest eigenvalue of Hess E and its tangent."""
        return float(self._values[0]), self._tangents.unfold(self._vectors[:, 0])

    def minimise(self, radius: float) -> ModelStep:
        """Return the global minimiser of the model in the trust region."""
        # The minimiser does not depend on the unit of E.
        unit = float(np.abs(self._values).max()) or 1.0
        step, at_edge = constrained_minimiser(self._values / unit, self._slope / unit, radius)
        predicted = -float(self._slope @ step) - 0.5 * float(step @ (self._values * step))
        direction = self._tangents.unfold(self._vectors @ step)
        return ModelStep(direction, predicted, float(np.linalg.norm(step)), at_edge)


def constrained_minimiser(values: FloatArray, slope: FloatArray, radius: float) -> tuple[FloatArray, bool]:
    """Return the minimiser of slope's + sum values s^2 / 2 over |s| <= radius, and whether the bound is active.

    ``values`` ascend and are at most 1 in magnitude. Without a bound an indefinite model is followed for one unit.
    """

    def step(shift: float) -> FloatArray:
        return -slope / (values + shift)

    if values[0] > _SINGULAR and np.linalg.norm(step(0.0)) <= radius:
        return step(0.0), False
    if not np.isfinite(radius):
        radius = 1.0
    lowest = max(0.0, -float(values[0])) + _SINGULAR
    inside = step(lowest)
    missing = radius**2 - float(inside[1:] @ inside[1:])
    if missing >= inside[0] ** 2:
        # The slope is blind to the lowest eigenvector, along which the model falls all the way to the edge.
        inside[0] = np.copysign(np.sqrt(missing), inside[0])
        return inside, True
    from scipy.optimize import brentq

    highest = lowest + float(np.linalg.norm(slope)) / radius
    shift = brentq(lambda shift: 1.0 / np.linalg.norm(step(shift)) - 1.0 / radius, lowest, highest)
    return step(shift), True


class ConjugateGradientModel:
    """The model known by products with the Hessian."""

    def __init__(self, tangents: Tangents) -> None:
        self._tangents = tangents

    def smallest_curvature(self) -> tuple[float, FloatArray]:
        """Return the smallest eigenvalue of Hess E and its tangent, sought once."""
        return self._lowest

    @cached_property
    def _lowest(self) -> tuple[float, FloatArray]:
        return smallest_curvature(self._tangents)

    def minimise(self, radius: float) -> ModelStep:
        """Return the truncated conjugate-gradient step."""
        tangents, precondition = self._tangents, self._tangents.preconditioner
        slope = -outside(tangents.point, tangents.gradient)
        direction, image = np.zeros_like(slope), np.zeros_like(slope)

        def ended(direction: FloatArray, image: FloatArray, length: float, at_edge: bool) -> ModelStep:
            predicted = -float(np.vdot(slope, direction)) - 0.5 * float(np.vdot(direction, image))
            return ModelStep(direction, predicted, float(length), at_edge)

        residual = slope
        scaled = precondition.solve(residual)
        search = -scaled
        inner = float(np.vdot(residual, scaled))
        first = float(np.linalg.norm(residual))
        # Lengths by the recurrences of Conn, Gould and Toint.
        squared, cross, search_squared = 0.0, 0.0, inner
        for _ in range(min(_MOST_INNER, slope.size)):
            curved = tangents.hessian_vector(search)
            curvature = float(np.vdot(search, curved))
            alpha = inner / curvature if curvature > 0 else np.inf
            ahead = squared + 2 * alpha * cross + alpha**2 * search_squared
            if curvature <= 0 or ahead >= radius**2:
                if not np.isfinite(radius):
                    # As in the formed model: one unit, here of the search direction.
                    radius = np.sqrt(squared) + np.sqrt(search_squared)
                tau = (-cross + np.sqrt(cross**2 + search_squared * (radius**2 - squared))) / search_squared
                return ended(direction + tau * search, image + tau * curved, radius, True)
            direction, image = direction + alpha * search, image + alpha * curved
            squared = ahead
            residual = residual + alpha * curved
            norm = float(np.linalg.norm(residual))
            # Superlinear: the residual shrinks as the square of the slope, but at least tenfold.
            if norm <= first * min(0.1, first / max(1e-300, float(np.linalg.norm(tangents.gradient)))):
                break
            scaled = precondition.solve(residual)
            previous, inner = inner, float(np.vdot(residual, scaled))
            beta = inner / previous
            cross = beta * (cross + alpha * search_squared)
            search_squared = inner + beta**2 * search_squared
            search = outside(tangents.point, -scaled + beta * search)
        return ended(direction, image, np.sqrt(squared), False)
