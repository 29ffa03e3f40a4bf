"""A record as an RO-Crate: a folder or archive that says in JSON-LD what made each of its files.

The profile is Provenance Run Crate 0.5 (https://w3id.org/ro/wfrun/provenance/0.5). The runs of a cell that ended by
their method are one action; those that failed or were stopped are one for each reason. An action for each run would
repeat the tables, which are in the crate as well.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from datetime import date, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote
from zipfile import ZipFile, is_zipfile

from rocrate.model import ComputerLanguage, ContextEntity
from rocrate.rocrate import ROCrate

from kdrbench.datasets.registry import load_registry
from kdrbench.errors import InputError, counted
from kdrbench.files import replacing, replacing_folder
from kdrbench.licences import address_of
from kdrbench.status import BY_METHODS
from kdrbench.suite.engine.provenance import checkout
from kdrbench.suite.experiments.results import CONFIG, MERGED, Results, read_results
from kdrbench.suite.systems.registry import system_name, table_of

METADATA = "ro-crate-metadata.json"
_MARK = ".kdrbench-crate"
_WORKFLOW = "Snakefile"
_OF_WORKFLOW = (_WORKFLOW, "rules/*.smk", "envs/requirements.lock", "CITATION.cff", "LICENSE")
_SNAKEMAKE = "https://snakemake.github.io/"
_WORKFLOW_RO_CRATE = "https://w3id.org/workflowhub/workflow-ro-crate/1.0"
_PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/ro/wfrun/provenance/0.5": "Provenance Run Crate",
    _WORKFLOW_RO_CRATE: "Workflow RO-Crate",
}
_FORMATS = {".csv": "text/csv", ".json": "application/json", ".jsonl": "application/jsonl", ".md": "text/markdown"}
_FORMATS |= {".npz": "application/zip", ".cff": "application/yaml"}
_COMPLETED, _FAILED = (f"http://schema.org/{word}ActionStatus" for word in ("Completed", "Failed"))
_ASKED = ("time_limit_s", "memory_limit_mib", "definition_sha256")
_ENVIRONMENT = ("git_commit", "git_dirty", "lock_sha256", "processor", "machine", "blas", "blas_threads")
_README = """\
# Runs of kdrbench

`{folder}/` holds the configuration and the tables, `results/traces/` the cost over time, and `results/findings/` the
projections. Values of data sets are not here. `{metadata}` says what made each file.

