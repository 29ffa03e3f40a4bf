"""One problem as a run: each solver from the papers' start and from random ones; where they end is charted.

A run leaves the projection at which each start of a solver ends (``ends_<solver>``, starts x d x q). In the process
that keeps the data these are evaluated by the exact problem and replaced by the distinct optima among them: ``optima``
(k x d x q) by rising cost, and ``optima_numbers``, a row for each with its cost, its quality and, for each solver, the
share of random starts that end there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kdrbench.bench.batch import Batch
from kdrbench.bench.gate import Results
from kdrbench.bench.isolation.keeper import Keeper
from kdrbench.bench.referee import Referee
from kdrbench.bench.run import RunResult
from kdrbench.bench.run_files import RunFiles, read_array, save_array
from kdrbench.bench.seeds import rng_of
from kdrbench.bench.untrusted import remove
from kdrbench.datasets import Dataset
from kdrbench.errors import InputError, error_text
from kdrbench.inference.atlas import distinct_optima, place_of
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem
from kdrbench.solvers import build_solver, make_start
from kdrbench.solvers.base import check_projection
from kdrbench.stages.ikdr.clustering_run import ClusteringRun, make_clustering_run
from kdrbench.stages.ikdr.definition import SUPERVISED, CellDefinition, fold_of, problem_sha256
from kdrbench.stages.ikdr.fold import Fold
from kdrbench.stages.ikdr.monitor import TimedMonitor
from kdrbench.stages.ikdr.scores import Optimality
from kdrbench.stages.ikdr.solver_run import MakeStart, SolverRun, make_solver_run
from kdrbench.status import BY_METHODS, Status

# Two ends within this largest principal angle are the same optimum.
ANGLE_DEG = 1.0
# A cost is near the best if it is above it by at most this share.
NEAR = 1e-3
OPTIMA, NUMBERS = "optima", "optima_numbers"
# Clusterings have no second derivative here: theirs are stationary, of first order.
_CERTIFIED = (Optimality.SECOND_ORDER, Optimality.FIRST_ORDER)


@dataclass(frozen=True)
class _End:
    """Where a solver ended, and what the exact problem says of it."""

    solver: str
    projection: FloatArray
    cost: float
    certified: bool


@dataclass(frozen=True)
class AtlasRun:
    """A problem with its solvers by name; ``starts`` makes the papers' start, then the random ones, for each alike."""

    solvers: Mapping[str, SolverRun | ClusteringRun]
    starts: Callable[[], Iterator[MakeStart]]
    columns: Mapping[str, Any]
    arrays: ClassVar[tuple[str, ...]] = ()

    @property
    def n_all(self) -> int:
        """Number of starts of each solver: the papers' and the random ones."""
        return 1 + int(self.columns["n_starts"])

    def run(self, referee: Referee) -> Iterator[RunResult]:
        """Yield the result of each solver; one clock and one limit count all of them together."""
        monitor = TimedMonitor(referee)
        for name in self.solvers:
            before = monitor.clock.seconds
            status, message = self._solved(name, monitor, referee)
            wall_s, cpu_s = monitor.clock.seconds
            yield RunResult(status, message, wall_s - before.wall_s, cpu_s - before.cpu_s, key=(name,))

    def _solved(self, name: str, monitor: TimedMonitor, referee: Referee) -> tuple[Status, str]:
        """Solve from each start and keep where it ends; what a solver raises ends its starts alone."""
        ends, degrees = [], []
        for number, start in enumerate(self.starts()):
            try:
                ended = self.solvers[name].ended(start, monitor)
            except (ImportError, MemoryError):
                raise
            except Exception as error:
                monitor.end()
                return Status.FAILED, f"start {number}: {error_text(error)}"
            if ended.projection is None or ended.status is Status.TIME_LIMIT:
                return Status.TIME_LIMIT, ended.message
            ends.append(ended.projection)
            degrees.append(int(ended.uses_degrees))
            referee.save(_ends(name), np.array(ends))
            referee.save(_degrees(name), np.array(degrees))
        return Status.CONVERGED, f"{len(ends)} starts ended"

    def judged(self, files: RunFiles, results: Results) -> Results:
        """Return the results with what the exact problem says of the ends, which are replaced by the optima."""
        ends = {name: self._examined(name, files) for name in self.solvers}
        for (name,), result in results.items():
            if result.status in BY_METHODS and len(ends[name]) != self.n_all:
                raise InputError(f"{name} left {len(ends[name])} ends of {self.n_all} starts")
        columns = self._charted(ends, files)
        return {key: replace(result, columns=columns[key[0]]) for key, result in results.items()}

    def score(self, files: RunFiles) -> Mapping[str, Any]:
        """Return the problem and its sizes."""
        return self.columns

    def _examined(self, name: str, files: RunFiles) -> list[_End]:
        """Return the ends of a solver; ``InputError`` unless they are orthonormal: a run may leave anything."""
        ends, degrees = (_taken(files, kind(name)) for kind in (_ends, _degrees))
        if ends is None or degrees is None:
            return []
        if ends.ndim != 3 or ends.dtype != float or degrees.shape != ends.shape[:1] or len(ends) > self.n_all:
            raise InputError(f"the ends of {name} have shape {ends.shape} and type {ends.dtype}")
        problem = self.solvers[name]
        n_features = problem.fold.train_features.shape[1]
        found = []
        for projection, uses_degrees in zip(ends, degrees.astype(bool).tolist(), strict=True):
            check_projection(f"end of {name}", projection, n_features, problem.n_components)
            scores = problem.scores_of(projection, uses_degrees=uses_degrees)
            # Without degrees the objective is another.
            certified = scores.optimality in _CERTIFIED and uses_degrees
            found.append(_End(name, projection, float(scores.cost or 0.0), certified))
        return found

    def _charted(self, ends: Mapping[str, list[_End]], files: RunFiles) -> dict[str, dict[str, Any]]:
        """Return the columns of each solver; leave the distinct optima in ``files``."""
        pool = [end for name in self.solvers for end in ends[name]]
        first, reached = distinct_optima(
            [end.projection for end in pool],
            [-end.cost for end in pool],
            [end.certified for end in pool],
            ANGLE_DEG,
        )
        optima = [pool[number] for number in first]
        places = _by_solver(self.solvers, ends, reached)
        shares = {
            name: np.bincount(one[one >= 0], minlength=len(first)) / max(1, len(one)) for name, one in places.items()
        }
        qualities = [self.solvers[one.solver].quality_of(one.projection)[0] for one in optima]
        if optima:
            rows = [
                [one.cost, np.nan if quality is None else quality, *(shares[name][place] for name in self.solvers)]
                for place, (one, quality) in enumerate(zip(optima, qualities, strict=True))
            ]
            save_array(files.array(OPTIMA), np.array([one.projection for one in optima]))
            save_array(files.array(NUMBERS), np.array(rows, dtype=float))
        return {
            name: {
                "n_ended": len(places[name]),
                "n_certified": int((places[name] >= 0).sum()),
                "n_optima": int((shares[name] > 0).sum()),
                "n_known": len(optima),
                **(_beside_best(optima[0], ends[name]) if optima else {}),
                "best_quality": qualities[0] if optima else None,
            }
            for name in self.solvers
        }


