"""The clock of a method, compared with what its process took.

The clock runs inside the run's process, where a method can change it, stop it, or work while it is stopped. What is
seen from outside cannot be changed there: the guardian's seconds of the process, and the CPU seconds of all that
descended from it. What the referee needs while the clock is stopped is measured by the batch, which never ran the
method: the seconds of one evaluation, times the evaluations that the trace shows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kdrbench.bench.isolation.guardian import ProcessExit
from kdrbench.bench.run import RunResult

# Seconds beyond clock and referee: a fork, checks of what is returned (.01 to .06 s), and a fifth of what is claimed.
_LEAST_S, _SHARE = 0.1, 0.2


@dataclass(frozen=True)
class Unclocked:
    """``unclocked_s``: wall seconds outside all clocks; ``unaccounted``: whether work is left that nobody claims."""

    unclocked_s: float | None = None
    evaluation_s: float | None = None
    unaccounted: bool | None = None


def unclocked(process: ProcessExit, results: Iterable[RunResult], evaluation_s: float | None) -> Unclocked:
    """Return what the clocks of a run do not cover.

    Nothing is known of a run that left no result. It is not judged where the stage does not say what the bench's own
    work took (``evaluation_s``). Of one that was ended in its repeats, these are not accounted for.
    """
    clocked = [(one.clocked_s, one.clocked_cpu_s) for one in results if one.clocked_s is not None]
    if not clocked:
        return Unclocked()
    wall_s, cpu_s = max(clocked)
    outside_s = process.wall_s - wall_s
    if evaluation_s is None or cpu_s is None:
        return Unclocked(outside_s)
    # Other work on the machine adds to wall seconds, and to no process's CPU seconds.
    worked_s = process.cpu_s - cpu_s - evaluation_s
    # A clock that claims more than the whole process took was changed as well.
    unaccounted = worked_s > max(_LEAST_S, _SHARE * cpu_s) or outside_s < -_LEAST_S
    return Unclocked(outside_s, evaluation_s, unaccounted)
