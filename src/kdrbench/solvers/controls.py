"""Controls: projections that every solver should beat. They are solvers, so that tables can include them.

``start_alone`` returns its start: with ``start: random`` a random projection, a new one each fold, with ``start:
identity`` the first axes. ``principal_axes`` and ``discriminant_axes`` use the samples and not F;
``shuffled_labels`` maximises F of samples whose labels are permuted, and so learns from noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from kdrbench.errors import InputError
from kdrbench.evaluation import build_problem
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem, TraceObjective
from kdrbench.solvers.base import SolverOutcome, Status, objective_of
from kdrbench.solvers.geometry.stiefel import leading_eigenvectors, orthonormalised, outside
from kdrbench.solvers.monitor import Monitor

# Share of the mean variance that is added to within-class covariances: constant features have none.
_RIDGE = 1e-8
_SHUFFLED = 20


class Control:
    """A solver that does not try to maximise F."""

    requires: ClassVar[frozenset[str]] = frozenset()
    control: ClassVar[bool] = True


@dataclass(frozen=True)
class StartAlone(Control):
    """The start, as it is."""

    def run(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        """Return ``start``."""
        return _shown(start, monitor, "the start, unchanged")


@dataclass(frozen=True)
class PrincipalAxes(Control):
    """The q leading principal axes of the samples."""

    def run(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        """Return the axes."""
        if not monitor.keep_going(start):
            return SolverOutcome(start, monitor.stop_status, monitor.stop_message)
        covariance = _scatter(objective_of(problem).array)
        return _shown(leading_eigenvectors(covariance, start.shape[1])[1], monitor, "principal axes")


@dataclass(frozen=True)
class DiscriminantAxes(Control):
    """The axes of linear discriminant analysis, made orthonormal; beyond k - 1 of them principal axes of the rest.

    Raises ``InputError`` for problems without classes.
    """

    def run(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        """Return the axes."""
        if not monitor.keep_going(start):
            return SolverOutcome(start, monitor.stop_status, monitor.stop_message)
        objective = objective_of(problem)
        if objective.gamma.codes is None:
            raise InputError("discriminant axes need one label a sample; this problem has none: choose principal_axes")
        axes = _discriminant_axes(objective.array, objective.gamma.codes)[:, : start.shape[1]]
        missing = start.shape[1] - axes.shape[1]
        if missing:
            rest = outside(axes, outside(axes, _scatter(objective.array)).T)
            axes = orthonormalised(np.hstack([axes, leading_eigenvectors(0.5 * (rest + rest.T), missing)[1]]))
        return _shown(axes, monitor, "discriminant axes")


@dataclass(frozen=True)
class ShuffledLabels(Control):
    """Plain ISM on the same samples with the rows of Gamma permuted, for ``_SHUFFLED`` iterations."""

    def run(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        """Iterate on the shuffled problem."""
        objective = objective_of(problem)
        order = np.random.default_rng(0).permutation(objective.gamma.n_samples)
        shuffled = build_problem(TraceObjective(objective.array, objective.kernel, objective.gamma.of(order)))
        projection = start
        for _ in range(_SHUFFLED):
            if not monitor.keep_going(projection):
                return SolverOutcome(projection, monitor.stop_status, monitor.stop_message)
            projection = leading_eigenvectors(shuffled.surrogate(projection), start.shape[1])[1]
        return _shown(projection, monitor, f"{_SHUFFLED} iterations on shuffled labels")


def _shown(projection: FloatArray, monitor: Monitor, message: str) -> SolverOutcome:
    """Show the projection to the monitor, as every iterate, and return it."""
    if not monitor.keep_going(projection):
        return SolverOutcome(projection, monitor.stop_status, monitor.stop_message)
    return SolverOutcome(projection, Status.CONVERGED, message)


def _scatter(features: FloatArray) -> FloatArray:
    centred = features - features.mean(axis=0)
    return np.asarray(centred.T @ centred / len(features))


def _discriminant_axes(features: FloatArray, codes: NDArray[np.int64]) -> FloatArray:
    """Return min(k - 1, d) orthonormal columns that span the leading solutions of B v = lambda (S + ridge) v.

    B is the scatter of the class means, S that within classes.
    """
    counts = np.bincount(codes)
    means = np.zeros((len(counts), features.shape[1]))
    np.add.at(means, codes, features)
    means /= counts[:, None]
    within = _scatter(features - means[codes])
    offsets = np.sqrt(counts / len(features))[:, None] * (means - features.mean(axis=0))
    ridge = _RIDGE * max(float(np.trace(within)) / len(within), np.finfo(float).tiny)
    vectors = scipy.linalg.eigh(offsets.T @ offsets, within + ridge * np.eye(len(within)))[1][:, ::-1]
    return orthonormalised(vectors[:, : min(len(counts) - 1, features.shape[1])])
