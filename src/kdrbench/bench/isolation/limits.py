"""What a run may use."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kdrbench.errors import InputError


@dataclass(frozen=True)
class Limits:
    """Seconds of one run on its solver's clock, and MiB of memory beyond what it starts with; both finite and > 0."""

    time_s: float
    memory_mib: float

    def __post_init__(self) -> None:
        for name, value in (("time", self.time_s), ("memory", self.memory_mib)):
            if not (math.isfinite(value) and value > 0):
                raise InputError(f"the {name} limit must be a finite number > 0, got {value!r}")
