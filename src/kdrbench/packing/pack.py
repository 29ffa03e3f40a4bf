"""From a folder of results to a packed record: what of each experiment there is, whether or not it is all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kdrbench import __version__
from kdrbench.bench.batch import Bundle
from kdrbench.bench.grid import Grid
from kdrbench.bench.publish import JobFiles, read_points
from kdrbench.bench.record import Record, read_records
from kdrbench.bench.untrusted import arrays_in
from kdrbench.csv_files import csv_text
from kdrbench.errors import DamagedError, InputError, in_words
from kdrbench.licences import DEFAULT, licence_text
from kdrbench.packing.arrays import MOST_OF_A_CELL, ArrayWriter, Places
from kdrbench.packing.folder import CHARTS, CONFIGURATION, LICENCE, OTHERS, README, ROWS, Writer
from kdrbench.packing.other_limits import other_limits
from kdrbench.packing.texts import readme
from kdrbench.packing.traces import BestKnown, Points, write_traces
from kdrbench.stages import STAGES
from kdrbench.stages.ikdr.sampling import is_redrawn
from kdrbench.stages.merged_tables import merged_lines, was_disturbed

_Made = tuple[Sequence[Record], Points]
# What else of a results folder is kept: findings of plug-ins and best known solutions.
_OTHERS = (("checks", ".json"), ("optima", ".npz"))


@dataclass(frozen=True)
class Packing:
    """What is packed: the ``results`` of a ``grid``, and how.

    ``known`` gives the best cost known of a problem. ``charts`` are the figures, as JSON by name, that could not be
    drawn from the record alone. ``whole`` thins nothing and leaves nothing out, for a record that is still made.
    ``licence`` is that of the record, a word of the SPDX list.
    """

    grid: Grid
    results: Path
    known: BestKnown
    charts: Mapping[str, str] = field(default_factory=dict)
    whole: bool = False
    most_of_a_cell: int = MOST_OF_A_CELL
    licence: str = DEFAULT

    def write(self, place: Path) -> dict[str, Any]:
        """Write the record into an empty folder and return its manifest; the same results give the same bytes.

        Raises ``InputError`` where no job of the configuration has ended.
        """
        writer, said = Writer(place), {}
        places: Places = {}
        writer.add(CONFIGURATION, self.grid.to_json().encode())
        for name in self.grid.experiments:
            if made := self._experiment(writer, name, places):
                said[name] = made
        if not said:
            raise InputError(
                f"{self.results} holds no finished job of this configuration: run the workflow, or name its folder"
            )
        for name, text in sorted(self.charts.items()):
            writer.add(f"{CHARTS}/{name}.json", text.encode())
        for folder, ending in _OTHERS:
            for path in sorted((self.results / folder).glob(f"*{ending}")):
                writer.add(f"{OTHERS}/{folder}-{path.name}", path.read_bytes())
        about = {
            "kdrbench_version": __version__,
            "licence": self.licence,
            "whole": self.whole,
            "most_of_a_cell": self.most_of_a_cell,
            "complete": set(said) == set(self.grid.experiments) and all(one["complete"] for one in said.values()),
            "experiments": said,
        }
        return writer.finish(about, {README: readme(about, writer.n_bytes), LICENCE: licence_text(self.licence)})

    def _experiment(self, writer: Writer, name: str, places: Places) -> dict[str, Any]:
        """Write the jobs of an experiment that have ended, and return what is there; nothing without any."""
        experiment, bundles = self.grid.config["experiments"][name], self.grid.bundles(name)
        if experiment["system"] not in STAGES:
            raise InputError(
                f"experiment {name} is of a system of its own, {experiment['system']}: what its rows mean only its "
                "code says, which a packed record does not hold; leave it out of `run`"
            )
        jobs: dict[str, _Made] = {}
        arrays = ArrayWriter(name, places, self.whole, self.most_of_a_cell)
        for bundle, records in self._ended(bundles):
            files = JobFiles.of(self.results, bundle.path)
            jobs[bundle.path] = records, _points(files.traces)
            arrays.add(bundle.path, arrays_in(files.findings, packed=True) or {})
        if not jobs:
            return {}
        rows = [row for records, _ in jobs.values() for row in records]
        lines = merged_lines(rows)
        writer.add(f"{ROWS}/{name}.csv", csv_text(lines[0], (line.values() for line in lines)).encode())
        drawn = not is_redrawn(experiment)
        write_traces(writer, name, jobs, self.known, drawn=drawn, whole=self.whole)
        arrays.write(writer)
        return {
            "rows": len(rows),
            "jobs": len(jobs),
            "jobs_missing": len(bundles) - len(jobs),
            "complete": len(jobs) == len(bundles),
            "projections_not_stored": arrays.n_left_out,
            "timed": sum(row.provenance.timed for row in rows),
            "disturbed": sum(was_disturbed({name: str(value) for name, value in line.items()}) for line in lines),
            "uncommitted": sum(bool(row.provenance.git_dirty) for row in rows),
            "other_limits_s": other_limits(rows, self.grid.limits(name).time_s),
        }

    def _ended(self, bundles: Sequence[Bundle]) -> Iterator[tuple[Bundle, list[Record]]]:
        """Yield the jobs whose rows are those that the configuration asks for."""
        for bundle in bundles:
            files = JobFiles.of(self.results, bundle.path)
            if not all(path.is_file() for path in (files.records, files.traces, files.findings)):
                continue
            records = read_records(files.records, self.grid.stage(bundle.experiment).record)
            wanted = {axes: batch.definition_sha256 for batch in bundle.batches for axes in batch.axes}
            if {one.axes: one.provenance.definition_sha256 for one in records} == wanted:
                yield bundle, records


def _points(path: Path) -> Points:
    try:
        return read_points(path)
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedError(f"{path} is no trace ({in_words(error)}); make its job again") from error
