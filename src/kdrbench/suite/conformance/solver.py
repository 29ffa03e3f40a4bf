"""The contract of a solver."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any, ClassVar

import numpy as np

from kdrbench.errors import InputError, counted
from kdrbench.kernels import build_kernel
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms import supervised_problem
from kdrbench.problems import Problem
from kdrbench.solvers import IterationMonitor, Solver, SolverResult, Status, build_solver, solve
from kdrbench.solvers.base import check_oracles, check_projection
from kdrbench.solvers.geometry.stiefel import STATIONARY, is_stationary, relative_stationarity
from kdrbench.solvers.monitor import Iterate
from kdrbench.suite.conformance.common import (
    Arrays,
    Check,
    Contract,
    Fault,
    features_and_labels,
    some_projection,
)

KERNELS: tuple[dict[str, Any], ...] = ({"family": "gaussian"}, {"family": "polynomial"})
_MOST_ITERATIONS = 10_000
# Oracle calls, and questions, after the monitor said stop: each phase of a method may ask once, none may continue.
_FEW_CALLS = 2
# Oracle calls between two questions: a line search takes some tens of them.
_MANY_CALLS = 100
_SAY_ENDING = (
    "stop where |(I - WW')G| <= 1e-6 |G| for the gradient G of F, or say Status.STALLED or Status.MAX_ITERATIONS; if "
    "it is to stop by another rule, say which in the class: own_rule: ClassVar[str] = 'F changes by less than 1e-9'"
)
# Rounding of sums of 1600 terms, relative to F, with a margin of a thousand.
_ROUNDING = 1e-10


class Watch(IterationMonitor):
    """Evaluates every iterate as a referee does, and counts what a solver does after it should have stopped."""

    def __init__(self, problem: Problem, max_iterations: int = _MOST_ITERATIONS) -> None:
        super().__init__(max_iterations)
        self.problem, self.referee = problem, problem.fresh()
        self.values: list[float] = []
        # How often an oracle was called before each question, and before the first answer that says stop.
        self.calls_before: list[int] = []
        self.asked_again, self.calls_at_stop = 0, -1

    def keep_going(self, iterate: Iterate) -> bool:
        """Look at the iterate; the answer is the iteration limit's."""
        projection = iterate() if callable(iterate) else iterate
        check_projection(f"iterate {len(self.values)}", projection, self.problem.n_features)
        self.values.append(self.referee.value(projection))
        self.calls_before.append(self.calls)
        self.asked_again += self.calls_at_stop >= 0
        going = super().keep_going(iterate)
        if not going and self.calls_at_stop < 0:
            self.calls_at_stop = self.calls
        return going

    @property
    def calls(self) -> int:
        """How often the solver has called an oracle."""
        return sum(asdict(self.problem.counters).values())