With kdrbench installed, `kdrbench verify results{option}` computes the tables again from the projections.
"""


def write_crate(
    place: Path, out: Path, *, source: Path | None, licence: str, authors: tuple[str, ...], published: date
) -> tuple[Results, int]:
    """Write a crate of the record in ``place`` to ``out``, an archive (``.zip``) or a folder.

    Returns what was read, and the number of files. ``source`` is the checkout of the workflow, by default the one that
    this package is in. Raises ``InputError`` without a checkout, for a single table, and where ``out`` is no crate.
    """
    root = source or checkout()
    if root is None or not (root / _WORKFLOW).is_file():
        raise InputError(
            f"{root or 'this installation'} has no {_WORKFLOW}, which a crate holds; name a checkout: --source"
        )
    if place.is_file():
        raise InputError(f"{place} is a table; name the folder of results, whose configuration is needed too")
    if out.suffix == ".zip" and out.exists() and not _is_crate(out):
        raise InputError(f"{out} is there and is no crate; name another file, or remove it")
    description = _Description(read_results(place), root, authors)
    description.describe(licence, published)
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


def _groups_of(rows: Iterable[Any]) -> list[tuple[str, list[Any]]]:
    """Return the rows of each cell by the reason that ended them, empty where it was their method."""
    groups: dict[tuple[str, ...], list[Any]] = {}
    for row in rows:
        reason = "" if row.status in BY_METHODS else f"{row.status}: {row.message}"
        groups.setdefault((reason, *_cell(row).values()), []).append(row)
    return [(key[0], rows) for key, rows in groups.items()]


def _cell(row: Any) -> dict[str, str]:
    return {name: str(getattr(row, name)) for name in row.axis_names() if name != "run"}


class _Description:
    """The crate of a record while it is made."""

    def __init__(self, results: Results, root: Path, authors: tuple[str, ...]) -> None:
        self.results, self.n_files = results, 0
        self.rows: list[Any] = [row for rows in results.records.values() for row in rows]
        self.crate: Any = ROCrate(version="1.1")
        for term in ("environment", "resourceUsage", "sha256"):
            self.crate.metadata.extra_terms[term] = f"https://w3id.org/ro/terms/workflow-run#{term}"
        self.crate.metadata["conformsTo"] = [{"@id": self.crate.metadata.profile}, {"@id": _WORKFLOW_RO_CRATE}]
        self.authors = [self.entity(_local("person", name), "Person", name=name) for name in authors]
        self.tool = self.entity("#kdrbench", "SoftwareSourceCode", name="kdrbench")
        # The tables of a configuration with a name are in a folder of it, beside the traces of all.
        name = "" if (results.place / "traces").is_dir() else results.place.absolute().name
        named = bool(name) and (results.place.parent / "traces").is_dir()
        self.store = results.place.parent if named else results.place
        self.folder = f"results/{name}" if named else "results"
        page = _README.format(folder=self.folder, metadata=METADATA, option=f" --name {name}" if named else "")
        self.file(page.encode(), "README.md")["about"] = self.crate.root_dataset
        for path in (path for pattern in _OF_WORKFLOW for path in sorted(root.glob(pattern))):
            self.file(path, path.relative_to(root).as_posix())
        self.workflow = self.crate.get(_WORKFLOW)

    def entity(self, identifier: str, kind: str, /, **properties: Any) -> Any:
        """Return the entity of an identifier, made where there is none."""
        known = self.crate.get(identifier)
        return known or self.crate.add(ContextEntity(self.crate, identifier, {"@type": kind, **properties}))

    def file(self, source: Path | bytes, name: str) -> Any:
        """Return a file with its size and hash, added where it is not there yet."""
        if known := self.crate.get(quote(name)):
            return known
        self.n_files += 1
        content = source if isinstance(source, bytes) else source.read_bytes()
        held = {"name": name, "contentSize": str(len(content)), "sha256": hashlib.sha256(content).hexdigest()}
        held["encodingFormat"] = _FORMATS.get(Path(name).suffix, "text/plain")
        return self.crate.add_file(BytesIO(source) if isinstance(source, bytes) else source, name, properties=held)

    def example(self, name: str, kind: str, made: Any) -> Any:
        """Return an entity as an example of a formal parameter."""
        parameter = self.entity(_local("parameter", name), "FormalParameter", name=name, additionalType=kind)
        if "exampleOfWork" not in made:
            made["exampleOfWork"] = parameter
            parameter.append_to("workExample", made)
        return made

    def value(self, group: str, name: str, value: Any, **properties: Any) -> Any:
        """Return a property value, one for all that share it."""
        return self.entity(_local(group, name, str(value)), "PropertyValue", name=name, value=value, **properties)

    def describe(self, licence: str, published: date) -> None:
        """Add files, data sets, actions, the workflow and what the profile asks of the whole."""
        config = self.example("configuration", "File", self.of_record(CONFIG))
        data = {name: self.data_set(name) for name in dict.fromkeys(row.dataset for row in self.rows)}
        tables = {name: self.tables(name) for name in self.results.records}
        actions: dict[str, list[Any]] = {name: [] for name in self.results.records}
        for number, (reason, rows) in enumerate(_groups_of(self.rows)):
            action = self.action(number, reason, rows, [config, data[rows[0].dataset]], tables[rows[0].experiment])
            actions[rows[0].experiment].append(action)
        summary = f"{counted(len(self.rows), 'row')} of {counted(len(tables), 'experiment')}"
        said: dict[str, Any] = {"name": "The run of the workflow", "description": summary, "actionStatus": _COMPLETED}
        said |= {"agent": self.authors, **_period(self.rows)}
        made = [*{table.id: table for own in tables.values() for table in own}.values()]
        run = self.crate.add_action(self.workflow, "#run", [config, *data.values()], made, said)
        engine = self.steps(actions, run)
        self.programs()
        left_out = ", ".join(self.results.left_out)
        about = {
            "name": f"Runs of kdrbench: {', '.join(tables)}",
            "description": f"{summary}, and how they were made."
            + (f" Left out, being of systems of its own: {left_out}." if left_out else ""),
            "datePublished": published.isoformat(),
            "license": self.entity(address_of(licence), "CreativeWork", name=licence),
            "author": self.authors,
            "conformsTo": [
                self.entity(place, "CreativeWork", name=name, version=place.rpartition("/")[2])
                for place, name in _PROFILES.items()
            ],
            "mainEntity": self.workflow,
            "mentions": [run, engine, *(action for own in actions.values() for action in own)],
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
        there = [name for name in names if (self.results.place / name).is_file()]
        return [self.example("table", "File", self.of_record(name)) for name in there]

    def data_set(self, name: str) -> Any:
        """Return a data set with the hashes of its values; of one that is not registered no more is known."""
        hashes = dict.fromkeys(row.provenance.data_sha256 for row in self.rows if row.dataset == name)
        known: dict[str, Any] = {"identifier": [self.value("sha256", "SHA-256 of the values", one) for one in hashes]}
        if entry := load_registry().get(name):
            known |= {"description": f"{entry.title}. Cite: {entry.citation}", "license": entry.licence}
        made = self.entity(_local("data", name), "PropertyValue", name="data", value=name, **known)
        return self.example("data", "PropertyValue", made)

    def action(self, number: int, reason: str, rows: list[Any], inputs: list[Any], tables: list[Any]) -> Any:
        """Return the action of runs of a cell that ended alike."""
        cell, provenances = _cell(rows[0]), [asdict(row.provenance) for row in rows]
        ends = sorted(Counter(str(row.status) for row in rows).items())
        arguments = [(name, value) for name, value in cell.items() if name not in ("experiment", "dataset")]
        arguments += [(name, value) for name in _ASKED for value in _distinct(provenances, name)]
        for name in ("run", "seed"):
            arguments.append((name, ", ".join(map(str, sorted({getattr(row, name) for row in rows})))))
        asked = [self.example(name, "PropertyValue", self.value("value", name, value)) for name, value in arguments]
        names = [name for name in provenances[0] if name.endswith("_version")]
        used = [(name, value) for name in (*names, *_ENVIRONMENT) for value in _distinct(provenances, name)]
        wall_s = round(sum(row.provenance.wall_s for row in rows), 3)
        memory_mib = max(row.provenance.memory_mib for row in rows)
        # Units have the codes of UN/CEFACT.
        usage = [("wall_s", wall_s, "SEC"), ("memory_mib", memory_mib, "E63")]
        said = {
            "name": "/".join(cell.values()),
            "description": f"{counted(len(rows), 'row')}: {', '.join(f'{n} {end}' for end, n in ends)}",
            "actionStatus": _FAILED if reason else _COMPLETED,
            "error": reason,
            "agent": self.authors,
            "environment": [self.value("environment", name, value) for name, value in used],
            "resourceUsage": [
                self.value("usage", name, value, propertyID=name, unitCode=of) for name, value, of in usage
            ],
        }
        beside = [
            self.file(path, f"results/{path.relative_to(self.store).as_posix()}")
            for trace in dict.fromkeys(row.provenance.trace_file for row in rows)
            for path in (self.store / "traces" / trace, (self.store / "findings" / trace).with_suffix(".npz"))
            if path.is_file()
        ]
        place = _local("action", *cell.values(), str(number))
        return self.crate.add_action(self.tool, place, [*inputs, *asked], [*tables, *beside], said | _period(rows))

    def steps(self, actions: dict[str, list[Any]], run: Any) -> Any:
        """Add a step for each experiment, what it started, and Snakemake's part in the run."""
        steps, controls = [], []
        for position, (name, started) in enumerate(actions.items()):
            title = self.results.config["experiments"][name].get("title")
            step = {"name": name, "description": title, "position": str(position), "workExample": self.tool}
            steps.append(self.entity(_local("step", name), "HowToStep", **step))
            control = {"name": f"Runs of {name}", "instrument": steps[-1], "object": started}
            controls.append(self.entity(_local("control", name), "ControlAction", **control))
        self.workflow["step"] = steps
        snakemake = self.entity(_SNAKEMAKE, "SoftwareApplication", name="Snakemake", url=_SNAKEMAKE)
        organized = {"name": "Snakemake's part", "instrument": snakemake, "object": controls, "result": run}
        return self.entity("#run-of-snakemake", "OrganizeAction", **organized)

    def programs(self) -> None:
        """Say of the workflow and the program what they read and write, as formal parameters."""
        parameters = {one["name"]: one for one in self.crate.get_by_type("FormalParameter")}
        shared = {
            "output": parameters.pop("table"),
            "version": ", ".join(dict.fromkeys(row.provenance.kdrbench_version for row in self.rows)),
            "license": self.entity(address_of("MIT"), "CreativeWork", name="MIT"),
        }
        language = ComputerLanguage(self.crate, "#snakemake", properties={"name": "Snakemake", "url": _SNAKEMAKE})
        of_workflow = {
            "name": "The workflow of kdrbench",
            "conformsTo": {"@id": "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"},
            "programmingLanguage": self.crate.add(language),
            "input": [parameters[name] for name in ("configuration", "data")],
            "hasPart": self.tool,
        }
        self.workflow.properties()["@type"] = ["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"]
        of_tool = {"description": "Solvers and a benchmark for learning projections", "input": [*parameters.values()]}
        for entity, said in ((self.workflow, of_workflow | shared), (self.tool, of_tool | shared)):
            for name, value in said.items():
                entity[name] = value


def _local(*words: str) -> str:
    """Return an identifier within the crate that is made of these words."""
    return "#" + "/".join(quote(word, safe="") for word in words)


def _distinct(provenances: list[dict[str, Any]], name: str) -> list[Any]:
    """Return the values of a column that say something."""
    return [value for value in dict.fromkeys(one[name] for one in provenances) if value not in (None, "")]


def _period(rows: Iterable[Any]) -> dict[str, str]:
    """Return the first start and the last end of runs, as far as rows say them."""
    made = [row.provenance for row in rows if row.provenance.started_at]
    spans = [(datetime.fromisoformat(one.started_at), timedelta(seconds=one.wall_s)) for one in made]
    if not spans:
        return {}
    first, last = min(start for start, _ in spans), max(start + wall for start, wall in spans)
    return {"startTime": first.isoformat(timespec="seconds"), "endTime": last.isoformat(timespec="seconds")}
