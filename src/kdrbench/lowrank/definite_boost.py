"""DefiniteBoost, a rival: von Neumann's divergence among kernels of trace one, by approximate projections.

min tr(K log K - K log K0) over tr K = 1 under the constraints, which with A' = A - b I read tr(K A') <= 0. A step
along A' with eigenvalues in [l, u] minimises the Golden-Thompson and convexity bound of the dual,

    tr exp(log K + alpha A') <= ((u - m) e^(alpha l) + (m - l) e^(alpha u)) / (u - l),   m = tr(K A'),

at alpha = log(-l (u - m) / (u (m - l))) / (u - l): no trace is evaluated, and a constraint is met only in the limit.
The paper's symmetric bound is u = -l = max |eigenvalue|. Its rule for inequalities leaves the duals' signs out; the
correction that Kulis et al. made is the clipping used here.

Source: Tsuda, Raetsch, Warmuth, "Matrix exponentiated gradient updates for on-line learning and Bregman projection",
JMLR 6, 2005; Kulis, Sustik, Dhillon, ICML 2006, Section 6.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.lowrank.constraints import Constraints
from kdrbench.lowrank.learn import change_of, collected, residual_of
from kdrbench.lowrank.reduced import ReducedProblem, checked_factor, reduce_problem, with_trace
from kdrbench.lowrank.result import LearnedKernel, LowRankStatus, Progress, Stopping
from kdrbench.lowrank.trace_step import Projection, Spectrum, spectrum_of
from kdrbench.lowrank.von_neumann import VonNeumann, VonNeumannState
from kdrbench.parameters import OneOf, check_value

STEPS = ("own_range", "symmetric", "exact")


def definite_boost(
    factor: ArrayLike, constraints: Constraints, *, step: str = "own_range", stopping: Stopping | None = None
) -> LearnedKernel:
    """Return the kernel of trace one in the range of G0 G0' (n x r ``factor``) nearest to K0 / tr K0.

    ``step``: ``own_range``, each constraint's own eigenvalues; ``symmetric``, the paper's bound; ``exact``, the same
    problem by exact projections, onto the constraint and onto the trace in turn. Constraints must be of rank one, with
    bounds meant for kernels of trace one and within their reach. The stopping rule and the residuals are those of
    :func:`learn_kernel`; the duality gap is that of this problem.

    Raises ``InputError`` as :func:`learn_kernel`, for constraints of rank two, and for bounds out of reach.
    """
    check_value("step", step, OneOf(tuple(STEPS)))
    start = checked_factor(factor, constraints)
    size = float(np.linalg.norm(start))
    start = start / size
    problem = reduce_problem(start, constraints, orthonormal=True, slack=math.inf)
    squares = np.sum(problem.vectors**2, axis=1)
    if len(problem.vectors) != len(problem) or (problem.bounds >= squares).any():
        raise InputError(
            "DefiniteBoost is for constraints of rank one whose bounds are below the largest value that a kernel of "
            "trace one can give; scale the bounds or leave such constraints out"
        )
    stopping, progress, status = stopping or Stopping(), Progress(), LowRankStatus.MAX_SWEEPS
    boosting = _Boosting(with_trace(problem, 1.0, len(constraints)), step)
    duals = np.append(np.zeros(len(problem)), -math.log(problem.spectrum.sum()))
    state = boosting.at(duals)
    while state is not None and progress.sweeps < stopping.max_sweeps:
        before = duals.copy()
        boosting.sweep(state, duals, progress)
        progress.sweeps += 1
        progress.dual_change = change_of(duals[:-1], before[:-1])
        settled = progress.dual_change < stopping.tolerance
        if settled and residual_of(boosting, duals, state)[0] <= stopping.kkt_tolerance:
            status = LowRankStatus.CONVERGED
            break
    learned = collected(start, constraints, boosting, duals, status, progress)
    violation = f"KKT residual {learned.kkt_residual:.1e}, largest violation {learned.largest_violation:.1e}"
    return replace(
        learned,
        factor_map=learned.factor_map / size,
        trace_dual=learned.trace_dual - 2.0 * math.log(size),
        message=f"{violation} after {progress.sweeps} sweeps",
    )


class _Boosting(VonNeumann):
    """Von Neumann's divergence with approximate projections, each followed by the one onto the trace."""

    def __init__(self, problem: ReducedProblem, step: str) -> None:
        super().__init__(problem, compiled=False)
        self._kind = step

    def sweep(self, state: VonNeumannState, duals: FloatArray, progress: Progress) -> bool:
        """Take one step along each constraint in turn; ``state`` and ``duals`` change in place."""
        for number in range(self.problem.n_given):
            if self.project(state, number, duals, progress):
                self.project_onto_trace(state, duals)
        return True

    def step(self, projection: Projection, progress: Progress) -> tuple[float, Spectrum | None]:
        """Return the step of a dual and the spectrum there, ``None`` where nothing moves."""
        if self._kind == "exact":
            return super().step(projection, progress)
        row, bound, dual = projection.rows[0], projection.bound, projection.dual
        low, high = -bound, float(row @ row) - bound
        if self._kind == "symmetric":
            high = max(-low, high)
            low = -high
        excess = float(np.exp(projection.logs) @ row**2) - bound
        step = math.log(-low * (high - excess) / (high * (excess - low))) / (high - low)
        moved = min(max(dual + step, projection.lower), projection.upper) - dual
        if moved == 0:
            return 0.0, None
        progress.trace_evaluations += 1
        return moved, spectrum_of(projection.logs, projection.rows, projection.signs, moved)
