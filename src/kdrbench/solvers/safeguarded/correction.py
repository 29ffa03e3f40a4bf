"""A rough problem corrected until its solution is that of the exact one: few exact gradients.

Where Phi_r is the surrogate of the rough problem, one exact gradient at W gives the smallest symmetric C with
(Phi_r(W) + C) W = Phi(W) W (see :mod:`kdrbench.solvers.safeguarded.approach`). The problem F_r(V) + Tr(V'CV) then has the exact
gradient at W, and nearly the exact Hessian everywhere: its solution is found with rough passes alone, and C made anew
there. Stationarity falls each time by about the relative error of the rough Hessian.

Source: Alexandrov, Lewis, "An overview of first-order model management for engineering optimization", Optimization and
Engineering 2, 2001 (first-order consistency of a cheap model); the matrix form is ours.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem
from kdrbench.solvers.safeguarded.approach import Approach, GradientPasses, approach, correction, evaluated, fell

# Stationarity that is aimed at with rough passes, as a share of the exact one, and of the tolerance.
_AIM, _MARGIN = 0.02, 0.3
# A correction that brings less than this in stationarity, and in F, is the last one.
_WORTH, _GAIN = 0.5, 1e-8
_MOST_CORRECTIONS = 8
# Falls of a frozen rough F below this share of its accuracy are not believed.
_SMOOTH = 0.01


class _CorrectedProblem:
    """F_r(W) + Tr(W'CW)."""

    def __init__(self, rough: GradientPasses, change: FloatArray) -> None:
        self._rough, self._change = rough, change

    def value_and_gradient(self, projection: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = self._rough.value_and_gradient(projection)
        image = self._change @ projection
        return value + float(np.vdot(projection, image)), gradient + 2.0 * image

    def surrogate(self, projection: FloatArray) -> FloatArray:
        return self._rough.surrogate(projection) + self._change


def approach_through(
    rough: Problem,
    exact: Problem,
    start: FloatArray,
    surrogate: FloatArray,
    tolerance: float,
    keep_going: Callable[[FloatArray], bool],
) -> Approach:
    """Return where corrections of ``rough`` get from ``start``: exact F, gradient and relative stationarity.

    ``surrogate``, of the rough problem at some W near the start, is held as in :func:`approach`.
    F never falls beyond rounding. It ends at ``tolerance``, when a correction brings too little, or when
    ``keep_going`` says no.
    """
    best = evaluated(exact, start)
    # Frozen, the rough problem is smooth: differences of its F are worth more than its distance to the exact one.
    model, slack = rough.frozen(start), _SMOOTH * rough.accuracy(start.shape[1])
    change = np.zeros((len(start), len(start)))
    for _ in range(_MOST_CORRECTIONS):
        if best.stationarity <= tolerance or not keep_going(best.point):
            break
        here = _CorrectedProblem(model, change).value_and_gradient(best.point)[1]
        change = change + correction(best.point, 0.5 * (best.gradient - here))
        aim = max(_AIM * best.stationarity, _MARGIN * tolerance)
        near = approach(_CorrectedProblem(model, change), best.point, surrogate, aim, keep_going, slack=slack)
        found, before = evaluated(exact, near.point), best.stationarity
        if fell(found.value, best.value):
            break
        # Away from a saddle F grows where stationarity does not fall.
        gained = found.value > best.value + _GAIN * abs(best.value)
        if gained or found.stationarity < before:
            best = found
        if not gained and found.stationarity > _WORTH * before:
            break
    return best
