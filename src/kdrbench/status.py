"""How a run can end."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """The end of a run; a method says one of the first three (``BY_METHODS``), the others are the bench's words."""

    CONVERGED = "converged"
    STALLED = "stalled"
    MAX_ITERATIONS = "max_iterations"
    TIME_LIMIT = "time_limit"
    MEMORY_LIMIT = "memory_limit"
    FAILED = "failed"
    SKIPPED = "skipped"


BY_METHODS = (Status.CONVERGED, Status.STALLED, Status.MAX_ITERATIONS)
