"""A record as an RO-Crate: a folder or archive that says in JSON-LD what made each of its files.

The profile is Process Run Crate 0.5 (https://w3id.org/ro/wfrun/process/0.5). The runs of a cell that ended by their
method are one action; those that failed or were stopped are one for each reason. An action for each run would repeat
the tables, which are in the crate as well.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote
from zipfile import ZipFile, is_zipfile

from rocrate.model import ContextEntity
from rocrate.rocrate import ROCrate

from kdrbench.datasets.registry import load_registry
from kdrbench.errors import InputError, counted
from kdrbench.files import replacing, replacing_folder
from kdrbench.status import BY_METHODS
from kdrbench.suite.archive import template
from kdrbench.suite.engine.provenance import checkout
from kdrbench.suite.experiments.results import CONFIG, MERGED, Results, read_results
from kdrbench.suite.systems.registry import system_name, table_of

METADATA = "ro-crate-metadata.json"
_MARK = ".kdrbench-crate"
_OF_WORKFLOW = ("Snakefile", "rules/*.smk", "envs/requirements.lock", "CITATION.cff", "LICENSE")
_PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
_FORMATS = {".csv": "text/csv", ".json": "application/json", ".jsonl": "application/jsonl", ".md": "text/markdown"}
_FORMATS |= {".npz": "application/zip", ".cff": "application/yaml"}
_COMPLETED, _FAILED = (f"http://schema.org/{word}ActionStatus" for word in ("Completed", "Failed"))
_PARAMETERS = ("time_limit_s", "memory_limit_mib", "definition_sha256", "git_commit", "processor", "machine")


def write_crate(
    place: Path, out: Path, *, licence: str, authors: tuple[str, ...], published: date
) -> tuple[Results, int]:
    """Write a crate of the record in ``place`` to ``out``, an archive (``.zip``) or a folder.

    Returns what was read, and the number of files. The workflow is that of the checkout that this package is in, or of
    the working folder. Raises ``InputError`` without one, for a single table, and where ``out`` is no crate.
    """
    root = checkout() or Path()
    if not (root / "Snakefile").is_file():
        raise InputError("there is no Snakefile, which a crate holds; work in a checkout of the repository")
    if place.is_file():
        raise InputError(f"{place} is a table; name the folder of results, whose configuration is needed too")
    if out.suffix == ".zip" and out.exists() and not _is_crate(out):
        raise InputError(f"{out} is there and is no crate; name another file, or remove it")
    description = _Description(read_results(place), authors)
    description.describe(root, licence, published)
    if out.suffix == ".zip":
        with replacing(out) as stream:
            stream.writelines(description.crate.stream_zip())
    else:
        with replacing_folder(out, _MARK) as folder:
            description.crate.write(folder)
    return description.results, description.n_files


def _is_crate(path: Path) -> bool:
    if not is_zipfile(path):
        return False
    with ZipFile(path) as archive:
        return METADATA in archive.namelist()


class _Description:
    """The crate of a record while it is made."""

    def __init__(self, results: Results, authors: tuple[str, ...]) -> None:
        self.results, self.n_files = results, 0
        self.rows: list[Any] = [row for rows in results.records.values() for row in rows]
        self.crate: Any = ROCrate(version="1.1")
        self.crate.metadata.extra_terms["sha256"] = "https://w3id.org/ro/terms/workflow-run#sha256"
        self.authors = [self.entity(_local("person", name), "Person", name=name) for name in authors]
        # The tables of a configuration with a name are in a folder of it, beside the traces of all.
        name = "" if (results.place / "traces").is_dir() else results.place.absolute().name
        self.name = name if (results.place.parent / "traces").is_dir() else ""
        self.store = results.place.parent if self.name else results.place
        self.folder = f"results/{self.name}" if self.name else "results"

    def entity(self, identifier: str, kind: str, /, **properties: Any) -> Any:
        """Return the entity of an identifier, made where there is none."""
        held = {"@type": kind} | properties
        return self.crate.get(identifier) or self.crate.add(ContextEntity(self.crate, identifier, held))

    def file(self, source: Path | bytes, name: str) -> Any:
        """Return a file with its size and hash, added where it is not there yet."""
        if known := self.crate.get(quote(name)):
            return known
        self.n_files += 1
        content = source if isinstance(source, bytes) else source.read_bytes()
        held = {"name": name, "contentSize": str(len(content)), "sha256": hashlib.sha256(content).hexdigest()}
        held["encodingFormat"] = _FORMATS.get(Path(name).suffix, "text/plain")
        return self.crate.add_file(BytesIO(source) if isinstance(source, bytes) else source, name, properties=held)

    def describe(self, root: Path, licence: str, published: date) -> None:
        """Add files, data sets, actions and what the profile asks of the whole."""
        option = f" --name {self.name}" if self.name else ""
        page = template("CRATE").format(folder=self.folder, metadata=METADATA, option=option)
        self.file(page.encode(), "README.md")["about"] = self.crate.root_dataset
        for path in (path for pattern in _OF_WORKFLOW for path in sorted(root.glob(pattern))):
            self.file(path, path.relative_to(root).as_posix())
        versions = ", ".join(dict.fromkeys(row.provenance.kdrbench_version for row in self.rows))
        tool = self.entity("#kdrbench", "SoftwareApplication", name="kdrbench", version=versions)
        config = self.of_record(CONFIG)
        groups: dict[tuple[str, ...], list[Any]] = {}
        for row in self.rows:
            reason = "" if row.status in BY_METHODS else f"{row.status}: {row.message}"
            groups.setdefault((reason, *_cell(row).values()), []).append(row)
        actions = [self.action(tool, config, key[0], rows) for key, rows in groups.items()]
        summary = f"{counted(len(self.rows), 'row')} of {counted(len(self.results.records), 'experiment')}"
        left_out = f" Left out, of systems of its own: {', '.join(self.results.left_out)}."
        about = {
            "name": f"Runs of kdrbench: {', '.join(self.results.records)}",
            "description": f"{summary}, and how they were made.{left_out if self.results.left_out else ''}",
            "datePublished": published.isoformat(),
            "license": self.entity(f"https://spdx.org/licenses/{licence}", "CreativeWork", name=licence),
            "author": self.authors,
            "conformsTo": self.entity(_PROFILE, "CreativeWork", name="Process Run Crate", version="0.5"),
            "mentions": actions,
        }
        for name, value in about.items():
            self.crate.root_dataset[name] = value
        for held in (entity.properties() for entity in self.crate.get_entities()):
            for name, value in [*held.items()]:
                # RO-Crate 1.1 asks for a list of one as its value.
                if isinstance(value, list) and len(value) == 1:
                    held[name] = value[0]
                elif value in ([], None, ""):
                    del held[name]

    def of_record(self, name: str) -> Any:
        """Return a file of the folder of the merged tables."""
        return self.file(self.results.place / name, f"{self.folder}/{name}")

    def tables(self, experiment: str) -> list[Any]:
        """Return the tables that hold the rows of an experiment."""
        system = table_of(system_name(self.results.config["experiments"][experiment]))
        names = [f"{MERGED}/{experiment}.csv", f"{system}.csv"]
        return [self.of_record(name) for name in names if (self.results.place / name).is_file()]

    def data_set(self, row: Any) -> Any:
        """Return the data set of a row with the hash of its values; of one that is not registered no more is known."""
        known: dict[str, Any] = {"identifier": row.provenance.data_sha256}
        if entry := load_registry().get(row.dataset):
            known |= {"description": f"{entry.title}. Cite: {entry.citation}", "license": entry.licence}
        identifier = _local("data", row.dataset, row.provenance.data_sha256)
        return self.entity(identifier, "PropertyValue", name="data", value=row.dataset, **known)

    def action(self, tool: Any, config: Any, reason: str, rows: list[Any]) -> Any:
        """Return the action of runs of a cell that ended alike."""
        cell, first = _cell(rows[0]), rows[0]
        parameters = {name: {value} for name, value in cell.items() if name not in ("experiment", "dataset")}
        parameters |= {name: {getattr(row, name) for row in rows} for name in ("run", "seed")}
        parameters |= {name: {getattr(row.provenance, name) for row in rows} for name in _PARAMETERS}
        values = {name: ", ".join(map(str, sorted(those))) for name, those in parameters.items()}
        inputs = [
            self.entity(_local("value", name, value), "PropertyValue", name=name, value=value)
            for name, value in values.items()
            if value
        ]
        beside = [
            self.file(path, f"results/{path.relative_to(self.store).as_posix()}")
            for trace in dict.fromkeys(row.provenance.trace_file for row in rows)
            for path in (self.store / "traces" / trace, (self.store / "findings" / trace).with_suffix(".npz"))
            if path.is_file()
        ]
        properties = {
            "name": "/".join(cell.values()),
            "description": f"{counted(len(rows), 'row')}: {', '.join(sorted({str(row.status) for row in rows}))}",
            "actionStatus": _FAILED if reason else _COMPLETED,
            "error": reason,
            "agent": self.authors,
            **_period(rows),
        }
        place = _local("action", *cell.values(), reason)
        results = [*self.tables(first.experiment), *beside]
        return self.crate.add_action(tool, place, [config, self.data_set(first), *inputs], results, properties)


def _cell(row: Any) -> dict[str, str]:
    return {name: str(getattr(row, name)) for name in row.axis_names() if name != "run"}


def _local(*words: str) -> str:
    """Return an identifier within the crate that is made of these words."""
    return "#" + "/".join(quote(word, safe="") for word in words)


def _period(rows: Iterable[Any]) -> dict[str, str]:
    """Return the first start and the last end of runs, as far as rows say them."""
    made = [row.provenance for row in rows if row.provenance.started_at]
    spans = [(datetime.fromisoformat(one.started_at), timedelta(seconds=one.wall_s)) for one in made]
    if not spans:
        return {}
    first, last = min(start for start, _ in spans), max(start + wall for start, wall in spans)
    return {"startTime": first.isoformat(timespec="seconds"), "endTime": last.isoformat(timespec="seconds")}
