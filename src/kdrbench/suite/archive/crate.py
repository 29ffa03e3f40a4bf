"""A record as an RO-Crate: a folder or archive that says in JSON-LD what made each of its files.

The profile is Provenance Run Crate 0.5 (https://w3id.org/ro/wfrun/provenance/0.5). The runs of a cell that ended by
their method are one action; those that failed or were stopped are one for each reason. An action for each run would
repeat the tables, which are in the crate as well.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
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
from kdrbench.suite.engine.record import Record
from kdrbench.suite.experiments.results import CONFIG, MERGED, Results, read_results
from kdrbench.suite.systems.registry import system_of, table_of

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


@dataclass(frozen=True)
class _Group:
    """Runs of one cell that ended alike; ``reason`` is empty where their method ended them."""

    axes: tuple[str, ...]
    reason: str
    rows: tuple[Any, ...]

    def distinct(self, name: str) -> list[Any]:
        """Return the values of a column of provenance that say something."""
        return [
            value
            for value in dict.fromkeys(getattr(row.provenance, name) for row in self.rows)
            if value not in (None, "")
        ]


def _groups_of(records: Iterable[Record]) -> list[_Group]:
    groups: dict[tuple[tuple[str, ...], str], list[Record]] = {}
    for record in records:
        axes = tuple(str(getattr(record, name)) for name in record.axis_names() if name != "run")
        reason = "" if record.status in BY_METHODS else f"{record.status}: {record.message}"
        groups.setdefault((axes, reason), []).append(record)
    return [_Group(axes, reason, tuple(rows)) for (axes, reason), rows in groups.items()]


class _Description:
    """The crate of a record while it is made."""

    def __init__(self, results: Results, root: Path, authors: tuple[str, ...]) -> None:
        self.results = results
        self.n_files = 0
        self.crate: Any = ROCrate(version="1.1")
        terms = ("environment", "resourceUsage", "sha256")
        self.crate.metadata.extra_terms.update(
            {term: f"https://w3id.org/ro/terms/workflow-run#{term}" for term in terms}
        )
        self.crate.metadata["conformsTo"] = [{"@id": self.crate.metadata.profile}, {"@id": _WORKFLOW_RO_CRATE}]
        self.rows = [row for rows in results.records.values() for row in rows]
        self.authors = [self.entity(_local("person", name), "Person", name=name) for name in authors]
        # The tables of a configuration with a name are in a folder of it, beside the traces of all.
        is_named = not (results.place / "traces").is_dir() and (results.place.parent / "traces").is_dir()
        self.store = results.place.parent if is_named else results.place
        self.folder = f"results/{results.place.absolute().name}" if is_named else "results"
        option = f" --name {results.place.absolute().name}" if is_named else ""
        page = _README.format(folder=self.folder, metadata=METADATA, option=option)
        self.file(page.encode(), "README.md", about=self.crate.root_dataset)
        self.workflow = self.file(root / _WORKFLOW, _WORKFLOW)
        for path in (path for pattern in _OF_WORKFLOW[1:] for path in sorted(root.glob(pattern))):
            self.file(path, path.relative_to(root).as_posix())

    def entity(self, identifier: str, kind: str, /, **properties: Any) -> Any:
        """Return the entity of an identifier, made where there is none; properties without a value are left out."""
        if known := self.crate.get(identifier):
            return known
        held = {name: value for name, value in properties.items() if value not in (None, "", [])}
        return self.crate.add(ContextEntity(self.crate, identifier, properties={"@type": kind, **held}))

    def file(self, source: Path | bytes, name: str, **properties: Any) -> Any:
        """Add a file with its size and hash."""
        content = source if isinstance(source, bytes) else source.read_bytes()
        held = {"name": name, "contentSize": str(len(content)), "sha256": hashlib.sha256(content).hexdigest()}
        held["encodingFormat"] = _FORMATS.get(Path(name).suffix, "text/plain")
        self.n_files += 1
        return self.crate.add_file(
            BytesIO(source) if isinstance(source, bytes) else source, name, properties=held | properties
        )

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
        results, root = self.results, self.crate.root_dataset
        config = self.example("configuration", "File", self._of_record(CONFIG))
        tables = {name: self._tables(name) for name in results.records}
        data = {name: self._data_set(name) for name in dict.fromkeys(row.dataset for row in self.rows)}
        tool = self.entity("#kdrbench", "SoftwareSourceCode", name="kdrbench")
        actions: dict[str, list[Any]] = {name: [] for name in results.records}
        for number, group in enumerate(_groups_of(self.rows)):
            row = group.rows[0]
            inputs = [config, data[row.dataset]]
            actions[row.experiment].append(self._action(number, group, tool, inputs, tables[row.experiment]))
        made = list({table.id: table for own in tables.values() for table in own}.values())
        summary = f"{counted(len(self.rows), 'row')} of {counted(len(results.records), 'experiment')}"
        properties: dict[str, Any] = {
            "name": "The run of the workflow",
            "description": summary,
            "actionStatus": _COMPLETED,
        }
        properties |= {"agent": self.authors, **_period(self.rows)}
        run = self.crate.add_action(self.workflow, "#run", [config, *data.values()], made, properties)
        engine = self._steps(actions, tool, run)
        self._workflow(tool)
        left_out = ", ".join(results.left_out)
        profiles = [
            self.entity(place, "CreativeWork", name=name, version=place.rpartition("/")[2])
            for place, name in _PROFILES.items()
        ]
        said = {
            "name": f"Runs of kdrbench: {', '.join(results.records)}",
            "description": f"{summary}, and how they were made."
            + (f" Left out, being of systems of its own: {left_out}." if left_out else ""),
            "datePublished": published.isoformat(),
            "license": self.entity(address_of(licence), "CreativeWork", name=licence),
            "author": self.authors,
            "conformsTo": profiles,
            "mainEntity": self.workflow,
            "mentions": [run, engine, *(action for own in actions.values() for action in own)],
        }
        for name, value in said.items():
            root[name] = value
        for held in (entity.properties() for entity in self.crate.get_entities()):
            for name, value in [*held.items()]:
                # RO-Crate 1.1 asks for a list of one as its value.
                if isinstance(value, list) and len(value) == 1:
                    held[name] = value[0]
                elif value == []:
                    del held[name]

    def _of_record(self, name: str) -> Any:
        return self.file(self.results.place / name, f"{self.folder}/{name}")

    def _tables(self, experiment: str) -> list[Any]:
        """Return the tables that hold the rows of an experiment."""
        system = table_of(system_of(self.results.config["experiments"][experiment]))
        names = [
            name for name in (f"{MERGED}/{experiment}.csv", f"{system}.csv") if (self.results.place / name).is_file()
        ]
        return [
            self.example("table", "File", self.crate.get(f"{self.folder}/{name}") or self._of_record(name))
            for name in names
        ]

    def _data_set(self, name: str) -> Any:
        """Return a data set with the hashes of its values; of one that is not registered no more is known."""
        hashes = dict.fromkeys(row.provenance.data_sha256 for row in self.rows if row.dataset == name)
        known: dict[str, Any] = {
            "identifier": [self.value("sha256", "SHA-256 of the values", one) for one in hashes if one]
        }
        if entry := load_registry().get(name):
            known |= {"description": f"{entry.title}. Cite: {entry.citation}", "license": entry.licence}
        made = self.entity(_local("data", name), "PropertyValue", name="data", value=name, **known)
        return self.example("data", "PropertyValue", made)

    def _action(self, number: int, group: _Group, tool: Any, inputs: list[Any], tables: list[Any]) -> Any:
        ends = sorted(Counter(str(row.status) for row in group.rows).items())
        named = zip(group.rows[0].axis_names(), group.axes, strict=False)
        asked: list[tuple[str, Any]] = [(name, value) for name, value in named if name not in ("experiment", "dataset")]
        asked += [(name, value) for name in _ASKED for value in group.distinct(name)]
        asked += [
            (name, ", ".join(map(str, sorted({getattr(row, name) for row in group.rows})))) for name in ("run", "seed")
        ]
        arguments = [self.example(name, "PropertyValue", self.value("value", name, value)) for name, value in asked]
        versions = [name for name in asdict(group.rows[0].provenance) if name.endswith("_version")]
        wall_s = round(sum(row.provenance.wall_s for row in group.rows), 3)
        memory_mib = max(row.provenance.memory_mib for row in group.rows)
        # Units have the codes of UN/CEFACT.
        usage = [("wall_s", wall_s, "SEC"), ("memory_mib", memory_mib, "E63")]
        said: dict[str, Any] = {
            "name": "/".join(group.axes),
            "description": f"{counted(len(group.rows), 'row')}: {', '.join(f'{n} {end}' for end, n in ends)}",
            "actionStatus": _FAILED if group.reason else _COMPLETED,
            "agent": self.authors,
            "environment": [
                self.value("environment", name, value)
                for name in (*versions, *_ENVIRONMENT)
                for value in group.distinct(name)
            ],
            "resourceUsage": [
                self.value("usage", name, value, propertyID=name, unitCode=unit) for name, value, unit in usage
            ],
            **({"error": group.reason} if group.reason else {}),
            **_period(group.rows),
        }
        place = _local("action", *group.axes, str(number))
        return self.crate.add_action(tool, place, [*inputs, *arguments], [*tables, *self._beside(group)], said)

    def _beside(self, group: _Group) -> list[Any]:
        """Return the traces and findings of runs."""
        made = {}
        for trace in dict.fromkeys(row.provenance.trace_file for row in group.rows):
            for name in (f"traces/{trace}", str(Path("findings", trace).with_suffix(".npz"))):
                if (self.store / name).is_file():
                    place = f"results/{name}"
                    made[place] = self.crate.get(quote(place)) or self.file(self.store / name, place)
        return list(made.values())

    def _steps(self, actions: dict[str, list[Any]], tool: Any, run: Any) -> Any:
        """Add a step for each experiment, what it started, and Snakemake's part in the run."""
        steps, controls = [], []
        for position, (name, started) in enumerate(actions.items()):
            title = self.results.config["experiments"][name].get("title")
            steps.append(
                self.entity(
                    _local("step", name),
                    "HowToStep",
                    name=name,
                    description=title,
                    position=str(position),
                    workExample=tool,
                )
            )
            controls.append(
                self.entity(
                    _local("control", name),
                    "ControlAction",
                    name=f"Runs of {name}",
                    instrument=steps[-1],
                    object=started,
                )
            )
        self.workflow["step"] = steps
        snakemake = self.entity(_SNAKEMAKE, "SoftwareApplication", name="Snakemake", url=_SNAKEMAKE)
        properties = {"name": "Snakemake's part", "instrument": snakemake, "object": controls, "result": run}
        return self.entity("#run-of-snakemake", "OrganizeAction", **properties)

    def _workflow(self, tool: Any) -> None:
        """Say of the workflow and the program what they read and write, as formal parameters."""
        parameters = {one["name"]: one for one in self.crate.get_by_type("FormalParameter")}
        table = parameters.pop("table")
        versions = ", ".join(dict.fromkeys(row.provenance.kdrbench_version for row in self.rows))
        shared = {
            "version": versions,
            "license": self.entity(address_of("MIT"), "CreativeWork", name="MIT"),
            "output": table,
        }
        language = ComputerLanguage(self.crate, "#snakemake", properties={"name": "Snakemake", "url": _SNAKEMAKE})
        of_workflow = {
            "name": "The workflow of kdrbench",
            "conformsTo": {"@id": "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"},
            "programmingLanguage": self.crate.add(language),
            "input": [parameters[name] for name in ("configuration", "data")],
            "hasPart": tool,
        }
        self.workflow.properties()["@type"] = ["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"]
        of_tool = {"description": "Solvers and a benchmark for learning projections", "input": [*parameters.values()]}
        for entity, said in ((self.workflow, of_workflow | shared), (tool, of_tool | shared)):
            for name, value in said.items():
                entity[name] = value


def _local(*words: str) -> str:
    """Return an identifier within the crate that is made of these words."""
    return "#" + "/".join(quote(word, safe="") for word in words)


def _period(rows: Iterable[Any]) -> dict[str, str]:
    """Return the first start and the last end of runs, as far as rows say them."""
    starts = [
        (datetime.fromisoformat(one.started_at), one.wall_s)
        for one in (row.provenance for row in rows)
        if one.started_at
    ]
    if not starts:
        return {}
    ends = [start + timedelta(seconds=wall_s) for start, wall_s in starts]
    first = min(start for start, _ in starts)
    return {"startTime": first.isoformat(timespec="seconds"), "endTime": max(ends).isoformat(timespec="seconds")}
