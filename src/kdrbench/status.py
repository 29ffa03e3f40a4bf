"""How a run can end."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """The end of a run; a solver returns one of the first three or what its monitor says."""

    CONVERGED = "converged"
    STALLED = "stalled"
    MAX_ITERATIONS = "max_iterations"
    TIME_LIMIT = "time_limit"
    MEMORY_LIMIT = "memory_limit"
    FAILED = "failed"
    SKIPPED = "skipped"
