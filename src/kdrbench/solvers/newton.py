"""Newton steps for E = -F in a trust region, and leaving saddles along negative curvature.

Where second order is costly, steps are those of limited-memory BFGS (:mod:`kdrbench.solvers.limited_memory`), which
need one gradient each. Their first matrix is ISM's operator Z -> 2 (Z Lambda - Phi Z), inverted: the main part of the
Hessian at a fixed point, diagonal in the eigenvectors of Phi with entries 2 (lambda_i - mu_j). So they are fewer than
those of the plain method, by a factor of two to thirty. Newton's steps follow where they end above the tolerance.

Each Newton step minimises the quadratic model of E over tangents Z,

    m(Z) = <g, Z> + 1/2 <Z, Hess E[Z]>,   g = grad E,   |Z| <= radius,

and retracts by QR. The formed model knows all eigenvalues, so it takes the exact minimiser. In large tangent spaces the
conjugate-gradient model needs products only, and is preconditioned by ISM's operator: near a fixed point

    Hess E[Z] = 2 (Z Lambda - (I - WW') Phi Z) - 2 (I - WW') dPhi[Z] W,   Lambda = W' Phi W,

whose first part alone is what an ISM step inverts. Lengths are taken in the preconditioner's norm there, and in the
Frobenius norm here. Where ISM converges slowly this converges superlinearly, with the same fixed points.

A stationary W whose smallest curvature is negative is a saddle, and a step along that curvature increases F.
Safeguarded ISM leaves saddles always. Its rivals do so with ``escape: true``: then what differs between them is the
method, and not that one of them looks and the others do not. Both the look and the step are on the clock.

Sources: Absil, Baker, Gallivan, "Trust-region methods on Riemannian manifolds", Foundations of Computational
Mathematics 7, 2007, algorithm 1; Conn, Gould, Toint, "Trust-Region Methods", 2000, sections 7.3 (eigenvalues) and 7.5.1
(Steihaug, Toint); the preconditioner is ours.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import PassStoppedError, Problem
from kdrbench.solvers.base import SolverOutcome, Status
from kdrbench.solvers.geometry.curvature import DENSE_DIMENSION, IsmPreconditioner, Tangents, smallest_curvature
from kdrbench.solvers.geometry.stiefel import (
    orthonormalised,
    outside,
    relative_stationarity,
    require_finite,
    rounding_of,
)
from kdrbench.solvers.limited_memory import MOST_TRIALS, QuasiNewtonSearch
from kdrbench.solvers.monitor import Monitor

# From this dimension of the tangent space on, some tens of gradients cost less than a few Hessians or their products.
# Measured with both kernels, 200 to 2400 samples, q of 2 to 5: they take .66 to 1.27 times as long at dimensions up to
# 56, .24 to .77 times from 125 on. Samples change that much less: both kinds of passes grow alike.
QUASI_NEWTON_DIMENSION = 100
_ACCEPT = 0.1
_MOST_TRIES = 30
# Of an F whose gradient is known to an accuracy a, differences below this many a^2 |F| may be its errors.
# There a step must bring the gradient down to this share.
_UNSURE, _SHARE = 10.0, 0.5
_MOST_INNER = 200
# An eigenvalue below this share of the largest counts as zero.
_SINGULAR = 1e-12
# A stationary W is a saddle where its smallest curvature, over |W'G|, is below minus this.
CURVATURE_TOLERANCE = 1e-6
# What a solver needs beside its own oracles to find the smallest curvature.
ORACLES = frozenset({"value", "gradient", "hessian_vector", "surrogate"})
# How often a step is halved.
_HALVINGS = 30


class NewtonSearch:
    """The iterate W, F and its gradient there, and the trust region; no step decreases F beyond rounding.

    Second order is taken from ``approximation`` if there is one: Newton steps from an inexact Hessian converge to the
    same points, a little slower. With ``limited_memory`` steps need no second order, for as long as these help.
    """

    def __init__(
        self,
        problem: Problem,
        point: FloatArray,
        value: float,
        gradient: FloatArray | None = None,
        approximation: Problem | None = None,
        *,
        limited_memory: bool = False,
        surrogate: FloatArray | None = None,
    ) -> None:
        self.problem, self._approximation = problem, approximation
        self._limited_memory, self._radius = limited_memory, np.inf
        self._quasi_newton: QuasiNewtonSearch | None = None
        self._accuracy = problem.accuracy(point.shape[1])
        self._begin_at(point, value, gradient, surrogate)

    @property
    def stationarity(self) -> float:
        """|(I - WW')G| / |G|."""
        return relative_stationarity(self.point, self.gradient)

    def curvature(self) -> float:
        """Return the smallest eigenvalue of the Riemannian Hessian of -F, over |W'G|."""
        scale = float(np.linalg.norm(self.point.T @ self.gradient, 2)) or 1.0
        return self.model().smallest_curvature()[0] / scale

    def step(self) -> bool:
        """Take one step; return false when no step in any trust region improves on the iterate beyond rounding."""
        if self._quasi_newton is not None:
            helped = self._quasi_newton.step()
            self._move_to(self._quasi_newton.point, self._quasi_newton.value, self._quasi_newton.gradient)
            if helped:
                return True
            self._quasi_newton = None
        for _ in range(_MOST_TRIES):
            direction, predicted, length, at_edge = self.model().minimise(self._radius)
            candidate = orthonormalised(self.point + direction)
            # Together: hardly a step is rejected.
            value, gradient = self.problem.value_and_gradient(candidate)
            gained = value - self.value
            # Both sides are rounded at the level of F itself; near a solution that hides the true ratio.
            noise = self._noise(max(abs(value), abs(self.value)))
            ratio = (gained + noise) / (predicted + noise)
            if ratio < 0.25:
                self._radius = 0.25 * length
            elif ratio > 0.75 and at_edge:
                self._radius = 2.0 * length
            if ratio > _ACCEPT and gained >= -noise:
                before = self.stationarity
                if self._accuracy and gained <= noise and relative_stationarity(candidate, gradient) > _SHARE * before:
                    return False
                self._move_to(candidate, value, gradient)
                return gained > noise or self.stationarity < before
            if length <= np.finfo(float).eps:
                return False
        return False

    def _noise(self, size: float) -> float:
        """Return what F of this size may err by: rounding, or more where the problem is known to an accuracy only."""
        return max(rounding_of(size), _UNSURE * self._accuracy**2 * size)

    def escape(self) -> bool:
        """Leave a saddle, where the gradient says nothing, by :func:`step_along`; false where rounding hides gains."""
        ascent = step_along(self.problem, self.point, self.value, *self.model().smallest_curvature())
        if ascent is not None:
            self._begin_at(*ascent)
        return ascent is not None

    def _begin_at(
        self, point: FloatArray, value: float, gradient: FloatArray | None = None, surrogate: FloatArray | None = None
    ) -> None:
        self._radius = np.inf
        self._move_to(point, value, gradient)
        if self._limited_memory:
            phi = self.problem.surrogate(point) if surrogate is None else surrogate
            inverse = IsmPreconditioner(phi, point).solve_at
            self._quasi_newton = QuasiNewtonSearch(self.problem, point, value, self.gradient, preconditioner=inverse)

    def _move_to(self, point: FloatArray, value: float, gradient: FloatArray | None = None) -> None:
        self.point, self.value = point, value
        self.gradient = self.problem.gradient(point) if gradient is None else gradient
        require_finite(value, self.gradient, self.stationarity)
        self._held_model: FormedModel | ConjugateGradientModel | None = None

    def model(self) -> FormedModel | ConjugateGradientModel:
        """Return the quadratic model of E at W, built once."""
        if self._held_model is None:
            problem, near = self._approximation or self.problem, self._approximation
            tangents = Tangents(problem, self.point, self.gradient, near)
            formed = tangents.dimension <= DENSE_DIMENSION
            self._held_model = FormedModel(tangents) if formed else ConjugateGradientModel(tangents)
        return self._held_model


def quasi_newton_from(
    problem: Problem, point: FloatArray, surrogate: FloatArray, most_trials: int = MOST_TRIALS
) -> QuasiNewtonSearch:
    """Return steps of limited-memory BFGS from W, preconditioned by Phi of a W near it."""
    inverse, first = IsmPreconditioner(surrogate, point).solve_at, problem.value_and_gradient(point)
    return QuasiNewtonSearch(problem, point, *first, preconditioner=inverse, most_trials=most_trials)


class ModelStep(NamedTuple):
    """A tangent step, the decrease of the model along it, its length, and whether the trust region cut it."""

    direction: FloatArray
    predicted: float
    length: float
    at_edge: bool


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


def step_along(
    problem: Problem, point: FloatArray, value: float, curvature: float, direction: FloatArray
) -> tuple[FloatArray, float] | None:
    """Return a W with larger F along a tangent of negative curvature (not relative), and F; ``None`` without.

    Of the steps of length 1, 1/2, 1/4, ... in both directions, the first is taken that gains a quarter of what the
    curvature promises.
    """
    for length in 0.5 ** np.arange(0, _HALVINGS):
        enough = value - 0.125 * curvature * length**2
        # Smaller gains are indistinguishable from rounding.
        if enough - value <= rounding_of(value):
            return None
        for sign in (1.0, -1.0):
            candidate = orthonormalised(point + sign * length * direction)
            reached = problem.value(candidate)
            if reached > enough:
                return candidate, reached
    return None


def escaped(problem: Problem, point: FloatArray) -> FloatArray | None:
    """Return a W with larger F along negative curvature at W; ``None`` where no such direction of ascent is found.

    In a small tangent space the Hessian is formed; in a large one its smallest eigenvalue is iterated for.
    """
    value, gradient = problem.value_and_gradient(point)
    curvature, direction = smallest_curvature(Tangents(problem, point, gradient))
    scale = float(np.linalg.norm(point.T @ gradient, 2)) or 1.0
    if curvature >= -CURVATURE_TOLERANCE * scale:
        return None
    ascent = step_along(problem, point, value, curvature, direction)
    return None if ascent is None else ascent[0]


def run_escaping(
    run: Callable[[FloatArray], SolverOutcome], problem: Problem, start: FloatArray, monitor: Monitor
) -> SolverOutcome:
    """Return what ``run`` finds, started again beside each saddle at which it has converged, or near which it stalls.

    It ends, because every step increases F beyond rounding.
    """
    outcome, left = run(start), 0
    while outcome.status in (Status.CONVERGED, Status.STALLED):
        if not monitor.keep_going(outcome.projection):
            return outcome._replace(status=monitor.stop_status, message=monitor.stop_message)
        if not monitor.progress(0.0):
            raise PassStoppedError
        beside = escaped(problem, outcome.projection)
        if beside is None:
            saddles = f", {left} saddle{'s' if left > 1 else ''} left" if left else ""
            return outcome._replace(message=f"{outcome.message}, no direction of ascent found{saddles}")
        outcome, left = run(beside), left + 1
    return outcome