class SolverContract(Contract):
    """The contract of a solver."""

    checks: ClassVar = {
        "API": "see docs/extending.md for what a solver's class has",
        "feasibility": (
            "orthonormalise each iterate, for instance by kdrbench.solvers.geometry.stiefel.orthonormalised, and "
            "return SolverOutcome(projection, Status..., message)"
        ),
        "limits": "loop as `while monitor.keep_going(projection):`, and ask once an iterate",
        "convergence": _SAY_ENDING,
        "monotone": "accept a step only if F does not fall",
    }
    late = ("pymanopt.manifolds", "pymanopt.optimizers")

    def _build(self) -> Solver:
        return build_solver({"method": self.place, **self.options})

    def _inputs(self) -> Arrays:
        return *(some_projection(6, 2) for _ in KERNELS), *features_and_labels()

    def _work(self, plugin: Solver, arrays: Arrays) -> Arrays:
        *starts, features, labels = arrays
        results: list[FloatArray] = []
        for definition, start in zip(KERNELS, starts, strict=True):
            problem = supervised_problem(features, labels, build_kernel(definition, features, 2))
            results.append(solve(plugin, problem, start, IterationMonitor(_MOST_ITERATIONS)).projection)
        return tuple(results)

    def all_checks(self) -> list[Check]:
        """Leave out convergence of a solver that stops by its own rule or does not maximise F, and undeclared ascent.

        One that cannot be built fails the first check anyhow.
        """
        solver: Any = None
        with suppress(InputError):
            solver = self._build()
        left_out = {"convergence"} if any(getattr(solver, name, False) for name in ("own_rule", "control")) else set()
        left_out |= set() if getattr(solver, "monotone", False) else {"monotone"}
        return [one for one in super().all_checks() if one.name not in left_out]

    def _check_api(self) -> None:
        solver = self._checked("run", "problem", "start", "monitor")
        if not isinstance(solver.requires, frozenset | set) or not all(isinstance(one, str) for one in solver.requires):
            raise Fault(
                f"requires is {solver.requires!r}",
                'write requires: ClassVar[frozenset[str]] = frozenset({"value", "gradient"})',
            )
        try:
            check_oracles(solver, _problem(KERNELS[0]))
        except InputError as error:
            oracles = "oracles are value, gradient, value_and_gradient, hessian_vector, hessian and surrogate"
            raise Fault(str(error), oracles) from error

    def _check_feasibility(self) -> None:
        for definition in KERNELS:
            for n_components in (1, 2, 6):
                result, _ = _solved(self._build(), definition, n_components)
                if not isinstance(result.message, str) or not result.message:
                    raise Fault("the outcome has no message", "say why it ended: SolverOutcome(W, status, 'settled')")

    def _check_limits(self) -> None:
        solver = self._build()
        for definition in KERNELS:
            _, watch = _solved(solver, definition, 2)
            stretch = int(np.diff([0, *watch.calls_before, watch.calls]).max())
            if watch.values and stretch > _MANY_CALLS:
                raise Fault(
                    f"it calls oracles {stretch} times without asking monitor.keep_going; so long a limit is overrun, "
                    "and the trace has a hole",
                    "ask once an iterate; of a library's optimiser, in its callback",
                )
        for limit in (0, 1, 2):
            result, watch = _solved(solver, KERNELS[0], 2, limit)
            if not watch.values:
                raise Fault(
                    "it never asks monitor.keep_going, so no limit can stop it and no trace is kept",
                    "loop as `while monitor.keep_going(projection):`",
                )
            if watch.calls_at_stop < 0:
                continue
            if watch.asked_again > _FEW_CALLS:
                raise Fault(
                    "it continues after keep_going has answered false, and asked "
                    f"{counted(watch.asked_again, 'time')} more",
                    "leave the loop at the first false, and return the iterate you have",
                )
            if (calls := watch.calls - watch.calls_at_stop) > _FEW_CALLS:
                raise Fault(
                    f"it calls oracles {calls} times after keep_going has answered false",
                    "return at once: whatever is done now is beyond the limit",
                )
            if result.status is not watch.stop_status:
                raise Fault(
                    f"the monitor stopped it, and its status is {str(result.status)!r}",
                    "return SolverOutcome(projection, monitor.stop_status, monitor.stop_message)",
                )

    def _check_convergence(self) -> None:
        for definition in KERNELS:
            result, watch = _solved(self._build(), definition, 2)
            found = relative_stationarity(result.projection, watch.referee.gradient(result.projection))
            if result.status is Status.CONVERGED and not is_stationary(found):
                raise Fault(
                    f"it says converged at relative stationarity {found:.1e} with the {definition['family']} kernel; "
                    f"converged means at most {STATIONARY:.0e}",
                    _SAY_ENDING,
                )

    def _check_monotone(self) -> None:
        for definition in KERNELS:
            _, watch = _solved(self._build(), definition, 2)
            values = np.array(watch.values)
            drops = values[:-1] - values[1:]
            if np.max(drops, initial=0.0) > _ROUNDING * float(np.abs(values).max()):
                step = int(np.argmax(drops))
                raise Fault(
                    f"it says that it is monotone, and F falls from {values[step]:.9g} to {values[step + 1]:.9g} at "
                    f"iterate {step + 1} with the {definition['family']} kernel",
                    "accept a step only if F does not fall, or leave `monotone` out",
                )


def _problem(definition: Mapping[str, Any]) -> Problem:
    features, labels = features_and_labels()
    return supervised_problem(features, labels, build_kernel(definition, features, 2))


def _solved(
    solver: Solver, definition: Mapping[str, Any], n_components: int, limit: int = _MOST_ITERATIONS
) -> tuple[SolverResult, Watch]:
    problem = _problem(definition)
    watch = Watch(problem, limit)
    return solve(solver, problem, some_projection(problem.n_features, n_components), watch), watch
