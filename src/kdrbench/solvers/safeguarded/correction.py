"""An approximate problem corrected until its solution is that of the exact one: few exact gradients.

Where Phi_a is the surrogate of the approximation F_a, one exact gradient at W gives the smallest symmetric C with
(Phi_a(W) + C) W = Phi(W) W (see :mod:`kdrbench.solvers.safeguarded.approach`). The problem F_a(V) + Tr(V'CV) then has
the exact gradient at W, and nearly the exact Hessian everywhere. Its solution is found with passes over the
approximation alone, and C is computed again there. Stationarity falls each time by about the relative error of the
approximate Hessian.

Source: Alexandrov, Lewis, "An overview of first-order model management for engineering optimization", Optimization and
Engineering 2, 2001 (first-order consistency of a cheap model); the matrix form is ours.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import ApproximableProblem, Problem
from kdrbench.solvers.safeguarded.approach import Approach, GradientPasses, approach, correction, evaluated, fell

# Target stationarity of the approximate passes, as a share of the exact one, and of the tolerance.
_AIM, _MARGIN = 0.02, 0.3
# A correction that brings less than this in stationarity, and in F, is the last one.
_WORTH, _GAIN = 0.5, 1e-8
_MOST_CORRECTIONS = 8
# A linearised F may fall by this share of its accuracy without a step being rejected.
_SMOOTH = 0.01


class _CorrectedProblem:
    """F_a(W) + Tr(W'CW)."""

    def __init__(self, approximation: GradientPasses, change: FloatArray) -> None:
        self._approximation, self._change = approximation, change

    def value_and_gradient(self, projection: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = self._approximation.value_and_gradient(projection)
        image = self._change @ projection
        return value + float(np.vdot(projection, image)), gradient + 2.0 * image

    def surrogate(self, projection: FloatArray) -> FloatArray:
        return self._approximation.surrogate(projection) + self._change


def approach_through(
    approximation: ApproximableProblem,
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
        if not gained and after.stationarity > _WORTH * before:
            break
    return best