def _by_solver(
    solvers: Mapping[str, Any], ends: Mapping[str, list[_End]], reached: NDArray[np.intp]
) -> dict[str, NDArray[np.intp]]:
    """Return by solver what its random starts reached, without the papers' start, which is the first."""
    found, at = {}, 0
    for name in solvers:
        found[name] = reached[at : at + len(ends[name])][1:]
        at += len(ends[name])
    return found


def _beside_best(best: _End, ends: list[_End]) -> dict[str, Any]:
    """Return how far above the best cost the ends are, and how many are the best optimum."""
    gaps = [(end.cost - best.cost) / abs(best.cost) for end in ends]
    at_best = [place_of(end.projection, [best.projection], ANGLE_DEG) == 0 for end in ends]
    columns: dict[str, Any] = {"best_cost": best.cost}
    if ends:
        columns |= {"leading_gap": gaps[0], "leading_at_best": at_best[0]}
    if len(ends) > 1:
        columns |= {
            "share_at_best": float(np.mean(at_best[1:])),
            "share_near_best": float(np.mean(np.array(gaps[1:]) <= NEAR)),
            "median_gap": float(np.median(gaps[1:])),
            "largest_gap": max(gaps[1:]),
        }
    return columns


def _ends(name: str) -> str:
    return f"ends_{name}"


def _degrees(name: str) -> str:
    return f"degrees_{name}"


def _taken(files: RunFiles, name: str) -> NDArray[Any] | None:
    path = files.array(name)
    array = read_array(path)
    remove(path)
    return array


def make_atlas_run(batch: Batch, dataset: Dataset | Keeper[Dataset], memory_mib: float, number: int) -> AtlasRun:
    """Return run ``number``: a problem of the charted experiment, and a draw of the starts."""
    known = described(batch, dataset, number)
    runs: dict[str, SolverRun | ClusteringRun] = {}
    for name, cell, fold in _cells(batch, dataset, known["problem_run"]):
        make: Any = make_solver_run if cell.paradigm == SUPERVISED else make_clustering_run
        runs[name] = make(cell, build_solver(cell.method), memory_mib, known["problem_run"], fold)
    q = next(iter(runs.values())).n_components
    key = ("atlas start", batch.dataset, known["problem_run"], known["draw"], batch.seed)
    return AtlasRun(runs, partial(_starts, known["n_starts"], q, key), {**known, "n_components": q})


def described(batch: Batch, dataset: Dataset | Keeper[Dataset], number: int) -> dict[str, Any]:
    """Return the columns that are known of a run without making it; q follows from the data where a rule finds it."""
    draw, problem_run = divmod(number, batch.definition["n_problems"])
    name, cell, fold = next(_cells(batch, dataset, problem_run))
    definition = batch.definition["solvers"][name]
    return {
        "problem": problem_sha256(definition, batch.dataset, batch.data_sha256, problem_run, batch.seed),
        "problem_run": problem_run,
        "draw": draw,
        "paradigm": cell.paradigm,
        "n_starts": batch.definition["starts"],
        **{column: fold.columns[column] for column in ("n_train", "n_test", "n_features")},
    }


def _cells(
    batch: Batch, dataset: Dataset | Keeper[Dataset], problem_run: int
) -> Iterator[tuple[str, CellDefinition, Fold]]:
    """Yield each solver's name and cell, with the samples, which are the same for all."""
    fold = None
    for name, definition in batch.definition["solvers"].items():
        cell = CellDefinition.of(replace(batch, definition=definition))
        fold = fold or fold_of(cell, dataset, problem_run)
        yield name, cell, fold


def _starts(n_starts: int, n_components: int, key: tuple[Any, ...]) -> Iterator[MakeStart]:
    """Yield what makes the papers' start, then random ones: the same for each solver."""
    rng = rng_of(*key)
    for name in ("surrogate", *["random"] * n_starts):
        yield partial(_make_start, name, n_components, rng)


def _make_start(name: str, n_components: int, rng: np.random.Generator, problem: Problem) -> FloatArray:
    return make_start(name, problem, n_components, rng)
