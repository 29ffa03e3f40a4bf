"""The rows of a batch: what a run handed over, with where and how it was made."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

import click

from kdrbench.errors import text_of, visible
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.isolation.guardian import ProcessExit
from kdrbench.suite.engine.record import Provenance, Record
from kdrbench.suite.engine.run import RunResult
from kdrbench.suite.engine.system import RunContext, System

CONTAMINATED_RATIO = 1.1
# How memory is measured (:mod:`.isolation.memory`); earlier rows have ``cgroup`` where the kernel did it.
MEMORY_METER = "sampled"
# Characters of a message in a row; its rest is in the job's log.
MOST_MESSAGE = 1_000
# Seconds beyond clock and referee: a fork, checks of what is returned (.01 to .06 s), and a fifth of what is claimed.
_LEAST_S, _SHARE = 0.1, 0.2
# What a system's scores say of the referee, beside the columns of its record.
EVALUATION = "evaluation_s"


@dataclass(frozen=True)
class RowMaker:
    """Makes the rows of a batch; ``shared`` are the columns that all runs of the job have in common."""

    system: System
    batch: Batch
    context: RunContext
    trace_file: str
    shared: Mapping[str, Any]

    def rows(
        self,
        number: int,
        results: Mapping[tuple[Any, ...], RunResult],
        process: ProcessExit,
        started_at: str,
        scores: Mapping[str, Any],
        calibration_before_s: float | None = None,
    ) -> list[Record]:
        """Return a row for each key of the batch, from what run ``number`` handed over."""
        context, batch = self.context, self.batch
        clocks = unclocked(process, results.values(), scores.get(EVALUATION))
        known = {**self.system.columns(batch), **{name: one for name, one in scores.items() if name != EVALUATION}}
        provenance = Provenance(
            wall_s=process.wall_s,
            memory_mib=process.memory_mib,
            memory_meter=MEMORY_METER,
            involuntary_switches=process.involuntary_switches,
            **clocks._asdict(),
            contaminated=None,
            time_limit_s=context.limits.time_s,
            memory_limit_mib=context.limits.memory_mib,
            timed=context.timed,
            calibration_before_s=calibration_before_s,
            calibration_after_s=None,
            # Of the last minute.
            load=round(os.getloadavg()[0], 2),
            started_at=started_at,
            trace_file=self.trace_file,
            **batch.identity,
            **self.shared,
        )
        return [self._row(number, key, results[key], known, provenance) for key in batch.rows]

    def _row(
        self,
        number: int,
        key: tuple[Any, ...],
        result: RunResult,
        known: Mapping[str, Any],
        provenance: Provenance,
    ) -> Record:
        kind, batch = self.system.record, self.batch
        return kind(
            schema_version=kind.SCHEMA_VERSION,
            experiment=batch.experiment,
            dataset=batch.dataset,
            run=number,
            seed=batch.seed,
            status=str(result.status),
            message=row_message(result.message),
            time_s=result.time_s,
            cpu_s=result.cpu_s,
            provenance=replace(provenance, contaminated=self._contaminated(result)),
            # What the batch knows overrides what a run claims.
            **{**result.columns, **known, **dict(zip(kind.CELL + kind.KEYS, batch.cell + key, strict=True))},
        )

    def _contaminated(self, result: RunResult) -> bool | None:
        """Return whether the run waited for its core; unknown without CPU seconds, and but for a single own core."""
        if result.time_s is None or result.cpu_s is None or not self.context.timed or len(self.context.cores) > 1:
            return None
        return result.time_s > CONTAMINATED_RATIO * result.cpu_s


class Unclocked(NamedTuple):
    """``unclocked_s``: wall seconds outside all clocks; ``unaccounted``: whether too much work was done in them."""

    unclocked_s: float | None = None
    evaluation_s: float | None = None
    unaccounted: bool | None = None


def unclocked(process: ProcessExit, results: Iterable[RunResult], evaluation_s: float | None) -> Unclocked:
    """Return what the clocks of a run do not cover, from what its guardian has seen of its process.

    Work on the machine by others adds to wall seconds, and to no process's CPU seconds. A run is not judged where it
    left no result, or the system does not say what the referee took of the CPU (``evaluation_s``), which is measured in
    the batch: the seconds of one evaluation, times the evaluations that the trace shows.
    """
    clocked = [(one.clocked_s, one.clocked_cpu_s) for one in results if one.clocked_s is not None]
    if not clocked:
        return Unclocked()
    wall_s, cpu_s = max(clocked)
    outside_s = process.wall_s - wall_s
    if evaluation_s is None or cpu_s is None:
        return Unclocked(outside_s)
    worked_s = process.cpu_s - cpu_s - evaluation_s
    # A clock that claims more than the whole process took is wrong as well.
    unaccounted = worked_s > max(_LEAST_S, _SHARE * cpu_s) or outside_s < -_LEAST_S
    return Unclocked(outside_s, evaluation_s, unaccounted)


def now() -> str:
    """Return the time of day to the second, in universal time."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def row_message(message: object) -> str:
    """Return a message as rows hold it: visible characters, 1,000 of them at most; the rest goes to the job's log."""
    text = visible(text_of(message))
    if len(text) <= MOST_MESSAGE:
        return text
    click.echo(f"a message in full: {text}", err=True)
    return f"{text[: MOST_MESSAGE - 3]}..."
