"""The declarative list of data sets (``registry.toml``) as typed entries."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple

from kdrbench.errors import counted


@dataclass(frozen=True)
class SourceFile:
    """A file: its ``path`` in a mirror and in the cache, ``urls`` of the same bytes, their ``sha256`` and number.

    ``repackaged`` are addresses of the same content in other bytes (packed otherwise): what comes from there is
    accepted if the parsed arrays have the entry's content hash. A file without ``sha256`` is the user's own.
    """

    path: str
    sha256: str = ""
    urls: tuple[str, ...] = ()
    repackaged: tuple[str, ...] = ()
    size: int = 0

    @property
    def forms(self) -> tuple[SourceFile, ...]:
        """The file itself, then one for each ``repackaged`` address, of other bytes and without a registered hash."""
        places = [(PurePosixPath(self.path).with_name(PurePosixPath(url).name), url) for url in self.repackaged]
        return (self, *(SourceFile(str(path), urls=(url,)) for path, url in places))


@dataclass(frozen=True)
class DatasetEntry:
    """What is known of a data set before it is read.

    ``label`` is printed in tables, ``title`` is the full name. ``kind`` is "features" or "kernel". ``parser`` names one
    of ``kdrbench.datasets.parsers.PARSERS``, called with the paths of ``files`` and with ``options``; a bundled
    or generated set has no files. ``content_sha256`` pins the parsed values, empty for a user's file.
    ``classes`` holds the sorted class names and their numbers of samples, empty without labels; ``labellings`` the
    same of further labels. Pages of experiments print ``scaling``, ``missing``, ``differences`` (from the papers),
    ``collection`` (how values came about, empty for a generated set), ``personal`` (what they say of persons) and
    ``biases``.
    """

    name: str
    label: str
    title: str
    parser: str
    n_samples: int
    n_features: int
    classes: Mapping[str, int]
    content_sha256: str
    licence: str
    citation: str
    kind: str = "features"
    notes: str = ""
    scaling: str = "Values as in the source; experiments standardise with training statistics."
    missing: str = "No value is missing."
    differences: str = "None are known."
    collection: str = ""
    personal: str = "None: no sample describes a person."
    biases: str = "None are known."
    files: tuple[SourceFile, ...] = ()
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    labellings: Mapping[str, Mapping[str, int]] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def bundled(self) -> bool:
        """Whether the set needs no file: it ships inside scikit-learn or is generated."""
        return not self.files

    @property
    def generated(self) -> bool:
        """Whether the set is made by a seeded generator."""
        return "seed" in self.options and self.bundled

    @property
    def class_counts(self) -> tuple[int, ...]:
        """The number of samples of each class, in the order of the class names."""
        return tuple(self.classes.values())

    @property
    def lacks(self) -> str:
        """What a set must have for supervised experiments and has not: "features", "labels" or nothing."""
        if self.kind != "features":
            return "features"
        return "" if self.classes else "labels"


class Fact(NamedTuple):
    """A named fact of a data set; ``links`` are addresses that belong to it."""

    name: str
    text: str
    links: tuple[str, ...] = ()


def facts_of(entry: DatasetEntry) -> list[Fact]:
    """Return the facts of a data set that a reader must know, as far as the registry has them."""
    size = f"{counted(entry.n_samples, 'sample')}, {counted(entry.n_features, 'feature')}"
    facts = [
        Fact("Name", entry.name),
        Fact("Size", size if entry.kind == "features" else f"a kernel matrix of {entry.n_samples} samples"),
        Fact("Classes", _class_counts(entry.classes)),
        *(Fact(f"Labelling {name!r}", _class_counts(counts)) for name, counts in entry.labellings.items()),
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
        *map(_source, entry.files),
        Fact("SHA-256 of the content", entry.content_sha256 or "not registered"),
    ]
    return [fact for fact in facts if fact.text]


def _class_counts(counts: Mapping[str, int]) -> str:
    if not counts:
        return "none: the samples have no labels"
    return f"{len(counts)}: " + ", ".join(f"{name} {count}" for name, count in counts.items())


def _source(file: SourceFile) -> Fact:
    if not file.sha256:
        return Fact("Source", f"the user's file {file.path} in a mirror folder")
    other = " or other bytes with the same content" if file.repackaged else ""
    return Fact("Source", f"{file.path}, SHA-256 {file.sha256}{other}", (*file.urls, *file.repackaged))


@cache
def load_registry() -> dict[str, DatasetEntry]:
    """Return every registered data set by name."""
    return read_registry(files("kdrbench.datasets").joinpath("registry.toml").read_text(encoding="utf-8"))


def read_registry(text: str) -> dict[str, DatasetEntry]:
    """Return the entries of a registry in TOML.

    A table with ``like`` takes what it does not say from an earlier one. A table with ``series`` (a size and a content
    hash for each) defines one entry for each size, named ``<table>-<size>``, its classes equally frequent.
    """
    resolved: dict[str, dict[str, Any]] = {}
    entries: dict[str, DatasetEntry] = {}
    for name, own in tomllib.loads(text).items():
        values = resolved[name] = {**resolved.get(own.get("like", ""), {}), **own}
        values.pop("like", None)
        if "series" not in values:
            entries[name] = _entry(name, values)
        for size, sha256 in values.get("series", {}).items():
            entries[f"{name}-{size}"] = _entry(f"{name}-{size}", _of_size(values, int(size), sha256))
    return entries


def _of_size(values: dict[str, Any], size: int, sha256: str) -> dict[str, Any]:
    names = list(values["classes"])
    counts = [size // len(names) + (code < size % len(names)) for code in range(len(names))]
    return {key: value for key, value in values.items() if key != "series"} | {
        "label": f"{values['label']} {size}",
        "n_samples": size,
        "classes": dict(zip(names, counts, strict=True)),
        "content_sha256": sha256,
        "options": {**values["options"], "n": size},
    }


def _entry(name: str, values: dict[str, Any]) -> DatasetEntry:
    return DatasetEntry(name=name, **{**values, "files": tuple(map(_source_file, values.get("files", ())))})


def _source_file(values: dict[str, Any]) -> SourceFile:
    addresses: dict[str, Any] = {key: tuple(values[key]) for key in ("urls", "repackaged") if key in values}
    return SourceFile(**(values | addresses))
