"""ISM, the Iterative Spectral Method.

    W_0     = most dominant eigenvectors of Phi_0 (the given start)
    W_{k+1} = q most dominant eigenvectors of Phi(W_k)

until the eigenvalues settle: |lambda_k - lambda_{k-1}| / |lambda_{k-1}| < delta, lambda being the q largest
eigenvalues. The papers print the loop condition inverted; this is what their text and code mean.

A fixed point is stationary for max F over W'W = I. The iteration is not monotone and may cycle: the
status then is ``max_iterations``.

Source: NeurIPS 2019, Algorithm 1; delta = 0.01 in its section 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem
from kdrbench.solvers.base import Outcome, Status
from kdrbench.solvers.monitor import Monitor
from kdrbench.solvers.options import require_positive
from kdrbench.solvers.stiefel import leading_eigenvectors


@dataclass(frozen=True)
class IterativeSpectralMethod:
    """ISM with the relative eigenvalue test at ``tolerance`` and an iteration cap."""

    tolerance: float = 0.01
    max_iterations: int = 200
    requires: ClassVar[frozenset[str]] = frozenset({"surrogate"})
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        require_positive(tolerance=self.tolerance, max_iterations=self.max_iterations)

    def run(self, problem: Problem, start: FloatArray, monitor: Monitor) -> Outcome:
        """Iterate from ``start``."""
        projection = start
        previous: FloatArray | None = None
        steps = 0
        while monitor.keep_going(projection):
            if steps == self.max_iterations:
                message = f"eigenvalues had not settled to {self.tolerance:g} after {steps} iterations"
                return Outcome(projection, Status.MAX_ITERATIONS, message)
            eigenvalues, projection = leading_eigenvectors(problem.surrogate(projection), start.shape[1])
            steps += 1
            if previous is not None and eigenvalues_settled(eigenvalues, previous, self.tolerance):
                return Outcome(projection, Status.CONVERGED, f"eigenvalues settled to {self.tolerance:g}")
            previous = eigenvalues
        return Outcome(projection, monitor.stop_status, monitor.stop_message)


def eigenvalues_settled(eigenvalues: FloatArray, previous: FloatArray, tolerance: float) -> bool:
    """Return whether |lambda - previous| is at most ``tolerance`` times |previous|: the papers' stopping test."""
    return bool(np.linalg.norm(eigenvalues - previous) <= tolerance * np.linalg.norm(previous))
