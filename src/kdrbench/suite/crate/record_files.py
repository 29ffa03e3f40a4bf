"""The files of a record, by their paths in its crate: those that the workflow wrote, with its names."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from kdrbench.errors import InputError
from kdrbench.suite.crate.contents import Content, inside
from kdrbench.suite.engine.record import Record
from kdrbench.suite.experiments.results import CONFIG, MERGED, Results
from kdrbench.suite.systems.registry import system_of, table_of

# Where the workflow writes what belongs to a row's trace file, and how that file ends.
_BESIDE = {"traces": ".jsonl", "findings": ".npz"}
RESULTS = "results"


class RecordFiles:
    """The configuration, the tables, and the traces and findings of all rows.

    They have the paths of the workflow, so that ``kdrbench verify`` works in a crate.
    """

    def __init__(self, results: Results) -> None:
        if not results.place.is_dir():
            raise InputError(
                f"{results.place} is a table; name the folder of results, whose configuration is needed too"
            )
        self._results = results
        # The tables of a configuration with a name are in a folder of it, beside the traces of all.
        is_named = not (results.place / "traces").is_dir() and (results.place.parent / "traces").is_dir()
        self._root = results.place.parent if is_named else results.place
        self.folder = f"{RESULTS}/{results.place.absolute().name}" if is_named else RESULTS

    @property
    def config(self) -> str:
        """The path of the configuration."""
        return f"{self.folder}/{CONFIG}"

    @cached_property
    def tables(self) -> dict[str, list[str]]:
        """The paths of the tables that hold the rows of an experiment, by its name."""
        found = {}
        for experiment in self._results.records:
            system = table_of(system_of(self._results.config["experiments"][experiment]))
            named = (f"{MERGED}/{experiment}.csv", f"{system}.csv")
            found[experiment] = [f"{self.folder}/{name}" for name in named if inside(self._results.place, name)]
        return found

    def parameter_of(self, path: str) -> str:
        """Return the parameter of the workflow that a file belongs to, or nothing."""
        if path == self.config:
            return "configuration"
        return "table" if any(path in paths for paths in self.tables.values()) else ""

    def beside(self, record: Record) -> list[str]:
        """Return the paths of the trace and the findings of a row; one that is missing or elsewhere is left out."""
        return [path for path in self._paths(record.provenance.trace_file) if path in self.contents]

    @cached_property
    def contents(self) -> Mapping[str, Content]:
        """All files by their paths."""
        of_place = {self.config, *(path for paths in self.tables.values() for path in paths)}
        start = len(self.folder) + 1
        files = {path: inside(self._results.place, path[start:]) for path in sorted(of_place)}
        rows = (row for records in self._results.records.values() for row in records)
        for trace in dict.fromkeys(row.provenance.trace_file for row in rows):
            files |= {path: inside(self._root, path.removeprefix(f"{RESULTS}/")) for path in self._paths(trace)}
        return {path: Content(source) for path, source in files.items() if source}

    def _paths(self, trace: str) -> list[str]:
        path = Path(trace)
        if path.is_absolute() or ".." in path.parts or not path.name:
            return []
        return [f"{RESULTS}/{kind}/{path.with_suffix(ending)}" for kind, ending in _BESIDE.items()]
