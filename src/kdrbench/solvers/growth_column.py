"""One column of Dimension Growth: what a column follows, by which line search, and when it is finished.

The variants' rules are in the table of :mod:`kdrbench.solvers.dimension_growth`, and so are the sources.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem, value_and_gradient_of
from kdrbench.solvers.geometry.stiefel import orthonormalised, outside
from kdrbench.solvers.monitor import State

_SUFFICIENT_INCREASE = 1e-4
_BACKTRACK = 0.5
_SMALLEST_STEP = 1e-14
_PUBLISHED_TRIALS = 20
_PUBLISHED_GAIN = 1e-4
# Of a gradient with no more than this outside the columns, only rounding is left.
_ROUNDING = 1e-14


@dataclass(frozen=True)
class Rule:
    """What the variants do differently; the smallest gain is relative to F, the smallest slope to the gradient."""

    first_trial: Callable[[float], float]
    smallest_step: float
    smallest_gain: Callable[[float], float]
    smallest_slope: Callable[[float], float]
    ends_with_its_search: bool
    end: str


RULES = {
    "converged": Rule(
        first_trial=lambda last: min(1.0, 2.0 * last),
        smallest_step=_SMALLEST_STEP,
        smallest_gain=lambda tolerance: tolerance**2,
        smallest_slope=lambda tolerance: tolerance,
        ends_with_its_search=False,
        end="each column settled to {:g}",
    ),
    "published": Rule(
        first_trial=lambda last: 1.0,
        smallest_step=_BACKTRACK**_PUBLISHED_TRIALS,
        smallest_gain=lambda tolerance: _PUBLISHED_GAIN,
        smallest_slope=lambda tolerance: _ROUNDING,
        ends_with_its_search=True,
        end="each column's last step gained at most 1e-4 of F, or none did; stationarity was not evaluated",
    ),
}


class Column:
    """The newest column, the columns found before it, and F of them together."""

    def __init__(
        self, problem: Problem, before: FloatArray, start: FloatArray, rule: Rule, state: State | None = None
    ) -> None:
        self._problem, self._before, self._rule = problem, before, rule
        self._ascent = np.zeros(0)
        if state is None:
            self._vector = orthonormalised(np.column_stack([before, start[:, before.shape[1] :]]))[:, before.shape[1]]
            # F is found with the first gradient.
            self._value, self._step, self._gain = np.nan, 1.0, np.inf
        else:
            self._vector = state["vector"]
            self._value, self._step, self._gain = map(float, state["value_step_gain"])

    def state(self) -> State:
        """Return what the column can go on from."""
        numbers = np.array([self._value, self._step, self._gain])
        return {"vector": self._vector, "value_step_gain": numbers}

    def grown(self) -> FloatArray:
        """Return the columns found and the newest one."""
        return np.column_stack([self._before, self._vector])

    def settled(self, tolerance: float) -> bool:
        """Return whether the column is stationary, or its last step gained next to nothing."""
        if self._gain <= self._rule.smallest_gain(tolerance) * abs(self._value):
            return True
        basis = self.grown()
        if np.isnan(self._value):
            self._value, gradients = value_and_gradient_of(self._problem, basis)
        else:
            # F is known from the line search.
            gradients = self._problem.gradient(basis)
        gradient = gradients[:, -1]
        self._ascent = outside(basis, gradient)
        return bool(np.linalg.norm(self._ascent) <= self._rule.smallest_slope(tolerance) * np.linalg.norm(gradient))

    def step(self) -> bool:
        """Move along the ascent direction that :meth:`settled` found; return whether F increased."""
        before, slope = self._value, float(np.linalg.norm(self._ascent))
        step_found = self._search(self._ascent / slope, slope)
        self._gain = self._value - before
        return step_found

    def _search(self, direction: FloatArray, slope: float) -> bool:
        """Move along the great circle by the first gamma that increases F enough; false if none does."""
        step = self._rule.first_trial(self._step)
        while step > self._rule.smallest_step:
            turned = outside(self._before, np.sqrt(1.0 - step**2) * self._vector + step * direction)
            candidate = turned / np.linalg.norm(turned)
            value = self._problem.value(np.column_stack([self._before, candidate]))
            if value >= self._value + _SUFFICIENT_INCREASE * step * slope:
                self._vector, self._value, self._step = candidate, value, step
                return True
            step *= _BACKTRACK
        return False
