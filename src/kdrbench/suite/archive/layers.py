"""A packed record as its base and the layers over it.

A layer holds the jobs whose rows were measured after those below, and the files that changed. It is never written
again: of each run the rows of the newest layer count, and with them its points and arrays. What a layer's manifest says
of an experiment holds for the record as of that layer. Its list ``dropped`` names what of those below the configuration
no longer asks for: experiments, and runs as EXPERIMENT/CELL/RUN.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kdrbench.errors import DamagedError, InputError, in_words, visible
from kdrbench.suite.archive import BASE, LAYERS, MANIFEST, check_there, is_packed, parts_of
from kdrbench.suite.archive.folder import CONFIGURATION, NAME, PackedFolder
from kdrbench.suite.archive.jobs import Job, Jobs, read_jobs, rows_of, without
from kdrbench.suite.archive.part import Part
from kdrbench.suite.archive.traces import Run, run_of
from kdrbench.suite.engine.stage import Config


@dataclass(frozen=True)
class PackedRecord:
    """The packed record in a folder, made of ``parts``: its base, and its layers from the oldest to the newest."""

    place: Path
    parts: tuple[PackedFolder, ...]

    @property
    def base(self) -> PackedFolder:
        """The folder of the record, which its layers lie below."""
        return self.parts[0]

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What the record says of itself: whether it is complete and whole, and the counts of each experiment."""
        experiments: dict[str, Any] = {}
        for part in self.parts:
            kept = {name: one for name, one in experiments.items() if name not in part.dropped}
            experiments = kept | part.manifest["experiments"]
        for name in experiments:
            if not any(name in part.experiments for part in self.parts):
                raise DamagedError(f"{self.place / MANIFEST} has no rows of the experiment {name}")
        newest = self.parts[-1].manifest
        return {
            "complete": newest.get("complete"),
            "whole": self.base.manifest.get("whole"),
            "experiments": experiments,
        }

    @cached_property
    def config(self) -> Config:
        """The configuration; ``DamagedError`` for one whose names are none. ``read_frozen`` checks the rest of it."""
        try:
            config = json.loads(self.content(CONFIGURATION).decode("utf-8"))
            if not all(re.fullmatch(NAME, name) for name in [str(config.get("name") or "x"), *config["run"]]):
                raise ValueError("its name, or that of an experiment, is none")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise DamagedError(f"{self.place} has no configuration ({in_words(error)})") from error
        return dict(config)

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in one of the record's folders."""
        return sorted({name for part in self.parts for name in part.names(folder)})

    def has(self, name: str, content: bytes) -> bool:
        """Return whether the record has a file with this content."""
        return any(name in part.manifest["files"] for part in self.parts) and self.content(name) == content

    def content(self, name: str) -> bytes:
        """Return the content of a file of the newest layer that has it; ``DamagedError`` as of a single folder."""
        return next((part for part in reversed(self.parts) if name in part.manifest["files"]), self.base).content(name)

    def size_of_rows(self, experiment: str) -> int:
        """Return the bytes of an experiment's rows as they are packed, as far as the files are there."""
        return sum(part.size_of_rows(experiment) for part in self.parts)

    def jobs(self, experiment: str, system: str, part: Part | None = None) -> Jobs:
        """Return by path the jobs of an experiment, or those with rows of the ``part``: of each run the newest rows.

        The points and arrays of a run are those of the job that its rows name.
        """
        jobs: Jobs = {}
        for folder in self.parts:
            newer = read_jobs(folder, experiment, system, part)
            gone = set(_dropped_runs(folder, experiment)) | set(map(run_of, rows_of(newer)))
            jobs = {} if experiment in folder.dropped else without(jobs, gone if jobs else ())
            for path, job in newer.items():
                jobs[path] = jobs.get(path, Job()).joined(job)
        return {path: job for path, job in jobs.items() if job.records}


def record_at(place: Path) -> PackedRecord:
    """Return the packed record in a folder, or as of one of its layers; ``InputError`` where none is."""
    check_there(place)
    if not is_packed(place):
        raise InputError(f"{place} is no packed record; `kdrbench pack` makes one of a folder of results")
    return PackedRecord(place, tuple(map(PackedFolder, parts_of(place))))


def new_layer(record: PackedRecord, name: str) -> Path:
    """Return the folder for a layer over a record; ``InputError`` unless its name sorts after those that are there."""
    if not re.fullmatch(NAME, name) or name == BASE:
        raise InputError(f"{visible(name[:100])!r} is no name of a layer: use letters, digits, - and _, as 2026-12-01")
    newest = record.parts[-1].place.name
    if len(record.parts) > 1 and name <= newest:
        raise InputError(f"{record.place} has the layer {newest}: name one that sorts after it")
    return record.place / LAYERS / name


def name_of(experiment: str, run: Run) -> str:
    """Return how a layer names a run that it drops."""
    return f"{experiment}/{run[0]}/{run[1]}"


def _dropped_runs(folder: PackedFolder, experiment: str) -> Iterator[Run]:
    for name in folder.dropped:
        first, _, run = name.partition("/")
        if first == experiment and run:
            cell, _, number = run.rpartition("/")
            yield cell, int(number)
