"""Rounds of an alternation: what they leave, and those that climb the reduced objective until it is stationary.

A round of the climb solves the problem of Gamma_R, held at the W before, whose gradient there is that of R (see
:mod:`.reduced`). Where the solver's W' increases R, steps twice as far and more are tried. Where it does not, the step
is halved along the chord from W to W' and, failing that, along the gradient. So R never falls beyond rounding. It ends
when the relative Riemannian gradient of R is at most the tolerance: the joint residual, first-order stationarity of
(W, U(W)).

Where step 2 maximises the objective (centred, no D) Gamma_R is the alternation's own Gamma, and so are the rounds. With
a D the alternation's fixed points are not stationary points of R, and may lie below earlier rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms.embedding import cluster_rows
from kdrbench.paradigms.reduced import ReducedObjective
from kdrbench.problems import FactoredGamma, Problem
from kdrbench.solvers import Monitor, Solver, SolverResult, Status, solve
from kdrbench.solvers.geometry.stiefel import orthonormalised, relative_stationarity, riemannian_gradient

# Halvings of a step: to a thousandth of the solver's, and to rounding.
_ON_CHORD, _ON_GRADIENT = 10, 30
_DOUBLINGS = 5
# R of two projections this close, relative to its size, is equal: sums of n^2 terms round.
_ROUNDING = 1e-13


@dataclass(frozen=True)
class Round:
    """The objective after a round, the eigenvalues of its embedding, and how the solver ended in it."""

    objective: float
    eigenvalues: FloatArray
    status: Status
    iterations: int


@dataclass(frozen=True)
class Clustering:
    """The outcome of an alternation.

    ``labels`` are k-means clusters of the rows of ``embedding`` (n x k), computed when they are first used.
    ``objective`` is that of W with its U, as after a round, and ``gamma`` is made of that U. ``problem`` is what W
    solved last (with U and D of the W before), ``result`` the solver's result on it. ``uses_degrees`` is false where
    D^-1/2 did not exist or was not requested.
    """

    projection: FloatArray
    embedding: FloatArray
    gamma: FactoredGamma
    objective: float
    rounds: tuple[Round, ...]
    status: Status
    message: str
    problem: Problem
    result: SolverResult
    uses_degrees: bool
    seed: int = 0

    @cached_property
    def labels(self) -> NDArray[Any]:
        """The clusters."""
        return cluster_rows(self.embedding, self.seed)


class Climbed(NamedTuple):
    """The last W, how the climb ended, its rounds, and the last problem with the solver's result, if there was one."""

    projection: FloatArray
    status: Status
    message: str
    rounds: list[Round]
    problem: Problem | None
    result: SolverResult | None


def climb(
    reduced: ReducedObjective,
    solver: Solver,
    start: FloatArray,
    monitor: Callable[[], Monitor],
    *,
    tolerance: float,
    max_rounds: int,
) -> Climbed:
    """Ascend R from ``start`` (d x q) to a relative stationarity of ``tolerance``, in at most ``max_rounds`` rounds.

    The status is ``converged`` only then; ``stalled`` where no step increases R, ``max_iterations`` at the cap.
    """
    projection, rounds = start, list[Round]()
    result: SolverResult | None = None
    for _ in range(max_rounds + 1):
        problem = reduced.ascent_problem(projection)
        gradient = problem.gradient(projection)
        residual = relative_stationarity(projection, gradient)
        if residual <= tolerance:
            message = f"joint stationarity at most {tolerance:g} after {len(rounds)} rounds"
            return Climbed(projection, Status.CONVERGED, message, rounds, problem, result)
        if len(rounds) == max_rounds:
            break
        result = solve(solver, problem, projection, monitor())
        following = _higher(reduced, projection, result.projection, gradient)
        if following is None:
            message = f"no step increases the objective beyond rounding; joint stationarity is {residual:.1e}"
            return Climbed(projection, Status.STALLED, message, rounds, problem, result)
        projection = following
        value, eigenvalues = reduced.value(projection), reduced.eigenvalues(projection)
        rounds.append(Round(value, eigenvalues, result.status, result.iterations))
    message = f"joint stationarity was {residual:.1e} after {max_rounds} rounds"
    return Climbed(projection, Status.MAX_ITERATIONS, message, rounds, problem, result)


def _higher(
    reduced: ReducedObjective, point: FloatArray, solved: FloatArray, gradient: FloatArray
) -> FloatArray | None:
    """Return the solver's W or the first candidate near it whose R is larger than that of ``point``; ``None`` without.

    The solver's W may also have the same R, to rounding, if it is nearer to stationary.
    """
    value = reduced.value(point)
    if reduced.is_comparable(solved):
        gain = reduced.value(solved) - value
        if gain > 0.0:
            return _beyond(reduced, point, solved)
        residual = relative_stationarity(point, gradient)
        if gain >= -_ROUNDING * abs(value) and relative_stationarity(solved, reduced.gradient(solved)) < residual:
            return solved
    for candidate in _candidates(point, solved, gradient):
        if reduced.is_comparable(candidate) and reduced.value(candidate) > value:
            return candidate
    return None


def _beyond(reduced: ReducedObjective, point: FloatArray, solved: FloatArray) -> FloatArray:
    """Return the best of the solver's W and points twice, four times, ... as far, as long as R rises.

    Rounds that hold Gamma_R take ever the same share of what is left; further ones take more of it.
    """
    best, highest, chord = solved, reduced.value(solved), _chord(point, solved)
    for doubling in range(1, _DOUBLINGS + 1):
        candidate = orthonormalised(point + 2.0**doubling * chord)
        if not reduced.is_comparable(candidate) or reduced.value(candidate) <= highest:
            break
        best, highest = candidate, reduced.value(candidate)
    return best


def _chord(point: FloatArray, solved: FloatArray) -> FloatArray:
    """Return W' - W for the basis of W' that is nearest to W."""
    left, _, right = np.linalg.svd(solved.T @ point)
    chord: FloatArray = solved @ (left @ right) - point
    return chord


def _candidates(point: FloatArray, solved: FloatArray, gradient: FloatArray) -> Iterator[FloatArray]:
    """Yield points on the chord to the solver's W, then along the gradient, nearer and nearer."""
    chord = _chord(point, solved)
    for halving in range(1, _ON_CHORD):
        yield orthonormalised(point + 0.5**halving * chord)
    tangent = riemannian_gradient(point, gradient)
    tangent = tangent / np.linalg.norm(tangent)
    for halving in range(1, _ON_GRADIENT):
        yield orthonormalised(point + 0.5**halving * tangent)
