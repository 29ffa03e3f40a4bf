"""A search for a proof that no kernel meets the constraints, whatever the divergence.

Whether a set of constraints has a solution does not depend on the divergence, and on a set without one Burg's dual
grows for ever: Newton's method on it drives the duals into a direction whose trace bound is infinite, often in far
fewer steps than projections need.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kdrbench.lowrank.burg import Burg
from kdrbench.lowrank.newton import newton
from kdrbench.lowrank.reduced import ReducedProblem
from kdrbench.lowrank.result import LowRankStatus, Progress, Stopping

# A step costs m^3.
_MOST_CONSTRAINTS = 2000


def search_conflict(problem: ReducedProblem, max_steps: int, progress: Progress) -> bool:
    """Return whether ``max_steps`` Newton steps show that nothing meets the constraints; ``progress`` says which.

    Nothing is searched with a finite slack, which always has a solution, or with thousands of constraints.
    """
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
