"""What a packed record states of itself, beside the results that were unpacked of it, for who verifies them.

A manifest may leave out an experiment with its files: what is unpacked then runs the others. So the experiments that
its configuration runs are kept, with what the manifest says of each, and what was counted while it was unpacked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kdrbench.errors import DamagedError, in_words
from kdrbench.files import write_text

_STATED = "stated.json"


@dataclass(frozen=True)
class Stated:
    """The experiments that a record's configuration runs, and what its manifest says.

    ``complete`` and ``whole`` are those of the record, ``experiments`` what is said of each by name. ``not_stored``
    counts the projections that are not stored of each, as its arrays have it.
    """

    run: list[str]
    complete: Any
    whole: Any
    experiments: Mapping[str, Mapping[str, Any]]
    not_stored: Mapping[str, int]

    @classmethod
    def of(cls, run: list[str], manifest: Mapping[str, Any], not_stored: Mapping[str, int]) -> Stated:
        """Return what a manifest states of a record whose configuration runs these experiments."""
        return cls(run, manifest.get("complete"), manifest.get("whole"), manifest["experiments"], not_stored)

    def write(self, folder: Path) -> None:
        """Write it into a folder of results."""
        write_text(folder / _STATED, json.dumps(asdict(self), indent=1) + "\n", durable=False)


def read_stated(folder: Path) -> Stated | None:
    """Return what the record states of which a folder of results was unpacked; ``None`` where it states nothing.

    Raises ``DamagedError`` for a file of anything else.
    """
    path = folder / _STATED
    try:
        return Stated(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None
    except (OSError, ValueError, TypeError) as error:
        raise DamagedError(f"{path} states nothing of a record ({in_words(error)}); unpack the record again") from error
