"""From a section of the configuration to jobs in parts."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Generic, TypeVar

from kdrbench.bench.experiment import Config
from kdrbench.bench.parts_batch import PartsBatch
from kdrbench.bench.supervisor import GRACE_S

_Batch = TypeVar("_Batch", bound=PartsBatch)


class PartsGrid(ABC, Generic[_Batch]):
    """All batches of a checked section, which has ``limits``.

    ``environment`` is the conda environment that batches run in, if they do not run in this one: its file then stands
    for the versions of packages.
    """

    def __init__(self, section: Config, environment: Path | None = None) -> None:
        self.section = section
        self._environment = environment
        self._batches = {batch.path: batch for batch in self._expand()}

    @abstractmethod
    def _expand(self) -> Iterator[_Batch]:
        """Yield the batches of the section."""

    def batches(self) -> list[_Batch]:
        """Return all batches."""
        return list(self._batches.values())

    @property
    def time_limit_s(self) -> str:
        """Wall-clock limit of a part; text, since Snakemake's resources are whole numbers or text."""
        return f"{self.section['limits']['time_s']:g}"

    @property
    def memory_limit_mib(self) -> int:
        """Memory limit of a part."""
        return int(self.section["limits"]["memory_mib"])

    def runtime_min(self, batch: _Batch) -> int:
        """Return the minutes a cluster must grant a batch: its parts at their limit, and ten more."""
        return math.ceil(len(batch.parts) * (float(self.time_limit_s) + GRACE_S) / 60) + 10
