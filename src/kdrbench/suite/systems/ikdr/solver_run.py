"""A solver on one fold: solved under the referee, scored by the last projection that the referee evaluated."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

# A plan imports its evaluator when it first names it, which belongs to no clock.
from kdrbench.evaluation import Evaluation, dense, factored, gaussian_sums, low_rank, panels, streaming  # noqa: F401
from kdrbench.kernels import Combination, Kernel, build_kernel
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms import ReducedObjective, Task
from kdrbench.paradigms.task import SupervisedTask
from kdrbench.problems import FactoredGamma, Problem, integer_gamma, supervised_gamma
from kdrbench.solvers import Solver, SolverResult, Status, eigengap_components, make_start, solve
from kdrbench.solvers.base import check_oracles
from kdrbench.solvers.geometry.certificate import certify
from kdrbench.solvers.geometry.curvature import DENSE_DIMENSION
from kdrbench.solvers.geometry.stiefel import feasibility_error, relative_stationarity
from kdrbench.suite.engine.referee import Referee, Seconds
from kdrbench.suite.engine.run import RunResult, repeated
from kdrbench.suite.engine.run_files import RunFiles, end_trace_at, read_array, trace_lines
from kdrbench.suite.engine.seeds import rng_of
from kdrbench.suite.systems.ikdr.definition import EIGENGAP, INTEGERS, LABELS, CellDefinition
from kdrbench.suite.systems.ikdr.folds import Fold
from kdrbench.suite.systems.ikdr.monitor import PROJECTION, Ended, ProjectionMonitor, TimedMonitor
from kdrbench.suite.systems.ikdr.scores import columns_of, optimality_of, projected_quality

_COUNTED = ("value", "gradient", "value_gradient", "hessian_vector", "hessian", "surrogate")

MakeStart = Callable[[Problem], FloatArray]


@dataclass(frozen=True)
class ProjectionRun:
    """A solver on the samples of one run, which is scored by the last projection that the referee passed.

    ``columns`` are those that are known without making it (:func:`.columns_of`).
    """

    solver: Solver
    kernel: Kernel | Combination
    fold: Fold
    columns: Mapping[str, Any]
    n_components: int
    arrays: ClassVar[tuple[str, ...]] = (PROJECTION,)

    def objective(self, *, uses_degrees: bool = True) -> Problem | ReducedObjective:
        """Return the exact objective of the referee, however the solver evaluates; see :class:`.Ended`."""
        raise NotImplementedError

    def scores_left(self, projection: FloatArray, files: RunFiles) -> dict[str, Any]:
        """Return all scores of the projection that the run left in ``files``."""
        raise NotImplementedError

    def score(self, files: RunFiles) -> Mapping[str, Any]:
        """Evaluate the last projection that the referee passed, if there is one, with the bench's own oracles.

        ``evaluation_s`` is no column of a record: it says what the evaluations in the trace take by the batch's clock,
        for :func:`.unclocked`.
        """
        scores: dict[str, Any] = {}
        if (projection := read_array(files.array(PROJECTION))) is not None:
            scores |= self.scores_left(projection, files)
            scores["evaluation_s"] *= sum(1 for _ in trace_lines(files.trace))
        # Of a combination the weights in the order of its members, as in ``1, 0.25``.
        terms = self.kernel.terms if isinstance(self.kernel, Combination) else ()
        weights = ", ".join(f"{term.weight:.4g}" for term in terms)
        return {**self.columns, "n_components": self.n_components, "kernel_weights": weights, **scores}

    def scores_of(self, projection: FloatArray, *, uses_degrees: bool = True) -> dict[str, Any]:
        """Return what the objective says of an orthonormal projection; ``evaluation_s`` is for one evaluation."""
        began = time.process_time()
        objective = self.objective(uses_degrees=uses_degrees)
        stationarity = relative_stationarity(projection, objective.gradient(projection))
        cost = -objective.value(projection)
        evaluation_s = time.process_time() - began
        second_order = {} if isinstance(objective, ReducedObjective) else _second_order(objective, projection)
        is_control = getattr(self.solver, "control", False)  # what a control returns is no solution
        return {
            "cost": cost,
            "feasibility": feasibility_error(projection),
            "stationarity": stationarity,
            "optimality": "" if is_control else optimality_of(stationarity, second_order.get("curvature")),
            "evaluation_s": evaluation_s,
            **second_order,
        }


@dataclass(frozen=True)
class SolverRun(ProjectionRun):
    """A run on one fold's problem, from ``n_starts`` starts.

    ``exact`` is the problem without approximations and with one-hot labels, by which the referee evaluates. ``starts``
    returns what makes one start after the other.
    """

    problem: Problem
    exact: Problem
    starts: Callable[[], MakeStart]
    n_starts: int = 1

    def run(self, referee: Referee) -> Iterator[RunResult]:
        """Solve under the referee from each start, then repeat all of that without it, if it was short.

        One clock, one monitor and one limit count all starts together; the best result is that of the run. A run from
        several starts keeps no checkpoints.
        """
        counters = self.problem.counters
        monitor = ProjectionMonitor(
            referee, self.exact, self.n_components, checkpoints=self.n_starts == 1, calls=lambda: counters.total
        )
        results = self._solved(self.problem, monitor)
        best = last = next(results)
        monitor.start_ended()
        for last in results:
            best = last if monitor.start_ended() else best
        yield from repeated(
            self._row(best, last, monitor), partial(self.repeat, referee), monitor.clock.seconds, referee
        )

    def repeat(self, referee: Referee) -> Seconds:
        """Solve from each start without evaluating iterates; return the seconds."""
        monitor = TimedMonitor(referee)
        for _ in self._solved(self.problem.fresh(), monitor):
            pass
        return monitor.clock.seconds

    def ended(self, start: MakeStart, monitor: TimedMonitor) -> Ended:
        """Solve from one start, whatever the starts of the run are."""
        result = solve(self.solver, self.problem, partial(start, self.problem), monitor)
        return Ended(result.projection, result.status, result.message)

    def _solved(self, problem: Problem, monitor: TimedMonitor) -> Iterator[SolverResult]:
        make = self.starts()
        for _ in range(self.n_starts):
            result = solve(self.solver, problem, partial(make, problem), monitor)
            yield result
            if result.status is Status.TIME_LIMIT:
                return

    def _row(self, best: SolverResult, last: SolverResult, monitor: ProjectionMonitor) -> RunResult:
        columns: dict[str, Any] = {
            "iterations": last.iterations,
            "evaluation": last.evaluation,
            **{f"{name}_calls": last.counters.get(name) for name in _COUNTED},
        }
        if self.n_starts == 1:
            return RunResult(last.status, last.message, columns=columns)
        n_starts = len(monitor.costs)
        columns |= {"n_starts": n_starts, "mean_cost": statistics.fmean(monitor.costs)}
        if last.status is Status.TIME_LIMIT:
            return RunResult(last.status, last.message, columns=columns)
        return RunResult(best.status, f"best of {n_starts} starts: {best.message}", columns=columns)

    def objective(self, *, uses_degrees: bool = True) -> Problem:
        """Return the exact problem."""
        return self.exact.fresh()

    def quality_of(self, projection: FloatArray, *, uses_degrees: bool = True) -> tuple[float, float | None]:
        """Return the quality of an SVM on the projected samples, and its training accuracy beside a test part."""
        return projected_quality(projection, self.fold)

    def scores_left(self, projection: FloatArray, files: RunFiles) -> dict[str, Any]:
        """Return all scores; the trace ends at the cost."""
        scores, (quality, train_accuracy) = self.scores_of(projection), self.quality_of(projection)
        end_trace_at(files.trace, scores["cost"])
        return {**scores, "quality": quality, "train_accuracy": train_accuracy}


def _second_order(problem: Problem, projection: FloatArray) -> dict[str, float]:
    """Return curvature and eigengaps where they cost no more than a Hessian that is formed once."""
    n_features, q = projection.shape
    if not 0 < (n_features - q) * q <= DENSE_DIMENSION:
        return {}
    try:
        certificate = certify(problem, projection)
    except (ArithmeticError, ValueError, np.linalg.LinAlgError):
        # The second derivative of a kernel of the user's own may fail; the run's other numbers stay.
        return {}
    numbers = {name: getattr(certificate, name) for name in ("curvature", "eigengap", "eigengap_needed")}
    return {name: float(number) for name, number in numbers.items() if math.isfinite(number)}


def make_solver_run(cell: CellDefinition, solver: Solver, memory_mib: float, number: int, fold: Fold) -> SolverRun:
    """Return the cell's run ``number`` on a fold.

    Raises ``InputError`` when the problem lacks an oracle that the solver requires.
    """
    asked = Evaluation(**cell.evaluation, threads=cell.threads, memory_mib=memory_mib)
    task = _task(fold, supervised_gamma(fold.train_labels), asked)
    q = components_of(cell, fold, task)
    kernel = build_kernel(cell.kernel, fold.train_features, q, task.alignment_target)
    mistaken = cell.parameters.get(LABELS) == INTEGERS
    given = _task(fold, integer_gamma(fold.train_labels), asked) if mistaken else task
    problem = given.first_problem(kernel)
    # The referee does not evaluate by approximations, nor by evaluators that lack oracles or take long.
    same = asked == asked.exact and not mistaken
    exact = problem if same else replace(task, evaluation=asked.exact).first_problem(kernel)
    check_oracles(solver, problem)
    if cell.starts > 1:
        solver = getattr(solver, "alone", solver)
    starts = partial(starts_of, cell, number, q)
    return SolverRun(solver, kernel, fold, columns_of(cell, fold), q, problem, exact, starts, cell.starts)


def _task(fold: Fold, gamma: FactoredGamma, evaluation: Evaluation) -> SupervisedTask:
    return SupervisedTask(fold.train_features, gamma, len(np.unique(fold.train_labels)), evaluation)


def starts_of(cell: CellDefinition, number: int, n_components: int) -> MakeStart:
    """Return what makes the starts of run ``number``; they depend on data set, run and seed, on no solver.

    The first one is the same however many there are.
    """
    rng = rng_of("start", cell.dataset, number, cell.seed)
    return lambda problem: make_start(cell.start, problem, n_components, rng)


def components_of(cell: CellDefinition, fold: Fold, task: Task) -> int:
    """Return q for the rows of a run, of which ``task`` is made."""
    before = components_before(cell, fold, task.n_classes)
    if cell.n_components != EIGENGAP:
        return before
    kernel = build_kernel(cell.kernel, fold.train_features, before, task.alignment_target)
    return eigengap_components(task.first_problem(kernel).initial_surrogate())


def components_before(cell: CellDefinition, fold: Fold, n_classes: int) -> int:
    """Return the q that a kernel takes its scale from before the rule has found one: the number of classes.

    :class:`.InterpretableKDR` does the same. A number in the configuration is used as it is.
    """
    if cell.n_components != EIGENGAP:
        return int(cell.n_components)
    return min(n_classes, int(fold.train_features.shape[1]))
