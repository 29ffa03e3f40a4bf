"""GM: Riemannian trust regions on the Grassmann manifold, by pymanopt.

pymanopt's ``TrustRegions`` minimises -F over subspaces with truncated conjugate gradients inside.

| | ``converged`` | ``published`` |
|---|---|---|
| derivatives | the problem's own gradient and Hessian product, or by autograd | by autograd |
| stop | relative stationarity at most ``tolerance`` | norm of (I - WW')G below 1e-6, whatever the units of F |
| outer iterations | ``max_iterations`` | ``max_iterations``, at most 1000 |

The published variant has pymanopt's own defaults, and autograd, which its users name. Their third default, to end after
1000 seconds, is left to the monitor, since clocks are the bench's; the papers' times of 16.7 to 17.8 minutes are that
default, reached.

Sources: Absil, Baker, Gallivan, "Trust-region methods on Riemannian manifolds", 2007; Boumal and Absil, "RTRMC: A
Riemannian trust-region method for low-rank matrix completion", NeurIPS 2011; Townsend, Koep, Weichwald, "Pymanopt",
JMLR 17, 2016.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

from kdrbench.extras import needed_for
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import COUNT, FLAG, POSITIVE, OneOf, check_parameters
from kdrbench.problems import Problem, evaluated_as
from kdrbench.solvers.base import VARIANTS, SolverOutcome
from kdrbench.solvers.escape import check_escape, run_escaping
from kdrbench.solvers.monitor import Monitor
from kdrbench.solvers.pymanopt_adapter import gradient_below, run_on_grassmann, stationary_to

_PUBLISHED_NORM = 1e-6
_PUBLISHED_ITERATIONS = 1000


@dataclass(frozen=True)
class GrassmannTrustRegion:
    """Trust regions of at most ``max_iterations`` outer iterations, with ``analytic`` or ``autograd`` derivatives.

    ``tolerance``, ``derivatives`` and ``escape`` are those of the converged variant. With ``escape`` saddles are left
    (see :mod:`kdrbench.solvers.escape`), by the problem's own Hessian, and iterations counted from each of them.
    """

    tolerance: Annotated[float, POSITIVE] = 1e-6
    max_iterations: Annotated[int, COUNT] = 1000
    variant: Annotated[str, VARIANTS] = "converged"
    derivatives: Annotated[str, OneOf(("analytic", "autograd"))] = "analytic"
    escape: Annotated[bool, FLAG] = False
    requires: ClassVar[frozenset[str]] = frozenset({"value", "gradient", "hessian_vector"})
    imports: ClassVar[tuple[str, ...]] = ("pymanopt.manifolds", "pymanopt.optimizers")

    def __post_init__(self) -> None:
        check_parameters(self, "solver option")
        check_escape(self, allowed=self.variant == "converged")

    def run(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        """Run pymanopt from ``start`` until its rule is met."""
        if self.escape:
            return run_escaping(lambda point: self._search(problem, point, monitor), problem, start, monitor)
        return self._search(problem, start, monitor)

    def _search(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        with needed_for("the solver grassmann_trust_region"):
            from pymanopt.optimizers import TrustRegions

        published = self.variant == "published"
        most = min(self.max_iterations, _PUBLISHED_ITERATIONS) if published else self.max_iterations
        rule = gradient_below(_PUBLISHED_NORM) if published else stationary_to(self.tolerance)
        if published or self.derivatives == "autograd":
            problem = evaluated_as("autograd", problem)
        optimizer = TrustRegions(max_iterations=most, max_time=math.inf, min_gradient_norm=0.0, verbosity=0)
        return run_on_grassmann(optimizer, most, problem, start, monitor, rule)
