"""One run of low-rank kernel learning: for each number of constraints a draw, a kernel learned from it, its scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kdrbench.bench.referee import Referee, RunFiles, finite
from kdrbench.bench.run import RunResult
from kdrbench.bench.seeds import rng_of
from kdrbench.lowrank import LowRankStatus
from kdrbench.stages.low_rank.task import LowRankTask, learn, quality_of
from kdrbench.status import Status

_STATUS = {
    LowRankStatus.CONVERGED: Status.CONVERGED,
    LowRankStatus.INFEASIBLE: Status.STALLED,
    LowRankStatus.STALLED: Status.STALLED,
    LowRankStatus.MAX_SWEEPS: Status.MAX_ITERATIONS,
}
_COUNTED = ("sweeps", "projections", "changes", "trace_evaluations", "compiled_sweeps")
_CERTIFICATES = ("dual_change", "kkt_residual", "largest_violation", "divergence", "duality_gap")


@dataclass(frozen=True)
class LowRankRun:
    """Run ``number`` of a method on a task, for all numbers of constraints in ``counts``.

    ``labels`` are the columns that all its rows have.
    """

    task: LowRankTask
    method: Mapping[str, Any]
    counts: tuple[int, ...]
    number: int
    seed: int
    compiled: bool
    labels: Mapping[str, Any]

    def run(self, referee: Referee) -> Iterator[RunResult]:
        """Yield the result of each number of constraints; drawing them and scoring the kernel is off the clock."""
        for count in self.counts:
            yield self._learned(count, referee)

    def score(self, files: RunFiles) -> Mapping[str, Any]:
        """Return the columns that all rows have."""
        return self.labels

    def _learned(self, count: int, referee: Referee) -> RunResult:
        """Return what is measured of one kernel; what the method raises is its message."""
        task, draw = self.task, (self.number, self.seed)
        try:
            asked = task.constraints(count, *draw)
            learned, spent = referee.timed(lambda: learn(self.method, task.start, asked, self.compiled))
            quality = quality_of(learned.factor, task.labels, rng_of("lowrank quality", task.draw, *draw))
        except (MemoryError, ImportError):
            raise
        except Exception as error:
            return RunResult(Status.FAILED, f"{type(error).__name__}: {error}", key=(count,))
        columns = {
            "outcome": str(learned.status),
            **quality,
            **{name: getattr(learned, name) for name in _COUNTED},
            **{name: finite(getattr(learned, name)) for name in _CERTIFICATES},
        }
        return RunResult(_STATUS[learned.status], learned.message, spent.wall_s, spent.cpu_s, columns, (count,))
