"""A solver on one fold, supervised: solved under the referee, judged by the last projection that the referee passed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from kdrbench.bench.components import components_of
from kdrbench.bench.execute import Finished, RunFiles
from kdrbench.bench.fold import Fold
from kdrbench.bench.limits import Limits
from kdrbench.bench.monitor import Referee, TimedMonitor
from kdrbench.bench.pauses import Pauses
from kdrbench.bench.plan import Batch
from kdrbench.bench.quality import Judgement, metric_of, projected_quality
from kdrbench.bench.seeds import rng_of
from kdrbench.bench.traces import read_array
from kdrbench.evaluation import Evaluation
from kdrbench.kernels import build_kernel
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms import Task, build_task
from kdrbench.problems import Problem
from kdrbench.solvers import Solver, make_start, solve
from kdrbench.solvers.base import check_oracles
from kdrbench.solvers.geometry.certificate import certify
from kdrbench.solvers.geometry.curvature import DENSE_DIMENSION
from kdrbench.solvers.geometry.stiefel import feasibility_error, relative_stationarity


@dataclass(frozen=True)
class SolverJob:
    """One fold's problem, its solver, number of components and start.

    ``exact`` is the problem without approximations, by which the referee judges.
    """

    solver: Solver
    problem: Problem
    exact: Problem
    n_components: int
    start: Callable[[Problem], FloatArray]
    fold: Fold

    def watched(self, limits: Limits, pauses: Pauses, files: RunFiles) -> Finished:
        """Solve under the referee."""
        counters = self.problem.counters
        referee = Referee(
            self.exact,
            self.n_components,
            limits.time_s,
            files.trace,
            files.projection,
            pauses,
            files.checkpoint,
            calls=lambda: counters.total,
        )
        result = solve(self.solver, self.problem, lambda: self.start(self.problem), referee)
        return Finished(referee, result.status, result.message, result.iterations, result.counters, result.evaluation)

    def again(self, limits: Limits, pauses: Pauses) -> TimedMonitor:
        """Solve without a referee."""
        problem, monitor = self.problem.fresh(), TimedMonitor(limits.time_s, pauses)
        solve(self.solver, problem, partial(self.start, problem), monitor)
        return monitor

    def judged(self, files: RunFiles) -> Judgement:
        """Evaluate the last projection the referee passed, if there is one, with the bench's own oracles.

        The referee passes only orthonormal projections of finite cost.
        """
        projection, problem = read_array(files.projection), self.exact.fresh()
        if projection is None:
            return Judgement(metric_of(self.fold))
        return Judgement(
            metric_of(self.fold),
            quality=projected_quality(projection, self.fold),
            cost=-problem.value(projection),
            feasibility=feasibility_error(projection),
            stationarity=relative_stationarity(projection, problem.gradient(projection)),
            **_second_order(problem, projection),
        )


def _second_order(problem: Problem, projection: FloatArray) -> dict[str, float]:
    """Return curvature and eigengaps where they cost no more than a Hessian that is formed once."""
    n_features, q = projection.shape
    if not 0 < (n_features - q) * q <= DENSE_DIMENSION:
        return {}
    found = certify(problem, projection)
    numbers = {name: getattr(found, name) for name in ("curvature", "eigengap", "eigengap_needed")}
    return {name: float(number) for name, number in numbers.items() if math.isfinite(number)}


def make_solver_job(batch: Batch, solver: Solver, memory_mib: float, number: int, fold: Fold) -> SolverJob:
    """Return the batch's job on fold ``number``.

    Raises ``InputError`` when the problem lacks an oracle that the solver requires.
    """
    asked = Evaluation(**batch.evaluation, threads=batch.threads, memory_mib=memory_mib)
    task = _task(batch, fold, asked)
    q = components_of(batch, fold, task)
    kernel = build_kernel(batch.kernel_definition, fold.train_features, q, task.alignment_target)
    problem = task.first_problem(kernel)
    # The referee does not judge by approximations, nor by evaluators that lack oracles or take long.
    usual = replace(asked, evaluator="auto", tolerance=0.0)
    exact = problem if asked == usual else _task(batch, fold, usual).first_problem(kernel)
    check_oracles(solver, problem)
    return SolverJob(solver, problem, exact, q, partial(_start, batch, number, q), fold)


def _task(batch: Batch, fold: Fold, evaluation: Evaluation) -> Task:
    return build_task(batch.paradigm, batch.parameters, fold.train_features, fold.train_labels, evaluation=evaluation)


def _start(batch: Batch, number: int, n_components: int, problem: Problem) -> FloatArray:
    rng = rng_of("start", batch.dataset, number, batch.seed)
    return make_start(batch.start, problem, n_components, rng)
