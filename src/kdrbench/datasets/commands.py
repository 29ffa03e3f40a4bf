"""The commands `kdrbench data ...`."""

from __future__ import annotations

import sys

import click

from kdrbench.datasets.card import render_markdown
from kdrbench.datasets.fetch import Sources
from kdrbench.datasets.inventory import check_sets, list_sets
from kdrbench.datasets.load import find_entry

_MIRROR = click.option("--mirror", default="", help="Folder or http(s) URL asked first; KDRBENCH_MIRROR overrides it.")
_NAMES = click.argument("names", nargs=-1)


@click.group()
def data() -> None:
    """List, fetch, verify and describe the registered data sets."""


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


@data.command()
@click.argument("name")
def card(name: str) -> None:
    """Print the data card of the set NAME as Markdown."""
    click.echo(render_markdown(find_entry(name)))


def _check(names: tuple[str, ...], sources: Sources) -> None:
    """Say of each set whether it is the registered one; exit code 2, after all have had their turn, if one is not."""
    faults = 0
    for name, fault in check_sets(names, sources):
        faults += bool(fault)
        click.echo(f"kdrbench: {fault}" if fault else f"{name}: verified", err=bool(fault))
    if faults:
        sys.exit(2)
