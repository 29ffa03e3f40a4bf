"""The dual problem by a projected Newton method: few steps, each of O(m^2 r + m^3) for m constraints.

Duals at their bound whose gradient points outwards are held; the others take a Newton step, which is projected onto the
allowed signs and shortened until the dual objective has grown enough. In Burg's divergence the first shortened steps
are followed by a sweep of projections, which are exact ascents of the dual along one coordinate each.

Source: Bertsekas, "Projected Newton methods for optimization problems with simple constraints", SIAM J. Control and
Optimization 20, 1982.

A search for a proof that no kernel meets the constraints, whatever the divergence.

Whether a set of constraints has a solution does not depend on the divergence, and on a set without one Burg's dual
grows for ever: Newton's method on it drives the duals into a direction whose trace bound is infinite, often in far
fewer steps than projections need.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve

from kdrbench.kernels.family import FloatArray
from kdrbench.lowrank.burg import Burg
from kdrbench.lowrank.divergence import Divergence, State, kkt_residual, values_of
from kdrbench.lowrank.reduced import ReducedProblem, in_conflict, out_of_reach, trace_bound
from kdrbench.lowrank.result import LowRankStatus, Progress, Stopping

_ENOUGH = 1e-4
_LENGTHS = tuple(0.5**power for power in range(14))
# Shares of the diagonal added to the curvature, tried in turn; the first hardly slows the last steps.
_RIDGES = (1e-10, 1e-7, 1e-4, 1e-1, 1e3, 1e7, 1e11)
# The dual objective is a difference of sums of the size of r and mu'b; this is its relative rounding.
_ROUNDING = 1e-13
# Curvatures below this share of the largest, or this much, are taken to be so much: steps stay finite.
_FLAT, _TINY = 1e-20, 1e-100
# This many steps may be followed by a sweep. With more, sets without a solution are recognised later.
_SWEPT = 20
# Where duals are not unique they drift by rounding for ever, at residuals like this.
_EXACT = 1e-12


def newton(divergence: Divergence, stopping: Stopping, progress: Progress) -> tuple[FloatArray, LowRankStatus]:
    """Return duals and how it ended; ``progress`` is kept up to date."""
    problem = divergence.problem
    duals = np.zeros(len(problem))
    state = divergence.at(duals)
    if not len(problem) or state is None:
        progress.dual_change = 0.0
        return duals, LowRankStatus.CONVERGED
    progress.dual_change = np.inf
    while True:
        values = values_of(problem, state)
        residual, _ = kkt_residual(divergence, duals, values)
        stopping.watch(progress.sweeps, divergence.dual(duals, state), residual)
        if residual <= stopping.kkt_tolerance and (
            progress.dual_change < stopping.tolerance or residual <= _EXACT or not duals.any()
        ):
            return duals, LowRankStatus.CONVERGED
        progress.trace_bound = max(progress.trace_bound, trace_bound(problem, duals))
        if problem.slack == np.inf and out_of_reach(problem, progress.trace_bound):
            progress.conflicting = in_conflict(problem, duals)
            return duals, LowRankStatus.INFEASIBLE
        if progress.sweeps >= stopping.max_sweeps:
            return duals, LowRankStatus.MAX_SWEEPS
        gradient = divergence.bounds(duals) - values
        moved = _step(divergence, duals, state, gradient)
        if moved is None:
            return duals, LowRankStatus.CONVERGED if residual <= stopping.kkt_tolerance else LowRankStatus.STALLED
        progress.sweeps += 1
        progress.projections += len(problem)
        progress.changes += len(problem)
        progress.dual_change = change_of(moved[0][: problem.n_given], duals[: problem.n_given])
        duals, state = moved[0], moved[1]
        if not moved[2] and divergence.cheap_sweeps and progress.sweeps <= _SWEPT:
            # Far from the solution exact projections gain what a shortened step does not.
            further, swept = duals.copy(), divergence.at(duals)
            if swept is not None and divergence.sweep(swept, further, progress):
                fresh = divergence.at(further)
                if fresh is not None:
                    duals, state = further, fresh


def change_of(duals: FloatArray, before: FloatArray) -> float:
    """Return |mu - mu_old|_1 / (|mu|_2 + |mu_old|_2), zero when both are zero."""
    size = float(np.linalg.norm(duals) + np.linalg.norm(before))
    return float(np.abs(duals - before).sum()) / size if size > 0 else 0.0


def _step(
    divergence: Divergence, duals: FloatArray, state: State, gradient: FloatArray
) -> tuple[FloatArray, State, bool] | None:
    """Return duals and state after one step, or ``None`` when no step gains anything."""
    problem = divergence.problem
    held = ((duals <= problem.lower) & (gradient <= 0)) | ((duals >= problem.upper) & (gradient >= 0))
    free = ~held
    if not free.any():
        return None
    curvature = divergence.curvature(duals, state, free)
    before = divergence.dual(duals, state)
    rounding = _ROUNDING * (problem.rank + abs(before) + float(np.abs(duals) @ np.abs(problem.bounds)))
    for ridge in _RIDGES:
        direction = np.zeros_like(duals)
        direction[free] = _solve(curvature, gradient[free], ridge)
        for length in _LENGTHS:
            trial = problem.clip(duals + length * direction)
            reached = divergence.at(trial)
            gain = float(gradient @ (trial - duals))
            if reached is not None and divergence.dual(trial, reached) >= before + _ENOUGH * gain - rounding:
                return None if np.array_equal(trial, duals) else (trial, reached, length == 1.0 and ridge == _RIDGES[0])
    return None


def _solve(curvature: FloatArray, gradient: FloatArray, ridge: float) -> FloatArray:
    """Return (curvature + ridge times its diagonal)^-1 gradient.

    Dependent constraints make the curvature singular, and the dual linear along what it does not see.
    """
    diagonal = np.diag(curvature)
    unit = 1 / np.sqrt(np.maximum(diagonal, max(_FLAT * float(diagonal.max()), _TINY)))
    scaled: NDArray[np.float64] = curvature * unit[:, None] * unit
    solved: FloatArray = unit * solve(scaled + ridge * np.eye(len(scaled)), unit * gradient, assume_a="sym")
    return solved


# A step costs m^3.
_MOST_CONSTRAINTS = 2000


def search_conflict(problem: ReducedProblem, max_steps: int, progress: Progress) -> bool:
    """Return whether ``max_steps`` Newton steps show that nothing meets the constraints; ``progress`` says which.

    Nothing is searched with a finite slack, which always has a solution, or with thousands of constraints. A
    constraint on the trace is left out, which Burg's sweeps do not know.
    """
    if problem.untraced is not None:
        problem = problem.untraced
    if problem.slack != np.inf or not 0 < len(problem) <= _MOST_CONSTRAINTS:
        return False
    # In the basis in which X0 is the identity.
    scaled = replace(
        problem,
        vectors=problem.vectors * np.sqrt(problem.spectrum),
        spectrum=np.ones(problem.rank),
        dual_unit=problem.scale,
    )
    search = Progress()
    stopping = Stopping(tolerance=1e-3, kkt_tolerance=1e-3, max_sweeps=max_steps)
    _, status = newton(Burg(scaled), stopping, search)
    progress.trace_bound = max(progress.trace_bound, search.trace_bound)
    progress.conflicting = search.conflicting
    return status is LowRankStatus.INFEASIBLE
