"""ISM, the Iterative Spectral Method, as published.

    W_0     = most dominant eigenvectors of Phi_0 (the given start)
    W_{k+1} = q most dominant eigenvectors of Phi(W_k)

until the eigenvalues settle: |lambda_k - lambda_{k-1}| / |lambda_{k-1}| < delta, lambda being the q largest
eigenvalues. The papers print the loop condition inverted; this is what their text and code mean.

A fixed point is stationary for max F over W'W = I. The iteration is not monotone and may cycle: the
status then is ``max_iterations``.

``variant="published"`` takes Phi from the kernel of X instead of that of XW, once, and ignores the start: the only
reading with which the papers' polynomial costs agree. Its result is no fixed point. ``published_1_d`` multiplies beta
of X by q / d. A kernel with scale 1/q then has 1/d, the default of scikit-learn's polynomial kernel on X, as 1/q is on
XW. The printed costs fit this better.

Source: NeurIPS 2019, Algorithm 1; delta = 0.01 in its section 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import COUNT, POSITIVE, OneOf
from kdrbench.problems import Problem
from kdrbench.solvers.base import Options, SolverOutcome, Status, run_in_row_space
from kdrbench.solvers.geometry.stiefel import eigenvalues_settled, leading_eigenvectors
from kdrbench.solvers.monitor import Monitor

_UNPROJECTED = ("published", "published_1_d")


@dataclass(frozen=True)
class IterativeSpectralMethod(Options):
    """ISM with the test on eigenvalues at ``tolerance``, and an iteration cap.

    ``variant`` is ``iterated``, or ``published`` or ``published_1_d`` for the papers' polynomial runs.
    """

    tolerance: Annotated[float, POSITIVE] = 0.01
    max_iterations: Annotated[int, COUNT] = 200
    variant: Annotated[str, OneOf(("iterated", *_UNPROJECTED))] = "iterated"
    requires: ClassVar[frozenset[str]] = frozenset({"surrogate"})
    own_rule: ClassVar[str] = "eigenvalues settle to the tolerance"

    def run(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        """Iterate from ``start``."""
        if self.variant in _UNPROJECTED:
            return self._unprojected(problem, start, monitor)
        return run_in_row_space(self._iterate, problem, start, monitor)

    def _iterate(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        projection = start
        previous: FloatArray | None = None
        last: FloatArray | None = None
        steps = 0
        while monitor.keep_going(projection):
            if steps == self.max_iterations:
                message = f"eigenvalues had not settled to {self.tolerance:g} after {steps} iterations"
                return SolverOutcome(projection, Status.MAX_ITERATIONS, message)
            surrogate = problem.surrogate(projection)
            steps += 1
            if last is not None and np.array_equal(surrogate, last):
                # Of a kernel whose slope is constant: neither eigenvalues nor eigenvectors change.
                return SolverOutcome(projection, Status.CONVERGED, f"eigenvalues settled to {self.tolerance:g}")
            eigenvalues, projection = leading_eigenvectors(surrogate, start.shape[1])
            if previous is not None and eigenvalues_settled(eigenvalues, previous, self.tolerance):
                return SolverOutcome(projection, Status.CONVERGED, f"eigenvalues settled to {self.tolerance:g}")
            previous, last = eigenvalues, surrogate
        return SolverOutcome(projection, monitor.stop_status, monitor.stop_message)

    def _unprojected(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        if not monitor.keep_going(start):
            return SolverOutcome(start, monitor.stop_status, monitor.stop_message)
        n_features, q = start.shape
        # Beta is quadratic in what is in W's place.
        size = np.sqrt(q / n_features) if self.variant == "published_1_d" else 1.0
        _, projection = leading_eigenvectors(problem.surrogate(size * np.eye(n_features)), q)
        message = "one eigendecomposition, with the kernel of the unprojected samples"
        return SolverOutcome(projection, Status.CONVERGED, message)


@dataclass(frozen=True)
class PairwiseSumISM(Options):
    """ISM as its first paper computed it: Phi summed pair by pair, a d x d matrix for each pair of samples.

    The test is that on eigenvalues at ``tolerance``, with an iteration cap. The iterates are those of
    :class:`IterativeSpectralMethod`; only Phi is evaluated as in :mod:`kdrbench.evaluation.on_request`, which takes
    hundreds of times as long. It is not for use. It is here because the papers' times are of such code: what the matrix
    form saves can be measured, not only claimed.

    Source: Wu, Ioannidis, Sznaier, Li, Kaeli, Dy, "Iterative Spectral Method for Alternative Clustering", AISTATS 2018
    (arXiv 1909.03441).
    """

    tolerance: Annotated[float, POSITIVE] = 0.01
    max_iterations: Annotated[int, COUNT] = 200
    requires: ClassVar[frozenset[str]] = frozenset({"surrogate"})
    own_rule: ClassVar[str] = IterativeSpectralMethod.own_rule

    def run(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        """Iterate from ``start``."""
        ism = IterativeSpectralMethod(self.tolerance, self.max_iterations)
        return ism.run(problem.evaluated("pairwise_sum"), start, monitor)
