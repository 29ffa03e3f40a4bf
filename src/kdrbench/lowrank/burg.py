"""Burg's matrix divergence: D(X, Y) = tr(X Y^-1) - log det(X Y^-1) - r.

In the range of K0 it starts at X0 = I, and X^-1 = I - sum mu_i A_i. The projection onto one constraint has a closed
form and moves a factor B of X = B B' by a matrix of rank one (or two) in O(r^2).

Source: Kulis, Sustik, Dhillon, "Learning low-rank kernel matrices", ICML 2006, Section 4 and Algorithm 1; the slack is
that of Davis, Kulis, Jain, Sra, Dhillon, "Information-theoretic metric learning", ICML 2007.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.blas import dger

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.lowrank.constraints import IntArray
from kdrbench.lowrank.reduced import ReducedProblem
from kdrbench.lowrank.result import Progress

# Projections that cost about as much in numpy as loading numba (the extra ``compiled``), which takes some tenths of a
# second; and the largest rank at which machine code is quicker. Projections are counted and not seconds, so that the
# same problem always takes the same path.
_PAYS_AFTER, LARGEST_RANK = 100_000, 256


def compiled_sweep(name: str, pays: bool, asked: bool | str) -> Any | None:
    """Return the sweep called ``name`` of :mod:`.compiled`; ``None`` where numpy is to do it.

    ``asked``: ``True``, ``False``, or ``auto``: if it ``pays``. Raises ``InputError`` where it is ``True`` and numba is
    missing.
    """
    if asked is False or (asked == "auto" and not pays):
        return None
    try:
        from kdrbench.lowrank import compiled
    except ImportError as error:
        if asked is True:
            raise InputError(
                f"compiled=True needs numba ({error}): pip install 'kdrbench[compiled]', or set compiled to 'auto' or "
                "False for the same results from numpy"
            ) from error
        return None
    return getattr(compiled, name)


@dataclass
class BurgState:
    """``factor``: B with X = B B', in Fortran's order, for it is updated in place."""

    factor: FloatArray

    def root(self) -> FloatArray:
        """Return B."""
        return self.factor


class Burg:
    """Burg's divergence on a reduced problem. ``duals`` are m values, X(mu) the minimiser of the Lagrangian."""

    orthonormal = False
    # Whether a sweep costs no more than a Newton step.
    cheap_sweeps = True

    def __init__(self, problem: ReducedProblem, compiled: bool | str = "auto") -> None:
        self.problem, self._compiled = problem, compiled

    def at(self, duals: FloatArray) -> BurgState | None:
        """Return X(mu) = (I - sum mu_i A_i)^-1, or ``None`` where that is not positive definite."""
        inverse = np.eye(self.problem.rank) - self.problem.combination(duals)
        if not np.isfinite(inverse).all():
            return None
        try:
            lower = cholesky(inverse, lower=True)
        except np.linalg.LinAlgError:
            return None
        return BurgState(np.asfortranarray(solve_triangular(lower, np.eye(len(lower)), lower=True).T))

    def dual(self, duals: FloatArray, state: BurgState) -> float:
        """Return log det(I - sum mu_i A_i) + sum mu_i b_i, with slack gamma sum log(1 + mu_i b_i / gamma)."""
        problem = self.problem
        # The factor is triangular only when it comes from ``at``, so its determinant is taken as a general one.
        determinant = -2 * float(np.linalg.slogdet(state.factor)[1])
        if problem.slack == math.inf:
            return determinant + float(duals @ problem.bounds)
        inside = duals * problem.bounds / problem.slack
        return determinant + float(problem.slack * np.log1p(inside).sum()) if (inside > -1).all() else -math.inf

    def value(self, state: BurgState) -> float:
        """Return tr X - log det X - r."""
        factor = state.factor
        return float(np.sum(factor**2) - 2 * np.linalg.slogdet(factor)[1] - len(factor))

    def curvature(self, duals: FloatArray, state: BurgState, free: NDArray[np.bool_]) -> FloatArray:
        """Return tr(X A_i X A_j) = sum of (u_k' X u_l)^2 with signs, and what the slack adds to the diagonal."""
        problem = self.problem
        rows = problem.vectors @ state.factor
        squares = (rows @ rows.T) ** 2 * problem.signs[:, None] * problem.signs
        starts = problem.starts[:-1]
        summed = np.add.reduceat(np.add.reduceat(squares, starts, axis=0), starts, axis=1)
        curvature: FloatArray = summed[np.ix_(free, free)]
        if problem.slack != math.inf:
            curvature = curvature + np.diag(self.bounds(duals)[free] ** 2 / problem.slack)
        return curvature

    def bounds(self, duals: FloatArray) -> FloatArray:
        """Return 1 / (1 / b + mu / gamma)."""
        return self.problem.bounds / (1 + duals * self.problem.bounds / self.problem.slack)

    def slack_cost(self, duals: FloatArray) -> float:
        """Return gamma sum (xi / b - log(xi / b) - 1), xi being the moved bounds."""
        if self.problem.slack == math.inf:
            return 0.0
        ratio = self.bounds(duals) / self.problem.bounds
        return float(self.problem.slack * np.sum(ratio - np.log(ratio) - 1))

    def sweep(self, state: BurgState, duals: FloatArray, progress: Progress) -> bool:
        """Project onto each constraint in turn, in machine code or in numpy; ``state`` and ``duals`` change in place.

        Returns ``False``, midway, where X is so near to being singular or infinite that rounding prevents more.
        """
        problem, counts = self.problem, np.zeros(2, dtype=np.int64)
        columns, vectors = state.factor.T, problem.vectors
        tables = (problem.signs, problem.starts, problem.bounds, problem.lower, problem.upper)
        pays = problem.rank <= LARGEST_RANK and progress.projections >= _PAYS_AFTER
        compiled = compiled_sweep("burg_sweep", pays, self._compiled)
        # Entries of lists are quicker to read.
        given: Any = tables if compiled else [table.tolist() for table in tables]
        sweep: Any = compiled or burg_sweep
        done: bool = sweep(columns, vectors, *given, problem.slack, duals, counts)
        progress.add_sweep(counts.tolist(), compiled=compiled is not None)
        return done


