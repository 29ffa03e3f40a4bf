"""What there is, what of it is here, and whether it is what it should be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kdrbench.datasets.fetch import Sources
from kdrbench.datasets.load import find_entry, read_entry, read_kernel_entry
from kdrbench.datasets.registry import DatasetEntry, load_registry
from kdrbench.errors import DataError

_TITLES = ("name", "n", "d", "classes", "where", "licence")


class Checked(NamedTuple):
    """The outcome of reading one set: ``fault`` is empty if it is the registered one."""

    name: str
    fault: str


def chosen(names: Iterable[str]) -> list[DatasetEntry]:
    """Return the named entries, all of them if there are no names; ``DataError`` for an unknown name."""
    return [find_entry(name) for name in names] or list(load_registry().values())


def list_sets(sources: Sources) -> str:
    """Return a table of all sets: size, classes, licence, and where their files are."""
    rows = [_TITLES, *(_row(entry, sources) for entry in load_registry().values())]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_TITLES) - 1)]
    lines = [
        "  ".join([cell.ljust(width) for cell, width in zip(row, widths, strict=False)] + [row[-1]]) for row in rows
    ]
    return "\n".join(line.rstrip() for line in lines)


def check_sets(names: Iterable[str], sources: Sources) -> Iterator[Checked]:
    """Check the named sets one after the other; without names all that are here or, unless offline, at an address."""
    named = list(names)
    for entry in chosen(named):
        place = where_is(entry, sources)
        if named or place not in ({"to supply", "to download"} if sources.offline else {"to supply"}):
            yield check_set(entry, sources)


def check_set(entry: DatasetEntry, sources: Sources) -> Checked:
    """Fetch if the sources allow it, hash, parse and compare with the registry."""
    try:
        if entry.kind == "kernel":
            read_kernel_entry(entry, sources)
        else:
            read_entry(entry, sources)
    except DataError as error:
        return Checked(entry.name, str(error))
    return Checked(entry.name, "")


def where_is(entry: DatasetEntry, sources: Sources) -> str:
    """Say where the files are by their presence alone: to verify them takes time."""
    if entry.bundled:
        return "generated" if entry.generated else "bundled"
    folders = {"mirror": sources.mirror_folder, "cached": sources.cache_folder}
    for word, folder in folders.items():
        paths = [[file.path, *(file.path_of(url) for url in file.repackaged)] for file in entry.files]
        if folder and all(any((folder / path).is_file() for path in forms) for forms in paths):
            return word
    return "to download" if any(file.urls or file.repackaged for file in entry.files) else "to supply"


def _row(entry: DatasetEntry, sources: Sources) -> tuple[str, ...]:
    kernel = entry.kind == "kernel"
    return (
        entry.name,
        str(entry.n_samples),
        "kernel" if kernel else str(entry.n_features),
        str(len(entry.class_counts) or "-"),
        where_is(entry, sources),
        entry.licence,
    )
