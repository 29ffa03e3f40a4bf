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

from kdrbench.datasets import Dataset
from kdrbench.errors import error_text
from kdrbench.inference.atlas import distinct_optima, place_of, rank_correlation
from kdrbench.kernels.family import FloatArray
from kdrbench.solvers import build_solver, make_start
from kdrbench.status import Status
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.referee import Referee
from kdrbench.suite.engine.run import Results, RunResult
from kdrbench.suite.engine.run_files import RunFiles, save_array, take_array
from kdrbench.suite.engine.seeds import rng_of
from kdrbench.suite.engine.system import OPTIMA
from kdrbench.suite.systems.atlas.system import ANGLE_DEG, NUMBERS
from kdrbench.suite.systems.ikdr.clustering_run import ClusteringRun, make_clustering_run
from kdrbench.suite.systems.ikdr.definition import CellDefinition, Paradigm, problem_sha256
from kdrbench.suite.systems.ikdr.folds import Fold
from kdrbench.suite.systems.ikdr.monitor import TimedMonitor
from kdrbench.suite.systems.ikdr.scores import Optimality
from kdrbench.suite.systems.ikdr.solver_run import MakeStart, SolverRun, make_solver_run

# A cost is near the best if it is above it by at most this share.
NEAR = 1e-3
# Relative costs that agree to this digit are equal, as those of two solves to a stationarity of 1e-6 may be.
_EQUAL_DIGITS = 6
# Clusterings have no second derivative here: theirs are stationary, of first order.
_CERTIFIED = (Optimality.SECOND_ORDER, Optimality.FIRST_ORDER)


@dataclass(frozen=True)
class End:
    """Where a solver ended, what the exact problem says of it, and what it is worth on the samples that judge it."""

    projection: FloatArray
    cost: float
    optimality: str
    uses_degrees: bool
    quality: float | None


def chart_ends(ends: Mapping[str, list[End]]) -> tuple[dict[str, FloatArray], dict[str, dict[str, Any]]]:
    """Return what a run leaves of its distinct optima, by name, and the columns of each solver's row.

    The first of the ends of each solver is that of the papers' start.
    """
    pool = [end for of_solver in ends.values() for end in of_solver]
    # Clusterings without degrees have another objective: that of most ends counts.
    with_degrees, objectives = _most_use_degrees(pool), [-end.cost for end in pool]
    certified = [end.optimality in _CERTIFIED and end.uses_degrees == with_degrees for end in pool]
    first, reached = distinct_optima([end.projection for end in pool], objectives, certified, ANGLE_DEG)
    optima = [pool[number] for number in first]
    shares, columns, begin = {}, {}, 0
    for name, of_solver in ends.items():
        part = slice(begin, begin := begin + len(of_solver))
        # Without the papers' start.
        places = reached[part][1:]
        shares[name] = np.bincount(places[places >= 0], minlength=len(first)) / max(1, len(places))
        columns[name] = {
            "n_ended": len(places),
            "n_certified": int((places >= 0).sum()),
            "n_optima": int((shares[name] > 0).sum()),
            "n_known": len(optima),
            **(_beside_best(optima[0], of_solver) if optima else {}),
            **_ranked(of_solver[1:]),
        }
    if not optima:
        return {}, columns
    worth = np.array([one.quality for one in optima], dtype=float)
    numbers = np.column_stack([[one.cost for one in optima], worth, *shares.values()])
    return {OPTIMA: np.array([one.projection for one in optima]), NUMBERS: numbers}, columns


def _most_use_degrees(ends: list[End]) -> bool:
    return 2 * sum(end.uses_degrees for end in ends) >= len(ends)


def _beside_best(best: End, ends: list[End]) -> dict[str, Any]:
    """Return how far above the best cost the ends are, and how many are the best optimum."""
    gaps = [(end.cost - best.cost) / abs(best.cost) for end in ends]
    at_best = [place_of(end.projection, [best.projection], ANGLE_DEG) == 0 for end in ends]
    columns: dict[str, Any] = {"best_cost": best.cost, "best_quality": best.quality}
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


