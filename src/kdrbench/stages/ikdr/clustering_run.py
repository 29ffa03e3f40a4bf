"""A solver inside an alternation on one set of rows: clustered under the referee, judged by the last projection.

The clock covers the alternation: the embedding of the unprojected kernel, the start, every solve and every U step. It
does not cover k-means, which belongs to the judge, as the SVM of supervised runs does. The trace holds the objective of
:class:`.ReducedObjective`: that which the alternation has after the U step that follows an iterate.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from kdrbench.bench.components import components_before, components_of
from kdrbench.bench.execute import Finished, RunFiles
from kdrbench.bench.experiment import CLUSTERS
from kdrbench.bench.fold import Fold
from kdrbench.bench.limits import Limits
from kdrbench.bench.monitor import Referee, TimedMonitor
from kdrbench.bench.pauses import Pauses
from kdrbench.bench.plan import Batch
from kdrbench.bench.quality import Judgement, Metric, normalised_mutual_information
from kdrbench.bench.rounds import OutOfTimeError, Rounds
from kdrbench.bench.seeds import rng_of
from kdrbench.bench.traces import read_array, save_array
from kdrbench.errors import InputError
from kdrbench.evaluation import Evaluation
from kdrbench.kernels import Combination, Kernel, build_kernel
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms import Alternation, Learned, ReducedObjective, build_task, cluster_rows
from kdrbench.paradigms.task import ClusteringTask
from kdrbench.problems import Problem
from kdrbench.solvers import Solver, Status, make_start
from kdrbench.solvers.base import check_oracles
from kdrbench.solvers.geometry.stiefel import feasibility_error, relative_stationarity


@dataclass(frozen=True)
class SolverClusteringJob:
    """Rows, what is to be learned of them, the solver inside, and how problems may be evaluated.

    ``given`` is the labelling that an alternative clustering is to differ from; of others nothing is given.
    """

    batch: Batch
    solver: Solver
    kernel: Kernel | Combination
    fold: Fold
    evaluation: Evaluation
    number: int
    n_components: int
    given: NDArray[Any] | None = None

    def watched(self, limits: Limits, pauses: Pauses, files: RunFiles) -> Finished:
        """Alternate under the referee."""
        judge = self.objective()
        referee = Referee(judge, self.n_components, limits.time_s, files.trace, files.projection, pauses)
        try:
            learned = self._alternate(referee, judge)
        except OutOfTimeError:
            return Finished(referee, Status.TIME_LIMIT, referee.stop_message, referee.iterations)
        found = learned.clustering
        if found is None:
            raise InputError(f"the task of paradigm {self.batch.paradigm!r} returned no clustering")
        return Finished(
            referee,
            learned.status,
            learned.message,
            learned.iterations,
            evaluation=learned.result.evaluation,
            rounds=len(found.rounds),
            uses_degrees=found.uses_degrees,
        )

    def again(self, limits: Limits, pauses: Pauses) -> TimedMonitor:
        """Alternate without a referee."""
        monitor = TimedMonitor(limits.time_s, pauses)
        with suppress(OutOfTimeError):
            self._alternate(monitor, None)
        return monitor

    def judged(self, files: RunFiles) -> Judgement:
        """Evaluate the last projection the referee passed, if there is one: its objective and its clusters.

        The clusters, and what they should differ from, are left in ``files``.
        """
        projection = read_array(files.projection)
        if projection is None:
            return Judgement(Metric.NMI)
        objective = self.objective(uses_degrees=_used_degrees(files))
        clusters = cluster_rows(objective.embedding(projection))
        save_array(files.predictions, clusters)
        if self.given is not None:
            save_array(files.given, self.given)
        sought = self._sought()
        return Judgement(
            Metric.NMI,
            quality=None if sought is None else normalised_mutual_information(sought, clusters),
            cost=-objective.value(projection),
            feasibility=feasibility_error(projection),
            stationarity=relative_stationarity(projection, objective.gradient(projection)),
            nmi_given=None if self.given is None else normalised_mutual_information(self.given, clusters),
        )

    def objective(self, *, uses_degrees: bool = True) -> ReducedObjective:
        """Return the objective by which the referee judges: exact, however the solver evaluates."""
        exact = replace(self.evaluation, evaluator="auto", tolerance=0.0)
        task = self._task()
        return ReducedObjective(
            task.alternation, task.features, self.kernel, task.guidance, evaluation=exact, uses_degrees=uses_degrees
        )

    def _alternate(self, monitor: TimedMonitor, judge: ReducedObjective | None) -> Learned:
        """Cluster with one clock over all rounds; ``judge`` is told how they end, while it stands."""
        task = self._task()
        monitor.begin()
        try:
            start = self._start(task.first_problem(self.kernel))
            rounds = Rounds(monitor, judge.round_ended if judge else None)
            rounds.ended(start)
            return task.learn(self.kernel, self.solver, start, rounds)
        finally:
            monitor.end()

    def _sought(self) -> NDArray[Any] | None:
        """Return what the clusters are compared with: the classes, if no labelling is named; ``None`` without any."""
        if self.given is None:
            return self.fold.train_labels
        sought = self.batch.labellings.get("sought")
        return None if sought is None else self.fold.labelling(sought)

    def _task(self) -> ClusteringTask:
        batch, features = self.batch, self.fold.train_features
        task = build_task(batch.paradigm, batch.parameters, features, self.given, evaluation=self.evaluation)
        if not isinstance(task, ClusteringTask):
            raise InputError(f"paradigm {batch.paradigm!r} is no clustering; this job clusters")
        return task

    def _start(self, problem: Problem) -> FloatArray:
        rng = rng_of("start", self.batch.dataset, self.number, self.batch.seed)
        return make_start(self.batch.start, problem, self.n_components, rng)


def make_clustering_job(
    batch: Batch, solver: Solver, memory_mib: float, number: int, fold: Fold
) -> SolverClusteringJob:
    """Return the batch's job on run ``number``.

    Raises ``InputError`` when the problems lack an oracle that the solver requires.
    """
    evaluation = Evaluation(**batch.evaluation, threads=batch.threads, memory_mib=memory_mib)
    given = _given(batch, fold)
    task = build_task(batch.paradigm, batch.parameters, fold.train_features, given, evaluation=evaluation)
    q = components_of(batch, fold, task)
    kernel = build_kernel(batch.kernel_definition, fold.train_features, q)
    # Oracles depend on kernel and evaluation, not on Gamma; that of the classes needs no alternation to be made.
    labels = fold.train_labels if given is None else given
    known = build_task("supervised", {}, fold.train_features, labels, evaluation=evaluation)
    check_oracles(solver, known.first_problem(kernel))
    return SolverClusteringJob(batch, solver, kernel, fold, evaluation, number, q, given)


def _given(batch: Batch, fold: Fold) -> NDArray[Any] | None:
    """Return the labelling to differ from, if there is one.

    ``clusters`` are those which spectral clustering finds with the kernel of the unprojected rows.
    """
    name = batch.labellings.get("given")
    if name != CLUSTERS:
        return None if name is None else fold.labelling(name)
    n_clusters, features = batch.parameters["n_clusters"], fold.train_features
    kernel = build_kernel(batch.kernel_definition, features, components_before(batch, fold, n_clusters))
    first = Alternation(n_clusters).first_step(features, kernel)
    return cluster_rows(first.embedding)


def _used_degrees(files: RunFiles) -> bool:
    """Return whether the alternation used degrees to its end; assumed of one that did not come there."""
    if not files.result.exists():
        return True
    said = json.loads(files.result.read_text(encoding="utf-8")).get("uses_degrees")
    return said is not False
