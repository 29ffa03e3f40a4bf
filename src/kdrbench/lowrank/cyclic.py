"""Cyclic Bregman projections: the paper's Algorithms 1 and 2, with the corrections that inequalities need.

Each constraint in turn is met exactly, as far as the sign of its dual allows: mu becomes clip(mu + alpha) and the step
made is the change of mu. The order is fixed; it beats random orders.
"""

from __future__ import annotations

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.lowrank.divergence import Divergence, kkt_residual, values_of
from kdrbench.lowrank.newton import change_of, search_conflict
from kdrbench.lowrank.reduced import in_conflict, out_of_reach, trace_bound
from kdrbench.lowrank.result import LowRankStatus, Progress, Stopping

# After this many sweeps, and at every doubling, the growth of duals is tested.
_PATIENCE = 100


def cyclic(divergence: Divergence, stopping: Stopping, progress: Progress) -> tuple[FloatArray, LowRankStatus]:
    """Return duals and how it ended; ``progress`` is kept up to date."""
    problem = divergence.problem
    duals = np.zeros(len(problem))
    state = divergence.at(duals)
    if not len(problem) or state is None:
        progress.dual_change = 0.0
        return duals, LowRankStatus.CONVERGED
    checkpoint, earlier = _PATIENCE, duals
    while progress.sweeps < stopping.max_sweeps:
        before = duals.copy()
        if not divergence.sweep(state, duals, progress):
            return duals, LowRankStatus.STALLED
        progress.sweeps += 1
        progress.dual_change = change_of(duals, before)
        due = progress.sweeps == checkpoint
        if progress.dual_change >= stopping.tolerance and not due:
            continue
        # Computing the state from the duals again removes accumulated rounding; stationarity is then exact.
        fresh = divergence.at(duals)
        if fresh is None:
            return duals, LowRankStatus.STALLED
        state = fresh
        residual, violation = kkt_residual(divergence, duals, values_of(problem, state))
        if progress.dual_change < stopping.tolerance and residual <= stopping.kkt_tolerance:
            return duals, LowRankStatus.CONVERGED
        if np.array_equal(duals, before):
            return duals, LowRankStatus.STALLED
        if due:
            checkpoint *= 2
            if violation > stopping.kkt_tolerance and _no_solution(divergence, duals, duals - earlier, progress):
                return duals, LowRankStatus.INFEASIBLE
            earlier = duals.copy()
    return duals, LowRankStatus.MAX_SWEEPS


def _no_solution(divergence: Divergence, duals: FloatArray, growth: FloatArray, progress: Progress) -> bool:
    """Return whether duals, what they grew by, or a few Newton steps show that nothing meets the constraints."""
    problem = divergence.problem
    if problem.slack != np.inf:
        return False
    for direction in (duals, problem.clip(growth)):
        progress.trace_bound = max(progress.trace_bound, trace_bound(problem, direction))
        if out_of_reach(problem, progress.trace_bound):
            progress.conflicting = in_conflict(problem, direction)
            return True
    # As many Newton steps as there were sweeps: the search costs a share of what has been spent.
    return search_conflict(problem, progress.sweeps, progress)
