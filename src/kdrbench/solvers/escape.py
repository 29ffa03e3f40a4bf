"""Leaving saddles: where the gradient vanishes and the curvature is negative, a step along that curvature increases F.

The smallest eigenvalue of the Riemannian Hessian of -F, over |W'G|, says whether a stationary W is a saddle.
Safeguarded ISM leaves saddles always. Its rivals do so with ``escape: true``: then what differs between them is the
method, and not that one of them looks and the others do not. Both the look and the step are on the clock.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import COUNT, FLAG, POSITIVE, check_parameters
from kdrbench.problems import PassStoppedError, Problem, value_and_gradient_of
from kdrbench.solvers.base import SQUARE, SolverOutcome, Status
from kdrbench.solvers.geometry.curvature import smallest_curvature
from kdrbench.solvers.geometry.stiefel import orthonormalised
from kdrbench.solvers.geometry.tangents import Tangents
from kdrbench.solvers.monitor import Monitor

# A stationary W is a saddle where its smallest curvature, over |W'G|, is below minus this.
CURVATURE_TOLERANCE = 1e-6
# What a solver needs beside its own oracles to find the smallest curvature.
ORACLES = frozenset({"value", "gradient", "hessian_vector", "surrogate"})
# The longest step, and how often it is halved.
_HALVINGS = 30


def rounding_of(value: float) -> float:
    """Return a generous bound on the rounding of F where it has about this value."""
    return 1e3 * float(np.finfo(float).eps) * abs(value)


class Ascent(NamedTuple):
    """A W beside a saddle, and F there."""

    point: FloatArray
    value: float


def step_along(
    problem: Problem, point: FloatArray, value: float, curvature: float, direction: FloatArray
) -> Ascent | None:
    """Return a W with larger F along a tangent of negative curvature (not relative); ``None`` where rounding hides it.

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
                return Ascent(candidate, reached)
    return None


def escaped(problem: Problem, point: FloatArray) -> FloatArray | None:
    """Return a W with larger F along negative curvature at W; ``None`` where no such direction of ascent is found.

    In a small tangent space the Hessian is formed; in a large one its smallest eigenvalue is iterated for.
    """
    value, gradient = value_and_gradient_of(problem, point)
    curvature, direction = smallest_curvature(Tangents(problem, point, gradient))
    scale = float(np.linalg.norm(point.T @ gradient, 2)) or 1.0
    if curvature >= -CURVATURE_TOLERANCE * scale:
        return None
    ascent = step_along(problem, point, value, curvature, direction)
    return None if ascent is None else ascent.point


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


@dataclass(frozen=True)
class RivalOptions:
    """The relative stationarity and the number of iterations that end a search, and whether it leaves saddles.

    Published variants leave none. Iterations are counted from each saddle. Raises ``InputError`` for values that are
    not allowed.
    """

    tolerance: Annotated[float, POSITIVE] = 1e-6
    max_iterations: Annotated[int, COUNT] = 10_000
    escape: Annotated[bool, FLAG] = False
    requires: ClassVar[frozenset[str]] = frozenset({"value", "gradient"})

    def __post_init__(self) -> None:
        check_parameters(self, "solver option")
        if self.escape and not self._may_escape():
            raise InputError(
                f"solver option escape of {type(self).__name__} belongs to the converged variant; a published variant "
                "that leaves saddles would not be as published"
            )
        if self.escape:
            object.__setattr__(self, "requires", type(self).requires | ORACLES)

    def _may_escape(self) -> bool:
        return getattr(self, "variant", "converged") == "converged"


class Rival(RivalOptions, ABC):
    """A search from a start, and on from saddles with ``escape``."""

    def run(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        """Search from ``start`` (d x q) until W is stationary, and on from saddles where that is requested."""
        if start.shape[0] == start.shape[1]:
            return SolverOutcome(start, Status.CONVERGED, SQUARE)
        if self.escape:
            return run_escaping(lambda point: self._search(problem, point, monitor), problem, start, monitor)
        return self._search(problem, start, monitor)

    @abstractmethod
    def _search(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        """Search from ``start`` until W is stationary or a limit is reached."""
