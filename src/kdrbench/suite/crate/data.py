"""The data sets of a record as entities, with the hashes of what was read, and their Croissant metadata as files."""

from __future__ import annotations

from collections.abc import Iterable

from kdrbench.datasets.croissant import croissant_text, licence_of
from kdrbench.datasets.registry import load_registry
from kdrbench.suite.crate.contents import Content
from kdrbench.suite.crate.graph import Graph, Reference, file_name, local
from kdrbench.suite.engine.record import Record

FOLDER = "data"


def croissant_files(names: Iterable[str]) -> dict[str, Content]:
    """Return the Croissant metadata of the registered sets among the names, by their paths in a crate."""
    registry = load_registry()
    return {_path(name): Content(croissant_text(registry[name]).encode()) for name in names if name in registry}


def add_data_set(graph: Graph, name: str, records: Iterable[Record]) -> Reference:
    """Add a data set with the hashes of its values in the rows.

    A registered one is a folder of the crate that holds its metadata. Of another one only name and hashes are known.
    """
    hashes = dict.fromkeys(row.provenance.data_sha256 for row in records if row.dataset == name)
    known = [graph.value("data_sha256", "SHA-256 of the values", value) for value in hashes if value]
    entry = load_registry().get(name)
    if entry is None:
        return graph.add(local("data", name), "CreativeWork", name=name, identifier=known)
    parameter = local("parameter", "data")
    place = graph.add(
        f"{FOLDER}/{file_name(name)}/",
        "Dataset",
        name=entry.title,
        description=f"Data set {name}; this folder holds its metadata, not its values. Cite: {entry.citation}",
        license=licence_of(entry),
        identifier=known,
        hasPart=[{"@id": file_name(_path(name))}],
        exampleOfWork={"@id": parameter},
    )
    return graph.example(parameter, place)


def _path(name: str) -> str:
    return f"{FOLDER}/{name}/croissant.json"
