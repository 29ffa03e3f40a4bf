"""A batch of runs of one cell, the bundle of batches that one job makes, and the order by which it makes them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from kdrbench.errors import InputError, in_words
from kdrbench.files import write_text

# The folder, below results, that holds what unfinished jobs leave; no other program writes there.
WORKSPACES = ".workspace"
# Keys of a definition's hash from before revisions were declared: with them its value is that of the stored rows.
_FORMER = {"sources_sha256": "", "packages": None}


@dataclass(frozen=True)
class Batch:
    """Consecutive runs of one cell, with everything that the configuration decides about their results.

    ``cell`` names the cell below its experiment and data set, for instance kernel and method. ``definition`` is what
    the ``system`` needs to make a run. ``rows`` are the keys of the rows that each run leaves: one empty
    key for a single row. ``revisions`` are those of the components that decide the results (:mod:`.identity`). Limits
    and repeats are not part of a batch: a change of them reruns nothing.
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
    revisions: Mapping[str, str] = field(default_factory=dict)

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
        """Return the batch whose fields JSON holds so."""
        sequences = {name: tuple(values[name]) for name in ("cell", "runs")}
        rows = tuple(tuple(key) for key in values["rows"])
        return cls(**{**values, **sequences, "rows": rows})

    @cached_property
    def sha256(self) -> str:
        """Hash of everything that decides the numbers of the batch: its definition, and the revisions of components."""
        numbers = {name: word.partition(".")[0] for name, word in sorted(self.revisions.items())}
        return hashlib.sha256(json.dumps([self.definition_sha256, numbers]).encode()).hexdigest()

    @property
    def identity(self) -> dict[str, Any]:
        """The columns of rows that say what they were made for."""
        return {
            "batch_sha256": self.sha256,
            "definition_sha256": self.definition_sha256,
            "data_sha256": self.data_sha256,
            "revisions": json.dumps(self.revisions, sort_keys=True, separators=(",", ":")),
        }

    @cached_property
    def definition_sha256(self) -> str:
        """Hash of what was asked: the batch without revisions."""
        values = {name: value for name, value in asdict(self).items() if name != "revisions"}
        text = json.dumps(values | _FORMER, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


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


@dataclass(frozen=True)
class Order:
    """What a job makes, whether its times count, and the user's own data sets.

    The workflow writes it to a file that the job reads.
    """

    bundle: Bundle
    timed: bool = True
    definitions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def write(self, path: Path) -> Path:
        """Write the order, unless the file holds it already; return the path."""
        text = json.dumps(asdict(self), sort_keys=True)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            write_text(path, text, durable=False)
        return path


def order_path(results: Path, job: str) -> Path:
    """Return the file of the order of a job."""
    return results / WORKSPACES / "orders" / f"{job}.json"


def read_order(path: Path) -> Order:
    """Read what :meth:`Order.write` wrote; ``InputError`` for anything else."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        bundle = values.pop("bundle")
        return Order(Bundle(bundle["path"], tuple(map(Batch.from_values, bundle["batches"]))), **values)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is no order of a job ({in_words(error)}); start the workflow again") from error