def _dot(a: FloatArray, b: FloatArray) -> float:
    return float(a.dot(b))


def _turn(columns: FloatArray, vector: FloatArray, w: FloatArray) -> None:
    """Write B'u into ``w``; ``columns``: row k is column k of B."""
    np.dot(columns, vector, out=w)


def _add_product(columns: FloatArray, w: FloatArray, moved: FloatArray, share: float) -> None:
    """Add ``share`` (B w) w' to B; ``moved`` is work space."""
    np.dot(w, columns, out=moved)
    dger(share, moved, w, a=columns.T, overwrite_a=1)


# The same by loops, for machine code (:mod:`.compiled`).


def loop_dot(a: FloatArray, b: FloatArray) -> float:
    """Return a'b."""
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


def loop_turn(columns: FloatArray, vector: FloatArray, w: FloatArray) -> None:
    """Write B'u into ``w``."""
    for k in range(len(w)):
        w[k] = _dot(columns[k], vector)


def loop_add_product(columns: FloatArray, w: FloatArray, moved: FloatArray, share: float) -> None:
    """Add ``share`` (B w) w' to B."""
    rank = len(w)
    for i in range(rank):
        moved[i] = 0.0
    for k in range(rank):
        for i in range(rank):
            moved[i] += columns[k, i] * w[k]
    for k in range(rank):
        scaled = share * w[k]
        for i in range(rank):
            columns[k, i] += scaled * moved[i]


def grow(columns: FloatArray, w: FloatArray, moved: FloatArray, square: float, along: float) -> bool:
    """Make B B' the inverse of (B B')^-1 - along u u', in place, with w = B'u and ``square`` = |w|^2.

    B grows by g (B w) w', with beta = along / (1 - along |w|^2) and the symmetric root g = beta / (1 + sqrt(1 + beta
    |w|^2)). Returns ``False`` where rounding has made that singular.
    """
    rest = 1.0 - along * square
    if not rest > 0.0:
        return False
    beta = along / rest
    _add_product(columns, w, moved, beta / (1.0 + math.sqrt(1.0 + beta * square)))
    return True


def two_step(first: FloatArray, second: FloatArray, sign: float, other_sign: float, bound: float) -> float:
    """Return the step at which a constraint of rank two is met.

    With t and D the trace and determinant of S W W' (its eigenvalues e): sum e_k / (1 - alpha e_k) = b is the
    quadratic b D alpha^2 + (2 D - b t) alpha + b - t = 0, and the root wanted, within the poles, is always the one
    with minus the square root of the discriminant 4 D^2 + b^2 (t^2 - 4 D).
    """
    a, b, mixed = _dot(first, first), _dot(second, second), _dot(first, second)
    trace = sign * a + other_sign * b
    determinant = sign * other_sign * max(0.0, a * b - mixed**2)
    linear = 2.0 * determinant - bound * trace
    root = math.sqrt(max(0.0, 4.0 * determinant**2 + bound**2 * (trace**2 - 4.0 * determinant)))
    if linear <= 0.0:
        return 2.0 * (bound - trace) / (root - linear)
    return -(linear + root) / (2.0 * bound * determinant)


def burg_sweep(
    columns: FloatArray,
    vectors: FloatArray,
    signs: Sequence[float],
    starts: Sequence[int],
    bounds: Sequence[float],
    lower: Sequence[float],
    upper: Sequence[float],
    slack: float,
    duals: FloatArray,
    counts: IntArray,
) -> bool:
    """Project onto each constraint in turn; ``columns`` and ``duals`` change in place.

    ``counts``: projections and changes are added. Returns ``False``, midway, where rounding prevents more.
    """
    rank = len(columns)
    w, other, moved = np.empty(rank), np.empty(rank), np.empty(rank)
    give = slack / (1.0 + slack) if slack != math.inf else 1.0
    for number in range(len(bounds)):
        begin, dual, bound = starts[number], float(duals[number]), bounds[number]
        single = starts[number + 1] - begin == 1
        _turn(columns, vectors[begin], w)
        if single:
            square = _dot(w, w)
            if not square > 0.0:
                return False
            exact = give * (1.0 / square - 1.0 / bound - dual / slack)
        else:
            _turn(columns, vectors[begin + 1], other)
            exact = two_step(w, other, signs[begin], signs[begin + 1], bound)
        reached = min(max(dual + exact, lower[number]), upper[number])
        step = reached - dual
        counts[0] += 1
        if step == 0.0:
            continue
        counts[1] += 1
        duals[number] = reached
        if single:
            if not grow(columns, w, moved, square, step):
                return False
            continue
        # What makes X smaller comes first, so that X stays positive definite in between.
        place = begin if step * signs[begin] <= step * signs[begin + 1] else begin + 1
        for row in (place, 2 * begin + 1 - place):
            _turn(columns, vectors[row], w)
            if not grow(columns, w, moved, _dot(w, w), step * signs[row]):
                return False
    return True
