"""DG, Dimension Growth: the projection is found greedily, one column after the other.

For r = 1, ..., q the columns w_1, ..., w_{r-1} stay as they are and w_r maximises F([w_1 ... w_r]) over unit
vectors orthogonal to them:

    w_r <- sqrt(1 - gamma^2) w_r + gamma v

where v is the normalised gradient with respect to w_r, made orthogonal to w_1, ..., w_r, and gamma in (0, 1]
comes from a backtracking line search with sufficient increase (Armijo). Column r starts at the r-th column
of the given start, made orthogonal to the columns found. What growth finds is a maximum in each column given those
before it: F is below the joint maximum, and W is not stationary. So the converged variant is polished: from the grown
columns all are moved together by the Cayley curves of :mod:`kdrbench.solvers.stiefel_cayley` until the relative
stationarity of W is at most ``tolerance``. F is then at least that of the grown columns.

| | ``converged`` | ``published`` |
|---|---|---|
| all columns together | polished, unless ``polish`` is false | left as they grew |
| first trial of gamma | twice the last one accepted, at most 1 | 1 |
| trials, each half of the one before | down to gamma = 1e-14 | 20 |
| a column is finished | see below | the line search fails, or a step gains at most 1e-4 of F |

A column of the converged variant is finished when the gradient with respect to it has no more than ``tolerance`` of
its length outside the columns, or when a step increases F by no more than ``tolerance``^2 of its value (F errs by the
square of the stationarity), or if the line search fails. The status is ``converged`` only where W is stationary.
Without a polish it is ``stalled`` elsewhere, and the message says how far W is from stationary.

Values alone are asked for in the line search, of which two in three trials are rejected, and the gradient where a step
was taken; F and the gradient together at the start of each column and in the polish.

The referee sees the grown columns completed by the start's remaining columns, which is a feasible W. Between steps a
run can be interrupted and resumed: the path and the result are the same. A polish begins again from the grown columns.

Sources: Niu, Dy, Jordan, "Dimensionality Reduction for Spectral Clustering", AISTATS 2011 (Eq. 6: the direction, Eq. 7:
the update), and "Iterative Discovery of Multiple Alternative Clustering Views", IEEE TPAMI 36(7), 2014. They ask for
both Wolfe conditions; the OPC library of Pavlidis (its ``drsc_linesearch``) uses the first one only, with 1e-4 and 20
halvings, and so do we. It takes 1e-4 as the change of F that ends a column from the first paper, whose F is of order
one; ours is not, so we take it relative to F. The line search of the converged variant is Nocedal and Wright's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import COUNT, FLAG, optional
from kdrbench.problems import Problem, value_and_gradient_of
from kdrbench.solvers.base import VARIANTS, SolverOutcome, Status
from kdrbench.solvers.escape import RivalOptions
from kdrbench.solvers.geometry.stiefel import orthonormalised, outside, relative_stationarity
from kdrbench.solvers.monitor import Monitor, State
from kdrbench.solvers.stiefel_cayley import StiefelCayley

_SUFFICIENT_INCREASE = 1e-4
_BACKTRACK = 0.5
_SMALLEST_STEP = 1e-14
_PUBLISHED_TRIALS = 20
_PUBLISHED_GAIN = 1e-4
# Of a gradient with no more than this outside the columns, only rounding is left.
_ROUNDING = 1e-14
# Steps of the polish for each step that a column may take.
_POLISH = 10


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


@dataclass(frozen=True)
class DimensionGrowth(RivalOptions):
    """DG with at most ``max_iterations`` steps a column, and ten times as many in the polish.

    ``tolerance``, ``polish`` and ``escape`` are those of the converged variant, which is polished unless ``polish`` is
    false. ``escape`` lets the polish leave saddles (see :mod:`kdrbench.solvers.escape`).
    """

    max_iterations: Annotated[int, COUNT] = 1000
    variant: Annotated[str, VARIANTS] = "converged"
    polish: Annotated[bool | None, optional(FLAG)] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.polish and self.variant == "published":
            raise InputError("solver option polish belongs to the converged variant; published growth ends greedily")

    def _may_escape(self) -> bool:
        return super()._may_escape() and self.polish is not False

    def run(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        """Grow the projection to the number of columns of ``start``, then polish it."""
        growth = _Growth(problem, start, RULES[self.variant], monitor.resumed)
        if (stopped := self._grow(growth, start, monitor)) is not None:
            return stopped
        grown = growth.outcome(self.tolerance)
        if self.variant == "published":
            return grown
        if self.polish is False:
            return _judged(problem, grown, self.tolerance)
        monitor.checkpoint(growth.state)
        together = StiefelCayley(self.tolerance, _POLISH * self.max_iterations, escape=self.escape)
        outcome = together.run(problem, grown.projection, monitor)
        if outcome.message == monitor.stop_message:
            return outcome
        return outcome._replace(message=f"{grown.message}; all columns together: {outcome.message}")

    def _grow(self, growth: _Growth, start: FloatArray, monitor: Monitor) -> SolverOutcome | None:
        """Find all columns; return the outcome if the monitor stops that."""
        while not growth.complete:
            monitor.checkpoint(growth.state)
            column = growth.column
            if column.settled(self.tolerance):
                growth.end_column()
            elif growth.steps == self.max_iterations:
                growth.end_column(Status.MAX_ITERATIONS, "column {} had not settled after {} steps")
            else:
                iterate = partial(_completed, column.grown(), start)
                if not monitor.keep_going(iterate):
                    return SolverOutcome(iterate(), monitor.stop_status, monitor.stop_message)
                if column.step():
                    growth.steps += 1
                elif growth.rule.ends_with_its_search:
                    growth.end_column()
                else:
                    growth.end_column(Status.STALLED, "no step increases F along column {}")
        return None


def _judged(problem: Problem, grown: SolverOutcome, tolerance: float) -> SolverOutcome:
    """Return what growth found with the stationarity of all its columns together, which alone is convergence."""
    stationarity = relative_stationarity(grown.projection, problem.gradient(grown.projection))
    message = f"{grown.message}; stationarity of all columns together is {stationarity:.1e}"
    if stationarity <= tolerance:
        return grown._replace(status=Status.CONVERGED, message=message)
    status = Status.STALLED if grown.status is Status.CONVERGED else grown.status
    return grown._replace(status=status, message=f"{message}: growth does not return to a column")


class _Growth:
    """The columns found, the one that grows, and what is to be said of them; ``state`` holds all of it."""

    def __init__(self, problem: Problem, start: FloatArray, rule: Rule, state: State | None) -> None:
        self._problem, self._start, self.rule = problem, start, rule
        if state is None:
            self.columns, self.steps, self.status = start[:, :0], 0, Status.CONVERGED
            self.unsettled: list[str] = []
            self.column = Column(problem, self.columns, start, rule)
        else:
            self.columns, self.steps, self.status = state["columns"], int(state["steps"]), Status(str(state["status"]))
            self.unsettled = [str(reason) for reason in state["unsettled"]]
            self.column = Column(problem, self.columns, start, rule, state)

    @property
    def complete(self) -> bool:
        """Whether all columns are found."""
        return bool(self.columns.shape[1] == self._start.shape[1])

    def state(self) -> State:
        """Return what growth can go on from."""
        return {
            "columns": self.columns,
            "steps": np.array(self.steps),
            "status": np.array(str(self.status)),
            "unsettled": np.array(self.unsettled, dtype=str),
            **self.column.state(),
        }

    def outcome(self, tolerance: float) -> SolverOutcome:
        """Return the columns, whether each of them settled, and what is to be said of it."""
        message = "; ".join(self.unsettled) or self.rule.end.format(tolerance)
        return SolverOutcome(self.columns, self.status, message)

    def end_column(self, status: Status = Status.CONVERGED, reason: str = "") -> None:
        """Go on to the next column; ``reason`` says why this one did not settle, its number and steps to be put in."""
        if reason:
            self.unsettled.append(reason.format(self.columns.shape[1] + 1, self.steps))
        if status is Status.MAX_ITERATIONS or self.status is Status.CONVERGED:
            self.status = status
        self.columns, self.steps = self.column.grown(), 0
        if not self.complete:
            self.column = Column(self._problem, self.columns, self._start, self.rule)


def _completed(grown: FloatArray, start: FloatArray) -> FloatArray:
    """Return a feasible d x q projection that begins with the grown columns."""
    missing = start.shape[1] - grown.shape[1]
    if not missing:
        return grown
    # Of q candidates at least q - r are independent of the r grown columns.
    remainder = start - grown @ (grown.T @ start)
    directions = np.linalg.svd(remainder, full_matrices=False)[0][:, :missing]
    return orthonormalised(np.column_stack([grown, directions]))
