"""The sources that the workflow planned with, on disk: a job sees whether those that it loads are the same.

A source that is edited while a grid runs, and edited back, would else leave rows of the edit under the plan's hash.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kdrbench.bench.sources import Sources, State, sources_of, state
from kdrbench.errors import KdrbenchError
from kdrbench.files import write_text

# Below the folder of all workspaces.
PLANS = "sources"


class SourcesChangedError(KdrbenchError):
    """The sources are not those that the workflow planned with."""


def write_plan(folder: Path, planned: Iterable[tuple[tuple[str, ...], Sources]]) -> None:
    """Write for each hash its roots, and the files of its modules as they were when they were read."""
    for roots, sources in planned:
        path, text = folder / f"{sources.sha256}.json", json.dumps({"roots": roots, "files": sources.files})
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            write_text(path, text)


@dataclass(frozen=True)
class Loaded:
    """The files of a batch's sources as they were when they had been loaded, but for those that are imported late."""

    files: dict[str, tuple[str, State]]

    @classmethod
    def of(cls, folder: Path, sha256: str) -> Loaded:
        """Return the files of the sources with this hash; none where they were not planned here.

        Files that were not written since are not read. Raises ``SourcesChangedError`` if the hash is another.
        """
        try:
            plan = json.loads((folder / f"{sha256}.json").read_text(encoding="utf-8"))
            files = {str(name): (str(path), tuple(then)) for name, (path, then) in plan["files"].items()}
            roots = [str(name) for name in plan["roots"]]
        except (OSError, ValueError, KeyError, TypeError):
            return cls({})
        if changed := _changed(files):
            present = sources_of(roots)
            if present.sha256 != sha256:
                raise SourcesChangedError(
                    f"{changed} has changed since the workflow began; start it again: it plans with the present code"
                )
            files = present.files
        return cls({name: file for name, file in files.items() if name not in sys.modules})

    def check(self) -> None:
        """Raise ``SourcesChangedError`` if a file was written that a run may have imported after the job began."""
        if changed := _changed(self.files):
            raise SourcesChangedError(
                f"{changed} was written while the job ran, and runs may have imported it; its rows are thrown away, "
                "start the workflow again"
            )


def _changed(files: dict[str, tuple[str, State]]) -> str:
    """Return the first file that is not as it was, empty if all are."""
    return next((path for path, then in files.values() if state(path) != then), "")
