"""What a reader must know of a data set, from the registry alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kdrbench.datasets.registry import DatasetEntry, SourceFile
from kdrbench.errors import counted


class Fact(NamedTuple):
    """A named fact; ``links`` are addresses that belong to it."""

    name: str
    text: str
    links: tuple[str, ...] = ()


def facts_of(entry: DatasetEntry) -> list[Fact]:
    """Return the facts of a data set that the registry has."""
    size = f"{counted(entry.n_samples, 'sample')}, {counted(entry.n_features, 'feature')}"
    facts = [
        Fact("Name", entry.name),
        Fact("Size", size if entry.kind == "features" else f"a kernel matrix of {entry.n_samples} samples"),
        Fact("Classes", _classes(entry.classes)),
        *(Fact(f"Labelling {name!r}", _classes(counts)) for name, counts in entry.labellings.items()),
        Fact("Scaling", entry.scaling),
        Fact("Missing values", entry.missing),
        Fact(
            "How it was collected",
            entry.collection or ("Drawn by a seeded generator of kdrbench." if entry.generated else ""),
        ),
        Fact("Personal information", entry.personal),
        Fact("Biases", entry.biases.replace("None are known.", "None are recorded here.")),
        Fact("Notes", entry.notes),
        Fact("Differences from the papers", entry.differences),
        Fact("Licence", entry.licence),
        Fact("Citation", entry.citation),
        *(_source(file) for file in entry.files),
        Fact("SHA-256 of the content", entry.content_sha256 or "not registered"),
    ]
    return [fact for fact in facts if fact.text]


def _classes(counts: Mapping[str, int]) -> str:
    if not counts:
        return "none: the samples have no labels"
    return f"{len(counts)}: " + ", ".join(f"{name} {count}" for name, count in counts.items())


def _source(file: SourceFile) -> Fact:
    if not file.sha256:
        return Fact("Source", f"the user's file {file.path} in a mirror folder")
    other = " or other bytes with the same content" if file.repackaged else ""
    return Fact("Source", f"{file.path}, SHA-256 {file.sha256}{other}", (*file.urls, *file.repackaged))
