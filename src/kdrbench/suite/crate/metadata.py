"""The description of a crate: its files and data, the actions that made them, and what the profile asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Any

from kdrbench.errors import counted
from kdrbench.licences import address_of
from kdrbench.suite.crate.actions import COMPLETED, Group, add_action, groups_of, period
from kdrbench.suite.crate.contents import METADATA, README, Content, media_type
from kdrbench.suite.crate.data import FOLDER, add_data_set
from kdrbench.suite.crate.graph import Graph, Reference, file_name, local
from kdrbench.suite.crate.record_files import RecordFiles
from kdrbench.suite.crate.workflow import ENGINE, TOOL, WORKFLOW, add_steps, add_workflow
from kdrbench.suite.engine.record import Record
from kdrbench.suite.experiments.results import Results

_RO_CRATE, _WORKFLOW_RO_CRATE = "https://w3id.org/ro/crate/1.1", "https://w3id.org/workflowhub/workflow-ro-crate/1.0"
_PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/ro/wfrun/provenance/0.5": "Provenance Run Crate",
    _WORKFLOW_RO_CRATE: "Workflow RO-Crate",
}


@dataclass(frozen=True)
class About:
    """What a record does not say of itself.

    Its licence (an SPDX word), when it is published, who made it, and the SWHID of the workflow's source.
    """

    licence: str
    published: date
    authors: tuple[str, ...] = ()
    source: str = ""


@dataclass
class Description:
    """A crate's graph while it is made, of what was read of a record and all files of the crate."""

    results: Results
    files: RecordFiles
    contents: Mapping[str, Content]
    about: About
    graph: Graph = field(default_factory=Graph)

    @cached_property
    def records(self) -> list[Record]:
        """The rows of all experiments."""
        return [row for rows in self.results.records.values() for row in rows]

    @cached_property
    def authors(self) -> list[Reference]:
        """Who made the record."""
        return [self.graph.add(local("person", name), "Person", name=name) for name in self.about.authors]

    @cached_property
    def data(self) -> dict[str, Reference]:
        """The data sets of the rows."""
        names = dict.fromkeys(row.dataset for row in self.records)
        return {name: add_data_set(self.graph, name, self.records) for name in names}

    @property
    def summary(self) -> str:
        """How much there is."""
        return f"{counted(len(self.records), 'row')} of {counted(len(self.results.records), 'experiment')}"

    def text(self) -> str:
        """Return the whole document."""
        conforms = [{"@id": _RO_CRATE}, {"@id": _WORKFLOW_RO_CRATE}]
        self.graph.add(METADATA, "CreativeWork", about={"@id": "./"}, conformsTo=conforms)
        self._add_files()
        groups = groups_of(self.records)
        tools: dict[str, list[Reference]] = {name: [] for name in self.results.records}
        for number, group in enumerate(groups):
            tools[group.experiment].append(self._add_action(number, group))
        whole = self._add_run()
        titles = {name: self.results.config["experiments"][name].get("title") for name in tools}
        add_steps(self.graph, titles, tools, whole)
        add_workflow(self.graph, self.contents[WORKFLOW], titles, self.records, self.about.source)
        self._add_root([whole, ENGINE, *(tool for own in tools.values() for tool in own)])
        return self.graph.text()

    def _add_files(self) -> None:
        """Add all files but the workflow, which is more than a file."""
        for path, content in self.contents.items():
            if path == WORKFLOW:
                continue
            held: dict[str, Any] = {"contentSize": str(content.size), "sha256": content.sha256}
            held |= {
                "name": path,
                "encodingFormat": media_type(path),
                "about": [{"@id": "./"}] if path == README else [],
            }
            if name := self.files.parameter_of(path):
                work = local("parameter", name)
                self.graph.example(work, self.graph.add(file_name(path), "File", exampleOfWork={"@id": work}, **held))
            else:
                self.graph.add(file_name(path), "File", **held)

    def _add_action(self, number: int, group: Group) -> Reference:
        """Add the action of a group of runs, with its data, its table and the files beside its rows."""
        beside = dict.fromkeys(path for record in group.records for path in self.files.beside(record))
        results = [{"@id": file_name(path)} for path in (*self.files.tables[group.experiment], *beside)]
        inputs = [self._config(), self.data[group.dataset]]
        return add_action(self.graph, number, group, inputs, result=results, instrument=TOOL, agent=self.authors)

    def _add_run(self) -> Reference:
        tables = dict.fromkeys(path for paths in self.files.tables.values() for path in paths)
        return self.graph.add(
            "#run",
            "CreateAction",
            name="The run of the workflow",
            description=self.summary,
            instrument={"@id": WORKFLOW},
            object=[self._config(), *self.data.values()],
            result=[{"@id": file_name(path)} for path in tables],
            actionStatus=COMPLETED,
            agent=self.authors,
            **period(self.records),
        )

    def _config(self) -> Reference:
        return {"@id": file_name(self.files.config)}

    def _add_root(self, actions: list[Reference]) -> None:
        profiles = [
            self.graph.add(place, "CreativeWork", name=name, version=place.rpartition("/")[2])
            for place, name in _PROFILES.items()
        ]
        word = self.about.licence
        licence = self.graph.add(address_of(word), "CreativeWork", name=word)
        own = [{"@id": file_name(path)} for path in self.contents if not path.startswith(f"{FOLDER}/")]
        left_out = ", ".join(self.results.left_out)
        self.graph.add(
            "./",
            "Dataset",
            name=f"Runs of kdrbench: {', '.join(self.results.records)}",
            description=f"{self.summary}, and how they were made."
            + (f" Left out, being of systems of its own: {left_out}." if left_out else ""),
            datePublished=self.about.published.isoformat(),
            license=licence,
            author=self.authors,
            conformsTo=profiles,
            hasPart=own + [one for one in self.data.values() if one["@id"].endswith("/")],
            mainEntity={"@id": WORKFLOW},
            mentions=actions,
        )
