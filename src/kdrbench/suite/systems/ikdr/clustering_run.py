"""A solver inside an alternation on one set of rows: clustered under the referee, scored by the last projection.

The clock covers the alternation: the embedding of the unprojected kernel, the start, every solve and every U step. It
does not cover k-means, which belongs to scoring, as the SVM of supervised runs does. The trace holds the objective of
:class:`.ReducedObjective`: that of the alternation after the U step that follows an iterate.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from kdrbench.evaluation import Evaluation
from kdrbench.kernels import build_kernel
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms import Alternation, ClusteringTask, Learned, ReducedObjective, build_task, cluster_rows
from kdrbench.paradigms.embedding import mutual_information
from kdrbench.solvers import Monitor, Solver, Status
from kdrbench.solvers.base import check_oracles
from kdrbench.suite.engine.referee import Referee, Seconds
from kdrbench.suite.engine.run import RunResult, read_results, repeated
from kdrbench.suite.engine.run_files import RunFiles, save_array
from kdrbench.suite.systems.ikdr.definition import CLUSTERS, CellDefinition, Paradigm
from kdrbench.suite.systems.ikdr.folds import CLASSES, Fold
from kdrbench.suite.systems.ikdr.monitor import Ended, OutOfTimeError, ProjectionMonitor, Round, TimedMonitor, paused
from kdrbench.suite.systems.ikdr.scores import clusters_quality, columns_of
from kdrbench.suite.systems.ikdr.solver_run import MakeStart, ProjectionRun, components_before, components_of, starts_of


@dataclass(frozen=True)
class ClusteringRun(ProjectionRun):
    """Rows, what is to be learned of them, the solver inside, and how problems may be evaluated.

    ``known`` is what the task is given: the labelling that an alternative clustering is to differ from, the scores of a
    semi-supervised one, nothing of an unsupervised one.
    """

    cell: CellDefinition
    evaluation: Evaluation
    number: int
    known: NDArray[Any] | None = None

    @property
    def given(self) -> NDArray[Any] | None:
        """The labelling to differ from, if there is one."""
        return self.known if self.cell.paradigm == Paradigm.ALTERNATIVE else None

    def run(self, referee: Referee) -> Iterator[RunResult]:
        """Alternate under the referee, then repeat a short alternation without it."""
        objective = self.objective()
        monitor = ProjectionMonitor(referee, objective, self.n_components)
        try:
            learned = self._alternate(starts_of(self.cell, self.number, self.n_components), monitor, objective)
            # After its last solve the alternation looks at clusters, which takes time, and it may take back a round.
            monitor.accept(learned.projection)
            row = self._row(learned)
        except OutOfTimeError:
            columns = {"iterations": monitor.iterations}
            row = RunResult(Status.TIME_LIMIT, monitor.stop_message, columns=columns)
        yield from repeated(row, partial(self.repeat, referee), monitor.clock.seconds, referee)

    def repeat(self, referee: Referee) -> Seconds:
        """Alternate without evaluating iterates; return the seconds."""
        monitor = TimedMonitor(referee)
        with suppress(OutOfTimeError):
            self._alternate(starts_of(self.cell, self.number, self.n_components), monitor, None)
        return monitor.clock.seconds

    def ended(self, start: MakeStart, monitor: TimedMonitor) -> Ended:
        """Alternate from another start than the run's."""
        try:
            learned = self._alternate(start, monitor, None)
        except OutOfTimeError:
            return Ended(None, Status.TIME_LIMIT, monitor.stop_message)
        return Ended(learned.projection, learned.status, learned.message, self._row(learned).columns["uses_degrees"])

    def _row(self, learned: Learned) -> RunResult:
        columns: dict[str, Any] = {"iterations": learned.iterations, "evaluation": learned.result.evaluation}
        if (clustering := learned.clustering) is not None:
            columns |= {"rounds": len(clustering.rounds), "uses_degrees": clustering.uses_degrees}
        return RunResult(learned.status, learned.message, columns=columns)

    def scores_left(self, projection: FloatArray, files: RunFiles) -> dict[str, Any]:
        """Return all scores; the clusters, and what they should differ from, are left in ``files``."""
        # Assumed of an alternation that did not reach its end.
        result = read_results(files).get(())
        uses_degrees = result is None or result.columns.get("uses_degrees") is not False
        scores = self.scores_of(projection, uses_degrees=uses_degrees)
        clusters = self._clusters(projection, uses_degrees)
        scores["quality"] = self._quality(clusters)
        save_array(files.array("labels"), clusters)
        if self.given is not None:
            save_array(files.array("given"), self.given)
            scores["nmi_given"] = mutual_information(self.given, clusters)
        return scores

    def quality_of(self, projection: FloatArray, *, uses_degrees: bool = True) -> tuple[float | None, None]:
        """Return the NMI of the clusters with what is sought, if anything is; nothing is trained on them."""
        return self._quality(self._clusters(projection, uses_degrees)), None

    def _clusters(self, projection: FloatArray, uses_degrees: bool) -> NDArray[Any]:
        task = self._task()
        of_kernel = task.alternation.clusters == "kernel"
        # The authors' k-means has no seed: it is drawn with what else is left to chance in their runs.
        seed = self.number if of_kernel or self.cell.start == "completed" else 0
        if of_kernel:
            return cluster_rows(task.kernel_eigenvectors(self.kernel, projection), seed)
        return cluster_rows(self.objective(uses_degrees=uses_degrees).at(projection).embedding, seed)

    def _quality(self, clusters: NDArray[Any]) -> float | None:
        """Return the NMI with the classes, or with the labelling that is sought, if any is."""
        sought = CLASSES if self.given is None else self.cell.labellings.get("sought")
        return None if sought is None else clusters_quality(clusters, sought, self.fold)

    def objective(self, *, uses_degrees: bool = True) -> ReducedObjective:
        """Return the objective by which the referee evaluates: exact, however the solver evaluates."""
        return self._task().reduced(self.kernel, self.evaluation.exact, uses_degrees)

    def _alternate(self, make_start: MakeStart, monitor: TimedMonitor, objective: ReducedObjective | None) -> Learned:
        """Cluster with one clock over all rounds; ``objective`` notes how they end, while it is paused."""
        task = self._task()
        monitor.begin()
        try:
            start = make_start(task.first_problem(self.kernel))
            noted = objective.round_ended if objective else None
            if noted:
                with paused(monitor):
                    noted(start)
            return task.learn(self.kernel, self.solver, start, lambda: cast(Monitor, Round(monitor, noted)))
        finally:
            monitor.end()

    def _task(self) -> ClusteringTask:
        cell, features = self.cell, self.fold.train_features
        task = build_task(cell.paradigm, cell.parameters, features, self.known, evaluation=self.evaluation)
        return cast("ClusteringTask", task)


