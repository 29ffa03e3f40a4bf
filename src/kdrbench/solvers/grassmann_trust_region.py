"""GM: Riemannian trust regions on the Grassmann manifold, by pymanopt.

pymanopt's ``TrustRegions`` minimises -F over subspaces, given the problem's own gradient and Hessian-vector
product. It evaluates the gradient once at each accepted iterate, which is where the monitor is asked and the
relative stationarity |(I - WW')G| / |G| is tested; pymanopt's own time limit (1000 s by default) is off.

Source: Boumal and Absil, "RTRMC: A Riemannian trust-region method for low-rank matrix completion", NeurIPS
2011; Absil, Baker, Gallivan, "Trust-region methods on Riemannian manifolds", 2007.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem
from kdrbench.solvers.base import Outcome, Status
from kdrbench.solvers.monitor import Monitor
from kdrbench.solvers.options import require_positive
from kdrbench.solvers.stiefel import feasibility_error, orthonormalised, relative_stationarity

# pymanopt's retraction leaves rounding behind; a projection further off than this is orthonormalised again.
_ROUNDING = 1e-13


@dataclass(frozen=True)
class GrassmannTrustRegion:
    """Trust regions, ended at relative stationarity ``tolerance`` or ``max_iterations`` outer iterations."""

    tolerance: float = 1e-6
    max_iterations: int = 1000
    requires: ClassVar[frozenset[str]] = frozenset({"value", "gradient", "hessian_vector"})
    imports: ClassVar[tuple[str, ...]] = ("pymanopt.manifolds", "pymanopt.optimizers")
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        require_positive(tolerance=self.tolerance, max_iterations=self.max_iterations)

    def run(self, problem: Problem, start: FloatArray, monitor: Monitor) -> Outcome:
        """Run pymanopt from ``start`` until the oracles' adapter ends it."""
        # Imported here: loading pymanopt takes longer than most solves; `imports` lets a bench do it beforehand.
        import pymanopt
        from pymanopt.manifolds import Grassmann
        from pymanopt.optimizers import TrustRegions

        if start.shape[0] == start.shape[1]:
            return Outcome(start, Status.CONVERGED, "a square projection spans everything: any W is optimal")
        adapter = _Adapter(problem, monitor, self.tolerance)
        manifold = Grassmann(*start.shape)
        wrap = pymanopt.function.numpy(manifold)
        minimisation = pymanopt.Problem(
            manifold,
            wrap(adapter.cost),
            euclidean_gradient=wrap(adapter.gradient),
            euclidean_hessian=wrap(adapter.hessian_vector),
        )
        optimizer = TrustRegions(
            max_iterations=self.max_iterations, max_time=math.inf, min_gradient_norm=0.0, verbosity=0
        )
        try:
            result = optimizer.run(minimisation, initial_point=start)
        except _Ended as ended:
            return ended.outcome
        message = f"stationarity was above {self.tolerance:g} after {self.max_iterations} iterations"
        return Outcome(_clean(np.asarray(result.point)), Status.MAX_ITERATIONS, message)


class _Ended(Exception):  # noqa: N818 - not an error: the only way out of pymanopt's loop
    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.message)
        self.outcome = outcome


class _Adapter:
    """The problem's oracles with pymanopt's sign, and the tests made at each accepted iterate."""

    def __init__(self, problem: Problem, monitor: Monitor, tolerance: float) -> None:
        self._problem, self._monitor, self._tolerance = problem, monitor, tolerance
        self._point: FloatArray | None = None
        self._gradient: FloatArray = np.empty((0, 0))

    def cost(self, point: FloatArray) -> float:
        return -self._problem.value(point)

    def gradient(self, point: FloatArray) -> FloatArray:
        # pymanopt asks again for the gradient with every Hessian product at the same point.
        if self._point is None or not np.array_equal(point, self._point):
            self._accept(point)
        return -self._gradient

    def hessian_vector(self, point: FloatArray, direction: FloatArray) -> FloatArray:
        return -self._problem.hessian_vector(point, direction)

    def _accept(self, point: FloatArray) -> None:
        self._point, self._gradient = point.copy(), self._problem.gradient(point)
        if not np.isfinite(self._gradient).all():
            raise _Ended(Outcome(_clean(point), Status.STALLED, "the gradient is not finite"))
        if relative_stationarity(point, self._gradient) <= self._tolerance:
            message = f"relative stationarity at most {self._tolerance:g}"
            raise _Ended(Outcome(_clean(point), Status.CONVERGED, message))
        if not self._monitor.keep_going(point):
            raise _Ended(Outcome(_clean(point), self._monitor.stop_status, self._monitor.stop_message))


def _clean(point: FloatArray) -> FloatArray:
    return orthonormalised(point) if feasibility_error(point) > _ROUNDING else point.copy()
