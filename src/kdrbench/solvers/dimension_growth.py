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

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import COUNT, FLAG, optional
from kdrbench.problems import Problem
from kdrbench.solvers.base import VARIANTS, Rival, SolverOutcome, Status
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
_NO_GAIN = "no step increases F along column {}"
PUBLISHED_END = "each column's last step gained at most 1e-4 of F, or none did; stationarity was not evaluated"


@dataclass(frozen=True)
class DimensionGrowth(Rival):
    """DG with at most ``max_iterations`` steps a column, and ten times as many in the polish.

    ``tolerance``, ``polish`` and ``escape`` are those of the converged variant, which is polished unless ``polish`` is
    false. ``escape`` lets the polish leave saddles.
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
        tolerance = None if self.variant == "published" else self.tolerance
        growth = Growth(problem, start, tolerance, monitor.resumed)
        while not growth.complete:
            monitor.checkpoint(growth.state)
            if growth.settled():
                growth.end_column()
            elif growth.steps == self.max_iterations:
                growth.end_column(Status.MAX_ITERATIONS, "column {} had not settled after {} steps")
            else:
                iterate = partial(_completed, growth.grown(), start)
                if not monitor.keep_going(iterate):
                    return SolverOutcome(iterate(), monitor.stop_status, monitor.stop_message)
                if not growth.step():
                    growth.end_column(*(() if tolerance is None else (Status.STALLED, _NO_GAIN)))
        if tolerance is None:
            return SolverOutcome(growth.columns, growth.status, "; ".join(growth.unsettled) or PUBLISHED_END)
        message = "; ".join(growth.unsettled) or f"each column settled to {tolerance:g}"
        if self.polish is False:
            stationarity = relative_stationarity(growth.columns, problem.gradient(growth.columns))
            message = f"{message}; stationarity of all columns together is {stationarity:.1e}"
            if stationarity <= tolerance:
                return SolverOutcome(growth.columns, Status.CONVERGED, message)
            status = Status.STALLED if growth.status is Status.CONVERGED else growth.status
            return SolverOutcome(growth.columns, status, f"{message}: growth does not return to a column")
        monitor.checkpoint(growth.state)
        together = StiefelCayley(tolerance, _POLISH * self.max_iterations, escape=self.escape)
        outcome = together.run(problem, growth.columns, monitor)
        if outcome.message == monitor.stop_message:
            return outcome
        return outcome._replace(message=f"{message}; all columns together: {outcome.message}")


class Growth:
    """The columns found, the newest one, which grows, and F of them together; ``state`` holds all of it.

    Without a ``tolerance`` growth is as published. Resumes from a ``state`` where there is one.
    """

    def __init__(
        self, problem: Problem, start: FloatArray, tolerance: float | None, state: State | None = None
    ) -> None:
        self._problem, self._start, self._published = problem, start, tolerance is None
        # Of gamma, of the gain relative to F, and of the slope relative to the gradient.
        self._smallest_step, self._smallest_gain, self._smallest_slope = (
            (_BACKTRACK**_PUBLISHED_TRIALS, _PUBLISHED_GAIN, _ROUNDING)
            if tolerance is None
            else (_SMALLEST_STEP, tolerance**2, tolerance)
        )
        self._ascent = np.zeros(0)
        if state is None:
            self.columns, self.status, self.unsettled = start[:, :0], Status.CONVERGED, list[str]()
            self._begin_column()
        else:
            self.columns, self.steps, self.status = state["columns"], int(state["steps"]), Status(str(state["status"]))
            self.unsettled = [str(reason) for reason in state["unsettled"]]
            self._vector = state["vector"]
            self._value, self._step, self._gain = map(float, state["value_step_gain"])

    def _begin_column(self) -> None:
        place = self.columns.shape[1]
        self._vector = orthonormalised(np.column_stack([self.columns, self._start[:, place:]]))[:, place]
        # F is found with the first gradient.
        self._value, self._step, self._gain, self.steps = np.nan, 1.0, np.inf, 0

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
            "vector": self._vector,
            "value_step_gain": np.array([self._value, self._step, self._gain]),
        }

    def grown(self) -> FloatArray:
        """Return the columns found and the newest one."""
        return np.column_stack([self.columns, self._vector])

    def settled(self) -> bool:
        """Return whether the newest column is stationary, or its last step gained next to nothing."""
        if self._gain <= self._smallest_gain * abs(self._value):
            return True
        basis = self.grown()
        if np.isnan(self._value):
            self._value, gradients = self._problem.value_and_gradient(basis)
        else:
            # F is known from the line search.
            gradients = self._problem.gradient(basis)
        gradient = gradients[:, -1]
        self._ascent = outside(basis, gradient)
        return bool(np.linalg.norm(self._ascent) <= self._smallest_slope * np.linalg.norm(gradient))

    def step(self) -> bool:
        """Move along the great circle of the ascent that :meth:`settled` found; return whether F increased enough."""
        before, slope = self._value, float(np.linalg.norm(self._ascent))
        direction = self._ascent / slope
        step, self._gain = 1.0 if self._published else min(1.0, 2.0 * self._step), 0.0
        while step > self._smallest_step:
            turned = outside(self.columns, np.sqrt(1.0 - step**2) * self._vector + step * direction)
            candidate = turned / np.linalg.norm(turned)
            value = self._problem.value(np.column_stack([self.columns, candidate]))
            if value >= before + _SUFFICIENT_INCREASE * step * slope:
                self._vector, self._value, self._step, self._gain = candidate, value, step, value - before
                self.steps += 1
                return True
            step *= _BACKTRACK
        return False

    def end_column(self, status: Status = Status.CONVERGED, reason: str = "") -> None:
        """Go on to the next column; ``reason`` says why this one did not settle, its number and steps to be put in."""
        if reason:
            self.unsettled.append(reason.format(self.columns.shape[1] + 1, self.steps))
        if status is Status.MAX_ITERATIONS or self.status is Status.CONVERGED:
            self.status = status
        self.columns, self.steps = self.grown(), 0
        if not self.complete:
            self._begin_column()


def _completed(grown: FloatArray, start: FloatArray) -> FloatArray:
    """Return a feasible d x q projection that begins with the grown columns."""
    missing = start.shape[1] - grown.shape[1]
    if not missing:
        return grown
    # Of q candidates at least q - r are independent of the r grown columns.
    remainder = start - grown @ (grown.T @ start)
    directions = np.linalg.svd(remainder, full_matrices=False)[0][:, :missing]
    return orthonormalised(np.column_stack([grown, directions]))
