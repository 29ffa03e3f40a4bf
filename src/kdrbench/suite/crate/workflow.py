"""The workflow, the program that it starts, the packages of its runs, and how one run of it is made of steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kdrbench.licences import address_of
from kdrbench.suite.crate.contents import Content, media_type
from kdrbench.suite.crate.graph import Graph, Reference, local
from kdrbench.suite.engine.record import Record

WORKFLOW = "Snakefile"
TOOL, ENGINE = {"@id": "#kdrbench"}, {"@id": "#run-of-snakemake"}
_SNAKEMAKE = "https://snakemake.github.io/"
_BIOSCHEMAS = "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"
# The pages of packages whose versions rows name.
_PAGES = {
    "python": "https://www.python.org/",
    "numpy": "https://numpy.org/",
    "scipy": "https://scipy.org/",
    "scikit_learn": "https://scikit-learn.org/",
    "pymanopt": "https://pymanopt.org/",
    "numba": "https://numba.pydata.org/",
}


def add_steps(graph: Graph, titles: Mapping[str, Any], tools: Mapping[str, list[Reference]], run: Reference) -> None:
    """Add a step for each experiment, what it started, and that Snakemake was at work in the ``run``.

    ``titles`` and ``tools``, the actions of its runs, are by experiment.
    """
    controls = []
    for position, (name, title) in enumerate(titles.items()):
        what = {"name": name, "description": title, "position": str(position), "workExample": TOOL}
        step = graph.add(local("step", name), "HowToStep", **what)
        start = {"name": f"Runs of {name}", "instrument": step, "object": tools[name]}
        controls.append(graph.add(local("control", name), "ControlAction", **start))
    engine = graph.add(_SNAKEMAKE, "SoftwareApplication", name="Snakemake", url=_SNAKEMAKE)
    graph.add(ENGINE["@id"], "OrganizeAction", name="Snakemake's part", instrument=engine, object=controls, result=run)


def add_workflow(
    graph: Graph, file: Content, titles: Mapping[str, Any], records: Iterable[Record], source: str
) -> None:
    """Add the workflow and the program, with the formal parameters whose examples the graph has.

    ``source`` is the SWHID of both.
    """
    inputs = [graph.parameter("configuration", "File"), graph.parameter("data", "Dataset")]
    outputs = [graph.parameter("table", "File")]
    arguments = [graph.parameter(name, "PropertyValue") for name in graph.arguments]
    versions = ", ".join(dict.fromkeys(row.provenance.kdrbench_version for row in records))
    licence = graph.add(address_of("MIT"), "CreativeWork", name="MIT")
    shared: dict[str, Any] = {"version": versions, "license": licence, "identifier": source, "output": outputs}
    graph.add(
        TOOL["@id"],
        "SoftwareSourceCode",
        name="kdrbench",
        description="Solvers and a Snakemake benchmark for learning projections and kernels",
        input=[*inputs, *arguments],
        softwareRequirements=_packages(graph, records),
        **shared,
    )
    graph.add(
        WORKFLOW,
        ["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"],
        name="The workflow of kdrbench",
        conformsTo={"@id": _BIOSCHEMAS},
        programmingLanguage=graph.add("#snakemake", "ComputerLanguage", name="Snakemake", url=_SNAKEMAKE),
        input=inputs,
        hasPart=[TOOL],
        step=[{"@id": local("step", name)} for name in titles],
        encodingFormat=media_type(WORKFLOW),
        contentSize=str(file.size),
        sha256=file.sha256,
        **shared,
    )


def _packages(graph: Graph, records: Iterable[Record]) -> list[Reference]:
    used = dict.fromkeys((name, getattr(row.provenance, f"{name}_version")) for row in records for name in _PAGES)
    return [
        graph.add(
            f"{_PAGES[name]}{local(version)}",
            "SoftwareApplication",
            name=name.replace("_", "-"),
            softwareVersion=version,
            url=_PAGES[name],
        )
        for name, version in used
        if version
    ]
