"""Tasks that a solver can be set to: supervised learning, and clusterings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from kdrbench.errors import InputError
from kdrbench.evaluation import Evaluation, build_problem
from kdrbench.kernels import Combination, Gaussian, Kernel, restricted_to
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms.alternation import Alternation, FirstStep
from kdrbench.paradigms.form import Guidance
from kdrbench.paradigms.rounds import Clustering
from kdrbench.problems import Counters, FactoredGamma, Problem, TraceObjective
from kdrbench.samples import Samples
from kdrbench.solvers import Monitor, Solver, SolverResult, Status, solve

# The starts of a clustering compete on this number of samples where its evaluation may be approximate.
_SOME_SAMPLES = 1000

MakeMonitor = Callable[[], Monitor]


@dataclass(frozen=True)
class Learned:
    """A learned projection (d x q), its objective, how it ended, and the ``problem`` it is a solution of.

    ``iterations`` are the solver's, over all rounds of a clustering; ``result`` is that of the last round.
    """

    projection: FloatArray
    objective: float
    status: Status
    message: str
    iterations: int
    problem: Problem
    result: SolverResult
    clustering: Clustering | None = None


class Task(Protocol):
    """What is to be learned from given samples, whatever the kernel, the start and the solver."""

    @property
    def n_classes(self) -> int:
        """Number of classes or clusters: the default number of components."""
        ...

    @property
    def alignment_target(self) -> FloatArray | None:
        """The centred labels (n x r) to which kernels may be aligned, if there are labels."""
        ...

    def first_problem(self, kernel: Kernel | Combination) -> Problem:
        """Return the problem whose Phi_0 makes the start."""
        ...

    def learn(self, kernel: Kernel | Combination, solver: Solver, start: FloatArray, monitor: MakeMonitor) -> Learned:
        """Maximise from ``start`` (d x q)."""
        ...


@dataclass(frozen=True)
class SupervisedTask:
    """Gamma is fixed: one solve."""

    features: FloatArray | Samples
    gamma: FactoredGamma
    n_classes: int
    evaluation: Evaluation | None = None
    # The problem of the last kernel: what made the start serves the solve.
    _last: list[tuple[Kernel | Combination, Problem]] = field(default_factory=list, init=False, repr=False)

    @property
    def alignment_target(self) -> FloatArray | None:
        """The factor of Gamma, where no weight is negative."""
        if (self.gamma.weights < 0).any():
            return None
        return self.gamma.factor * np.sqrt(self.gamma.weights)

    def first_problem(self, kernel: Kernel | Combination) -> Problem:
        """Return the problem, the same one for the same kernel."""
        if not self._last or self._last[0][0] is not kernel:
            self._last[:] = [
                (kernel, build_problem(TraceObjective(self.features, kernel, self.gamma), self.evaluation))
            ]
        return self._last[0][1]

    def learn(self, kernel: Kernel | Combination, solver: Solver, start: FloatArray, monitor: MakeMonitor) -> Learned:
        """Solve it."""
        problem = self.first_problem(kernel)
        problem.counters = Counters()
        result = solve(solver, problem, start, monitor())
        value = problem.fresh().value(result.projection)
        return Learned(result.projection, value, result.status, result.message, result.iterations, problem, result)


@dataclass
class ClusteringTask:
    """Gamma follows the clusters: an alternation. U of the unprojected kernel is made once for all its starts."""

    features: FloatArray
    alternation: Alternation
    guidance: tuple[Guidance, ...] = ()
    evaluation: Evaluation | None = None
    alignment_target: FloatArray | None = None
    _begun: tuple[Kernel | Combination, FirstStep] | None = field(default=None, init=False, repr=False)

    @property
    def n_classes(self) -> int:
        """Number of clusters."""
        return self.alternation.n_clusters

    def first_problem(self, kernel: Kernel | Combination) -> Problem:
        """Return the problem of the first round."""
        return self.alternation.first_problem(
            self.features, kernel, self.guidance, evaluation=self.evaluation, first=self._first_step(kernel)
        )

    def learn(self, kernel: Kernel | Combination, solver: Solver, start: FloatArray, monitor: MakeMonitor) -> Learned:
        """Alternate."""
        return self._alternated(kernel, solver, start, monitor, self._first_step(kernel))

    def resumed(
        self, kernel: Kernel | Combination, solver: Solver, projection: FloatArray, monitor: MakeMonitor
    ) -> Learned:
        """Go on with an alternation whose last W (d x q), of some of the samples, is ``projection``."""
        first = self.alternation.first_step(self.features, kernel, self.evaluation, projection=projection)
        return self._alternated(kernel, solver, projection, monitor, first)

    def _alternated(
        self,
        kernel: Kernel | Combination,
        solver: Solver,
        start: FloatArray,
        monitor: MakeMonitor,
        first: FirstStep,
    ) -> Learned:
        clustering = self.alternation.run(
            self.features,
            kernel,
            solver,
            start,
            self.guidance,
            monitor=monitor,
            evaluation=self.evaluation,
            first=first,
        )
        iterations = sum(round_.iterations for round_ in clustering.rounds)
        return Learned(
            clustering.projection,
            clustering.objective,
            clustering.status,
            clustering.message,
            iterations,
            clustering.problem,
            clustering.result,
            clustering,
        )

    def of_some_samples(self, kernel: Kernel | Combination) -> tuple[ClusteringTask, Kernel | Combination] | None:
        """Return the task of ``_SOME_SAMPLES`` of the samples with their kernel; ``None`` if exact, or they are few.

        They are the same in every run, and have no D where it does not exist for all.
        """
        asked, n_samples = self.evaluation or Evaluation(), len(self.features)
        if asked.tolerance == 0.0 or n_samples < 2 * _SOME_SAMPLES:
            return None
        rows = np.sort(np.random.default_rng(0).choice(n_samples, _SOME_SAMPLES, replace=False))
        alternation = self.alternation
        if not self._first_step(kernel).uses_degrees:
            alternation = replace(alternation, degrees="none")
        guidance = tuple(alternation.of(term, rows) for term in self.guidance)
        if isinstance(kernel, Gaussian):
            asked = replace(asked, evaluator="low_rank")
        return ClusteringTask(self.features[rows], alternation, guidance, asked), restricted_to(kernel, rows)

    def _first_step(self, kernel: Kernel | Combination) -> FirstStep:
        if self._begun is None or self._begun[0] is not kernel:
            self._begun = (kernel, self.alternation.first_step(self.features, kernel, self.evaluation))
        return self._begun[1]


def learn_from_all(
    task: Task,
    kernel: Kernel | Combination,
    solver: Solver,
    starts: Iterable[FloatArray],
    monitor: MakeMonitor,
) -> tuple[Learned, list[Learned]]:
    """Return what the best of these starts leads to, and all that were compared, by falling objective.

    Equals are in the order of their starts. Where a clustering of many samples may be approximate, its starts compete
    on some of them, and the best W found there is the start of all samples'. So the solver may be ``rough`` there.
    """
    points = list(starts)
    if not points:
        raise InputError("at least one start is needed")
    # Beside other starts a solver needs none of its own.
    chosen = getattr(solver, "alone", solver) if len(points) > 1 else solver
    some = task.of_some_samples(kernel) if isinstance(task, ClusteringTask) and len(points) > 1 else None
    tried = chosen if some is None else getattr(chosen, "rough", chosen)
    compared_task, compared_kernel = some or (task, kernel)
    compared = [compared_task.learn(compared_kernel, tried, start, monitor) for start in points]
    compared.sort(key=lambda outcome: -outcome.objective)
    if isinstance(task, ClusteringTask) and some is not None:
        return task.resumed(kernel, chosen, compared[0].projection, monitor), compared
    return compared[0], compared
