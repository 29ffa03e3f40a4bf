"""ISM steps that do not form Phi: exact gradients, a corrected Phi, and Anderson's extrapolation.

A gradient costs O(n^2 q) where Phi costs O(n^2 d). With one Phi held from an earlier W, each pass takes the exact
G = Phi(W) W and corrects what is held so that it maps W to G,

    Phi_c = Phi_held + R W' + W R' - W (W'R) W',   R = G - Phi_held W,

the smallest symmetric change that does (Powell, Broyden). The q most dominant eigenvectors of Phi_c are ISM's step; at
a fixed point R needs no more correction than Phi itself, so fixed points are ISM's. The map of one W to the next is
then extrapolated from the last few (Anderson), in the chart W -> W (W_r'W)^-1 of the Grassmann manifold around W_r.

A step after which F is lower is taken back: history is dropped, and the next step from the best W is shifted towards
it, Phi_c + s WW', with s doubled until F does not fall. For s large that is a short step along the gradient.

Source: Anderson, "Iterative procedures for nonlinear integral equations", J. ACM 12, 1965; the correction is that of
Powell, "A new algorithm for unconstrained optimization", 1970; level shifts are common in self-consistent fields.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.solvers.geometry.stiefel import leading_eigenvectors, relative_stationarity, require_finite
from kdrbench.solvers.safeguarded.extrapolation import History

# Passes in a row without a better stationarity after which a new Phi, or another method, is wanted.
_PATIENCE = 6
_MOST_PASSES = 40
# A new Phi is worth its cost while stationarity falls to this share of what it was with the last one.
_WORTH = 0.3
_MOST_SURROGATES = 20
_ROUNDING = 1e-12


class GradientPasses(Protocol):
    """What is asked of a problem here."""

    def value_and_gradient(self, projection: FloatArray) -> tuple[float, FloatArray]:
        """Return F(W) and its Euclidean gradient."""
        ...

    def surrogate(self, projection: FloatArray) -> FloatArray:
        """Return Phi(W)."""
        ...


class Approach(NamedTuple):
    """The best W found, F and its gradient there, and the relative stationarity."""

    point: FloatArray
    value: float
    gradient: FloatArray
    stationarity: float


def approach(
    problem: GradientPasses,
    start: FloatArray,
    surrogate: FloatArray,
    tolerance: float,
    keep_going: Callable[[FloatArray], bool],
    *,
    slack: float = 0.0,
) -> Approach:
    """Return where :func:`accelerate` gets with new surrogates for as long as they pay."""
    found = accelerate(problem, start, surrogate, tolerance, keep_going, slack=slack)
    for _ in range(_MOST_SURROGATES):
        if found.stationarity <= tolerance or not keep_going(found.point):
            break
        before = found.stationarity
        surrogate = problem.surrogate(found.point)
        found = accelerate(problem, found.point, surrogate, tolerance, keep_going, slack=slack)
        if found.stationarity > _WORTH * before:
            break
    return found


def accelerate(
    problem: GradientPasses,
    start: FloatArray,
    surrogate: FloatArray,
    tolerance: float,
    keep_going: Callable[[FloatArray], bool],
    *,
    slack: float = 0.0,
) -> Approach:
    """Iterate from ``start`` with ``surrogate`` held until the relative stationarity is at most ``tolerance``.

    It ends sooner after ``_MOST_PASSES`` passes, when some in a row have brought nothing, or when ``keep_going`` says
    no. F falls by no more than ``slack`` |F| from one accepted W to the next.
    """
    best = evaluated(problem, start)
    current, history = best, History(start)
    waited, shift = 0, 0.0
    for _ in range(_MOST_PASSES):
        if best.stationarity <= tolerance or waited == _PATIENCE or not keep_going(best.point):
            break
        exactly = corrected(surrogate, current.point, 0.5 * current.gradient)
        step = _shifted_step(exactly, current.point, shift)
        point = step if shift else history.extrapolated(current.point, step)
        found = evaluated(problem, point)
        if fell(found.value, best.value, slack):
            # The first shift is as large as the eigenvalues themselves.
            shift = 2.0 * shift or float(np.linalg.norm(current.point.T @ current.gradient, 2))
            current, history, waited = best, History(best.point), waited + 1
            continue
        shift = 0.0 if shift < 1e-10 else 0.25 * shift
        waited = 0 if found.stationarity < best.stationarity else waited + 1
        current = found
        if found.stationarity < best.stationarity or found.value > best.value:
            best = found
    return best


def evaluated(problem: GradientPasses, point: FloatArray) -> Approach:
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
    result: FloatArray = crossed + crossed.T - point @ (0.5 * (inner + inner.T)) @ point.T
    return result


def _shifted_step(surrogate: FloatArray, point: FloatArray, shift: float) -> FloatArray:
    shifted = surrogate + shift * (point @ point.T) if shift else surrogate
    return leading_eigenvectors(shifted, point.shape[1])[1]


def fell(value: float, before: float, slack: float = 0.0) -> bool:
    """Return whether F is lower than before, by more than ``slack`` of it and rounding."""
    return value < before - (slack + _ROUNDING) * abs(before)
