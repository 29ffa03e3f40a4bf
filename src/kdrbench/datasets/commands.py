"""The commands `kdrbench data ...`: what sets there are, what of them is here, and whether it is what it should be."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

import click

from kdrbench.datasets.fetch import Sources
from kdrbench.datasets.load import find_entry, read_entry
from kdrbench.datasets.registry import DatasetEntry, load_registry
from kdrbench.errors import DataError

_TITLES = ("name", "n", "d", "classes", "where", "licence")
_MIRROR = click.option("--mirror", default="", help="Folder or http(s) URL asked first; KDRBENCH_MIRROR overrides it.")
_NAMES = click.argument("names", nargs=-1)


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


def check_sets(names: Iterable[str], sources: Sources) -> Iterator[tuple[str, str]]:
    """Fetch if the sources allow it, hash, parse and compare with the registry; yield name and fault, if any, of each.

    Without names these are all that are here or, unless offline, at an address.
    """
    named = list(names)
    for entry in chosen(named):
        place = where_is(entry, sources)
        if not named and place in ({"to supply", "to download"} if sources.offline else {"to supply"}):
            continue
        try:
            read_entry(entry, sources)
        except DataError as error:
            yield entry.name, str(error)
        else:
            yield entry.name, ""


def where_is(entry: DatasetEntry, sources: Sources) -> str:
    """Say where the files are by their presence alone: to verify them takes time."""
    if entry.bundled:
        return "generated" if entry.generated else "bundled"
    for word, folder in sources.folders.items():
        paths = [[file.path, *(file.path_of(url) for url in file.repackaged)] for file in entry.files]
        if all(any((folder / path).is_file() for path in forms) for forms in paths):
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


@click.group()
def data() -> None:
    """List, fetch and verify the registered data sets."""


@data.command("list")
@_MIRROR
def list_command(mirror: str) -> None:
    """List all sets: size, classes, where their files are, licence."""
    click.echo(list_sets(Sources(mirror)))


@data.command()
@_NAMES
@_MIRROR
def fetch(names: tuple[str, ...], mirror: str) -> None:
    """Get and verify the sets NAMES, by default all that are not the user's to supply."""
    _check(names, Sources(mirror))


@data.command()
@_NAMES
@_MIRROR
def verify(names: tuple[str, ...], mirror: str) -> None:
    """Hash and read again what is here of the sets NAMES, by default of all; nothing is downloaded."""
    _check(names, Sources(mirror, offline=True))


def _check(names: tuple[str, ...], sources: Sources) -> None:
    """Say of each set whether it is the registered one; exit code 2, after all have had their turn, if one is not."""
    faults = 0
    for name, fault in check_sets(names, sources):
        faults += bool(fault)
        click.echo(f"kdrbench: {fault}" if fault else f"{name}: verified", err=bool(fault))
    if faults:
        sys.exit(2)
