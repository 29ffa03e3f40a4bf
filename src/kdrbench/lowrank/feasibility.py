"""Lower bounds on the trace of whatever meets the constraints: how sets without a solution are recognised.

For duals of the allowed signs, every M that meets the constraints has sum mu_i b_i <= tr(M S), S = sum mu_i A_i, and
tr(M S) <= lambda_max(S) tr M. So tr M >= R = mu'b / lambda_max(S): a bound that grows without end on an infeasible set,
and a proof that nothing meets the constraints where lambda_max(S) <= 0.
"""

from __future__ import annotations

import math

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.lowrank.reduced import ReducedProblem

# Relative rounding of sums and eigenvalues of matrices of some hundred rows.
_ROUNDING = 1e-14
# Traces so many times what the bounds ask for are taken to say that there is no solution.
_BEYOND = 1e6
# Duals below this share of the largest, in the units of their constraints, play no part in a conflict.
_SHARE = 1e-3


def trace_bound(problem: ReducedProblem, duals: FloatArray) -> float:
    """Return R / r for M = X in the units of X0, so that X0 has 1; ``inf`` for a proof that there is no such M."""
    if not len(problem):
        return 0.0
    root = np.sqrt(problem.spectrum)
    weights = np.repeat(np.abs(duals), np.diff(problem.starts))
    total = float(weights @ np.sum((problem.vectors * root) ** 2, axis=1))
    # Both sides are rounded against the bound, which so holds in spite of large duals that cancel.
    gain = float(duals @ problem.bounds) - _ROUNDING * float(np.abs(duals) @ np.abs(problem.bounds))
    if not gain > 0:
        return 0.0
    largest = float(np.linalg.eigvalsh(problem.combination(duals) * root[:, None] * root)[-1]) + _ROUNDING * total
    return gain / largest / problem.rank if largest > 0 else math.inf


def out_of_reach(problem: ReducedProblem, bound: float) -> bool:
    """Return whether a trace bound is too large for the bounds of the constraints."""
    sizes = np.where(problem.scale == problem.bounds, problem.initial, problem.scale - np.abs(problem.bounds))
    asked = np.abs(problem.bounds) / np.maximum(sizes, np.finfo(float).tiny)
    return bound > _BEYOND * max(1.0, float(asked.max()))


def in_conflict(problem: ReducedProblem, duals: FloatArray) -> tuple[int, ...]:
    """Return the numbers of the constraints that a bound from these duals rests on."""
    weights = np.abs(duals) * problem.scale
    return tuple(problem.numbers[weights > _SHARE * weights.max()].tolist())
