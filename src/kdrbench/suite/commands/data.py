"""`kdrbench data`: which data sets are registered, which are on this machine, and whether their files are intact."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import click

from kdrbench.datasets.fetch import Sources
from kdrbench.datasets.load import find_entry, read_entry
from kdrbench.datasets.registry import DatasetEntry, load_registry
from kdrbench.errors import DataError
from kdrbench.suite.commands.options import aligned, mirror_option

_TITLES = ("name", "n", "d", "classes", "where", "licence")
_names = click.argument("names", nargs=-1)


@click.group()
def data() -> None:
    """List, fetch and verify the registered data sets."""


@data.command("list")
@mirror_option
def list_command(mirror: str) -> None:
    """List all sets: size, classes, where their files are, licence."""
    sources = Sources(mirror)
    rows = [_TITLES, *(_row(entry, sources) for entry in load_registry().values())]
    click.echo("\n".join(aligned(rows, len(_TITLES))))


def _row(entry: DatasetEntry, sources: Sources) -> tuple[str, ...]:
    width = "kernel" if entry.kind == "kernel" else str(entry.n_features)
    classes = str(len(entry.classes) or "-")
    return entry.name, str(entry.n_samples), width, classes, _location(entry, sources), entry.licence


def _location(entry: DatasetEntry, sources: Sources) -> str:
    """Return where the files are by their presence alone: verification takes time."""
    if entry.bundled:
        return "generated" if entry.generated else "bundled"
    for word, folder in sources.folders.items():
        if all(any((folder / form.path).is_file() for form in file.forms) for file in entry.files):
            return word
    return "to download" if any(file.urls or file.repackaged for file in entry.files) else "to supply"


def absent(names: Iterable[str]) -> str:
    """Return a sentence on those registered sets of these names, in any case, that are not here; empty without any."""
    known, entries = {name.casefold() for name in names}, load_registry().values()
    places = {one.name: _location(one, Sources()) for one in entries if one.name.casefold() in known}
    words = {name: place for name, place in places.items() if place.startswith("to ")}
    listed = ", ".join(f"{name} ({place})" for name, place in words.items())
    how = f"get them by `kdrbench data fetch {' '.join(words)}`, or set KDRBENCH_MIRROR to a folder or URL of them"
    return f"Data that are not here: {listed}; {how}." if words else ""


@data.command()
@_names
@mirror_option
def fetch(names: tuple[str, ...], mirror: str) -> None:
    """Get and verify the sets NAMES.

    Without names: all that are not the user's to supply.
    """
    _check(names, Sources(mirror), {"to supply"})


@data.command()
@_names
@mirror_option
def verify(names: tuple[str, ...], mirror: str) -> None:
    """Hash and read again what is here of the sets NAMES.

    Without names: of all. Nothing is downloaded.
    """
    _check(names, Sources(mirror, offline=True), {"to supply", "to download"})


def _check(names: tuple[str, ...], sources: Sources, skipped: set[str]) -> None:
    """Read each set and compare it with the registry; exit with 2, after the last one, if any differs.

    Without names all sets are read but those at a ``skipped`` location.
    """
    all_sets = (entry for entry in load_registry().values() if _location(entry, sources) not in skipped)
    faults = 0
    for entry in [find_entry(name) for name in names] or all_sets:
        try:
            read_entry(entry, sources)
            click.echo(f"{entry.name}: verified")
        except DataError as error:
            faults += 1
            click.echo(f"kdrbench: {error}", err=True)
    if faults:
        sys.exit(2)
