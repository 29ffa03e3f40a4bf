"""Two rivals on the Grassmann manifold by pymanopt, given a problem's oracles and watched by a monitor.

pymanopt minimises -F over subspaces: GM is its ``TrustRegions``, with truncated conjugate gradients inside; the
first-order method beside it is ``ConjugateGradient``, by the rule of Hestenes and Stiefel with an adaptive backtracking
line search, which stalls where rounding hides a lower cost.

| trust regions | ``converged`` | ``published`` |
|---|---|---|
| derivatives | the problem's own gradient and Hessian product | by autograd |
| stop | relative stationarity at most ``tolerance`` | norm of (I - WW')G below 1e-6, whatever the units of F |
| outer iterations | ``max_iterations`` | ``max_iterations``, at most 1000 |

The published variant has pymanopt's own defaults, and autograd, which its users name. Their third default, to end after
1000 seconds, is left to the monitor, since clocks are the bench's; the papers' times of 16.7 to 17.8 minutes are that
default, reached.

pymanopt asks for the gradient once at each iterate that it has accepted: there the monitor sees the iterate and the
solver's rule is tested. All other calls ask the monitor too, since trust regions may reject one step after the other.

Sources: Absil, Baker, Gallivan, "Trust-region methods on Riemannian manifolds", 2007; Boumal and Absil, "RTRMC: A
Riemannian trust-region method for low-rank matrix completion", NeurIPS 2011; Townsend, Koep, Weichwald, "Pymanopt",
JMLR 17, 2016.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from kdrbench.extras import needed_for
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import COUNT
from kdrbench.problems import PassStoppedError, Problem
from kdrbench.solvers.base import VARIANTS, Rival, SolverOutcome, Status
from kdrbench.solvers.callbacks import SearchEnded
from kdrbench.solvers.geometry.stiefel import feasibility_error, orthonormalised, outside, relative_stationarity
from kdrbench.solvers.monitor import Monitor

_PUBLISHED_NORM = 1e-6
_PUBLISHED_ITERATIONS = 1000
# Given W and the Euclidean gradient, says why the search is over; empty where it is not.
Rule = Callable[[FloatArray, FloatArray], str]
# pymanopt's retraction leaves rounding behind; a projection further off than this is orthonormalised again.
_ROUNDING = 1e-13
# Steps below this end pymanopt's line searches.
_SMALLEST_STEP = 1e-10


def stationary_to(tolerance: float) -> Rule:
    """Return the rule |(I - WW')G| <= tolerance |G|."""

    def rule(point: FloatArray, gradient: FloatArray) -> str:
        reached = relative_stationarity(point, gradient) <= tolerance
        return f"relative stationarity at most {tolerance:g}" if reached else ""

    return rule


def gradient_below(norm: float) -> Rule:
    """Return pymanopt's rule |(I - WW')G| < norm, which depends on the units of F."""

    def rule(point: FloatArray, gradient: FloatArray) -> str:
        reached = float(np.linalg.norm(outside(point, gradient))) < norm
        stationarity = relative_stationarity(point, gradient)
        return f"the gradient's norm is below {norm:g}; stationarity is {stationarity:.1e}" if reached else ""

    return rule


def run_on_grassmann(
    optimizer: Any, most_iterations: int, problem: Problem, start: FloatArray, monitor: Monitor, rule: Rule
) -> SolverOutcome:
    """Run ``optimizer`` from ``start`` until the rule or the monitor ends it, or it ends by itself.

    It ends by itself after ``most_iterations``, or has stalled when its last step had no length.
    """
    # Imported here: loading pymanopt takes longer than most solves; `imports` lets a bench do it beforehand.
    import pymanopt
    from pymanopt.manifolds import Grassmann

    adapter = _Adapter(problem, monitor, rule)
    manifold = Grassmann(*start.shape)
    # The same sum; pymanopt's goes through an np.tensordot that costs ten times as much as what it adds up.
    manifold.inner_product = lambda point, first, second: np.vdot(first, second)
    wrap = pymanopt.function.numpy(manifold)
    minimisation = pymanopt.Problem(
        manifold,
        wrap(adapter.cost),
        euclidean_gradient=wrap(adapter.gradient),
        euclidean_hessian=wrap(adapter.hessian_vector),
    )
    try:
        result = optimizer.run(minimisation, initial_point=start)
    except SearchEnded as ended:
        return ended.outcome
    stationarity = relative_stationarity(adapter.point, adapter.euclidean_gradient)
    if result.step_size is not None and result.step_size < _SMALLEST_STEP:
        message = f"no step decreases the cost; stationarity is {stationarity:.1e}"
        return SolverOutcome(_clean(adapter.point), Status.STALLED, message)
    message = f"stationarity was {stationarity:.1e} after {most_iterations} iterations"
    return SolverOutcome(_clean(adapter.point), Status.MAX_ITERATIONS, message)


class _Adapter:
    """The problem's oracles with pymanopt's sign, and the tests made at each accepted iterate."""

    def __init__(self, problem: Problem, monitor: Monitor, rule: Rule) -> None:
        self._problem, self._monitor, self._rule = problem, monitor, rule
        self.point: FloatArray = np.empty((0, 0))
        self.euclidean_gradient: FloatArray = np.empty((0, 0))
        self._evaluated: tuple[FloatArray, float, FloatArray] | None = None

    def cost(self, point: FloatArray) -> float:
        # Line searches leave it to the optimizer to ask again for the cost of the point they have found.
        if self._evaluated is None or not np.array_equal(point, self._evaluated[0]):
            self._ask()
            # With its gradient: nearly all points of trust regions are accepted, and most of a line search of CG's.
            value, gradient = self._problem.value_and_gradient(point)
            self._evaluated = (point.copy(), -value, gradient)
        return self._evaluated[1]

    def gradient(self, point: FloatArray) -> FloatArray:
        # pymanopt asks again for the gradient with every Hessian product at the same point.
        if not np.array_equal(point, self.point):
            self._accept(point)
        return -self.euclidean_gradient

    def hessian_vector(self, point: FloatArray, direction: FloatArray) -> FloatArray:
        self._ask()
        return -self._problem.hessian_vector(point, direction)

    def _ask(self) -> None:
        """Leave when the monitor says so; ``solve`` returns the last iterate then."""
        if not self._monitor.progress(0.0):
            raise PassStoppedError

    def _accept(self, point: FloatArray) -> None:
        known = self._evaluated
        at_hand = known is not None and np.array_equal(point, known[0])
        self.euclidean_gradient = known[2] if known is not None and at_hand else self._problem.gradient(point)
        self.point = point.copy()
        if not np.isfinite(self.euclidean_gradient).all():
            raise SearchEnded(SolverOutcome(_clean(point), Status.STALLED, "the gradient is not finite"))
        if reason := self._rule(point, self.euclidean_gradient):
            raise SearchEnded(SolverOutcome(_clean(point), Status.CONVERGED, reason))
        if not self._monitor.keep_going(point):
            raise SearchEnded(SolverOutcome(_clean(point), self._monitor.stop_status, self._monitor.stop_message))


def _clean(point: FloatArray) -> FloatArray:
    return orthonormalised(point) if feasibility_error(point) > _ROUNDING else point.copy()


@dataclass(frozen=True)
class GrassmannTrustRegion(Rival):
    """Trust regions of at most ``max_iterations`` outer iterations; ``tolerance`` is that of the converged variant.

    Saddles are left by the problem's own Hessian.
    """

    max_iterations: Annotated[int, COUNT] = 1000
    variant: Annotated[str, VARIANTS] = "converged"
    requires: ClassVar[frozenset[str]] = frozenset({"value", "gradient", "hessian_vector"})
    imports: ClassVar[tuple[str, ...]] = ("pymanopt.manifolds", "pymanopt.optimizers")

    def _search(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        with needed_for("the solver grassmann_trust_region"):
            from pymanopt.optimizers import TrustRegions

        published = self.variant == "published"
        most = min(self.max_iterations, _PUBLISHED_ITERATIONS) if published else self.max_iterations
        rule = gradient_below(_PUBLISHED_NORM) if published else stationary_to(self.tolerance)
        if published:
            problem = problem.evaluated("autograd")
        optimizer = TrustRegions(max_iterations=most, max_time=math.inf, min_gradient_norm=0.0, verbosity=0)
        return run_on_grassmann(optimizer, most, problem, start, monitor, rule)


@dataclass(frozen=True)
class GrassmannConjugateGradient(Rival):
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
