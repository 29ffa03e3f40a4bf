"""ISM as its first paper computed it: Phi summed pair by pair, a d x d matrix for each pair of samples.

The iterates are those of :mod:`kdrbench.solvers.ism`, and so is everything said there; only Phi is evaluated as in
:mod:`kdrbench.evaluation.on_request`, which takes hundreds of times as long. It is not for use. It is here because
the papers' times are of such code: what the matrix form saves can be measured, not only claimed.

Source: Wu, Ioannidis, Sznaier, Li, Kaeli, Dy, "Iterative Spectral Method for Alternative Clustering", AISTATS 2018
(arXiv 1909.03441).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import COUNT, POSITIVE, check_parameters
from kdrbench.problems import Problem, evaluated_as
from kdrbench.solvers.base import SolverOutcome
from kdrbench.solvers.ism import IterativeSpectralMethod
from kdrbench.solvers.monitor import Monitor


@dataclass(frozen=True)
class PairwiseSumISM:
    """ISM with the test on eigenvalues at ``tolerance``, and an iteration cap."""

    tolerance: Annotated[float, POSITIVE] = 0.01
    max_iterations: Annotated[int, COUNT] = 200
    requires: ClassVar[frozenset[str]] = frozenset({"surrogate"})

    def __post_init__(self) -> None:
        check_parameters(self, "solver option")

    def run(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        """Iterate from ``start``."""
        ism = IterativeSpectralMethod(self.tolerance, self.max_iterations)
        return ism.run(evaluated_as("pairwise_sum", problem), start, monitor)
