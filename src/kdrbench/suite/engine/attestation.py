"""Attestations: audits that have shown that rows of earlier revisions are what the present code gives.

A file of them lies beside results or a packed record, and is only appended to: a line of JSON for each audit.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from kdrbench.errors import DamagedError, in_words
from kdrbench.suite.engine.identity import Attested

ATTESTATIONS = "attestations.jsonl"
# The shipped record lies in the folder of results of a checkout, and its audits hold for all rows.
_SHIPPED = "reference"


@dataclass(frozen=True)
class Step:
    """Cells of a component that were made again: the revisions of rows and code, and how many cells differ."""

    component: str
    old: int
    new: int
    cells: int
    differing: int


@dataclass(frozen=True)
class Attestation:
    """An audit: when, where and with what code it was made, the seed of its draw, and what it found by component."""

    date: str
    seed: int
    cells: int
    differing: int
    machine: str
    processor: str
    git_commit: str
    code_id: str
    env_id: str
    steps: tuple[Step, ...]

    @classmethod
    def from_json(cls, line: str) -> Attestation:
        """Read what :func:`append_attestation` wrote."""
        values: Mapping[str, object] = json.loads(line)
        steps = tuple(Step(**one) for one in values["steps"])  # type: ignore[attr-defined]
        return cls(**{**values, "steps": steps})  # type: ignore[arg-type]

    @property
    def attested(self) -> set[tuple[str, int, int]]:
        """The steps of revisions that are safe: cells of the component were made again, and none differs."""
        return {(step.component, step.old, step.new) for step in self.steps if step.cells and not step.differing}


def append_attestation(folder: Path, attestation: Attestation) -> None:
    """Add a line to the attestations in a folder, flushed to disk."""
    with (folder / ATTESTATIONS).open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(asdict(attestation), separators=(",", ":")) + "\n")
        stream.flush()
        os.fsync(stream.fileno())


def attestations_in(folder: Path) -> list[Attestation]:
    """Return the attestations in a folder; ``DamagedError`` for a line that is none."""
    path = folder / ATTESTATIONS
    if not path.is_file():
        return []
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            found.append(Attestation.from_json(line))
        except (ValueError, TypeError, KeyError) as error:
            raise DamagedError(f"{path}, line {number}, is no attestation ({in_words(error)}); remove it") from error
    return found


def attested_in(results: Path) -> Attested:
    """Return what the audits beside these results attest, and those of the shipped record below them."""
    audits = [*attestations_in(results), *attestations_in(results / _SHIPPED)]
    return Attested(frozenset().union(*(audit.attested for audit in audits)))
