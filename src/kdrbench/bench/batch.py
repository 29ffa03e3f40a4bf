"""What is run: a batch of runs of one cell, and the bundle of batches that one job makes."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from kdrbench.errors import InputError


@dataclass(frozen=True)
class Batch:
    """Consecutive runs of one cell, with everything that the configuration decides about their results.

    ``cell`` names the cell below its experiment and data set, for instance kernel and method. ``definition`` is what
    the stage of the ``system`` needs to make a run. ``rows`` are the keys of the rows that each run leaves: one empty
    key where a run leaves a single row. Limits and repeats are not part of a batch: a change of them reruns nothing.
    """

    system: str
    experiment: str
    dataset: str
    data_sha256: str
    cell: tuple[str, ...]
    definition: dict[str, Any]
    runs: tuple[int, ...]
    rows: tuple[tuple[Any, ...], ...]
    seed: int
    threads: int
    sources_sha256: str = ""
    packages: Mapping[str, str] | None = None

    @property
    def runs_label(self) -> str:
        """The runs as file names hold them: ``0-9``."""
        return f"{self.runs[0]}-{self.runs[-1]}"

    @property
    def cell_name(self) -> str:
        """The names of the cell below its experiment, as traces and findings hold them."""
        return "/".join((self.dataset, *self.cell))

    @property
    def path(self) -> str:
        """The batch's place below any folder of results, without extension."""
        return "/".join((self.experiment, self.dataset, *self.cell, self.runs_label))

    @property
    def axes(self) -> list[tuple[Any, ...]]:
        """What names each row of the batch: experiment, data set, cell, run and key."""
        place = (self.experiment, self.dataset, *self.cell)
        return [(*place, run, *key) for run in self.runs for key in self.rows]

    def to_json(self) -> str:
        """Return the batch as one line of JSON with sorted keys."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Batch:
        """Read what :meth:`to_json` wrote."""
        return cls.from_values(json.loads(text))

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Batch:
        """Read a batch from the values of its fields as JSON has them."""
        sequences = {name: tuple(values[name]) for name in ("cell", "runs")}
        rows = tuple(tuple(key) for key in values["rows"])
        return cls(**{**values, **sequences, "rows": rows})

    @cached_property
    def sha256(self) -> str:
        """Hash of everything that decides the batch's results: definition, data, sources and packages."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @cached_property
    def definition_sha256(self) -> str:
        """The same without sources and packages, which another environment reads in another way."""
        return replace(self, sources_sha256="", packages=None).sha256


@dataclass(frozen=True)
class Bundle:
    """What one job of Snakemake makes: a batch, or several of one experiment.

    ``path`` is the place of their common files below any folder of results, without extension.
    """

    path: str
    batches: tuple[Batch, ...]

    @property
    def system(self) -> str:
        """The system of all batches."""
        return self.batches[0].system

    @property
    def experiment(self) -> str:
        """The experiment of all batches."""
        return self.batches[0].experiment

    @property
    def datasets(self) -> list[str]:
        """The data sets of the batches, each once."""
        return list(dict.fromkeys(batch.dataset for batch in self.batches))

    def to_word(self) -> str:
        """Return the bundle as a word of a command, compressed: Linux allows 128 KiB for the whole command."""
        text = "\n".join([self.path, *(batch.to_json() for batch in self.batches)])
        return base64.urlsafe_b64encode(zlib.compress(text.encode(), level=9)).decode("ascii")

    @classmethod
    def from_word(cls, word: str) -> Bundle:
        """Read what :meth:`to_word` wrote; raises ``InputError`` for anything else."""
        try:
            path, *lines = zlib.decompress(base64.urlsafe_b64decode(word)).decode().split("\n")
            return cls(path, tuple(map(Batch.from_json, lines)))
        except (ValueError, KeyError, TypeError, zlib.error) as error:
            raise InputError(f"not a job as Bundle.to_word writes it: {word[:40]!r}") from error
