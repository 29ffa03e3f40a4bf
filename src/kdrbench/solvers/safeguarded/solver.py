"""Safeguarded ISM: what plain ISM finds, made monotone, certified to first and second order.

1. Explore: plain ISM from the start by its own rule, at most ``max_exploration`` steps, or until its iterates cycle.
   They may be worse than the ones before them, so the best one is kept and passed on.
2. Approach, where the problem offers an approximation and the tangent space is large: gradients with a corrected Phi,
   and a new Phi only when it pays.
3. Finish: steps from the best iterate until the relative stationarity |(I - WW') Phi W| / |Phi W| is at most
   ``tolerance``; limited-memory BFGS in large tangent spaces, trust-region Newton in small ones.
4. Escape: where the smallest eigenvalue of the Riemannian Hessian of -F is below -``curvature_tolerance`` relative to
   2 |W' Phi W|, W is a saddle. A step along its eigenvector increases F, and step 3 continues from there.

The best iterate's F never decreases beyond rounding, is never below the start's, and never below that of plain ISM from
the same start with the same exploration. The fixed points are ISM's. Where the problem offers an approximation, these
comparisons with plain ISM hold to its accuracy.

Source: exploration is Algorithm 1 of NeurIPS 2019; the rest is ours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import COUNT, POSITIVE, check_parameters, optional, whole
from kdrbench.problems import (
    ApproximableProblem,
    Problem,
    accuracy_of,
    approximation_of,
    refined_at,
    surrogate_is_constant,
)
from kdrbench.solvers.base import SQUARE, Solver, SolverOutcome, Status, run_in_row_space
from kdrbench.solvers.escape import CURVATURE_TOLERANCE
from kdrbench.solvers.geometry.curvature import DENSE_DIMENSION, smallest_curvature
from kdrbench.solvers.geometry.stiefel import leading_eigenvectors, relative_stationarity
from kdrbench.solvers.geometry.tangents import Tangents
from kdrbench.solvers.monitor import Monitor
from kdrbench.solvers.registry import build_solver
from kdrbench.solvers.safeguarded.approach import Approach, approach, approach_through
from kdrbench.solvers.safeguarded.finish import QUASI_NEWTON_DIMENSION, NewtonSearch, escape
from kdrbench.solvers.safeguarded.portfolio import chosen_start, explore

# Where Phi drifts by more than this, which maximum a start finds is a matter of luck. Measured: at most 9e-4 where one
# start is enough (Wine, WDBC, Cancer, Car, Face; Gaussian kernels on MNIST), 3e-3 for the multiquadric kernel on MNIST,
# where 24 starts end within 1e-12 of one, and 8e-3 to .13 for polynomials on MNIST.
_DRIFT = 5e-3
_PORTFOLIO = 24
# How often a problem whose accuracy is not proved at the solution is made finer.
_MOST_PROOFS = 3
# Columns this near to eigenvectors are such but for rounding.
_EIGENVECTORS = 1e-12
# Steps of exploration near a solution. Where plain ISM is drawn to it two are enough, and elsewhere it only leads away:
# of 36 rounds of alternative clustering the best iterate was the start or one of the first two, of up to 70.
_NEARBY_STEPS = 2
# Stationarity that ranks starts: F is then within about its square of a maximum.
_ROUGH = 1e-2
# Newton steps with an approximate Hessian, before the exact one is taken.
_APPROXIMATE_STEPS = 20


@dataclass(frozen=True)
class SafeguardedISM:
    """ISM with a second-order finish.

    ``tolerance`` bounds the relative stationarity, ``curvature_tolerance`` how negative the smallest curvature may be;
    ``exploration_tolerance`` is the papers' delta, ``max_exploration`` and ``max_iterations`` cap steps 1 and 3.
    With a ``portfolio`` of more than one start, what the exploration finds competes with random starts drawn from
    ``seed``, and the best is finished (:mod:`kdrbench.solvers.safeguarded.portfolio`). The message says how many starts
    were tried, and whether these led to one optimum. By default there are ``_PORTFOLIO`` starts where optima are a
    matter of luck: where Phi drifted while the exploration went on, in a large tangent space. Elsewhere there is one.
    """

    tolerance: Annotated[float, POSITIVE] = 1e-6
    curvature_tolerance: Annotated[float, POSITIVE] = CURVATURE_TOLERANCE
    exploration_tolerance: Annotated[float, POSITIVE] = 0.01
    max_exploration: Annotated[int, COUNT] = 200
    max_iterations: Annotated[int, COUNT] = 1000
    portfolio: Annotated[int | None, optional(COUNT)] = None
    seed: Annotated[int, whole(0)] = 0
    requires: ClassVar[frozenset[str]] = frozenset({"value", "gradient", "hessian_vector", "surrogate"})
    monotone: ClassVar[bool] = True
    # Of a step to the edge of the trust region; loading it takes longer than most solves.
    imports: ClassVar[tuple[str, ...]] = ("scipy.optimize",)

    def __post_init__(self) -> None:
        check_parameters(self, "solver option")

    @property
    def exploration(self) -> Solver:
        """Plain ISM by the exploration's rule: what an alternation begins with, so that it is never below ISM's."""
        options = {"tolerance": self.exploration_tolerance, "max_iterations": self.max_exploration}
        return build_solver({"method": "ism", **options})

    @property
    def alone(self) -> SafeguardedISM:
        """The same for a start that is one of several, or of a round: no others are drawn unless that is asked for."""
        return replace(self, portfolio=self.portfolio or 1)

    @property
    def continued(self) -> Solver:
        """The same for a start near a solution, as in later rounds of an alternation: it hardly explores."""
        return replace(self.alone, max_exploration=min(self.max_exploration, _NEARBY_STEPS))

    @property
    def rough(self) -> Solver:
        """The same for what is only a start, such as the W of some of the samples."""
        return replace(self.alone, tolerance=max(self.tolerance, _ROUGH))

    def run(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        """Explore, approach, finish and escape from ``start``."""
        return run_in_row_space(self._solve, problem, start, monitor)

    def _solve(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        n_features, n_components = start.shape
        if n_features == n_components:
            return SolverOutcome(start, Status.CONVERGED, SQUARE)
        if surrogate_is_constant(problem):
            return self._solve_constant(problem, start, monitor)
        outcome = self._solve_once(problem, start, monitor)
        for _ in range(_MOST_PROOFS):
            if outcome.status is not Status.CONVERGED or not refined_at(problem, outcome.projection):
                break
            outcome = self._solve_once(problem, outcome.projection, monitor)
        return outcome

    def _solve_constant(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        """Return eigenvectors of the one Phi there is: the start, where it is of them, as that of Phi_0 is."""
        point = start
        while monitor.keep_going(point):
            tangents = Tangents(problem, point, problem.gradient(point))
            curvature, lowest = smallest_curvature(tangents)
            stationarity = relative_stationarity(point, tangents.gradient)
            scale = float(np.linalg.norm(tangents.inner, 2)) or 1.0
            if (stationarity <= _EIGENVECTORS and curvature >= -_EIGENVECTORS * scale) or point is not start:
                message = "eigenvectors of Phi, which is constant, no direction of ascent found"
                return SolverOutcome(point, Status.CONVERGED, message, lowest)
            point = leading_eigenvectors(tangents.surrogate, start.shape[1])[1]
        return SolverOutcome(point, monitor.stop_status, monitor.stop_message)

    def _solve_once(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        approximation = approximation_of(problem, start.shape[1])
        if approximation is not None:
            try:
                return self._solve_from(problem, approximation, start, monitor)
            except (InputError, np.linalg.LinAlgError):
                # Out of the range of single precision. If the exact problem has a fault, it raises its own error.
                pass
        return self._solve_from(problem, None, start, monitor)

    def _solve_from(
        self, problem: Problem, approximation: ApproximableProblem | None, start: FloatArray, monitor: Monitor
    ) -> SolverOutcome:
        n_features, n_components = start.shape
        roughest = None if approximation is None else approximation_of(approximation, n_components)
        explored = explore(
            roughest or approximation or problem,
            start,
            monitor,
            tolerance=self.exploration_tolerance,
            max_steps=self.max_exploration,
        )
        if explored is None:
            return SolverOutcome(start, monitor.stop_status, monitor.stop_message)
        point, value, surrogate, drift = explored
        dimension = (n_features - n_components) * n_components
        luck = drift > _DRIFT and dimension > QUASI_NEWTON_DIMENSION
        count = self.portfolio or (_PORTFOLIO if luck else 1)
        found = ""
        if count > 1:
            cheap, rng = approximation or problem, np.random.default_rng(self.seed)
            choice = chosen_start(cheap, point, surrogate, count, rng, monitor)
            point, value, found = choice.point, choice.value, f"; {choice.message}"
            surrogate = cheap.surrogate(point)
        # Below its accuracy, the stationarity of a problem means nothing; above, it is that near to the true one.
        accuracy = accuracy_of(problem, n_components)
        tolerance = self.tolerance - accuracy if 2.0 * accuracy < self.tolerance else max(self.tolerance, accuracy)
        gradient: FloatArray | None = None
        if approximation is not None:
            if dimension > DENSE_DIMENSION:
                point, value, gradient, _ = _approached(problem, approximation, point, surrogate, tolerance, monitor)
            else:
                value = problem.value(point)
            search = NewtonSearch(problem, point, value, gradient, approximation)
            outcome = self._finish(search, tolerance, monitor, _APPROXIMATE_STEPS)
            if outcome.status not in (Status.STALLED, Status.MAX_ITERATIONS):
                return outcome._replace(message=outcome.message + found)
            # The approximate Hessian is not near enough here.
            point, value, gradient = search.point, search.value, search.gradient
        many = approximation is None and dimension > QUASI_NEWTON_DIMENSION
        search = NewtonSearch(problem, point, value, gradient, limited_memory=many, surrogate=surrogate)
        outcome = self._finish(search, tolerance, monitor, self.max_iterations)
        return outcome._replace(message=outcome.message + found)

    def _finish(self, search: NewtonSearch, tolerance: float, monitor: Monitor, max_steps: int) -> SolverOutcome:
        """Take Newton steps, and escape from saddles, until the tolerances are met."""
        for _ in range(max_steps):
            if not monitor.keep_going(search.point):
                return SolverOutcome(search.point, monitor.stop_status, monitor.stop_message)
            if search.stationarity > tolerance:
                if not search.step() and search.stationarity > tolerance:
                    message = f"no step increases F beyond rounding; stationarity is {search.stationarity:.1e}"
                    return SolverOutcome(search.point, Status.STALLED, message)
            elif search.curvature() >= -self.curvature_tolerance or not escape(search):
                message = f"relative stationarity at most {tolerance:g}, no direction of ascent found"
                return SolverOutcome(search.point, Status.CONVERGED, message, search.model().smallest_curvature()[1])
        message = f"stationarity was {search.stationarity:.1e} after {max_steps} steps"
        return SolverOutcome(search.point, Status.MAX_ITERATIONS, message)


def _approached(
    problem: Problem,
    approximation: ApproximableProblem,
    point: FloatArray,
    surrogate: FloatArray,
    tolerance: float,
    monitor: Monitor,
) -> Approach:
    """Return where gradient passes lead from the best iterate, first on the approximation."""
    keep_going = monitor.keep_going
    accuracy = approximation.accuracy(point.shape[1])
    point = approach(approximation, point, surrogate, accuracy, keep_going, slack=accuracy).point
    corrected = approach_through(approximation, problem, point, surrogate, tolerance, keep_going)
    if corrected.stationarity <= tolerance:
        return corrected
    point = corrected.point
    slack = accuracy_of(problem, point.shape[1])
    return approach(problem, point, surrogate, tolerance, keep_going, slack=slack)
