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

import numpy as np
from numpy.typing import ArrayLike

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.lowrank.constraints import Constraints
from kdrbench.lowrank.divergence import residual_of
from kdrbench.lowrank.newton import change_of
from kdrbench.lowrank.reduced import ReducedProblem, checked_factor, reduce_problem
from kdrbench.lowrank.result import LearnedKernel, LowRankStatus, Progress, Stopping
from kdrbench.lowrank.von_neumann import Projection, projection_step, spectrum_of
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
    stopping, progress = stopping or Stopping(), Progress()
    run = _Run(problem, step)
    status = LowRankStatus.MAX_SWEEPS
    while progress.sweeps < stopping.max_sweeps:
        before = run.duals.copy()
        run.sweep(progress)
        progress.sweeps += 1
        progress.dual_change = change_of(run.duals, before)
        if progress.dual_change < stopping.tolerance and run.residual()[0] <= stopping.kkt_tolerance:
            status = LowRankStatus.CONVERGED
            break
    return run.collected(start, size, constraints, status, progress)


class _Run:
    """K = V exp(log X0 + sum mu_i A_i - log Z) V', always of trace one."""

    def __init__(self, problem: ReducedProblem, step: str) -> None:
        self._problem, self._step = problem, step
        self.duals = np.zeros(len(problem))
        self._basis, self._logs = np.eye(problem.rank), np.log(problem.spectrum)
        self._normalise()

    def _normalise(self) -> float:
        top = float(self._logs.max())
        partition = top + math.log(float(np.exp(self._logs - top).sum()))
        self._logs = self._logs - partition
        return partition

    def sweep(self, progress: Progress) -> None:
        """Take one step along each constraint in turn."""
        problem = self._problem
        ones = np.ones(1)
        for number, vector in enumerate(problem.vectors):
            row = (vector @ self._basis)[None, :]
            progress.projections += 1
            dual, bound = float(self.duals[number]), float(problem.bounds[number])
            lower, upper = float(problem.lower[number]), float(problem.upper[number])
            if self._step == "exact":
                projection = Projection(self._logs, row, ones, bound, dual, lower, upper, math.inf)
                moved, spectrum = projection_step(projection, progress)
                if spectrum is None:
                    continue
            else:
                value = float(np.exp(self._logs) @ row[0] ** 2)
                moved = min(max(dual + self._approximate(value, bound, float(row[0] @ row[0])), lower), upper) - dual
                if moved == 0:
                    continue
                progress.trace_evaluations += 1
                spectrum = spectrum_of(self._logs, row, ones, moved)
            progress.changes += 1
            self.duals[number] += moved
            self._logs, self._basis = spectrum.values, self._basis @ spectrum.basis
            self._normalise()

    def _approximate(self, value: float, bound: float, square: float) -> float:
        low, high = -bound, square - bound
        if self._step == "symmetric":
            high = max(-low, high)
            low = -high
        excess = value - bound
        return math.log(-low * (high - excess) / (high * (excess - low))) / (high - low)

    def values(self) -> FloatArray:
        """Return tr(K A_i)."""
        rows = self._problem.vectors @ self._basis
        traces: FloatArray = rows**2 @ np.exp(self._logs)
        return traces

    def residual(self) -> tuple[float, float]:
        """Return the KKT residual and the largest relative violation."""
        return residual_of(self._problem, self.duals, self.values() - self._problem.bounds)

    def collected(
        self, start: FloatArray, size: float, constraints: Constraints, status: LowRankStatus, progress: Progress
    ) -> LearnedKernel:
        """Return the kernel, its state computed again from the duals; ``start`` is the factor divided by ``size``."""
        problem, started = self._problem, np.log(self._problem.spectrum)
        self._logs, self._basis = np.linalg.eigh(np.diag(started) + problem.combination(self.duals))
        partition = self._normalise()
        residual, violation = self.residual()
        spectrum = np.exp(self._logs)
        value = float(spectrum @ self._logs - np.sum(self._basis**2 * spectrum * started[:, None]))
        duals = np.zeros(len(constraints))
        duals[problem.numbers] = problem.turned * self.duals
        factor_map = problem.basis_map @ (self._basis * np.sqrt(spectrum))
        return LearnedKernel(
            factor=start @ factor_map,
            factor_map=factor_map / size,
            duals=duals,
            trace_dual=-partition - 2 * math.log(size),
            status=status,
            message=f"KKT residual {residual:.1e}, largest violation {violation:.1e} after {progress.sweeps} sweeps",
            **vars(progress),
            kkt_residual=residual,
            largest_violation=violation,
            divergence=value,
            duality_gap=value - float(self.duals @ problem.bounds) + partition,
        )
