"""From a factor and constraints to the nearest kernel that meets them: cyclic projections, or Newton's method.

The projected Newton method takes few steps, each of O(m^2 r + m^3) for m constraints. Duals at their bound whose
gradient points outwards are held. The others take a Newton step, projected onto the allowed signs and shortened until
the dual objective has grown enough. In Burg's divergence the first shortened steps are followed by a sweep of
projections, which are exact ascents of the dual along one coordinate each.

Whether a set of constraints has a solution does not depend on the divergence. On a set without one, Newton's method for
Burg's dual finds a direction whose trace bound is infinite, often in far fewer steps than projections need.

Source: Bertsekas, "Projected Newton methods for optimization problems with simple constraints", SIAM J. Control and
Optimization 20, 1982.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.lowrank.burg import Burg
from kdrbench.lowrank.constraints import Constraints
from kdrbench.lowrank.reduced import (
    ReducedProblem,
    checked_factor,
    in_conflict,
    out_of_reach,
    reduce_problem,
    trace_bound,
    with_trace,
)
from kdrbench.lowrank.result import LearnedKernel, LowRankStatus, Progress, Stopping
from kdrbench.lowrank.von_neumann import VonNeumann
from kdrbench.parameters import POSITIVE, POSITIVE_OR_INFINITE, OneOf, check_value, optional

DIVERGENCES: dict[str, Any] = {"burg": Burg, "von_neumann": VonNeumann}
# Each has states of its own.
Divergence = Any
# What an end without a solution is worth finding out why.
_SEARCH_STEPS = 500
# After this many sweeps, and at every doubling, the growth of duals is tested.
_PATIENCE = 100
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
# A step costs m^3.
_MOST_CONSTRAINTS = 2000


def cyclic(divergence: Divergence, stopping: Stopping, progress: Progress) -> tuple[FloatArray, LowRankStatus]:
    """Return duals and how it ended, by the paper's Algorithms 1 and 2 with the corrections that inequalities need.

    These are cyclic Bregman projections: each constraint in turn is met exactly, as far as the sign of its dual allows;
    mu becomes clip(mu + alpha), and the step made is the change of mu. The order is fixed; it beats random orders.
    ``progress`` is kept up to date.
    """
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
        progress.dual_change = change_of(duals[: problem.n_given], before[: problem.n_given])
        stopping.watch(progress.sweeps, None, progress.dual_change)
        due = progress.sweeps == checkpoint
        if progress.dual_change >= stopping.tolerance and not due:
            continue
        # Computing the state from the duals again removes accumulated rounding; stationarity is then exact.
        if (state := divergence.at(duals)) is None:
            return duals, LowRankStatus.STALLED
        residual, violation = residual_of(divergence, duals, state)
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


def residual_of(divergence: Divergence, duals: FloatArray, state: Any) -> tuple[float, float]:
    """Return the KKT residual and the largest relative violation at these duals."""
    problem: ReducedProblem = divergence.problem
    return problem.residual(duals, problem.values(state.root()) - divergence.bounds(duals))


def _no_solution(divergence: Divergence, duals: FloatArray, growth: FloatArray, progress: Progress) -> bool:
    """Return whether duals, what they grew by, or a few Newton steps show that nothing meets the constraints."""
    problem = divergence.problem
    if problem.slack != np.inf:
        return False
    # As many Newton steps as there were sweeps: the search costs a share of what has been spent.
    return (
        _are_proof(problem, duals, progress)
        or _are_proof(problem, problem.clip(growth), progress)
        or search_conflict(problem, progress.sweeps, progress)
    )


def _are_proof(problem: ReducedProblem, duals: FloatArray, progress: Progress) -> bool:
    """Return whether ``duals`` show that nothing meets the constraints; ``progress`` gets their bound, and which."""
    progress.trace_bound = max(progress.trace_bound, trace_bound(problem, duals))
    if problem.slack != np.inf or not out_of_reach(problem, progress.trace_bound):
        return False
    progress.conflicting = in_conflict(problem, duals)
    return True


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
        gradient = divergence.bounds(duals) - problem.values(state.root())
        residual, _ = problem.residual(duals, -gradient)
        stopping.watch(progress.sweeps, divergence.dual(duals, state), residual)
        if residual <= stopping.kkt_tolerance and (
            progress.dual_change < stopping.tolerance or residual <= _EXACT or not duals.any()
        ):
            return duals, LowRankStatus.CONVERGED
        if _are_proof(problem, duals, progress):
            return duals, LowRankStatus.INFEASIBLE
        if progress.sweeps >= stopping.max_sweeps:
            return duals, LowRankStatus.MAX_SWEEPS
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
            done = swept is not None and divergence.sweep(swept, further, progress)
            if done and (fresh := divergence.at(further)) is not None:
                duals, state = further, fresh


def change_of(duals: FloatArray, before: FloatArray) -> float:
    """Return |mu - mu_old|_1 / (|mu|_2 + |mu_old|_2), zero when both are zero."""
    size = float(np.linalg.norm(duals) + np.linalg.norm(before))
    return float(np.abs(duals - before).sum()) / size if size > 0 else 0.0


def _step(
    divergence: Divergence, duals: FloatArray, state: Any, gradient: FloatArray
) -> tuple[FloatArray, Any, bool] | None:
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
    """Return (curvature + ridge times its diagonal)^-1 gradient; dependent constraints make the curvature singular."""
    diagonal = np.diag(curvature)
    unit = 1 / np.sqrt(np.maximum(diagonal, max(_FLAT * float(diagonal.max()), _TINY)))
    scaled: NDArray[np.float64] = curvature * unit[:, None] * unit
    solved: FloatArray = unit * solve(scaled + ridge * np.eye(len(scaled)), unit * gradient, assume_a="sym")
    return solved


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


SOLVERS = {"cyclic": cyclic, "newton": newton}


def learn_kernel(
    factor: ArrayLike,
    constraints: Constraints,
    *,
    divergence: str = "burg",
    solver: str = "cyclic",
    stopping: Stopping | None = None,
    slack: float = math.inf,
    trace: float | None = None,
    compiled: bool | str = "auto",
) -> LearnedKernel:
    """Solve min D(K, K0) over positive semidefinite K in the range of K0 = G0 G0' under tr(K A_i) <=, >=, = b_i.

    Parameters
    ----------
    factor : array of shape (n, r)
        G0. Memory is O(n r + m r) beyond it; time is linear in n once at the start and once at the end.
    constraints : Constraints
        See ``kdrbench.lowrank.constraints``; on n samples.
    divergence : {"burg", "von_neumann"}
        Burg: D = tr(K K0^+) - log det on the range - r, which keeps the rank. Von Neumann: D = tr(K log K -
        K log K0 - K + K0); constraints tr(KA) = 0 with positive semidefinite A are met by a smaller range.
    solver : {"cyclic", "newton"}
        ``cyclic``: the paper's projections in turn, O(r^2) (Burg) or an r x r eigenproblem (von Neumann) each.
        ``newton``: the dual by projected Newton steps of O(m^2 r + m^3), for tight solves of up to some thousand
        constraints.
    stopping : Stopping or None
        Tolerances and the most sweeps.
    slack : float
        gamma > 0: each bound b may move to xi at the cost gamma d(xi, b), d the same divergence of numbers; ``inf``
        keeps the bounds. For constraints of rank one. An extension of ours to von Neumann of what information-theoretic
        metric learning does for Burg.
    trace : float or None
        With a number, also tr K = ``trace``, the last constraint of each sweep; von Neumann's divergence, no slack. The
        problem with trace one is that of :func:`definite_boost`.
    compiled : True, False or "auto"
        Whether sweeps of projections are machine code, which needs numba; results are those of numpy up to rounding.
        ``auto``: in long solves, where numba is installed. See :mod:`kdrbench.lowrank.compiled`.

    Returns
    -------
    LearnedKernel
        Look at ``status`` and ``message``: nothing is raised or warned for a set of constraints without a solution.

    Raises
    ------
    InputError
        For unknown names, arrays of the wrong shape, constraints that cannot hold by themselves, and
        ``compiled=True`` without numba.

    References
    ----------
    Kulis, Sustik, Dhillon, "Learning low-rank kernel matrices", ICML 2006.

    Examples
    --------
    >>> from kdrbench.lowrank import learn_kernel, squared_distances
    >>> nearer = squared_distances(3, [(0, 1)], "<=", 1.0)
    >>> learned = learn_kernel([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]], nearer)
    >>> learned.factor.round(6).tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """
    start = checked_factor(factor, constraints)
    check_value("divergence", divergence, OneOf(tuple(sorted(DIVERGENCES))))
    check_value("solver", solver, OneOf(tuple(sorted(SOLVERS))))
    check_value("slack", slack, POSITIVE_OR_INFINITE)
    check_value("compiled", compiled, OneOf((True, False, "auto")))
    check_value("trace", trace, optional(POSITIVE))
    if trace is not None and (divergence != "von_neumann" or slack != math.inf):
        raise InputError(
            f"a trace is a constraint of von Neumann's divergence with slack inf, got divergence {divergence!r} and "
            f"slack {slack!r}; leave trace out, or choose these"
        )
    kind = DIVERGENCES[divergence]
    problem = reduce_problem(start, constraints, orthonormal=kind.orthonormal, slack=float(slack))
    if trace is not None:
        problem = with_trace(problem, float(trace), len(constraints))
    chosen = kind(problem, compiled)
    progress = Progress()
    duals, status = SOLVERS[solver](chosen, stopping or Stopping(), progress)
    if status in (LowRankStatus.STALLED, LowRankStatus.MAX_SWEEPS) and search_conflict(
        problem, _SEARCH_STEPS, progress
    ):
        status = LowRankStatus.INFEASIBLE
    return collected(start, constraints, chosen, duals, status, progress)


def collected(
    start: FloatArray,
    constraints: Constraints,
    divergence: Divergence,
    duals: FloatArray,
    status: LowRankStatus,
    progress: Progress,
) -> LearnedKernel:
    """Return the kernel that the duals give, with its certificates."""
    problem = divergence.problem
    state = divergence.at(duals)
    if state is None:
        # Only reached by duals that have grown beyond rounding; the start is then all that can be said of.
        duals, status = np.zeros_like(duals), status if status is LowRankStatus.INFEASIBLE else LowRankStatus.STALLED
        state = divergence.at(duals)
    if state is None:
        raise InputError("the factor's entries are too large or too small for its kernel's logarithm; scale it")
    residual, violation = residual_of(divergence, duals, state)
    value = divergence.value(state)
    traced = problem.untraced is not None
    all_duals = np.zeros(len(constraints) + traced)
    all_duals[problem.numbers] = problem.turned * duals
    factor_map = problem.basis_map @ state.root()
    return LearnedKernel(
        factor=start @ factor_map,
        factor_map=factor_map,
        duals=all_duals[: len(constraints)],
        trace_dual=float(duals[-1]) if traced else 0.0,
        status=status,
        message=_message(status, constraints, problem, progress, residual, violation),
        **vars(progress),
        kkt_residual=residual,
        largest_violation=violation,
        divergence=value,
        duality_gap=value + divergence.slack_cost(duals) - divergence.dual(duals, state),
    )


def _message(
    status: LowRankStatus,
    constraints: Constraints,
    problem: ReducedProblem,
    progress: Progress,
    residual: float,
    violation: float,
) -> str:
    evidence = f"KKT residual {residual:.1e}, largest violation {violation:.1e} after {progress.sweeps} sweeps"
    if status is LowRankStatus.INFEASIBLE:
        named = "; ".join(
            constraints.describe(number) if number < len(constraints) else "the trace"
            for number in progress.conflicting[:5]
        )
        more = f" and {len(progress.conflicting) - 5} more" if len(progress.conflicting) > 5 else ""
        says = (
            "no kernel in the range of K0 meets the constraints"
            if progress.trace_bound == math.inf
            else f"any kernel that meets the constraints has at least {progress.trace_bound:.1e} times K0's trace, so "
            "there is most likely none"
        )
        return f"{says}; in conflict: {named}{more}. Relax or leave out some of them, or set a finite slack; {evidence}"
    if status is LowRankStatus.CONVERGED:
        return f"{evidence}; {len(constraints) - problem.n_given} constraints hold for every kernel of the range"
    if violation > 1e-3 and problem.slack == math.inf:
        evidence += "; the constraints may have no solution, or only singular ones: relax some, or set a finite slack"
    return f"{evidence}; raise max_sweeps, or try solver='newton'" if status is LowRankStatus.MAX_SWEEPS else evidence