def make_clustering_run(
    cell: CellDefinition, solver: Solver, memory_mib: float, number: int, fold: Fold
) -> ClusteringRun:
    """Return the cell's run ``number`` on a fold.

    Raises ``InputError`` when the problems lack an oracle that the solver requires.
    """
    evaluation = Evaluation(**cell.evaluation, threads=cell.threads, memory_mib=memory_mib)
    known = _known(cell, fold)
    task = build_task(cell.paradigm, cell.parameters, fold.train_features, known, evaluation=evaluation)
    q = components_of(cell, fold, task)
    kernel = build_kernel(cell.kernel, fold.train_features, q)
    # Oracles depend on kernel and evaluation, not on Gamma; that of two classes needs no alternation to be made.
    labels = np.arange(len(fold.train_features)) % 2
    supervised = build_task("supervised", {}, fold.train_features, labels, evaluation=evaluation)
    check_oracles(solver, supervised.first_problem(kernel))
    return ClusteringRun(solver, kernel, fold, columns_of(cell, fold), q, cell, evaluation, number, known)


def _known(cell: CellDefinition, fold: Fold) -> NDArray[Any] | None:
    """Return the labelling to differ from, scores of the shown labels (n x classes, NaN where hidden), or nothing."""
    if cell.paradigm == Paradigm.SEMI_SUPERVISED:
        partial = fold.partial_labels[:, None]
        return np.where(partial < 0, np.nan, partial == np.unique(partial[partial >= 0]))
    name = cell.labellings.get("given")
    if name != CLUSTERS:
        return None if name is None else fold.labelling(name)
    n_clusters, features = cell.parameters["n_clusters"], fold.train_features
    kernel = build_kernel(cell.kernel, features, components_before(cell, fold, n_clusters))
    first = ClusteringTask(features, Alternation(n_clusters)).first_step(kernel)
    return cluster_rows(first.embedding)
