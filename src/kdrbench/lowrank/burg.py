"""Burg's matrix divergence: D(X, Y) = tr(X Y^-1) - log det(X Y^-1) - r.

In the range of K0 it starts at X0 = I, and X^-1 = I - sum mu_i A_i. The projection onto one constraint has a closed
form and moves a factor B of X = B B' by a matrix of rank one (or two) in O(r^2).

Source: Kulis, Sustik, Dhillon, "Learning low-rank kernel matrices", ICML 2006, Section 4 and Algorithm 1; the slack is
that of Davis, Kulis, Jain, Sra, Dhillon, "Information-theoretic metric learning", ICML 2007.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.blas import dger

from kdrbench.kernels.family import FloatArray
from kdrbench.lowrank.compiled import InnerLoop
from kdrbench.lowrank.divergence import State
from kdrbench.lowrank.reduced import ReducedProblem
from kdrbench.lowrank.result import Progress

_COMPILED = InnerLoop("burg", pays_after=100_000, largest_rank=256)


@dataclass
class BurgState:
    """``factor``: B with X = B B', in Fortran's order, for it is updated in place."""

    factor: FloatArray

    def root(self) -> FloatArray:
        """Return B."""
        return self.factor


class Burg:
    """Burg's divergence on a reduced problem; see :class:`kdrbench.lowrank.divergence.Divergence`."""

    orthonormal = False
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

    def dual(self, duals: FloatArray, state: State) -> float:
        """Return log det(I - sum mu_i A_i) + sum mu_i b_i, with slack gamma sum log(1 + mu_i b_i / gamma)."""
        # The factor is triangular only when it comes from ``at``, so its determinant is taken as a general one.
        return -2 * float(np.linalg.slogdet(state.root())[1]) + self._bound_term(duals)

    def value(self, state: State) -> float:
        """Return tr X - log det X - r."""
        factor = state.root()
        return float(np.sum(factor**2) - 2 * np.linalg.slogdet(factor)[1] - len(factor))

    def curvature(self, duals: FloatArray, state: State, free: NDArray[np.bool_]) -> FloatArray:
        """Return tr(X A_i X A_j) = sum of (u_k' X u_l)^2 with signs, and what the slack adds to the diagonal."""
        problem = self.problem
        rows = problem.vectors @ state.root()
        squares = (rows @ rows.T) ** 2 * problem.signs[:, None] * problem.signs
        starts = problem.starts[:-1]
        summed = np.add.reduceat(np.add.reduceat(squares, starts, axis=0), starts, axis=1)
        curvature: FloatArray = summed[np.ix_(free, free)]
        if problem.slack != math.inf:
            curvature = curvature + np.diag(self.bounds(duals)[free] ** 2 / problem.slack)
        return curvature

    def bounds(self, duals: FloatArray) -> FloatArray:
        """Return 1 / (1 / b + mu / gamma)."""
        moved: FloatArray = self.problem.bounds / (1 + duals * self.problem.bounds / self.problem.slack)
        return moved

    def slack_cost(self, duals: FloatArray) -> float:
        """Return gamma sum (xi / b - log(xi / b) - 1), xi being the moved bounds."""
        if self.problem.slack == math.inf:
            return 0.0
        ratio = self.bounds(duals) / self.problem.bounds
        return float(self.problem.slack * np.sum(ratio - np.log(ratio) - 1))

    def _bound_term(self, duals: FloatArray) -> float:
        problem = self.problem
        if problem.slack == math.inf:
            return float(duals @ problem.bounds)
        inside = duals * problem.bounds / problem.slack
        return float(problem.slack * np.log1p(inside).sum()) if (inside > -1).all() else -math.inf

    def sweep(self, state: State, duals: FloatArray, progress: Progress) -> bool:
        """Project onto each constraint in turn, in machine code or in numpy."""
        compiled = _COMPILED.load(self._compiled, self.problem.rank, progress)
        if compiled is None:
            return self._sweep(state, duals, progress)
        problem, counts = self.problem, np.zeros(2, dtype=np.int64)
        done: bool = compiled(
            state.root().T,
            problem.vectors,
            problem.signs,
            problem.starts,
            problem.bounds,
            problem.lower,
            problem.upper,
            problem.slack,
            duals,
            counts,
        )
        progress.add_compiled(counts.tolist())
        return done

    def _sweep(self, state: State, duals: FloatArray, progress: Progress) -> bool:
        """Let B grow by g (B w) w' with w = B'u, constraint by constraint.

        With step alpha along s u u', beta = s alpha / (1 - s alpha |w|^2) and the symmetric root
        g = beta / (1 + sqrt(1 + beta |w|^2)).
        """
        problem, factor = self.problem, state.root()
        vectors, signs, starts = problem.vectors, problem.signs.tolist(), problem.starts.tolist()
        lower, upper, bounds = problem.lower.tolist(), problem.upper.tolist(), problem.bounds.tolist()
        give = problem.slack / (1 + problem.slack) if problem.slack != math.inf else 1.0
        for number, begin in enumerate(starts[:-1]):
            dual = float(duals[number])
            single = starts[number + 1] - begin == 1
            if single:
                w = vectors[begin] @ factor
                square = float(w @ w)
                if not square > 0:
                    return False
                exact = give * (1 / square - 1 / bounds[number] - dual / problem.slack)
            else:
                exact = _two_step(vectors[begin : begin + 2] @ factor, signs[begin : begin + 2], bounds[number])
            moved = min(max(dual + exact, lower[number]), upper[number])
            step = moved - dual
            progress.projections += 1
            if step == 0:
                continue
            progress.changes += 1
            duals[number] = moved
            if single:
                if not _grow(factor, w, square, step):
                    return False
                continue
            # What makes X smaller comes first, so that X stays positive definite in between.
            for place in sorted((begin, begin + 1), key=lambda k: step * signs[k]):
                w = vectors[place] @ factor
                if not _grow(factor, w, float(w @ w), step * signs[place]):
                    return False
        return True


def _grow(factor: FloatArray, w: FloatArray, square: float, along: float) -> bool:
    """Make B B' the inverse of (B B')^-1 - along u u', in place, with w = B'u and ``square`` its squared length.

    Returns ``False`` where rounding has made that singular.
    """
    rest = 1 - along * square
    if not rest > 0:
        return False
    beta = along / rest
    dger(beta / (1 + math.sqrt(1 + beta * square)), factor @ w, w, a=factor, overwrite_a=1)
    return True


def _two_step(rows: FloatArray, signs: list[float], bound: float) -> float:
    """Return the step at which a constraint of rank two is met.

    With t and D the trace and determinant of S W W' (its eigenvalues e): sum e_k / (1 - alpha e_k) = b is the
    quadratic b D alpha^2 + (2 D - b t) alpha + b - t = 0, and the root wanted, within the poles, is always the one
    with minus the square root of the discriminant 4 D^2 + b^2 (t^2 - 4 D).
    """
    gram = rows @ rows.T
    trace = signs[0] * float(gram[0, 0]) + signs[1] * float(gram[1, 1])
    determinant = signs[0] * signs[1] * max(0.0, float(gram[0, 0] * gram[1, 1] - gram[0, 1] ** 2))
    linear = 2 * determinant - bound * trace
    root = math.sqrt(max(0.0, 4 * determinant**2 + bound**2 * (trace**2 - 4 * determinant)))
    if linear <= 0:
        return 2 * (bound - trace) / (root - linear)
    return -(linear + root) / (2 * bound * determinant)
