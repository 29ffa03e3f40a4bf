"""Von Neumann's matrix divergence: D(X, Y) = tr(X log X - X log Y - X + Y).

In an orthonormal basis of the range of K0, log X = log X0 + sum mu_i A_i. The projection onto one constraint takes the
eigenvectors of log X + alpha A in the eigenbasis of X, and Newton's iteration for alpha. The projection onto a trace,
tr X = t, is X t / tr X: its dual moves by log(t / tr X).

Source: Kulis, Sustik, Dhillon, "Learning low-rank kernel matrices", ICML 2006, Section 5 and Algorithm 2, corrected:
what is decomposed is **log** Lambda plus the rank-one term.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kdrbench.kernels.family import FloatArray
from kdrbench.lowrank.burg import LARGEST_RANK, compiled_sweep
from kdrbench.lowrank.reduced import ReducedProblem
from kdrbench.lowrank.result import Progress
from kdrbench.lowrank.trace_step import LARGEST, Projection, Spectrum, divided_differences, projection_step

# As in :mod:`.burg`.
_PAYS_AFTER = 3_000


@dataclass
class VonNeumannState:
    """X = U exp(diag(d)) U': ``basis`` U, r x r orthogonal; ``logs`` d."""

    basis: FloatArray
    logs: FloatArray

    def root(self) -> FloatArray:
        """Return U exp(diag(d) / 2)."""
        return self.basis * np.exp(0.5 * self.logs)


class VonNeumann:
    """Von Neumann's divergence on a reduced problem, with the methods of :class:`kdrbench.lowrank.burg.Burg`."""

    orthonormal = True
    cheap_sweeps = False

    def __init__(self, problem: ReducedProblem, compiled: bool | str = "auto") -> None:
        # Steps of rank two take full eigenproblems, which machine code does not make quicker.
        single = int(problem.starts[problem.n_given]) == problem.n_given
        self.problem, self._compiled = problem, compiled if single else False
        self._logs = np.log(problem.spectrum)
        self._table = np.column_stack([problem.bounds, problem.lower, problem.upper])
        # Entries of lists are quicker to read.
        self._starts, self._limits = problem.starts.tolist(), self._table.tolist()

    def at(self, duals: FloatArray) -> VonNeumannState | None:
        """Return X(mu) = exp(log X0 + sum mu_i A_i), or ``None`` where that overflows."""
        logarithm = np.diag(self._logs) + self.problem.combination(duals)
        if not np.isfinite(logarithm).all():
            return None
        logs, basis = np.linalg.eigh(logarithm)
        return None if logs[-1] > LARGEST else VonNeumannState(basis, logs)

    def dual(self, duals: FloatArray, state: VonNeumannState) -> float:
        """Return tr X0 - tr X(mu) + sum mu_i b_i, with slack gamma sum b_i (1 - exp(-mu_i / gamma))."""
        problem = self.problem
        traces = float(problem.spectrum.sum() - np.sum(state.root() ** 2))
        if problem.slack == math.inf:
            return traces + float(duals @ problem.bounds)
        return traces - float(problem.slack * problem.bounds @ np.expm1(-duals / problem.slack))

    def value(self, state: VonNeumannState) -> float:
        """Return tr(X log X - X log X0 - X + X0)."""
        spectrum = np.exp(state.logs)
        against = np.sum((state.basis**2 * spectrum) * self._logs[:, None])
        return float(spectrum @ state.logs - against - spectrum.sum() + self.problem.spectrum.sum())

    def curvature(self, duals: FloatArray, state: VonNeumannState, free: NDArray[np.bool_]) -> FloatArray:
        """Return sum_kl c_kl (q_k' A_i q_l)(q_k' A_j q_l), c the divided differences of exp at the eigenvalues."""
        problem = self.problem
        rows = problem.vectors @ state.basis
        products = problem.signs[:, None, None] * rows[:, :, None] * rows[:, None, :]
        summed = np.add.reduceat(products, problem.starts[:-1], axis=0)[free]
        scaled = (summed * np.sqrt(divided_differences(state.logs))).reshape(len(summed), -1)
        curvature: FloatArray = scaled @ scaled.T
        if problem.slack != math.inf:
            curvature = curvature + np.diag(self.bounds(duals)[free] / problem.slack)
        return curvature

    def bounds(self, duals: FloatArray) -> FloatArray:
        """Return b exp(-mu / gamma)."""
        return self.problem.bounds * np.exp(-duals / self.problem.slack)

    def slack_cost(self, duals: FloatArray) -> float:
        """Return gamma sum (xi log(xi / b) - xi + b), xi being the moved bounds."""
        problem = self.problem
        if problem.slack == math.inf:
            return 0.0
        moved = self.bounds(duals)
        return float(problem.slack * np.sum(-moved * duals / problem.slack - moved + problem.bounds))

    def sweep(self, state: VonNeumannState, duals: FloatArray, progress: Progress) -> bool:
        """Project onto each constraint in turn, in machine code or in numpy; onto the trace, if one is asked, last."""
        problem, given = self.problem, self.problem.n_given
        pays = problem.rank <= LARGEST_RANK and progress.projections >= _PAYS_AFTER
        compiled = compiled_sweep("von_neumann_sweep", pays, self._compiled)
        if compiled is None:
            for number in range(given):
                if self.project(state, number, duals, progress) and not state.logs.max() <= LARGEST:
                    return False
        else:
            counts, columns = np.zeros(3, dtype=np.int64), np.ascontiguousarray(state.basis.T)
            vectors, table = problem.vectors[:given], self._table[:given]
            done: bool = compiled(state.logs, columns, vectors, table, problem.slack, duals[:given], counts)
            state.basis = columns.T
            progress.add_sweep(counts.tolist(), compiled=True)
            if not done:
                return False
        if problem.untraced is not None:
            progress.projections += 1
            progress.changes += int(self.project_onto_trace(state, duals) != 0)
        return True

    def project_onto_trace(self, current: VonNeumannState, duals: FloatArray) -> float:
        """Scale X to the trace that is asked for; return what its dual moved by."""
        step = math.log(self.problem.bounds[-1]) - float(np.logaddexp.reduce(current.logs))
        current.logs = current.logs + step
        duals[-1] += step
        return step

    def project(self, current: VonNeumannState, number: int, duals: FloatArray, progress: Progress) -> bool:
        """Project onto one constraint; return whether X has moved."""
        problem, rows = self.problem, slice(self._starts[number], self._starts[number + 1])
        turned, signs, dual = problem.vectors[rows] @ current.basis, problem.signs[rows], float(duals[number])
        bound, lower, upper = self._limits[number]
        projection = Projection(current.logs, turned, signs, dual, bound, lower, upper, problem.slack)
        step, spectrum = self.step(projection, progress)
        progress.projections += 1
        if spectrum is None:
            return False
        progress.changes += 1
        duals[number] += step
        current.logs, current.basis = spectrum.values, current.basis @ spectrum.basis
        return True

    def step(self, projection: Projection, progress: Progress) -> tuple[float, Spectrum | None]:
        """Return the step of a dual and the spectrum there, ``None`` where nothing moves."""
        return projection_step(projection, progress)
