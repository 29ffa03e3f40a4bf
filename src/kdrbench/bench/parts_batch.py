"""The specification of a job in parts: what is run, and what its results depend on."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, Self


@dataclass(frozen=True)
class PartsBatch(ABC):
    """Consecutive parts of a data set or task, with all that the configuration decides about their results.

    Limits are not part of a batch: changing one must not rerun what has ended. Sequences are tuples.
    """

    dataset: str
    data_sha256: str
    seed: int
    sources_sha256: str
    packages: dict[str, str]

    @property
    @abstractmethod
    def parts(self) -> tuple[int, ...]:
        """Numbers of the parts, each of which a process of its own makes."""

    @property
    @abstractmethod
    def path(self) -> str:
        """The batch's place below any folder of results, without extension."""

    @property
    @abstractmethod
    def axes(self) -> list[tuple[Any, ...]]:
        """What names each row of the batch in the records; every part has as many."""

    @property
    def parts_label(self) -> str:
        """The parts as they stand in file names: ``0-9``."""
        return f"{self.parts[0]}-{self.parts[-1]}"

    @property
    def rows_per_part(self) -> int:
        """How many rows a part leaves."""
        return len(self.axes) // len(self.parts)

    def to_json(self) -> str:
        """Return the batch as one line of JSON with sorted keys."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what :meth:`to_json` wrote."""
        values: dict[str, Any] = {}
        for name, value in json.loads(text).items():
            values[name] = tuple(value) if isinstance(value, list) else value
        return cls(**values)

    @property
    def sha256(self) -> str:
        """Hash of everything the configuration says about the batch's results."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()
