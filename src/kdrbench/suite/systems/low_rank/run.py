"""One run of low-rank kernel learning: constraints drawn at random, a kernel learned from them, its quality.

Features (the paper's Digits): K0 is linear. Pairs drawn from all samples shall come nearer by a quarter of their
distance where they are of one class, and move apart by a quarter where they are not. A kernel matrix (the paper's
gyrB): K0 is the identity of trace one, the bounds are the distances of the kernel itself, which is to be found again.

Source: Kulis, Sustik, Dhillon, "Learning low-rank kernel matrices", ICML 2006, Section 6.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdrbench.datasets import Dataset
from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.lowrank import (
    Constraints,
    LearnedKernel,
    LowRankStatus,
    Sense,
    Stopping,
    constraints_from_labels,
    definite_boost,
    draw_pairs,
    factor_of,
    kmeans_on_factor,
    learn_kernel,
    squared_distances,
)
from kdrbench.status import Status
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.referee import Referee, finite
from kdrbench.suite.engine.run import RunResult, failed
from kdrbench.suite.engine.seeds import rng_of

# The paper's change of duals, the KKT residual that ends DefiniteBoost, or both: tolerances of each.
_TOLERANCE, _ANY = 1e-3, 1e300
RULES = {"published": (_TOLERANCE, _ANY), "kkt": (_ANY, _TOLERANCE), "converged": (_TOLERANCE, _TOLERANCE)}
_EXACT = Stopping(1e-6, 1e-6, 500)
# The most sweeps, where a method names no other number.
MOST_SWEEPS = 2000


@dataclass(frozen=True, eq=False)
class LowRankTask:
    """``start``: G0, n x r; ``target``: a factor of the kernel that bounds are taken from, or ``None`` for G0's own.

    ``draw`` is the name by which the draws of constraints are seeded.
    """

    draw: str
    start: FloatArray
    labels: NDArray[np.int64]
    target: FloatArray | None

    def sampled(self, size: int, run: int, seed: int) -> LowRankTask:
        """Return the task of ``size`` samples, drawn for the run without replacement; it has no target."""
        rng = rng_of("lowrank sample", self.draw, run, seed)
        rows = np.sort(rng.choice(len(self.labels), size, replace=False))
        return replace(self, start=self.start[rows], labels=self.labels[rows])

    def constraints(self, count: int, run: int, seed: int) -> Constraints:
        """Draw ``count`` constraints; a draw depends on its name, ``count``, run and seed, not on the method."""
        rng = rng_of("lowrank constraints", self.draw, count, run, seed)
        if self.target is None:
            return constraints_from_labels(self.start, self.labels, max(1, count), rng).take(range(count))
        pairs = draw_pairs(len(self.labels), max(1, count), rng)[:count]
        squares = np.sum((self.target[pairs[:, 0]] - self.target[pairs[:, 1]]) ** 2, axis=1)
        same = self.labels[pairs[:, 0]] == self.labels[pairs[:, 1]]
        senses = [Sense.AT_MOST if alike else Sense.AT_LEAST for alike in same]
        return squared_distances(len(self.labels), pairs, senses, squares)


def make_task(draw: str, kind: str, dataset: Dataset) -> LowRankTask:
    """Return the task of a data set of the ``kind`` "features", or "kernel" for the rows of a kernel matrix."""
    if kind == "features":
        return LowRankTask(draw, dataset.features, dataset.labels, None)
    n = len(dataset.labels)
    target = factor_of(dataset.features / np.trace(dataset.features))
    return LowRankTask(draw, np.eye(n) / math.sqrt(n), dataset.labels, target)


def learn(definition: Mapping[str, Any], start: FloatArray, asked: Constraints, compiled: bool) -> LearnedKernel:
    """Learn by a method as the configuration defines it: ``divergence`` and ``solver``, or DefiniteBoost's ``step``."""
    stopping = Stopping(*RULES[definition["rule"]], definition.get("max_sweeps", MOST_SWEEPS))
    if "step" in definition:
        return definite_boost(start, asked, step=definition["step"], stopping=stopping)
    options = {key: definition[key] for key in ("divergence", "solver", "trace") if key in definition}
    return learn_kernel(start, asked, **options, stopping=stopping, compiled=compiled)


@cache
def warmed_up() -> tuple[bool, float]:
    """Load the compiled sweeps, or compile them; return whether there are any, and the seconds that took.

    Runs inherit what their job has loaded.
    """
    began = time.perf_counter()
    asked = squared_distances(3, [(0, 1)], "<=", 1.0)
    try:
        for divergence in ("burg", "von_neumann"):
            learn_kernel([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]], asked, divergence=divergence, compiled=True)
    except InputError:
        # Only a missing numba is reported so: the problem itself has a solution.
        return False, 0.0
    return True, time.perf_counter() - began


