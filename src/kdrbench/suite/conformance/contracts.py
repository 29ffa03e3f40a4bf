"""The contracts of kernels, metric learners, data sets, baselines and solvers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any, ClassVar

import numpy as np

from kdrbench.baselines import BaselineTask, build_baseline
from kdrbench.baselines.contract import WORK
from kdrbench.datasets import Dataset, load_dataset, load_own, load_registry
from kdrbench.datasets.own import CONTRACT as OF_DATA
from kdrbench.errors import InputError, counted
from kdrbench.kernels import FAMILIES, Kernel, Pairing, build_kernel, check_definition
from kdrbench.kernels.family import FloatArray, pairing_values
from kdrbench.kernels.registry import CONTRACT as OF_KERNELS
from kdrbench.methods import build_method, load_method
from kdrbench.metric_learning import build_learner
from kdrbench.metric_learning.learner import learn_map
from kdrbench.paradigms import supervised_problem
from kdrbench.problems import Problem
from kdrbench.solvers import Monitor, Solver, SolverResult, Status, build_solver, solve
from kdrbench.solvers.base import check_oracles, check_projection
from kdrbench.solvers.geometry.stiefel import STATIONARY, is_stationary, relative_stationarity
from kdrbench.solvers.monitor import Iterate
from kdrbench.suite.conformance.check import (
    N_CLASSES,
    Arrays,
    Check,
    Contract,
    Fault,
    check_options,
    features_and_labels,
    some_projection,
)
from kdrbench.suite.engine.isolation import processes

Function = Callable[[FloatArray], FloatArray]
_STEPS = 10.0 ** -np.arange(2.0, 9.0)
_EPS = float(np.finfo(float).eps)
# Central differences of a smooth f agree with f' to far less than this share at some step, those of a wrong f' at none.
_AGREEMENT = 1e-4


class KernelContract(Contract):
    """The contract of a kernel."""

    checks: ClassVar = {
        "API": "see docs/extending.md for what a kernel's class has",
        "values": "return a new float array of the shape of beta",
        "derivatives": "derive f once more, by hand or by a computer algebra",
    }

    def _build(self) -> Any:
        return build_kernel({"family": self.place, **self.options}, features_and_labels()[0], 2)

    def _inputs(self) -> Arrays:
        return features_and_labels()[:1]

    def _work(self, plugin: Kernel, arrays: Arrays) -> Arrays:
        beta = pairing_values(plugin.pairing, arrays[0] @ some_projection(arrays[0].shape[1], 2))
        return (*(function(beta) for function in _functions(plugin).values()), beta)

    def _check_api(self) -> None:
        check_definition({"family": self.place, **self.options})
        if self.place in FAMILIES:
            return
        family = load_method("kernel", self.place, {}, OF_KERNELS)
        check_options(family)
        if not isinstance(family.pairing, Pairing):
            raise Fault(
                f"pairing is {family.pairing!r}",
                "write pairing: ClassVar[Pairing] = Pairing.DIFFERENCE (beta is a squared distance) or Pairing.DOT",
            )

    def _check_values(self) -> None:
        kernel = self._build()
        for name, function in _functions(kernel).items():
            beta = _betas(kernel)
            # A value that is not finite is reported with its place.
            with np.errstate(all="ignore"):
                values = np.asarray(function(beta))
            if not np.array_equal(beta, _betas(kernel)):
                raise Fault(
                    f"{name} changes the array it is given", "work on a copy: write beta + 1 in place of beta += 1"
                )
            if values.shape != beta.shape or values.dtype.kind != "f":
                raise Fault(
                    f"{name} maps an array of shape {beta.shape} to one of shape {values.shape}, {values.dtype}",
                    "work elementwise: a constant is numpy.full_like(beta, constant)",
                )
            if not np.isfinite(values).all():
                beta_of = beta[~np.isfinite(values)][0]
                raise Fault(f"{name} is not finite at beta = {beta_of:g}", "give the function its limit there")
            if np.shares_memory(values, beta):
                raise Fault(f"{name} returns beta itself, not a new array", "write beta.copy()")

    def _check_derivatives(self) -> None:
        kernel = self._build()
        functions = _functions(kernel)
        for name, antiderivative in (("derivative", "value"), ("second_derivative", "derivative")):
            beta = _betas(kernel)
            # Off the edge of squared distances; what is restricted to samples keeps its shape.
            if kernel.pairing is Pairing.DIFFERENCE:
                beta = np.maximum(beta, 1e-3 * beta.mean())
            wrong, slope, difference = _disagreement(functions[antiderivative], functions[name], beta)
            if wrong.any():
                worst = np.unravel_index(np.argmax(wrong), wrong.shape)
                raise Fault(
                    f"{name} is not the derivative of {antiderivative}: at beta = {beta[worst]:.6g} it is "
                    f"{slope[worst]:.6g}, differences give {difference[worst]:.6g}",
                    "derive f once more, by hand or by a computer algebra",
                )


def _functions(kernel: Kernel) -> dict[str, Function]:
    return {"value": kernel.value, "derivative": kernel.derivative, "second_derivative": kernel.second_derivative}


def _betas(kernel: Kernel) -> FloatArray:
    """Return beta of all pairs of projected samples; with zeros on the diagonal for differences."""
    features, _ = features_and_labels()
    return pairing_values(kernel.pairing, features @ some_projection(features.shape[1], 2))


def _disagreement(function: Function, derivative: Function, beta: FloatArray) -> tuple[Any, FloatArray, FloatArray]:
    """Return where no step makes differences agree with the derivative, the derivative, and the nearest difference."""
    slope = derivative(beta)
    nearest, excess = np.zeros_like(beta), np.full(beta.shape, np.inf)
    scale = np.abs(beta) + (0.0 if (beta > 0).all() else np.abs(beta).mean())
    for step in _STEPS:
        ahead, behind = function(beta + step * scale), function(beta - step * scale)
        difference = (ahead - behind) / (2 * step * scale)
        rounding = 4 * _EPS * (np.abs(ahead) + np.abs(behind)) / (step * scale)
        size = np.maximum(np.abs(slope), np.abs(difference))
        now = np.abs(slope - difference) - rounding - _AGREEMENT * size
        nearest, excess = np.where(now < excess, difference, nearest), np.minimum(now, excess)
    return excess > 0, slope, nearest


class LearnerContract(Contract):
    """The contract of a metric learner."""

    checks: ClassVar = {
        "API": "see docs/extending.md for what a metric learner's class has",
        "map": "return A, a finite array with a row for each feature; labels may be numbers or words",
    }
    late = ("scipy.optimize", "sklearn.neighbors")

    def _build(self) -> Any:
        return build_learner(self.place, self.options)

    def _work(self, plugin: Any, arrays: Arrays) -> Arrays:
        return (plugin.fit(*arrays),)

    def _check_api(self) -> None:
        self._checked("fit", "features", "labels")

    def _check_map(self) -> None:
        features, labels = features_and_labels()
        learned = learn_map(self._build(), features, labels)
        names = np.array(["one", "two", "three"])[labels]
        if learn_map(self._build(), features, names).shape != learned.shape:
            raise Fault("labels that are words give a map of another shape", "code labels by numpy.unique")


class DataContract(Contract):
    """The contract of a data set; of a registered one the values are verified as they are loaded."""

    checks: ClassVar = {
        "API": "see docs/extending.md for what a data set's class has",
        "values": "return (features, labels) or (features, labels, feature_names), without NaN",
    }
    late = ("sklearn.datasets",)

    def __init__(self, place: str, options: Mapping[str, Any]) -> None:
        super().__init__(place, options)
        self.definition = {"loader": place, **options}
        self.is_registered = place in load_registry()

    def _build(self) -> Any:
        return self.place if self.is_registered else build_method("data set", self.definition, {}, OF_DATA, "loader")

    def _inputs(self) -> Arrays:
        return ()

    def _work(self, plugin: Any, arrays: Arrays) -> Arrays:
        dataset = self._load()
        return dataset.features, dataset.labels

    def _load(self) -> Dataset:
        return load_dataset(self.place) if self.is_registered else load_own("checked", self.definition)

    def _check_api(self) -> None:
        if not self.is_registered:
            self._checked("load")

    def _check_values(self) -> None:
        dataset = self._load()
        if not self.is_registered and len(dataset.labels) == 0:
            raise Fault("it has no labels", "return (features, labels) with one label a sample")
        if not self.is_registered and np.bincount(dataset.labels).min() < 2:
            raise Fault("a class has a single sample, which no cross validation can use", "leave such classes out")


class BaselineContract(Contract):
    """The contract of a baseline."""

    checks: ClassVar = {
        "API": "see docs/baselines.md for what a baseline's class has",
        "labels": "return one label a sample",
    }
    late = ("sklearn.cluster", "sklearn.decomposition", "sklearn.discriminant_analysis", "sklearn.svm")

    def _build(self) -> Any:
        return build_baseline({"method": self.place, **self.options})

    def _work(self, plugin: Any, arrays: Arrays) -> Arrays:
        features, labels = arrays
        rng = np.random.default_rng(0)
        if plugin.task == BaselineTask.CLASSIFICATION:
            return (np.asarray(plugin.fit(features, labels, 2, rng).predict(features)),)
        if plugin.task == BaselineTask.COMPLETION:
            partial = np.where(np.arange(len(labels)) % 2 == 0, labels, -1)
            return (np.asarray(plugin.complete(features, partial, 2, rng)),)
        return (np.asarray(plugin.cluster(features, N_CLASSES, 2, rng)),)

    def _check_api(self) -> None:
        work = WORK[self._build().task]
        self._checked(work, "features", "n_clusters" if work == "cluster" else "labels", "n_components", "rng")

    def _check_labels(self) -> None:
        features, codes = features_and_labels()
        (predicted,) = self._work(self._build(), (features, codes))
        if predicted.shape != codes.shape:
            raise Fault(f"it gives labels of shape {predicted.shape} to {len(codes)} samples", "one label a sample")
        if not set(predicted.tolist()) <= set(range(N_CLASSES)):
            raise Fault(
                f"it gives labels that there are not: {sorted(set(predicted.tolist()))}", "return those of training"
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
_ORTHONORMALISE = "orthonormalise each iterate, for instance by kdrbench.solvers.geometry.stiefel.orthonormalised"
# Rounding of sums of 1600 terms, relative to F, with a margin of a thousand.
_ROUNDING = 1e-10


class OneProcess(Monitor):
    """Ends children that return from a solver."""

    def begin(self) -> None:
        """Count from zero."""
        super().begin()
        self._process = os.getpid()

    def end(self) -> None:
        """Go on in the process that has begun."""
        processes.end_unless(self._process)


class Watch(OneProcess):
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
        "feasibility": "return SolverOutcome(W, Status..., message), with a finite d x q array W, as start is",
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
            results.append(solve(plugin, problem, start, OneProcess(_MOST_ITERATIONS)).projection)
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
                try:
                    result, _ = _solved(self._build(), definition, n_components)
                except InputError as error:
                    if "is not orthonormal" in str(error):
                        raise Fault(str(error), _ORTHONORMALISE) from error
                    raise
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
            stationarity = relative_stationarity(result.projection, watch.referee.gradient(result.projection))
            if result.status is Status.CONVERGED and not is_stationary(stationarity):
                raise Fault(
                    f"it says converged at relative stationarity {stationarity:.1e} with the {definition['family']} "
                    f"kernel; converged means at most {STATIONARY:.0e}",
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
