"""Batches of runs, with all that the configuration decides of them, and the jobs that make them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from kdrbench.bench.fold import Split


class Kind(StrEnum):
    """What is run: a solver of a kernel's problem, or a baseline, which has no kernel."""

    SOLVER = "solver"
    BASELINE = "baseline"


@dataclass(frozen=True)
class Batch:
    """Consecutive folds of one (experiment, data set, kernel, solver), with all the configuration decides of them.

    With the split ``subsets`` a fold is a draw of ``n_rows`` rows, with ``none`` the only one is all. A baseline
    stands in place of the solver, with the kernel ``none``, no start and no evaluation. ``labellings`` name what is
    ``given`` to alternative clustering and what is ``sought``. ``n_components`` is q, or ``eigengap`` where each run
    has its own (:func:`.components_of`).
    Limits and repeats are not part of a batch: changing one must not rerun what has ended.
    """

    kind: Kind
    experiment: str
    paradigm: str
    parameters: dict[str, Any]
    labellings: dict[str, str]
    dataset: str
    data_sha256: str
    kernel: str
    kernel_definition: dict[str, Any]
    solver: str
    solver_definition: dict[str, Any]
    solver_version: int
    n_components: int | str
    split: Split
    n_folds: int
    n_rows: int | None
    folds: tuple[int, ...]
    start: str
    seed: int
    threads: int
    evaluation: dict[str, Any]
    sources_sha256: str
    packages: dict[str, str]

    @property
    def folds_label(self) -> str:
        """The folds as they stand in file names: ``0-9``."""
        return f"{self.folds[0]}-{self.folds[-1]}"

    @property
    def path(self) -> str:
        """The batch's place below any folder of results, without extension."""
        return "/".join((self.experiment, self.dataset, self.kernel, self.solver, self.folds_label))

    @property
    def axes(self) -> list[tuple[str, str, str, str, int]]:
        """What names each run of the batch in the records."""
        return [(self.experiment, self.dataset, self.kernel, self.solver, fold) for fold in self.folds]

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
        read = {"kind": Kind(values["kind"]), "split": Split(values["split"]), "folds": tuple(values["folds"])}
        return cls(**{**values, **read})

    @property
    def sha256(self) -> str:
        """Hash of everything the configuration says about the batch's results."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @property
    def definition_sha256(self) -> str:
        """The same without sources and packages, which another environment reads in another way."""
        return replace(self, sources_sha256="", packages={}).sha256


@dataclass(frozen=True)
class Bundle:
    """What one job of Snakemake makes: a batch, or several of one experiment and data set.

    ``path`` is the place of their common files below any folder of results, without extension.
    """

    path: str
    batches: tuple[Batch, ...]

    @property
    def experiment(self) -> str:
        """The experiment of all batches."""
        return self.batches[0].experiment

    @property
    def dataset(self) -> str:
        """The data set of all batches."""
        return self.batches[0].dataset

    def to_json(self) -> str:
        """Return the bundle as one line of JSON, short enough for a command: what the batches share is said once."""
        every = [json.loads(batch.to_json()) for batch in self.batches]
        common = {name: value for name, value in every[0].items() if all(one[name] == value for one in every)}
        own = [{name: value for name, value in one.items() if name not in common} for one in every]
        values = {"path": self.path, "common": common, "batches": own}
        return json.dumps(values, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Bundle:
        """Read what :meth:`to_json` wrote."""
        values = json.loads(text)
        return cls(values["path"], tuple(Batch.from_values(values["common"] | own) for own in values["batches"]))
