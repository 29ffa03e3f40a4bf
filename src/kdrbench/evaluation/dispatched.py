"""One problem, each call evaluated in the way that suits its number of components."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from importlib import import_module
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from kdrbench.arrays import is_device_array
from kdrbench.errors import InputError
from kdrbench.evaluation.base import Evaluator
from kdrbench.evaluation.cost_model import (
    MOST_NODES,
    PROVED,
    SINGLE_PRECISION,
    Evaluation,
    Plan,
    accuracy,
    largest_grid,
    largest_rank,
    nearby,
    plan,
    too_narrow,
)
from kdrbench.evaluation.row_space import row_space_of, spanning
from kdrbench.kernels.combination import has_constant_slope, has_powers_of_products
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Counters, Problem, RowSpace, TraceObjective

Oracle = TypeVar("Oracle", bound=Callable[..., Any])
Shared = dict[tuple[str, bool], Evaluator[Any]]


def _answered_at(oracle: Oracle) -> Oracle:
    """Return the oracle of a dispatched problem: the same call to the evaluator that answers at W."""

    @wraps(oracle)
    def dispatched(self: DispatchedProblem, projection: FloatArray, /, *args: Any, **kwargs: Any) -> Any:
        answer = getattr(self.evaluator(projection), oracle.__name__)(projection, *args, **kwargs)
        if self.observer is not None:
            self.observer(oracle.__name__, projection, answer)
        return answer

    return cast(Oracle, dispatched)


class DispatchedProblem(Problem):
    """The oracles of an objective, evaluated as ``kdrbench.evaluation.cost_model.plan`` says.

    Evaluators are made when first needed. Counters are shared, so that a call counts once whoever answers it; twins
    share what depends on the data alone.
    """

    def __init__(self, objective: TraceObjective, evaluation: Evaluation, shared: Shared | None = None) -> None:
        self.counters = Counters()
        self.objective, self.evaluation, self._given_up = objective, evaluation, False
        # By name, and whether it was requested by that name: the options may then differ.
        self._shared: Shared = {} if shared is None else shared
        self._own: dict[str, Evaluator[Any]] = {}
        self._plans: dict[int, Plan] = {}
        # The problem that answered last instead of this one, with a prefix for the explanation, or before it.
        self._in_its_place: tuple[str, DispatchedProblem] | None = None
        self._before: DispatchedProblem | None = None
        self._row_space: list[RowSpace | None] = []

    def fresh(self) -> DispatchedProblem:
        """Return the same problem with its own counters and nothing remembered of earlier points."""
        twin = DispatchedProblem(self.objective, self.evaluation, self._shared)
        twin._row_space = self._row_space
        return twin

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return int(self.objective.features.shape[1])

    @property
    def surrogate_is_constant(self) -> bool:
        """Whether Phi is the same at every W."""
        return has_constant_slope(self.objective.kernel)

    @property
    def few_outweigh(self) -> bool:
        """Whether samples of large norm outweigh the others."""
        return has_powers_of_products(self.objective.kernel)

    def plan(self, n_components: int) -> Plan:
        """Return how projections to ``n_components`` are evaluated."""
        if n_components not in self._plans:
            self._plans[n_components] = plan(self.objective, n_components, self.evaluation)
        return self._plans[n_components]

    def explain(self, n_components: int) -> str:
        """Say in one sentence how projections to ``n_components`` are evaluated, and why."""
        if self._in_its_place is not None:
            prefix, other = self._in_its_place
            return prefix + other.explain(n_components)
        plan = self._planned(n_components)
        chosen, evaluator = str(plan), self._own.get(plan.evaluator)
        if evaluator is not None and (used := evaluator.explain_last()):
            chosen = f"{chosen}; {used}"
        return chosen if self._before is None else f"{chosen}; approached through {self._before.explain(n_components)}"

    def evaluated(self, evaluator: str) -> DispatchedProblem:
        """Return the same problem, evaluated in the way named; counters and report are shared."""
        other = self._joined(build_problem(self.objective, replace(self.evaluation, evaluator=evaluator), self._shared))
        self._in_its_place = ("", other)
        return other

    def accuracy(self, n_components: int) -> float:
        """Return the relative stationarity to which the oracles are worth trusting; 0 where they are exact."""
        return accuracy(self._planned(n_components), self.evaluation)

    def takes_pairs(self, projection: FloatArray) -> bool:
        """Return whether calls at W take all pairs of samples."""
        self.evaluator(projection)
        return self._planned(projection.shape[1]).evaluator in ("panels", "dense")

    def approximation(self, projection: FloatArray) -> DispatchedProblem | None:
        """Return a cheaper problem near this one that shares its counters, or ``None`` where this one is cheap at W."""
        n_components = projection.shape[1]
        if self._planned(n_components).evaluator == "grid":
            # Whether a grid suffices is only known at a W.
            self.evaluator(projection)
        asked = nearby(self.objective, self._planned(n_components), self.evaluation)
        if asked is None:
            return None
        self._before = self._joined(DispatchedProblem(self.objective, asked))
        return self._before

    def refined_at(self, projection: FloatArray) -> bool:
        """Make the oracles finer where their accuracy is not proved at W; return whether that was needed."""
        return self.evaluator(projection).refined_at(projection)

    def linearised_at(self, projection: FloatArray) -> Problem:
        """Return the problem with all choices made as at W, sharing the counters: its oracles change smoothly."""
        return self.evaluator(projection).linearised_at(projection)

    def subsampled(self, n_samples: int) -> DispatchedProblem | None:
        """Return the problem of ``n_samples`` samples, equal shares of all classes; ``None`` if there are fewer."""
        gamma = self.objective.gamma
        return None if gamma.n_samples <= n_samples else self._of(gamma.spread_out(n_samples))

    def leading(self, n_samples: int) -> DispatchedProblem | None:
        """Return the problem of the samples of largest norm, where few outweigh the others; else equal shares."""
        if self.objective.gamma.n_samples < 2 * n_samples:
            return None
        return self._of(self.objective.longest(n_samples)) if self.few_outweigh else self.subsampled(n_samples)

    def _of(self, places: NDArray[np.intp]) -> DispatchedProblem:
        evaluation = replace(self.evaluation, engine=None, scheduler=None)
        smaller = DispatchedProblem(self.objective.of(np.sort(places)), evaluation)
        smaller.report = self.report
        return smaller

    def in_row_space(self, projection: FloatArray) -> tuple[DispatchedProblem, RowSpace] | None:
        """Return the problem in coordinates of the row space that span W, sharing the counters, and those."""
        if self.evaluation.evaluator == "pairwise_sum":
            # The slow original has a d x d matrix for each pair, however large d is.
            return None
        if not self._row_space:
            self._row_space.append(None if self.objective.is_streamed else row_space_of(self.objective.array))
        if (within := self._row_space[0]) is None or (space := spanning(within, projection)) is None:
            return None
        smaller = self._joined(DispatchedProblem(replace(self.objective, features=space.features), self.evaluation))
        self._in_its_place = ("in the row space, ", smaller)
        return smaller, space

    def _joined(self, other: DispatchedProblem) -> DispatchedProblem:
        """Return another form of this problem, whose calls are counted, reported and seen with its own."""
        other.counters, other.report, other.observer = self.counters, self.report, self.observer
        return other

    def evaluator(self, projection: FloatArray) -> Evaluator[Any]:
        """Return the evaluator that answers calls at W."""
        self._in_its_place = None
        self._check(projection)
        chosen = self.plan(projection.shape[1])
        if self.evaluation.evaluator == "auto" and not self._given_up:
            self._given_up = not self._made(chosen).suffices_at(projection)
        return self._made(self._planned(projection.shape[1]))

    def _planned(self, n_components: int) -> Plan:
        """Return the plan, or that of panels where what was planned does not suffice."""
        chosen = self.plan(n_components)
        if not self._given_up or chosen.evaluator not in ("low_rank", "class_sums", "grid"):
            return chosen
        if self.objective.is_streamed or self.evaluation.engine is not None:
            raise InputError(too_narrow(self.objective.features))
        reason = "a factor, a basis or a grid to the tolerance would be too large"
        single = self.evaluation.approximates or self.evaluation.tolerance >= SINGLE_PRECISION
        return Plan("panels", reason, single)

    def _made(self, chosen: Plan) -> Evaluator[Any]:
        name = chosen.evaluator
        if name not in self._own:
            key = (name, self.evaluation.evaluator == name)
            if key not in self._shared:
                on_device, by_engine = is_device_array(self.objective.features), self.evaluation.engine is not None
                if on_device and (by_engine or name not in ("class_sums", "factored", "panels")):
                    raise InputError(
                        f"evaluator {name!r}{' by an engine' if by_engine else ''} is for arrays of numpy; for those "
                        "of a device there are auto, class_sums, factored and panels, without engine or scheduler"
                    )
                self._shared[key] = _made(self.objective, chosen, self.evaluation)
            self._own[name] = self._shared[key].fresh()
        evaluator = self._own[name]
        evaluator.counters, evaluator.report = self.counters, self.report
        return evaluator

    def rough_surrogate(self, projection: FloatArray) -> FloatArray:
        """Return Phi(W); where a factor of the kernel matrix is too large for the tolerance, that of the largest one.

        On 10,000 samples of MNIST (q = 10) it takes a fourth of the time of Phi in single precision, and fits are as
        long and end at the same F.
        """
        self.evaluator(projection)
        by_factor = self._given_up and self.plan(projection.shape[1]).evaluator in ("low_rank", "class_sums")
        on_device = is_device_array(self.objective.features)
        if on_device or not (by_factor and self.evaluation.tolerance > 0.0):
            return self.surrogate(projection)
        return self._made(Plan("low_rank", "a step or a preconditioner only")).surrogate(projection)

    def initial_surrogate(self) -> FloatArray:
        """Return Phi_0."""
        return self._made(self.plan(1)).initial_surrogate()

    value = _answered_at(Problem.value)
    gradient = _answered_at(Problem.gradient)
    value_and_gradient = _answered_at(Problem.value_and_gradient)
    hessian_vector = _answered_at(Problem.hessian_vector)
    hessian_vectors = _answered_at(Problem.hessian_vectors)
    hessian = _answered_at(Problem.hessian)
    surrogate = _answered_at(Problem.surrogate)
    surrogate_products = _answered_at(Problem.surrogate_products)


# Module, class, and the options it takes.
_CLASSES = {
    "dense": ("dense", "DenseProblem", ()),
    "panels": ("panels", "PanelProblem", ("threads", "single_precision", "compiled")),
    "factored": ("factored", "FactoredProblem", ("threads",)),
    "monomial_sums": ("streaming", "sums_of_monomials", ("threads", "engine")),
    "class_sums": ("gaussian_sums", "ClassSumsProblem", ("threads", "engine", "accuracy", "proved")),
    "low_rank": ("low_rank", "LowRankProblem", ("threads", "tolerance", "max_rank")),
    "grid": ("grid", "GridProblem", ("threads", "most_nodes")),
    "autograd": ("on_request", "AutomaticProblem", ()),
    "pairwise_sum": ("on_request", "PairwiseSumProblem", ()),
}


def _made(objective: TraceObjective, chosen: Plan, asked: Evaluation) -> Evaluator[Any]:
    """Return the evaluator that a plan names; its module is imported when it is first made."""
    module, name, options = _CLASSES[chosen.evaluator]
    is_auto, n_samples = asked.evaluator == "auto", objective.features.shape[0]
    values = {
        "threads": asked.threads,
        "engine": asked.engine,
        "single_precision": chosen.single_precision,
        "compiled": asked.compiled,
        "tolerance": asked.tolerance,
        "accuracy": asked.tolerance or PROVED,
        "proved": not asked.tolerance,
        "max_rank": largest_rank(n_samples, asked.memory_mib) if is_auto else None,
        "most_nodes": largest_grid(objective.gamma) if is_auto else MOST_NODES,
    }
    evaluator = getattr(import_module(f"kdrbench.evaluation.{module}"), name)
    return cast(Evaluator[Any], evaluator(objective, **{option: values[option] for option in options}))


def build_problem(
    objective: TraceObjective, evaluation: Evaluation | None = None, shared: Shared | None = None
) -> DispatchedProblem:
    """Return the oracles of ``objective``, evaluated as :func:`plan` says or as ``evaluation`` asks.

    ``shared`` holds what was made of the same data and options before.

    Raises ``InputError`` for an evaluator that the kernel does not allow.
    """
    problem = DispatchedProblem(objective, evaluation or Evaluation(), shared)
    if problem.evaluation.evaluator != "auto":
        # Refused now rather than at the first call.
        problem._made(problem.plan(1))
    return problem