def two_fold_accuracy(rows: FloatArray, labels: NDArray[np.int64], rng: np.random.Generator) -> float:
    """Return the accuracy of 5-NN by one 50/50 split, each half being tested once."""
    from sklearn.model_selection import cross_val_predict
    from sklearn.neighbors import KNeighborsClassifier

    halves = np.split(rng.permutation(len(labels)), [len(labels) // 2])
    predicted = cross_val_predict(KNeighborsClassifier(5), rows, labels, cv=[halves, halves[::-1]])
    return float(np.mean(predicted == labels))


def quality_of(rows: FloatArray, labels: NDArray[np.int64], rng: np.random.Generator) -> dict[str, float]:
    """Return accuracy and NMI of a learned factor's rows, under the names of the record's columns."""
    from sklearn.metrics import normalized_mutual_info_score

    classes = len(np.unique(labels))
    one, ten = (kmeans_on_factor(rows, classes, rng, n_starts=starts) for starts in (1, 10))
    return {
        "accuracy": two_fold_accuracy(rows, labels, rng),
        "nmi_one_start": float(normalized_mutual_info_score(labels, one)),
        "nmi_ten_starts": float(normalized_mutual_info_score(labels, ten)),
    }


def reference_distance(
    definition: Mapping[str, Any], start: FloatArray, asked: Constraints, found: FloatArray
) -> float:
    """Return |K - K*| / |K*|, K from the factor ``found``, K* of trace one as Newton's method finds it.

    NaN for methods that are not after the kernel of trace one, and where Newton's method does not converge.
    """
    if "step" not in definition and definition.get("trace") != 1.0:
        return math.nan
    options: dict[str, Any] = {"divergence": "von_neumann", "solver": "newton", "trace": 1.0}
    exact = learn_kernel(start, asked, **options, stopping=_EXACT)
    if exact.status is not LowRankStatus.CONVERGED:
        return math.nan
    return float(np.linalg.norm(found @ found.T - exact.kernel) / np.linalg.norm(exact.kernel))


_STATUS = {
    LowRankStatus.CONVERGED: Status.CONVERGED,
    LowRankStatus.INFEASIBLE: Status.STALLED,
    LowRankStatus.STALLED: Status.STALLED,
    LowRankStatus.MAX_SWEEPS: Status.MAX_ITERATIONS,
}
_COUNTED = ("sweeps", "projections", "changes", "trace_evaluations", "compiled_sweeps")
_CERTIFICATES = ("dual_change", "kkt_residual", "largest_violation", "divergence", "duality_gap")


def run_draws(batch: Batch, dataset: Dataset, number: int, referee: Referee) -> Iterator[RunResult]:
    """Yield the result of each number of constraints; drawing them and scoring the kernel is off the clock."""
    task = make_task(batch.definition["draw"], batch.definition["kind"], dataset)
    if size := batch.definition.get("sample"):
        task = task.sampled(size, number, batch.seed)
    for count in batch.definition["constraints"]:
        try:
            yield _learned(batch.definition["method"], task, count, (number, batch.seed), referee)
        except Exception as error:
            yield failed(error, (count,))


def _learned(
    method: Mapping[str, Any], task: LowRankTask, count: int, draw: tuple[int, int], referee: Referee
) -> RunResult:
    asked, (compiled, compile_s) = task.constraints(count, *draw), warmed_up()
    learned, spent = referee.timed(lambda: learn(method, task.start, asked, compiled))
    quality = quality_of(learned.factor, task.labels, rng_of("lowrank quality", task.draw, *draw))
    rng, target = rng_of("lowrank target", task.draw, *draw), task.target
    columns = {
        "outcome": str(learned.status),
        **quality,
        "target_accuracy": None if target is None else two_fold_accuracy(target, task.labels, rng),
        "learned_rank": int(np.linalg.matrix_rank(learned.factor)),
        "reference_distance": finite(reference_distance(method, task.start, asked, learned.factor)),
        "compile_s": compile_s,
        **{name: getattr(learned, name) for name in _COUNTED},
        **{name: finite(getattr(learned, name)) for name in _CERTIFICATES},
    }
    return RunResult(_STATUS[learned.status], learned.message, spent.wall_s, spent.cpu_s, columns, (count,))
