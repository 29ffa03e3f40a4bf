"""ISM steps that do not form Phi: exact gradients, a corrected Phi, and Anderson's extrapolation.

A gradient costs O(n^2 q) where Phi costs O(n^2 d). With one Phi held from an earlier W, each pass takes the exact
G = Phi(W) W and corrects what is held so that it maps W to G,

    Phi_c = Phi_held + R W' + W R' - W (W'R) W',   R = G - Phi_held W,

the smallest symmetric change that does (Powell, Broyden). The q most dominant eigenvectors of Phi_c are ISM's step; at
a fixed point R needs no more correction than Phi itself, so fixed points are ISM's. The map of one W to the next is
then extrapolated from the last few (Anderson), in the chart W -> W (W_r'W)^-1 of the Grassmann manifold around W_r.

A step after which F is lower is taken back: history is dropped, and the next step from the best W is shifted towards
it, Phi_c + s WW', with s doubled until F does not fall. For s large that is a short step along the gradient.

An approximate problem can stand for the exact one until its solution is that of the exact one. Where Phi_a is the
surrogate of the approximation F_a, one exact gradient at W gives the smallest symmetric C with (Phi_a(W) + C) W =
Phi(W) W. The problem F_a(V) + Tr(V'CV) then has the exact gradient at W, and nearly the exact Hessian everywhere. Its
solution is found with passes over the approximation alone, and C is computed again there. Stationarity falls each time
by about the relative error of the approximate Hessian.

Sources: Anderson, "Iterative procedures for nonlinear integral equations", J. ACM 12, 1965; the correction is that of
Powell, "A new algorithm for unconstrained optimization", 1970; level shifts are common in self-consistent
fields; Alexandrov, Lewis, "An overview of first-order model management for engineering optimization", Optimization and
Engineering 2, 2001 (first-order consistency of a cheap model; the matrix form is ours).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem
from kdrbench.solvers.geometry.stiefel import (
    leading_eigenvectors,
    orthonormalised,
    relative_stationarity,
    require_finite,
)

# After this many passes in a row without a better stationarity, a new Phi or another method is needed.
_PATIENCE = 6
_MOST_PASSES = 40
# A new Phi is worth its cost while stationarity falls to this share of what it was with the last one.
_WORTH = 0.3
_MOST_SURROGATES = 20
_ROUNDING = 1e-12
# Pairs that are extrapolated from; differences below this share of the largest count as zero.
_MEMORY = 8
_SINGULAR = 1e-10
# Target stationarity of the approximate passes, as a share of the exact one, and of the tolerance.
_AIM, _MARGIN = 0.02, 0.3
# A correction that brings less than this in stationarity, and in F, is the last one.
_WORTH_CORRECTING, _GAIN = 0.5, 1e-8
_MOST_CORRECTIONS = 8
# A linearised F may fall by this share of its accuracy without a step being rejected.
_SMOOTH = 0.01


class Approach(NamedTuple):
    """The best W found, F and its gradient there, and the relative stationarity."""

    point: FloatArray
    value: float
    gradient: FloatArray
    stationarity: float


def approach(
    problem: Problem,
    start: FloatArray,
    surrogate: FloatArray,
    tolerance: float,
    keep_going: Callable[[FloatArray], bool],
    *,
    slack: float = 0.0,
) -> Approach:
    """Return where :func:`accelerate` gets with new surrogates for as long as they pay."""
    reached = accelerate(problem, start, surrogate, tolerance, keep_going, slack=slack)
    for _ in range(_MOST_SURROGATES):
        if reached.stationarity <= tolerance or not keep_going(reached.point):
            break
        before = reached.stationarity
        surrogate = problem.surrogate(reached.point)
        reached = accelerate(problem, reached.point, surrogate, tolerance, keep_going, slack=slack)
        if reached.stationarity > _WORTH * before:
            break
    return reached


def accelerate(
    problem: Problem,
    start: FloatArray,
    surrogate: FloatArray,
    tolerance: float,
    keep_going: Callable[[FloatArray], bool],
    *,
    slack: float = 0.0,
) -> Approach:
    """Iterate from ``start`` with ``surrogate`` held until the relative stationarity is at most ``tolerance``.

    It ends sooner after ``_MOST_PASSES`` passes, when several in a row bring nothing, or when ``keep_going`` says no.
    F falls by no more than ``slack`` |F| from one accepted W to the next.
    """
    best = evaluated(problem, start)
    current, history = best, History(start)
    waited, shift = 0, 0.0
    for _ in range(_MOST_PASSES):
        if best.stationarity <= tolerance or waited == _PATIENCE or not keep_going(best.point):
            break
        exactly = corrected(surrogate, current.point, 0.5 * current.gradient)
        if shift:
            exactly += shift * (current.point @ current.point.T)
        step = leading_eigenvectors(exactly, start.shape[1])[1]
        point = step if shift else history.extrapolated(current.point, step)
        reached = evaluated(problem, point)
        if fell(reached.value, best.value, slack):
            # The first shift is as large as the eigenvalues themselves.
            shift = 2.0 * shift or float(np.linalg.norm(current.point.T @ current.gradient, 2))
            current, history, waited = best, History(best.point), waited + 1
            continue
        shift = 0.0 if shift < 1e-10 else 0.25 * shift
        waited = 0 if reached.stationarity < best.stationarity else waited + 1
        current = reached
        if reached.stationarity < best.stationarity or reached.value > best.value:
            best = reached
    return best


def evaluated(problem: Problem, point: FloatArray) -> Approach:
    """Return F, its gradient and the stationarity of W."""
    value, gradient = problem.value_and_gradient(point)
    require_finite(value, gradient)
    return Approach(point, value, gradient, relative_stationarity(point, gradient))


def corrected(surrogate: FloatArray, point: FloatArray, image: FloatArray) -> FloatArray:
    """Return the symmetric matrix nearest to ``surrogate`` that maps ``point`` to ``image``."""
    return surrogate + correction(point, image - surrogate @ point)


def correction(point: FloatArray, missing: FloatArray) -> FloatArray:
    """Return R W' + W R' - W (W'R) W' for R = ``missing``: the smallest symmetric matrix that maps W to R."""
    crossed = missing @ point.T
    inner = point.T @ missing
    return np.asarray(crossed + crossed.T - point @ (0.5 * (inner + inner.T)) @ point.T)


def fell(value: float, before: float, slack: float = 0.0) -> bool:
    """Return whether F is lower than before, by more than ``slack`` of it and rounding."""
    return value < before - (slack + _ROUNDING) * abs(before)


class History:
    """Pairs of W and ISM's step from it, in the chart around a reference W_r: Anderson's extrapolation."""

    def __init__(self, reference: FloatArray) -> None:
        self._reference = reference
        self._places: list[FloatArray] = []
        self._moves: list[FloatArray] = []

    def extrapolated(self, point: FloatArray, step: FloatArray) -> FloatArray:
        """Return the W that the last pairs predict as a fixed point; ``step`` itself where there are none."""
        place, ahead = self._chart(point), self._chart(step)
        if place is None or ahead is None:
            self._reference, self._places, self._moves = point, [], []
            return step
        move = ahead - place
        result = ahead
        if self._places:
            moved = np.column_stack([(move - other).ravel() for other in self._moves])
            placed = np.column_stack([(place - other).ravel() for other in self._places])
            weights = np.linalg.lstsq(moved, move.ravel(), rcond=_SINGULAR)[0]
            result = ahead - ((moved + placed) @ weights).reshape(ahead.shape)
        self._places = [*self._places, place][-_MEMORY:]
        self._moves = [*self._moves, move][-_MEMORY:]
        return orthonormalised(self._reference + result)

    def _chart(self, point: FloatArray) -> FloatArray | None:
        """Return W (W_r'W)^-1 - W_r; ``None`` far from W_r."""
        overlap = self._reference.T @ point
        if np.linalg.svd(overlap, compute_uv=False)[-1] < 0.1:
            return None
        return np.asarray(np.linalg.solve(overlap.T, point.T).T - self._reference)


class _CorrectedProblem(Problem):
    """F_a(W) + Tr(W'CW)."""

    def __init__(self, approximation: Problem, change: FloatArray) -> None:
        self._approximation, self._change = approximation, change

    def value_and_gradient(self, projection: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = self._approximation.value_and_gradient(projection)
        image = self._change @ projection
        return value + float(np.vdot(projection, image)), gradient + 2.0 * image

    def surrogate(self, projection: FloatArray) -> FloatArray:
        return self._approximation.surrogate(projection) + self._change


def approach_through(
    approximation: Problem,
    exact: Problem,
    start: FloatArray,
    surrogate: FloatArray,
    tolerance: float,
    keep_going: Callable[[FloatArray], bool],
) -> Approach:
    """Return where corrections of ``approximation`` lead from ``start``: exact F, gradient and relative stationarity.

    ``surrogate``, of the approximation at some W near the start, is held as in :func:`approach`.
    F never falls beyond rounding. It ends at ``tolerance``, when a correction brings too little, or when
    ``keep_going`` says no.
    """
    best = evaluated(exact, start)
    # Linearised at W the approximation is smooth, so differences of its F are more accurate than F itself.
    model, slack = approximation.linearised_at(start), _SMOOTH * approximation.accuracy(start.shape[1])
    change = np.zeros((len(start), len(start)))
    for _ in range(_MOST_CORRECTIONS):
        if best.stationarity <= tolerance or not keep_going(best.point):
            break
        here = _CorrectedProblem(model, change).value_and_gradient(best.point)[1]
        change = change + correction(best.point, 0.5 * (best.gradient - here))
        aim = max(_AIM * best.stationarity, _MARGIN * tolerance)
        near = approach(_CorrectedProblem(model, change), best.point, surrogate, aim, keep_going, slack=slack)
        after, before = evaluated(exact, near.point), best.stationarity
        if fell(after.value, best.value):
            break
        # Away from a saddle F grows where stationarity does not fall.
        gained = after.value > best.value + _GAIN * abs(best.value)
        if gained or after.stationarity < before:
            best = after
        if not gained and after.stationarity > _WORTH_CORRECTING * before:
            break
    return best


def approached(
    problem: Problem,
    approximation: Problem,
    point: FloatArray,
    surrogate: FloatArray,
    tolerance: float,
    keep_going: Callable[[FloatArray], bool],
) -> Approach:
    """Return where gradient passes lead from the best iterate, first on the approximation."""
    accuracy = approximation.accuracy(point.shape[1])
    point = approach(approximation, point, surrogate, accuracy, keep_going, slack=accuracy).point
    corrected = approach_through(approximation, problem, point, surrogate, tolerance, keep_going)
    if corrected.stationarity <= tolerance:
        return corrected
    point = corrected.point
    slack = problem.accuracy(point.shape[1])
    return approach(problem, point, surrogate, tolerance, keep_going, slack=slack)
