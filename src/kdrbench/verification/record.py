"""A record as it lies on disk: its configuration, the rows of its merged tables, traces and arrays."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdrbench.bench.grid import Grid
from kdrbench.bench.publish import array_name, read_points
from kdrbench.csv_files import read_csv
from kdrbench.errors import DamagedError, InputError, in_words
from kdrbench.stages import table_of
from kdrbench.stages.config import load_grid

Row = dict[str, str]
_ARRAYS = ("projection", "labels", "given")


@dataclass(frozen=True)
class Record:
    """The folder ``results`` with the runs of a workflow, and the name of the configuration, empty for none."""

    results: Path
    name: str = ""

    @property
    def folder(self) -> Path:
        """Where the configuration and its merged tables are."""
        return self.results / self.name if self.name else self.results

    @cached_property
    def grid(self) -> Grid:
        """The runs that the configuration asks for; ``InputError`` without a configuration."""
        path = self.folder / "config.json"
        try:
            config = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"{path} cannot be read ({error.strerror}); name a folder of results") from error
        except ValueError as error:
            raise DamagedError(f"{path} is no configuration: {in_words(error)}") from error
        return load_grid(config, hashed=False)

    def rows(self) -> dict[str, list[Row]]:
        """Return the rows of the merged table of each system, as their words in the file.

        Raises ``DamagedError`` where a table is missing or cannot be read.
        """
        found = {}
        for system in self.grid.systems:
            path = self.folder / f"{table_of(system)}.csv"
            try:
                found[system] = read_csv(path)
            except (OSError, ValueError) as error:
                raise DamagedError(f"{path} cannot be read: {in_words(error)}") from error
        return found

    def points(self, row: Row) -> dict[tuple[str, int], list[dict[str, Any]]]:
        """Return the points of a row's trace file by cell and run; ``DamagedError`` where it is unreadable."""
        path = self._beside("traces", row)
        try:
            return read_points(path)
        except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
            raise DamagedError(f"{path} cannot be read: {in_words(error)}") from error

    def arrays(self, row: Row, cell: str, run: int) -> dict[str, NDArray[Any]]:
        """Return the arrays of a run by their kind; ``DamagedError`` where they cannot be read."""
        path = self._beside("findings", row).with_suffix(".npz")
        names = {array_name(cell, kind, run): kind for kind in _ARRAYS}
        try:
            # numpy leaves a file open that it cannot read.
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
                return {names[name]: arrays[name] for name in names.keys() & set(arrays.files)}
        except Exception as error:
            # Which error it is depends on where in a broken archive its reader stumbles.
            raise DamagedError(f"{path} cannot be read: {type(error).__name__}: {error}") from error

    def _beside(self, kind: str, row: Row) -> Path:
        """Return the file of a ``kind`` that belongs to a row; ``DamagedError`` for a name that leaves the results."""
        path = Path(row["trace_file"])
        if path.is_absolute() or ".." in path.parts:
            raise DamagedError(f"the trace {row['trace_file']!r} of a row is outside of the results")
        return self.results / kind / path
