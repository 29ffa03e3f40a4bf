"""One job of low-rank kernel learning: a task, a method, and some of its runs with all numbers of constraints."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class LowrankBatch:
    """Consecutive runs of a method on a task, with all that the configuration decides about their results.

    Limits are not part of a batch: changing one must not rerun what has ended.
    """

    task: str
    dataset: str
    data_sha256: str
    method: str
    definition: dict[str, Any]
    constraints: tuple[int, ...]
    runs: tuple[int, ...]
    seed: int
    sources_sha256: str
    packages: dict[str, str]

    @property
    def runs_label(self) -> str:
        """The runs as they stand in file names: ``0-19``."""
        return f"{self.runs[0]}-{self.runs[-1]}"

    @property
    def path(self) -> str:
        """The batch's place below any folder of results, without extension."""
        return f"{self.task}/{self.method}/{self.runs_label}"

    @property
    def axes(self) -> list[tuple[str, str, int, int]]:
        """What names each row of the batch in the records."""
        return [(self.task, self.method, count, run) for run in self.runs for count in self.constraints]

    def to_json(self) -> str:
        """Return the batch as one line of JSON with sorted keys."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> LowrankBatch:
        """Read what :meth:`to_json` wrote."""
        values = json.loads(text)
        return cls(**{**values, **{name: tuple(values[name]) for name in ("constraints", "runs")}})

    @property
    def sha256(self) -> str:
        """Hash of everything the configuration says about the batch's results."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()
