"""Conjugate gradients on the Grassmann manifold, by pymanopt: the first-order method beside its trust regions.

pymanopt's ``ConjugateGradient`` minimises -F over subspaces by the rule of Hestenes and Stiefel with an adaptive
backtracking line search, given the problem's own gradient. Where its line search finds no lower cost, which near a
solution is due to rounding, the status is ``stalled``.

Source: Townsend, Koep, Weichwald, "Pymanopt", JMLR 17, 2016.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from kdrbench.extras import needed_for
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem
from kdrbench.solvers.base import SolverOutcome
from kdrbench.solvers.first_order import FirstOrderRival
from kdrbench.solvers.monitor import Monitor
from kdrbench.solvers.pymanopt_adapter import run_on_grassmann, stationary_to


@dataclass(frozen=True)
class GrassmannConjugateGradient(FirstOrderRival):
    """Conjugate gradients, ended at relative stationarity ``tolerance`` or ``max_iterations`` iterations."""

    imports: ClassVar[tuple[str, ...]] = ("pymanopt.manifolds", "pymanopt.optimizers")

    def _search(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        with needed_for("the solver grassmann_conjugate_gradient"):
            from pymanopt.optimizers import ConjugateGradient

        # pymanopt counts the start as an iteration here.
        optimizer = ConjugateGradient(
            max_iterations=self.max_iterations + 1, max_time=math.inf, min_gradient_norm=0.0, verbosity=0
        )
        return run_on_grassmann(optimizer, self.max_iterations, problem, start, monitor, stationary_to(self.tolerance))
