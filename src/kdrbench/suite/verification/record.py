"""A record as it lies on disk: its configuration, the rows of its merged tables, traces and arrays."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from kdrbench.errors import DamagedError, InputError, in_words, visible
from kdrbench.suite.archive.arrays import NOT_STORED
from kdrbench.suite.archive.other_limits import Counts, read_other_limits
from kdrbench.suite.archive.stated import Stated, read_stated
from kdrbench.suite.conformance.trial import places_in
from kdrbench.suite.csv_files import restored
from kdrbench.suite.engine.grid import Grid
from kdrbench.suite.engine.identity import Attested, attested_in
from kdrbench.suite.engine.publish import array_name, read_points
from kdrbench.suite.engine.run_files import UnreadableError, arrays_in, is_number
from kdrbench.suite.experiments.config import load_grid
from kdrbench.suite.experiments.merged_tables import read_words
from kdrbench.suite.systems import build_stage, table_of

Row = dict[str, str]
# What runs leave that is looked at: of an atlas its optima.
ARRAYS = ("projection", "labels", "given", "optima", "optima_numbers", NOT_STORED)


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

        Raises ``InputError`` without a configuration, and for one that names code where that is not to be imported.
        """
        path = self.folder / "config.json"
        try:
            config = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"{path} cannot be read ({error.strerror}); name a folder of results") from error
        except (ValueError, RecursionError) as error:
            raise DamagedError(f"{path} is no configuration: {in_words(error)}") from error
        if not self.own_code and (places := places_in(config)):
            raise InputError(
                f"{path} names code that is not kdrbench's, {visible(places[0][:200])}, which would be run; say "
                "--own-code if you trust it"
            )
        return load_grid(config)

    @cached_property
    def other_limits(self) -> dict[str, Counts]:
        """How many rows of each experiment may have which other limits of time, as the record states."""
        return read_other_limits(self.folder)

    @cached_property
    def attested(self) -> Attested:
        """The revisions of which audits have shown that numbers are the same."""
        return attested_in(self.results)

    @cached_property
    def stated(self) -> Stated | None:
        """What the packed record states of itself of which the folder was unpacked, if it was."""
        return read_stated(self.folder)

    def rows(self) -> dict[str, list[Row]]:
        """Return the rows of the merged table of each system, as their words in the file.

        Raises ``DamagedError`` where a table is missing, and ``RecordError`` where it is cut or has other columns.
        """
        found = {}
        for system in self.grid.systems:
            path = self.folder / f"{table_of(system)}.csv"
            try:
                lines = read_words(path, build_stage(system).record)
            except OSError as error:
                raise DamagedError(f"{path} cannot be read: {in_words(error)}") from error
            found[system] = [{name: restored(word) for name, word in words.items()} for _, words in lines]
        return found

    def points(self, row: Row) -> dict[tuple[str, int], list[dict[str, Any]]]:
        """Return the points of a row's trace file by cell and run; ``DamagedError`` where it is unreadable."""
        path = self._beside("traces", row)
        try:
            points = read_points(path)
            _check_points(points)
            return points
        except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
            raise DamagedError(f"{path} cannot be read: {in_words(error)}") from error

    def arrays(self, row: Row, cell: str, run: int) -> dict[str, NDArray[Any]]:
        """Return the arrays of a run by their kind; ``DamagedError`` where they cannot be read."""
        return self.arrays_of(row, cell, [run]).get(run, {})

    def arrays_of(
        self, row: Row, cell: str, runs: Iterable[int], kinds: Sequence[str] = ARRAYS
    ) -> dict[int, dict[str, NDArray[Any]]]:
        """Return the arrays of runs of a cell by run and kind, from the file beside a row's trace.

        To find its members takes as long as to read hundreds: ask for all runs at once. Raises ``DamagedError`` where
        they cannot be read.
        """
        path = self._beside("findings", row, ".npz")
        names = {array_name(cell, kind, run): (run, kind) for run in runs for kind in kinds}
        try:
            read = arrays_in(path, wanted=names) or {}
        except UnreadableError as error:
            raise DamagedError(f"{path} cannot be read: {error}") from error
        found: dict[int, dict[str, NDArray[Any]]] = {}
        for name, array in read.items():
            run, kind = names[name]
            found.setdefault(run, {})[kind] = array
        return found

    def _beside(self, kind: str, row: Row, ending: str = ".jsonl") -> Path:
        """Return the file of a ``kind`` that belongs to a row.

        Raises ``DamagedError`` for a name that leaves the results, or where no plain file is there.
        """
        path = Path(row["trace_file"])
        if path.is_absolute() or ".." in path.parts:
            raise DamagedError(f"the trace {row['trace_file']!r} of a row is outside of the results")
        try:
            found = (self.results / kind / path).with_suffix(ending)
            # Reading a pipe would wait for its writer.
            if found.is_file():
                return found
        except (OSError, ValueError) as error:
            raise DamagedError(f"the trace {row['trace_file']!r} of a row is no file: {in_words(error)}") from error
        raise DamagedError(f"{visible(str(found))} cannot be read: no plain file is there")


def _check_points(points: Mapping[Any, list[dict[str, Any]]]) -> None:
    for point in chain.from_iterable(points.values()):
        if not (is_number(point["time_s"]) and is_number(point["cost"])):
            raise ValueError("a time or a cost is no number")
        others = [point[name] for name in ("stationarity", "calls") if point.get(name) is not None]
        if not all(map(is_number, others)):
            raise ValueError("a stationarity or a count is no number")