def _ranked(ends: list[End]) -> dict[str, Any]:
    """Return the range of the qualities of ends with the objective of most, and their rank correlation with costs."""
    with_degrees = _most_use_degrees(ends)
    judged = [end for end in ends if end.quality is not None and end.uses_degrees == with_degrees]
    if not judged:
        return {}
    costs, known = np.array([(end.cost, end.quality) for end in judged], dtype=float).T
    columns: dict[str, Any] = {"lowest_quality": float(known.min()), "highest_quality": float(known.max())}
    relative = np.round(costs / abs(costs.min() or 1.0), _EQUAL_DIGITS)
    if (found := rank_correlation(relative, known, np.random.default_rng(0))) is not None:
        columns |= dict(zip(("tau", "tau_low", "tau_high"), found, strict=True))
    return columns


# What a run leaves of each solver: the projections at its ends, and whether their objective divides by degrees.
_ENDS, _DEGREES = "ends", "degrees"


@dataclass(frozen=True)
class AtlasRun:
    """A problem with its solvers by name; ``starts`` makes the papers' start, then the random ones, for each alike."""

    solvers: Mapping[str, SolverRun | ClusteringRun]
    starts: Callable[[], Iterator[MakeStart]]
    columns: Mapping[str, Any]
    arrays: ClassVar[tuple[str, ...]] = ()

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
                # Its clock runs on until the next start begins, which does not count what is left open here.
                return Status.FAILED, f"start {number}: {error_text(error)}"
            if ended.projection is None or ended.status is Status.TIME_LIMIT:
                return Status.TIME_LIMIT, ended.message
            ends.append(ended.projection)
            degrees.append(int(ended.uses_degrees))
            referee.save(f"{_ENDS}_{name}", np.array(ends))
            referee.save(f"{_DEGREES}_{name}", np.array(degrees))
        return Status.CONVERGED, f"{len(ends)} starts ended"

    def judged(self, files: RunFiles, results: Results) -> Results:
        """Return the results with what the exact problem says of the ends, which are replaced by the optima."""
        arrays, columns = chart_ends({name: self._examined(name, files) for name in self.solvers})
        for kind, array in arrays.items():
            save_array(files.array(kind), array)
        return {key: replace(result, columns=columns[key[0]]) for key, result in results.items()}

    def score(self, files: RunFiles) -> Mapping[str, Any]:
        """Return the problem and its sizes."""
        return self.columns

    def _examined(self, name: str, files: RunFiles) -> list[End]:
        """Return the ends of a solver."""
        ends, degrees = (take_array(files.array(f"{kind}_{name}")) for kind in (_ENDS, _DEGREES))
        if ends is None or degrees is None:
            return []
        run, found = self.solvers[name], []
        # A run that was killed between writing the two has left one end more than it says the form of.
        for projection, uses_degrees in zip(ends, degrees.astype(bool).tolist(), strict=False):
            scores = run.scores_of(projection, uses_degrees=uses_degrees)
            quality = run.quality_of(projection, uses_degrees=uses_degrees)[0]
            found.append(End(projection, float(scores["cost"]), scores["optimality"], uses_degrees, quality))
        return found


def make_atlas_run(batch: Batch, dataset: Dataset, memory_mib: float, number: int) -> AtlasRun:
    """Return run ``number``: a problem of the charted experiment, and a draw of the starts."""
    known = described(batch, dataset, number)
    runs: dict[str, SolverRun | ClusteringRun] = {}
    for name, cell, fold in _cells(batch, dataset, known["problem_run"]):
        make: Any = make_solver_run if cell.paradigm == Paradigm.SUPERVISED else make_clustering_run
        runs[name] = make(cell, build_solver(cell.method), memory_mib, known["problem_run"], fold)
    q = next(iter(runs.values())).n_components
    key = ("atlas start", batch.dataset, known["problem_run"], known["draw"], batch.seed)
    return AtlasRun(runs, partial(_starts, known["n_starts"], q, key), {**known, "n_components": q})


def described(batch: Batch, dataset: Dataset, number: int) -> dict[str, Any]:
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


def _cells(batch: Batch, dataset: Dataset, problem_run: int) -> Iterator[tuple[str, CellDefinition, Fold]]:
    fold = None
    for name, definition in batch.definition["solvers"].items():
        cell = CellDefinition.of(replace(batch, definition=definition))
        fold = fold or cell.fold(dataset, problem_run)
        yield name, cell, fold


def _starts(n_starts: int, n_components: int, key: tuple[Any, ...]) -> Iterator[MakeStart]:
    rng = rng_of(*key)
    for name in ("surrogate", *["random"] * n_starts):
        yield partial(make_start, name, n_components=n_components, rng=rng)
