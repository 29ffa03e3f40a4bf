"""A record as it lies on disk: its configuration, the rows of its merged tables, and arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from kdrbench.errors import DamagedError, InputError, in_words, visible
from kdrbench.suite.conformance.subject import places_in
from kdrbench.suite.engine.grid import Grid
from kdrbench.suite.engine.identity import Attested, attested_in
from kdrbench.suite.engine.publish import array_name
from kdrbench.suite.engine.recomputed import NOT_STORED
from kdrbench.suite.engine.run_files import UnreadableError, arrays_in
from kdrbench.suite.experiments.config import load_grid
from kdrbench.suite.experiments.config_file import read_config_file
from kdrbench.suite.experiments.results import read_words
from kdrbench.suite.systems import build_system, table_of

# Kinds of arrays that runs leave and numbers are computed from.
ARRAYS = ("projection", "labels", "given", "optima", "optima_numbers", NOT_STORED)


_MOST_LETTERS = 200


@dataclass(frozen=True)
class Finding:
    """A row, or a file, with a fault: ``recorded`` is there, ``should_be`` is not."""

    place: str
    column: str
    recorded: str
    should_be: str

    def __str__(self) -> str:
        words = self.place, self.column, self.recorded or "empty", self.should_be
        place, column, recorded, should_be = (
            visible(word if len(word) <= _MOST_LETTERS else f"{word[:_MOST_LETTERS]}...") for word in words
        )
        return f"{place}: {column} is {recorded}, should be {should_be}"


@dataclass(frozen=True)
class Record:
    """The folder ``results`` with the runs of a workflow, and the name of the configuration, empty for none.

    The code that a configuration names is imported with ``own_code`` only: a record may be anybody's.
    """

    results: Path
    name: str = ""
    own_code: bool = False

    @property
    def folder(self) -> Path:
        """Where the configuration and its merged tables are."""
        return self.results / self.name if self.name else self.results

    @cached_property
    def grid(self) -> Grid:
        """The runs that the configuration asks for.

        Raises ``ConfigError`` without a sound configuration, and ``InputError`` for one that names code where that is
        not to be imported.
        """
        path = self.folder / "config.json"
        config = read_config_file(path)
        if not self.own_code and (places := places_in(config)):
            raise InputError(
                f"the configuration of this record names code that is not kdrbench's, {visible(places[0][:200])}, "
                "which would be run; say --own-code if you trust it"
            )
        return load_grid(config)

    @cached_property
    def attested(self) -> Attested:
        """The revisions of which audits have shown that numbers are the same."""
        return attested_in(self.results)

    def rows(self) -> dict[str, list[dict[str, str]]]:
        """Return the rows of the merged table of each system, as their words in the file.

        Raises ``DamagedError`` where a table is missing, and ``RecordError`` where it is cut or has other columns.
        """
        found = {}
        for system in self.grid.systems:
            path = self.folder / f"{table_of(system)}.csv"
            try:
                lines = read_words(path, build_system(system).record)
            except OSError as error:
                raise DamagedError(f"{path} cannot be read: {in_words(error)}") from error
            found[system] = [words for _, words in lines]
        return found

    def arrays(
        self, trace_file: str, cell: str, runs: Iterable[int], kinds: Sequence[str] = ARRAYS
    ) -> dict[int, dict[str, NDArray[Any]]]:
        """Return the arrays of runs of a cell by run and kind, from the file beside their trace.

        To find its members takes as long as to read hundreds: ask for all runs at once. A run whose file is missing has
        none; raises ``DamagedError`` for a file that cannot be read.
        """
        path = (self.results / "findings" / trace_file).with_suffix(".npz")
        names = {array_name(cell, kind, run): (run, kind) for run in runs for kind in kinds}
        try:
            read = arrays_in(path, wanted=names)
        except UnreadableError as error:
            raise DamagedError(f"{path} cannot be read: {error}") from error
        found: dict[int, dict[str, NDArray[Any]]] = {}
        for name, array in (read or {}).items():
            run, kind = names[name]
            found.setdefault(run, {})[kind] = array
        return found
