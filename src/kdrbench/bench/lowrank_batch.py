"""One job of low-rank kernel learning: a task, a method, and some of its runs with all numbers of constraints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kdrbench.bench.parts_batch import PartsBatch


@dataclass(frozen=True)
class LowrankBatch(PartsBatch):
    """Consecutive runs of a method on a task."""

    task: str
    method: str
    definition: dict[str, Any]
    constraints: tuple[int, ...]
    runs: tuple[int, ...]

    @property
    def parts(self) -> tuple[int, ...]:
        """The runs."""
        return self.runs

    @property
    def path(self) -> str:
        """The batch's place below any folder of results, without extension."""
        return f"{self.task}/{self.method}/{self.parts_label}"

    @property
    def axes(self) -> list[tuple[Any, ...]]:
        """Task, method, number of constraints and run of each row."""
        return [(self.task, self.method, count, run) for run in self.runs for count in self.constraints]
